"""A request as JSON of OpenAI Chat Completions; no I/O."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from fasttool import json_text
from fasttool.errors import ConfigurationError
from fasttool.messages import (
    AiMessage,
    AudioContent,
    ChatRequest,
    Content,
    FileContent,
    ImageContent,
    Message,
    ProviderContent,
    ResponseFormat,
    SystemMessage,
    TextContent,
    ToolCall,
    ToolChoice,
    ToolResultMessage,
    UserMessage,
    joined_text,
)
from fasttool.schema.profiles import lower
from fasttool.schema.tool_names import ToolNames
from fasttool.specification import ToolArray, ToolSpecification

logger = logging.getLogger("fasttool")

PROFILE = "openai"
"""Key of the bytes in ``ToolSpecification.wire``, and the provider of our ProviderContent."""

_NAMES = ToolNames((), PROFILE)  # nothing is renamed, as is usual
_AUDIO_FORMATS = {
    "mpeg": "mp3",
    "mpga": "mp3",
    "x-wav": "wav",
    "wave": "wav",
    "vnd.wave": "wav",
    "x-m4a": "m4a",
}


def encode_request(
    request: ChatRequest,
    *,
    model: str,
    defaults: Mapping[str, Any] | None = None,
    names: ToolNames | None = None,
    stream: bool = False,
) -> bytes:
    """Return the body of a request as JSON.

    Args:
        request: what to send; its parameters win over the defaults, and may name another model.
        model: the model that answers.
        defaults: parameters of every request.
        names: what ``tool_names`` returns for the request, where the caller has it.
        stream: ask for the answer piece by piece, and for what it cost unless ``stream_options`` is
            among the parameters; None there leaves it out, for a server that refuses it.

    Raises:
        ConfigurationError: a parameter has no JSON form, or is one that this codec writes itself.
    """
    parameters = {**defaults, **request.parameters} if defaults else request.parameters
    if names is None:
        names = tool_names(request)
    body: dict[str, Any] = {"model": model, "messages": _encode_messages(request.messages, names)}
    tools = _array_bytes(request.tools)
    choice = request.tool_choice
    if request.response_format is not None:
        body["response_format"] = _encode_format(request.response_format)
    if parameters:
        check_parameters(parameters)
        body.update(parameters)
        if "tools" in body:  # the provider's own tools come after ours
            own = [_encode(tool) for tool in body.pop("tools") or ()]
            tools = b",".join([tools, *own] if tools else own)
    options = body.pop("stream_options", {"include_usage": True})  # refused where nothing is streamed
    if stream:
        body["stream"] = True
        if options is not None:
            body["stream_options"] = options
    if tools:
        if choice is not None:
            body["tool_choice"] = _encode_choice(choice, names)
    else:
        body.pop("tool_choice", None)
        body.pop("parallel_tool_calls", None)  # refused by OpenAI where there are no tools
    # A splice of bytes, not an orjson.Fragment inside the body: the exact encoder that text with
    # surrogates and long integers fall back to would read a fragment and write it again.
    encoded = _encode(body)
    return b"".join((encoded[:-1], b',"tools":[', tools, b"]}")) if tools else encoded


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that the codec writes itself or cannot honour.

    Raises:
        ConfigurationError: there is one.
    """
    if "messages" in parameters:
        raise ConfigurationError(
            'The parameters of a chat model cannot hold "messages"; pass them in the request.'
        )
    if parameters.get("stream"):
        raise ConfigurationError(
            'The parameters of a chat model cannot hold "stream"; call its stream or astream instead.'
        )
    if not isinstance(parameters.get("tools") or [], (list, tuple)):
        raise ConfigurationError(
            'The parameter "tools" of a chat model must be a list of the provider\'s own tools.'
        )
    if parameters.get("n") not in (None, 1):
        raise ConfigurationError('The parameter "n" of a chat model must be 1: one answer is read.')


def tool_names(request: ChatRequest) -> ToolNames:
    """Return what the names of tools become in a request, and their originals for its answer.

    The names of earlier calls count too, also of tools that are no longer there.
    """
    names = _array_names(request.tools)
    further = [
        call.name
        for message in request.messages
        if isinstance(message, AiMessage)
        for call in message.tool_calls
    ]
    extended = names.extended(further) if further else names
    if names is _NAMES and extended is not names:  # what the tools keep is not to be taken
        return ToolNames([*(specification.name for specification in request.tools), *further], PROFILE)
    return extended


def _encode_format(form: ResponseFormat) -> dict[str, Any]:
    """Return the form of an answer; held to by the provider where that is possible and not declined."""
    lowered = lower(form.schema, "openai", strict=form.strict is not False)
    return {
        "type": "json_schema",
        "json_schema": {"name": form.name, "strict": lowered.strict, "schema": lowered.schema},
    }


def _array_names(tools: Sequence[ToolSpecification]) -> ToolNames:
    names: ToolNames | None = tools.names.get(PROFILE) if isinstance(tools, ToolArray) else None
    if names is None:
        given = [specification.name for specification in tools]
        names = _NAMES if _NAMES.extended(given) is _NAMES else ToolNames(given, PROFILE)
        if isinstance(tools, ToolArray):
            tools.names[PROFILE] = names
    return names


def _array_bytes(tools: Sequence[ToolSpecification]) -> bytes:
    """Return the entries of specifications, joined; made once for the tools of a service."""
    wire = tools.wire.get(PROFILE) if isinstance(tools, ToolArray) else None
    if wire is None:
        names = _array_names(tools)
        entries = []
        for specification in tools:
            name = names.wire(specification.name)
            if name == _NAMES.wire(specification.name):
                entries.append(tool_bytes(specification))
            else:  # that name is taken here: the bytes are those of this array alone
                entries.append(_encode_tool(specification.replace(name=name)))
        wire = b",".join(entries)
        if isinstance(tools, ToolArray):
            tools.wire[PROFILE] = wire
    return wire


def tool_bytes(specification: ToolSpecification) -> bytes:
    """Return the entry of a specification in the tools array; made once, kept in ``specification.wire``."""
    wire = specification.wire.get(PROFILE)
    if wire is None:
        wire = specification.wire[PROFILE] = _encode_tool(specification)
    return wire


def _encode_tool(specification: ToolSpecification) -> bytes:
    function: dict[str, Any] = {"name": _NAMES.wire(specification.name)}
    if specification.description is not None:
        function["description"] = specification.description
    schema = specification.parameters
    lowered = lower(schema, PROFILE, strict=specification.strict)
    if specification.strict is not None:
        function["strict"] = lowered.strict
    if specification.strict and not lowered.strict:
        why = "; ".join(note for note in lowered.notes if "strict is not possible" in note)
        logger.warning("Tool %s is sent without strict. %s", specification.name, why)
    # Bytes that are right already are kept as they are.
    kept = specification.parameters_json if lowered.schema == schema else None
    parameters = _encode(lowered.schema) if kept is None else kept
    return b'{"type":"function","function":%b,"parameters":%b}}' % (_encode(function)[:-1], parameters)


def _encode_choice(choice: ToolChoice | str, names: ToolNames) -> Any:
    if choice in ("auto", "required", "none"):
        return str(choice)
    return {"type": "function", "function": {"name": names.wire(choice)}}


def _encode(value: Any) -> bytes:
    try:
        return json_text.encode(value)
    except json_text.JsonTextError as error:
        raise ConfigurationError(f"The request cannot be written as JSON: {error}.") from None


def _encode_messages(messages: Iterable[Message], names: ToolNames) -> list[dict[str, Any]]:
    forms: list[dict[str, Any]] = []
    media: list[dict[str, Any]] = []  # of tool results, which are text only on the wire
    for message in messages:
        if isinstance(message, ToolResultMessage):
            forms.append(_encode_tool_result(message, media, names))
            continue
        if media:  # after the last result, so that the results of one round stay together
            forms.append({"role": "user", "content": media})
            media = []
        if isinstance(message, AiMessage):
            forms.append(_encode_ai_message(message, names))
        elif isinstance(message, UserMessage):
            forms.append(_encode_user_message(message))
        elif isinstance(message, SystemMessage):
            forms.append({"role": "system", "content": message.text})
        else:
            raise ConfigurationError(f"{type(message).__name__} is not a message.")
    if media:
        forms.append({"role": "user", "content": media})
    return forms


def _encode_user_message(message: UserMessage) -> dict[str, Any]:
    parts = list(_encode_parts(message.contents))
    form: dict[str, Any] = {"role": "user"}
    form["content"] = parts if any(part.get("type") != "text" for part in parts) else message.text
    if message.name is not None:
        form["name"] = message.name
    return form


def _encode_ai_message(message: AiMessage, names: ToolNames) -> dict[str, Any]:
    replayed: dict[str, Any] = {}
    for content in message.contents:
        if (
            isinstance(content, ProviderContent)
            and content.provider == PROFILE
            and isinstance(content.data, dict)
        ):
            replayed |= content.data
    parts_of_calls = replayed.pop("tool_calls", None)
    form: dict[str, Any] = {"role": "assistant", "content": message.text or ""}
    if message.tool_calls:
        form["content"] = message.text or None
        form["tool_calls"] = calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": names.wire(call.name), "arguments": _argument_text(call)},
            }
            for call in message.tool_calls
        ]
        # By position: ids may be ours by now, and names may repeat.
        if isinstance(parts_of_calls, list) and len(parts_of_calls) == len(calls):
            for entry, part in zip(calls, parts_of_calls, strict=True):
                if isinstance(part, dict):
                    entry.update({key: value for key, value in part.items() if key not in entry})
    return {**replayed, **form} if replayed else form


def _argument_text(call: ToolCall) -> str:
    """Return arguments that servers accept in a history: many parse them, and refuse the whole request."""
    text = call.arguments
    try:
        # Kept as it came, so that a prompt cache still matches.
        return text if isinstance(orjson.loads(text), dict) else "{}"
    except orjson.JSONDecodeError:
        return _repaired_argument_text(text)


def _repaired_argument_text(text: str) -> str:
    try:
        value = json_text.decode(text)  # takes the lone surrogates that orjson refuses
        return json_text.encode(value).decode() if isinstance(value, dict) else "{}"
    except json_text.JsonTextError:
        return "{}"  # the result of the call says what was wrong


def _encode_tool_result(
    message: ToolResultMessage, media: list[dict[str, Any]], names: ToolNames
) -> dict[str, Any]:
    text = message.text
    if message.contents:
        text = joined_text(message.contents) or text
        found = [part for part in _encode_parts(message.contents) if part.get("type") != "text"]
        if found:
            name = names.wire(message.tool_name)
            media.append({"type": "text", "text": f"From the result of {name} ({message.id}):"})
            media += found
            text = text or "The result is in the user message after the results."
    return {"role": "tool", "tool_call_id": message.id, "content": text}


def _encode_parts(contents: Sequence[Content]) -> Iterator[dict[str, Any]]:
    for content in contents:
        if isinstance(content, TextContent):
            yield {"type": "text", "text": content.text}
        elif isinstance(content, ImageContent):
            image = {"url": _address(content)}
            if content.detail is not None:
                image["detail"] = content.detail
            yield {"type": "image_url", "image_url": image}
        elif isinstance(content, AudioContent):
            if content.data is None:  # OpenAI takes bytes only; vLLM and others take this
                yield {"type": "audio_url", "audio_url": {"url": content.url}}
                continue
            subtype = (content.mime_type or "").partition(";")[0].partition("/")[2].strip().lower()
            audio = {
                "data": base64.b64encode(content.data).decode(),
                "format": _AUDIO_FORMATS.get(subtype, subtype),
            }
            yield {"type": "input_audio", "input_audio": audio}
        elif isinstance(content, FileContent):
            yield {
                "type": "file",
                "file": {"filename": content.name or "file", "file_data": _address(content)},
            }
        elif content.provider == PROFILE and isinstance(content.data, dict):
            yield content.data


def _address(content: ImageContent | FileContent) -> str | None:
    if content.data is None:
        return content.url
    return f"data:{content.mime_type};base64,{base64.b64encode(content.data).decode()}"
