"""What the tests of streams share: the bytes of a stream, and its events with their pieces put together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fasttool.messages import ChatResponse
from fasttool.models.openai_stream import StreamDecoder
from fasttool.models.stream import (
    ModelEvent,
    ReasoningDelta,
    ResponseComplete,
    TextDelta,
    ToolCallDelta,
)


def chunk(delta: Any, reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **fields}


def calls_chunk(*entries: Any) -> dict[str, Any]:
    return chunk({"tool_calls": list(entries)})


def entry(
    index: Any = None, label: Any = None, name: Any = None, arguments: Any = None, **more: Any
) -> dict[str, Any]:
    """Return an entry of a call with those fields that are not None."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fields = {key: value for key, value in (("index", index), ("id", label)) if value is not None}
    return {**fields, **({"function": function} if function else {}), **more}


def wire(*chunks: Any, done: bool = True, line_end: str = "\n") -> bytes:
    texts = [json.dumps(given, ensure_ascii=False) for given in chunks]
    if done:
        texts.append("[DONE]")
    return "".join(f"data: {text}{line_end}{line_end}" for text in texts).encode()


def decoded(data: bytes | Iterable[bytes], **options: Any) -> list[ModelEvent]:
    """Return the events of a stream to its end; a failure of it is raised."""
    decoder = StreamDecoder(**options)
    events: list[ModelEvent] = []
    for piece in (data,) if isinstance(data, bytes) else data:
        events += decoder.feed(piece)
        if decoder.failure is not None:
            raise decoder.failure
    return events + decoder.end()


def merged(events: Iterable[ModelEvent]) -> list[ModelEvent]:
    """Return events with pieces of one thing that follow one another put together."""
    found: list[ModelEvent] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            found[-1] = TextDelta(last.text + event.text)
        elif isinstance(event, ReasoningDelta) and isinstance(last, ReasoningDelta):
            found[-1] = ReasoningDelta(last.text + event.text)
        elif (
            isinstance(event, ToolCallDelta) and isinstance(last, ToolCallDelta) and event.index == last.index
        ):
            arguments = last.arguments + event.arguments
            found[-1] = ToolCallDelta(event.index, event.id, event.name, arguments)
        else:
            found.append(event)
    return found


def response_of(events: Iterable[ModelEvent]) -> ChatResponse:
    """Return the response of a stream that ends with the one that it must have."""
    responses = [event for event in events if isinstance(event, ResponseComplete)]
    assert len(responses) == 1
    return responses[0].response
