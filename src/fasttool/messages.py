"""Messages, their contents, and what goes to a model and comes back.

All of them are values: equal by value, made once, changed by nobody.  Their JSON form is in
``message_format``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from fasttool import json_text
from fasttool.errors import ConfigurationError
from fasttool.specification import ToolSpecification


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


@dataclass(slots=True, frozen=True)
class ResponseFormat:
    """The form of an answer: JSON that fits a schema.

    Args:
        name: a name for it, of letters, digits, ``_`` and ``-``.
        schema: JSON Schema of the answer, an object schema.
        strict: ask the provider to hold the model to the schema; None leaves it to the provider.
    """

    name: str
    schema: Mapping[str, Any]
    strict: bool | None = None


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
        response_format: the form of the answer; None leaves it to the model.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpecification] = ()
    tool_choice: ToolChoice | str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    response_format: ResponseFormat | None = None


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
