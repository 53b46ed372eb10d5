"""A response of OpenAI Chat Completions, read leniently: servers differ; no I/O."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fasttool import json_text
from fasttool.errors import ModelResponseError
from fasttool.messages import (
    AiMessage,
    ChatResponse,
    FinishReason,
    ProviderContent,
    TokenUsage,
    ToolCall,
)
from fasttool.models.http.failures import error_text, excerpt, json_of
from fasttool.models.openai_request import PROFILE
from fasttool.schema.tool_names import ToolNames

# What a thinking model wants back with its next request, verbatim: DeepSeek, Kimi and GLM refuse a
# history of tool calls without reasoning_content, Gemini one without the signatures in extra_content.
REPLAYED = ("reasoning_content", "reasoning", "reasoning_details", "thinking_signature", "extra_content")
REPLAYED_OF_CALL = ("extra_content", "thought_signature")

_FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}


def decode_response(body: bytes, names: ToolNames | None = None) -> ChatResponse:
    """Return what the body of a response with a status of success says.

    Args:
        body: JSON.
        names: what ``tool_names`` returned for the request; None leaves the names as they came.

    Raises:
        ModelResponseError: the body is not a chat completion, or tells an error.
    """
    try:
        reply = json_text.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except json_text.JsonTextError as error:
        if not body.strip():
            raise ModelResponseError(
                "The model's reply has an empty body; a JSON object is expected."
            ) from None
        raise ModelResponseError(f"The model's reply is not JSON ({error}): {excerpt(body)}") from None
    if not isinstance(reply, dict):
        raise ModelResponseError(f"The model's reply is not a JSON object: {excerpt(body)}")
    return read_reply(reply, body, names)


def read_reply(reply: dict[str, Any], body: bytes, names: ToolNames | None = None) -> ChatResponse:
    """Return what a response says.

    Args:
        reply: the response as JSON.
        body: what an error shows the start of.
        names: see ``decode_response``.

    Raises:
        ModelResponseError: it is not a chat completion, or tells an error.
    """
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        if said := error_text(reply):
            raise ModelResponseError(f"The model's reply tells an error: {said}")
        raise ModelResponseError(f"The model's reply holds no choices: {excerpt(body)}")
    choice = choices[0] if isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        if said := error_text(choice.get("error")):
            raise ModelResponseError(f"The model's reply tells an error: {said}")
        raise ModelResponseError(f"The first choice of the model's reply holds no message: {excerpt(body)}")
    reason = choice.get("finish_reason")
    answer = _decode_message(message, body)
    return ChatResponse(
        answer if names is None else with_original_names(answer, names),
        _decode_usage(reply.get("usage")),
        finish_reason(reason),
        _text_or_none(reply.get("model")),
        _text_or_none(reply.get("id")),
    )


def finish_reason(reason: Any) -> FinishReason | None:
    """Return what a provider's word for the end of an answer means; None where there is none."""
    return None if reason is None else _FINISH_REASONS.get(str(reason).lower(), FinishReason.OTHER)


def with_original_names(message: AiMessage, names: ToolNames) -> AiMessage:
    """Return a message whose calls have the names that the tools have here."""
    calls = tuple(
        call if (name := names.original(call.name)) == call.name else ToolCall(call.id, name, call.arguments)
        for call in message.tool_calls
    )
    return message if calls == message.tool_calls else replace(message, tool_calls=calls)


def _decode_message(message: dict[str, Any], body: bytes) -> AiMessage:
    entries = message.get("tool_calls")
    if entries is None and message.get("function_call"):
        entries = [{"function": message["function_call"]}]  # the form before tool_calls
    if not isinstance(entries or [], list):
        raise ModelResponseError(f"tool_calls of the model's reply is not a list: {excerpt(body)}")
    calls = tuple(_decode_call(entry, body) for entry in entries or ())
    replayed = {key: message[key] for key in REPLAYED if message.get(key)}
    parts = [{key: entry[key] for key in REPLAYED_OF_CALL if entry.get(key)} for entry in entries or ()]
    if any(parts):
        replayed["tool_calls"] = parts
    text = decode_text(message.get("content"))
    if not text:
        audio = message.get("audio")
        said = audio.get("transcript") if isinstance(audio, dict) else None
        text = _text_or_none(message.get("refusal")) or _text_or_none(said) or text
    return AiMessage(text, calls, (ProviderContent(PROFILE, replayed),) if replayed else ())


def decode_text(content: Any) -> str | None:
    """Return the text of what a message holds: text, or a list of parts; None where there is none."""
    if content is None or isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict):  # {"type": "text", "text": ...} or {"type": "refusal", "refusal": ...}
            part = part.get("text") if part.get("text") is not None else part.get("refusal")
        if isinstance(part, str):
            texts.append(part)
    return "".join(texts) if texts else None


def _decode_call(entry: Any, body: bytes) -> ToolCall:
    function = entry.get("function") if isinstance(entry, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(name, str) or not name:
        raise ModelResponseError(f"A tool call of the model's reply names no function: {excerpt(body)}")
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = json_of(arguments)
    label = entry.get("id")
    return ToolCall("" if label is None else str(label), name, arguments)


def _decode_usage(usage: Any) -> TokenUsage | None:
    if not isinstance(usage, dict):
        return None
    counts = TokenUsage(
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        _count(usage, "total_tokens"),
        _count(usage.get("prompt_tokens_details"), "cached_tokens"),
        _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )
    return None if counts == TokenUsage() else counts


def _count(counts: Any, name: str) -> int | None:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if type(value) is int and value >= 0 else None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
