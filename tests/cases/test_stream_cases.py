"""Faults that other libraries had with streams; the ids name their reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fasttool import stream_tools, tool
from fasttool.messages import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from fasttool.models.stream import ModelEvent, ToolCallComplete, ToolCallDelta
from tests.stream_events import calls_chunk, chunk, decoded, entry, response_of, wire

CALLS: list[tuple[str, list[list[dict[str, Any]]], list[tuple[str, str, str]]]] = [
    (
        "B089",
        [[entry(0, "c1", "f", "")], [entry(0, None, None, '{"a":')], [entry(0, "", None, "1}")]],
        [("c1", "f", '{"a":1}')],
    ),
    (
        "B089",
        [[entry(0, "c1", "f", "")], [{"index": 0, "id": None, "function": {"arguments": "{}"}}]],
        [("c1", "f", "{}")],
    ),
    (
        "B090",
        [[entry(0, "a", "w", '{"p":1}')], [entry(0, "b", "w", '{"p":2}')]],
        [("a", "w", '{"p":1}'), ("b", "w", '{"p":2}')],
    ),
    (
        "B092",
        [[entry(0, "c", "f", ""), entry(0, None, None, "{")], [entry(0, None, None, '"a":1}')]],
        [("c", "f", '{"a":1}')],
    ),
    (
        "B094",
        [[entry("0", "c", "f", '{"a"')], [entry(0, None, None, ":1}")]],
        [("c", "f", '{"a":1}')],
    ),
    (
        "B096",
        [
            [entry(0, "c", "f", '{"a":1')],
            [{"index": 0, "id": None, "function": {"name": "f", "arguments": "}"}}],
        ],
        [("c", "f", '{"a":1}')],
    ),
    (
        "B096",
        [[entry(0, "c", "get_", "")], [entry(0, None, "time", "")], [entry(0, None, None, "{}")]],
        [("c", "get_time", "{}")],
    ),
    (
        "B097",
        [[entry(0, None, "f", "{}")], [entry(1, None, "f", "{}")]],
        [("", "f", "{}"), ("", "f", "{}")],
    ),
    (
        "B100",
        [[entry(0, "a", "f", '{"x": 1}')], [entry(0, None, None, '{"x": 1}')]],
        [("a", "f", '{"x": 1}')],
    ),
    (
        "B083",
        [[entry(place, f"t{place}", "f", '{"n": 1}') for place in range(count)] for count in (1, 2, 3)],
        [(f"t{place}", "f", '{"n": 1}') for place in range(3)],
    ),
]


@pytest.mark.parametrize(("case", "deltas", "calls"), CALLS)
def test_calls(case: str, deltas: list[list[dict[str, Any]]], calls: list[tuple[str, str, str]]) -> None:
    expected = tuple(ToolCall(*call) for call in calls)
    events = decoded(wire(*(calls_chunk(*entries) for entries in deltas), chunk({}, "tool_calls")))
    assert response_of(events).message.tool_calls == expected
    complete = [event for event in events if isinstance(event, ToolCallComplete)]
    assert complete == [ToolCallComplete(place, call) for place, call in enumerate(expected)]
    for place, call in enumerate(expected):
        pieces = [event for event in events if isinstance(event, ToolCallDelta) and event.index == place]
        assert "".join(piece.arguments for piece in pieces) == call.arguments
        assert (pieces[-1].id, pieces[-1].name) == (call.id, call.name)


class Server:
    """A model that gives streams of bytes, one per request."""

    def __init__(self, *streams: bytes) -> None:
        self.streams = list(streams)
        self.requests: list[ChatRequest] = []

    def chat(self, request: ChatRequest) -> ChatResponse:
        raise AssertionError("a stream was to be asked for")

    async def achat(self, request: ChatRequest) -> ChatResponse:
        raise AssertionError("a stream was to be asked for")

    def stream(self, request: ChatRequest) -> Iterator[ModelEvent]:
        self.requests.append(request)
        yield from decoded(self.streams.pop(0))


def test_b097_calls_without_ids_get_some_and_their_results_the_same() -> None:
    ran: list[str] = []

    @tool
    def ping() -> str:
        """Pings."""
        ran.append("ping")
        return "pong"

    first = wire(calls_chunk(entry(0, None, "ping", "{}")), calls_chunk(entry(1, None, "ping", "{}")))
    model = Server(first, wire(chunk({"content": "done"}, "stop")))
    with stream_tools(model, [UserMessage("go")], [ping]) as stream:
        list(stream)
    assert ran == ["ping", "ping"]
    [_, answer, *results] = model.requests[1].messages
    assert isinstance(answer, AiMessage)
    ids = [call.id for call in answer.tool_calls]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [result.id for result in results if isinstance(result, ToolResultMessage)] == ids


@pytest.mark.parametrize("choices", [[], None, "absent"])
def test_b098_the_last_chunk_holds_only_the_usage(choices: Any) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    last = {"usage": usage} if choices == "absent" else {"choices": choices, "usage": usage}
    data = wire(chunk({"content": "hi"}), chunk({}, "stop"), last)
    response = response_of(decoded(data))
    assert response.message.text == "hi"
    assert response.usage == TokenUsage(3, 1, 4)


def test_b098_usage_in_each_chunk_is_a_running_total() -> None:
    usages = [
        {"prompt_tokens": 3, "completion_tokens": count, "total_tokens": 3 + count} for count in (1, 2, 3)
    ]
    data = wire(*(chunk({"content": "x"}, usage=usage) for usage in usages), chunk({}, "stop"))
    assert response_of(decoded(data)).usage == TokenUsage(3, 3, 6)
