"""The scripted model, whole and piece by piece, and models that cannot stream."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fasttool.errors import ConfigurationError, ModelConnectionError, ModelError, ModelResponseError
from fasttool.messages import AiMessage, ChatRequest, ChatResponse, FinishReason, ToolCall, UserMessage
from fasttool.models import ScriptedChatModel, ScriptedStream, StreamingChatModel
from fasttool.models.protocol import ChatModel, astream_of, stream_of
from fasttool.models.stream import (
    ModelEvent,
    ResponseComplete,
    TextDelta,
    ToolCallComplete,
    ToolCallDelta,
    is_whole,
)

HELLO = ChatRequest([UserMessage("hello")])
CALLS = (ToolCall("a", "f", '{"x": 12}'), ToolCall("b", "g", ""))
MESSAGE = AiMessage("Hello you", CALLS)
RESPONSE = ChatResponse(MESSAGE, finish_reason=FinishReason.TOOL_CALLS)


class Whole:
    """A model that cannot stream."""

    def __init__(self, response: ChatResponse) -> None:
        self.response = response

    def chat(self, request: ChatRequest) -> ChatResponse:
        return self.response

    async def achat(self, request: ChatRequest) -> ChatResponse:
        return self.response


def both_ways(*replies: Any, **options: Any) -> list[ModelEvent]:
    """Return the events of the first reply, which are the same both ways."""
    events = list(stream_of(ScriptedChatModel(replies, **options), HELLO))
    assert asyncio.run(collect(ScriptedChatModel(replies, **options))) == events
    return events


async def collect(model: ChatModel) -> list[ModelEvent]:
    return [event async for event in astream_of(model, HELLO)]


def test_a_message_in_pieces() -> None:
    assert isinstance(ScriptedChatModel([]), StreamingChatModel)
    assert both_ways(MESSAGE, chunk_size=5) == [
        TextDelta("Hello"),
        TextDelta(" you"),
        ToolCallDelta(0, "a", "f", '{"x":'),
        ToolCallDelta(0, "a", "f", " 12}"),
        ToolCallComplete(0, CALLS[0]),
        ToolCallDelta(1, "b", "g", ""),
        ToolCallComplete(1, CALLS[1]),
        ResponseComplete(RESPONSE),
    ]
    assert both_ways(AiMessage(None)) == [
        ResponseComplete(ChatResponse(AiMessage(None), finish_reason=FinishReason.STOP))
    ]
    assert both_ways(lambda request: AiMessage(request.messages[-1].text))[0] == TextDelta("hell")


def test_a_call_that_was_cut_off_is_not_complete() -> None:
    calls = (ToolCall("a", "f", "{'x'"), ToolCall("b", "g", '{"half": '))
    response = ChatResponse(AiMessage(None, calls), finish_reason=FinishReason.LENGTH)
    complete = [event for event in both_ways(response) if isinstance(event, ToolCallComplete)]
    assert complete == [ToolCallComplete(0, calls[0])]
    assert list(stream_of(Whole(response), HELLO)) == [*complete, ResponseComplete(response)]


def test_a_scripted_stream_is_given_as_it_is() -> None:
    events: list[ModelEvent] = [TextDelta("x"), ToolCallComplete(0, CALLS[0]), ResponseComplete(RESPONSE)]
    assert both_ways(ScriptedStream(events)) == events
    assert ScriptedChatModel([ScriptedStream(events)]).chat(HELLO) == RESPONSE
    assert both_ways(ScriptedStream([TextDelta("x")])) == [TextDelta("x")]


def test_an_exception_in_the_middle_of_a_stream() -> None:
    stream = ScriptedStream([TextDelta("x"), ModelConnectionError("cut"), ResponseComplete(RESPONSE)])
    model = ScriptedChatModel([stream, stream])
    events = model.stream(HELLO)
    assert next(events) == TextDelta("x")
    with pytest.raises(ModelConnectionError, match="cut"):
        next(events)
    with pytest.raises(ModelConnectionError, match="cut"):
        model.chat(HELLO)
    assert len(model.requests) == 2


def test_a_stream_without_an_answer_is_none() -> None:
    with pytest.raises(ModelResponseError, match="without an answer"):
        ScriptedChatModel([ScriptedStream([])]).chat(HELLO)


def test_exceptions_and_the_end_of_the_script() -> None:
    model = ScriptedChatModel([ValueError("no")])
    with pytest.raises(ValueError, match="no"):
        list(model.stream(HELLO))
    with pytest.raises(ModelError, match="request 2 has none"):
        list(model.stream(HELLO))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ScriptedChatModel(["text"]), "got str"),  # type: ignore[list-item]
        (lambda: ScriptedChatModel([], chunk_size=0), "chunk_size"),
        (lambda: ScriptedStream(["text"]), "got str"),  # type: ignore[list-item]
        (lambda: ScriptedChatModel([lambda request: 7]).chat(HELLO), "gave a int"),
    ],
)
def test_what_cannot_be_a_script(make: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        make()


def test_a_model_that_cannot_stream_gives_all_at_once() -> None:
    model = Whole(RESPONSE)
    assert not isinstance(model, StreamingChatModel)
    events = list(stream_of(model, HELLO))
    assert events == [
        TextDelta("Hello you"),
        ToolCallComplete(0, CALLS[0]),
        ToolCallComplete(1, CALLS[1]),
        ResponseComplete(RESPONSE),
    ]
    assert asyncio.run(collect(model)) == events


@pytest.mark.parametrize(
    ("arguments", "whole"),
    [("{}", True), (' {"a": 1}\n', True), ('{"a": "\\ud800"}', True), ("", False), ('{"a": 1', False)]
    + [(text, False) for text in ("null", '"{}"', "[{}]", "{}}", "{'a': 1}", '{"a": {}')],
)
def test_whole_arguments(arguments: str, whole: bool) -> None:
    assert is_whole(arguments) is whole
