"""The JSON form of messages: it has a version, and round-trips everything."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any

from fasttool import json_text
from fasttool.errors import ConfigurationError, MessageFormatError
from fasttool.messages import (
    AiMessage,
    AudioContent,
    Content,
    FileContent,
    ImageContent,
    Message,
    ProviderContent,
    SystemMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

FORMAT_VERSION = 1

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
