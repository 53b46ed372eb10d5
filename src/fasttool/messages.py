"""Messages, their contents, and what goes to a model and comes back.

All of them are values: equal by value, made once, changed by nobody.  Their JSON form has a
version and round-trips everything, opaque provider parts and attributes included.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from fasttool import json_text
from fasttool.errors import ConfigurationError, MessageFormatError
from fasttool.specification import ToolSpecification

FORMAT_VERSION = 1


# ---------------------------------------------------------------------------------- contents
@dataclass(slots=True)
class TextContent:
    """Text."""

    text: str
    type: ClassVar[str] = "text"


@dataclass(slots=True)
class _MediaContent:
    """Bytes or the address of them; exactly one.

    Args:
        data: the bytes themselves.
        url: where the bytes are, as the provider will fetch them.
        mime_type: for example ``image/png``; required with data.
    """

    data: bytes | None = None
    url: str | None = None
    mime_type: str | None = None
    type: ClassVar[str] = "media"

    def __post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            raise ConfigurationError(f"{type(self).__name__} takes either data or url.")
        if self.data is not None and not self.mime_type:
            raise ConfigurationError(
                f"{type(self).__name__} with data needs a mime_type, for example {self._example}."
            )

    _example: ClassVar[str] = "application/octet-stream"


@dataclass(slots=True)
class ImageContent(_MediaContent):
    """An image; ``detail`` is the provider's own setting for how closely to look."""

    detail: str | None = None
    type: ClassVar[str] = "image"
    _example: ClassVar[str] = "image/png"


@dataclass(slots=True)
class AudioContent(_MediaContent):
    """A recording."""

    type: ClassVar[str] = "audio"
    _example: ClassVar[str] = "audio/wav"


@dataclass(slots=True)
class FileContent(_MediaContent):
    """A document, with the name that the model sees."""

    name: str | None = None
    type: ClassVar[str] = "file"
    _example: ClassVar[str] = "application/pdf"


@dataclass(slots=True)
class ProviderContent:
    """A part that only its provider understands (a thinking signature, a Responses item).

    It is stored and sent back verbatim, to that provider alone.

    Args:
        provider: name of the wire codec that made it.
        data: JSON value, as it came.
    """

    provider: str
    data: Any
    type: ClassVar[str] = "provider"


Content = TextContent | ImageContent | AudioContent | FileContent | ProviderContent


# ---------------------------------------------------------------------------------- messages
@dataclass(slots=True)
class ToolCall:
    """One call that a model asks for.

    Args:
        id: the provider's label for it; unique within a conversation once the loop has seen it.
        name: name of the tool, as the model wrote it.
        arguments: JSON text, as the model wrote it; "" and "null" mean no arguments.  A mapping
            is written as JSON, for clients that have already read it.
    """

    id: str
    name: str
    arguments: str = "{}"

    def __post_init__(self) -> None:
        if type(self.arguments) is not str:
            self.arguments = _argument_text(self.arguments)


def _argument_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    if isinstance(arguments, str):
        return str(arguments)
    if isinstance(arguments, bytes):
        return arguments.decode(errors="replace")
    if isinstance(arguments, Mapping):
        try:
            return json_text.encode(dict(arguments)).decode()
        except json_text.JsonTextError as error:
            raise ConfigurationError(
                f"The arguments of a tool call cannot be written as JSON: {error}."
            ) from None
    raise ConfigurationError(
        f"The arguments of a tool call are JSON text or a mapping, got {type(arguments).__name__}."
    )


@dataclass(slots=True)
class SystemMessage:
    """What the model should be and do."""

    text: str
    role: ClassVar[str] = "system"


@dataclass(slots=True, init=False)
class UserMessage:
    """What the user says.

    Args:
        contents: text, one content, or several contents.
        name: who speaks, where several people share a conversation.
        attributes: JSON values that are stored with the message and never sent.
    """

    contents: tuple[Content, ...]
    name: str | None
    attributes: dict[str, Any]
    role: ClassVar[str] = "user"

    def __init__(
        self,
        contents: str | Content | Sequence[Content],
        *,
        name: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self.contents = (TextContent(contents),) if type(contents) is str else as_contents(contents)
        self.name = name
        self.attributes = dict(attributes) if attributes else {}

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return joined_text(self.contents)


@dataclass(slots=True)
class AiMessage:
    """What the model answers: text, calls of tools, or both.

    Args:
        text: the answer; None where there is only something else.
        tool_calls: calls in the order in which the model made them.
        contents: what came beside the text, in order: images, audio, opaque provider parts.
        attributes: JSON values that are stored with the message and never sent.
    """

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    contents: tuple[Content, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    role: ClassVar[str] = "assistant"

    def __post_init__(self) -> None:
        if type(self.tool_calls) is not tuple:
            self.tool_calls = tuple(self.tool_calls)
        if type(self.contents) is not tuple:
            self.contents = tuple(self.contents)


@dataclass(slots=True)
class ToolResultMessage:
    """The result of one call.

    Args:
        id: the id of the call.
        tool_name: name of the tool.
        text: the result; where ``contents`` is not empty, its text parts.
        is_error: the text says what went wrong.
        contents: sent instead of the text where a result is more than text.
        attributes: JSON values that are stored with the message and never sent; the loop's own
            state rides here (``found_tools``, ``activated_skill``).
    """

    id: str
    tool_name: str
    text: str
    is_error: bool = False
    contents: tuple[Content, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    role: ClassVar[str] = "tool"


Message = SystemMessage | UserMessage | AiMessage | ToolResultMessage


def as_contents(contents: str | Content | Iterable[Content]) -> tuple[Content, ...]:
    """Return contents as a tuple; text becomes one TextContent.

    Raises:
        ConfigurationError: something in it is not a content.
    """
    if isinstance(contents, str):
        return (TextContent(contents),)
    if isinstance(contents, Content):
        return (contents,)
    found = tuple(contents) if isinstance(contents, Iterable) else (contents,)
    for content in found:
        if not isinstance(content, Content):
            raise ConfigurationError(
                "A message holds text or contents (TextContent, ImageContent, ...), "
                f"got {type(content).__name__}."
            )
    return found


def joined_text(contents: Iterable[Content]) -> str:
    """Return the text parts of ``contents``, joined by newlines."""
    return "\n".join(content.text for content in contents if isinstance(content, TextContent))


# ---------------------------------------------------------------------------------- requests
@dataclass(slots=True, frozen=True)
class TokenUsage:
    """Tokens that a call of the model took; a field is None where the provider did not say.

    >>> total = TokenUsage(10, 2) + TokenUsage(5)
    >>> total.input_tokens, total.output_tokens, total.total_tokens
    (15, 2, None)

    Args:
        input_tokens: tokens read, cached ones included.
        output_tokens: tokens written, reasoning ones included.
        total_tokens: the provider's own total.
        cached_input_tokens: those of input_tokens that came from a cache.
        reasoning_tokens: those of output_tokens that were reasoning.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None

    def __add__(self, other: TokenUsage | None) -> TokenUsage:
        """Add field by field; a field missing on one side counts as nothing, on both as unknown."""
        if other is None:
            return self
        if not isinstance(other, TokenUsage):
            return NotImplemented
        return TokenUsage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.total_tokens, other.total_tokens),
            _sum(self.cached_input_tokens, other.cached_input_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
        )

    __radd__ = __add__

    @staticmethod
    def sum(usages: Iterable[TokenUsage | None]) -> TokenUsage | None:
        """Return the sum of usages, None where all of them are None."""
        total: TokenUsage | None = None
        for usage in usages:
            if usage is not None:
                total = usage + total
        return total


def _sum(left: int | None, right: int | None) -> int | None:
    if left is None:
        return right
    return left if right is None else left + right


class FinishReason(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    OTHER = "other"


class ToolChoice(StrEnum):
    """Whether the model may, must or must not call tools."""

    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"


@dataclass(slots=True)
class ChatRequest:
    """What is sent to a model.

    Args:
        messages: the conversation, oldest first.
        tools: what the model may call, in the order in which it sees them.
        tool_choice: a ToolChoice, or the name of the one tool that must be called; None leaves it
            to the provider.
        parameters: further parameters in the provider's own words (temperature, max_tokens, ...);
            unknown ones pass through.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpecification] = ()
    tool_choice: ToolChoice | str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ChatResponse:
    """What a model answered.

    Args:
        message: the answer.
        usage: what it cost; None where the provider did not say.
        finish_reason: why the model stopped; None where the provider did not say.
        model: the model that answered, in the provider's words.
        id: the provider's label for the answer.
    """

    message: AiMessage
    usage: TokenUsage | None = None
    finish_reason: FinishReason | None = None
    model: str | None = None
    id: str | None = None


# ---------------------------------------------------------------------------------- JSON form
_MEDIA: dict[str, type[ImageContent] | type[AudioContent] | type[FileContent]] = {
    kind.type: kind for kind in (ImageContent, AudioContent, FileContent)
}
_MEDIA_FIELDS = ("url", "mime_type", "detail", "name")


def message_to_dict(message: Message) -> dict[str, Any]:
    """Return the JSON form of a message, without the version; empty parts are left out."""
    form: dict[str, Any] = {"role": getattr(message, "role", None)}
    if isinstance(message, SystemMessage):
        form["text"] = message.text
        return form
    if isinstance(message, UserMessage):
        form["contents"] = [_content_to_dict(content) for content in message.contents]
        if message.name is not None:
            form["name"] = message.name
    elif isinstance(message, AiMessage):
        if message.text is not None:
            form["text"] = message.text
        if message.tool_calls:
            form["tool_calls"] = [
                {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls
            ]
        if message.contents:
            form["contents"] = [_content_to_dict(content) for content in message.contents]
    elif isinstance(message, ToolResultMessage):
        form |= {"id": message.id, "tool_name": message.tool_name, "text": message.text}
        if message.is_error:
            form["is_error"] = True
        if message.contents:
            form["contents"] = [_content_to_dict(content) for content in message.contents]
    else:
        raise MessageFormatError(f"{type(message).__name__} is not a message.")
    if message.attributes:
        form["attributes"] = message.attributes
    return form


def message_from_dict(form: Any) -> Message:
    """Return the message of a JSON form.

    Raises:
        MessageFormatError: the form is not one that ``message_to_dict`` makes.
    """
    if not isinstance(form, dict):
        raise MessageFormatError(f"A stored message is a JSON object, got {type(form).__name__}.")
    role = form.get("role")
    attributes = _take(form, "attributes", dict, {})
    contents = tuple(_content_from_dict(content) for content in _take(form, "contents", list, []))
    if role == "system":
        return SystemMessage(_take(form, "text", str))
    if role == "user":
        return UserMessage(contents, name=_take(form, "name", str, None), attributes=attributes)
    if role == "assistant":
        calls = tuple(
            ToolCall(_take(call, "id", str), _take(call, "name", str), _take(call, "arguments", str))
            for call in _take(form, "tool_calls", list, [])
        )
        return AiMessage(_take(form, "text", str, None), calls, contents, attributes)
    if role == "tool":
        return ToolResultMessage(
            _take(form, "id", str),
            _take(form, "tool_name", str),
            _take(form, "text", str),
            _take(form, "is_error", bool, False),
            contents,
            attributes,
        )
    raise MessageFormatError(f"A stored message has the role system, user, assistant or tool, got {role!r}.")


def messages_to_json(messages: Iterable[Message]) -> bytes:
    """Return messages as one JSON text: ``{"version": 1, "messages": [...]}``.

    Raises:
        MessageFormatError: an attribute or a provider part has no JSON form.
    """
    try:
        return json_text.encode(
            {"version": FORMAT_VERSION, "messages": [message_to_dict(message) for message in messages]}
        )
    except json_text.JsonTextError as error:
        raise MessageFormatError(f"The messages cannot be written as JSON: {error}.") from None


def messages_from_json(text: str | bytes) -> list[Message]:
    """Return the messages of a JSON text.

    Raises:
        MessageFormatError: the text is not JSON, its version is newer than this library, or a
            message in it is malformed.
    """
    try:
        form = json_text.decode(text)
    except json_text.JsonTextError as error:
        raise MessageFormatError(f"Stored messages are not JSON: {error}.") from None
    version = form.get("version") if isinstance(form, dict) else None
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise MessageFormatError(
            f"Stored messages have version {version!r}; this version of fasttool reads {FORMAT_VERSION}."
        )
    return [message_from_dict(message) for message in _take(form, "messages", list)]


def _content_to_dict(content: Content) -> dict[str, Any]:
    form: dict[str, Any] = {"type": content.type}
    if isinstance(content, TextContent):
        form["text"] = content.text
    elif isinstance(content, ProviderContent):
        form |= {"provider": content.provider, "data": content.data}
    else:
        if content.data is not None:
            form["data"] = base64.b64encode(content.data).decode()
        for name in _MEDIA_FIELDS:
            if (value := getattr(content, name, None)) is not None:
                form[name] = value
    return form


def _content_from_dict(form: Any) -> Content:
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "text":
        return TextContent(_take(form, "text", str))
    if kind == "provider":
        if "data" not in form:
            raise MessageFormatError('A stored provider content lacks "data".')
        return ProviderContent(_take(form, "provider", str), form["data"])
    if not isinstance(kind, str) or kind not in _MEDIA:
        known = ", ".join(("text", *_MEDIA, "provider"))
        raise MessageFormatError(f"A stored content has the type {known}, got {kind!r}.")
    given: dict[str, Any] = {name: _take(form, name, str) for name in _MEDIA_FIELDS if name in form}
    if "data" in form:
        try:
            given["data"] = base64.b64decode(_take(form, "data", str), validate=True)
        except (binascii.Error, ValueError):
            raise MessageFormatError(f"The data of a stored {kind} is not base64.") from None
    try:
        return _MEDIA[kind](**given)
    except (ConfigurationError, TypeError) as error:
        raise MessageFormatError(f"A stored {kind} is malformed: {error}") from None


_NEEDED: Any = object()


def _take(form: Any, name: str, kind: type, default: Any = _NEEDED) -> Any:
    """Return ``form[name]``, checked."""
    if not isinstance(form, dict):
        raise MessageFormatError(f"A stored message part is a JSON object, got {type(form).__name__}.")
    value = form.get(name, default)
    if value is default and default is not _NEEDED:
        return value
    if not isinstance(value, kind):
        found = "nothing" if value is _NEEDED else type(value).__name__
        raise MessageFormatError(f'"{name}" of a stored message must be {kind.__name__}, got {found}.')
    return value
