"""Streamed answers: the servers' dialects, bytes cut anywhere, and the same response as in one piece."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttool.errors import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelRateLimitError,
    ModelRequestError,
    ModelResponseError,
    ModelServerError,
)
from fasttool.messages import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ProviderContent,
    TokenUsage,
    ToolCall,
)
from fasttool.models import openai_stream, openai_stream_calls
from fasttool.models.openai_codec import decode_response, tool_names
from fasttool.models.openai_stream import StreamDecoder
from fasttool.models.stream import (
    ModelEvent,
    ReasoningDelta,
    ResponseComplete,
    TextDelta,
    ToolCallComplete,
    ToolCallDelta,
)
from fasttool.specification import ToolSpecification
from tests.stream_events import calls_chunk, chunk, decoded, entry, merged, response_of, wire

USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def said(*chunks: Any, **options: Any) -> ChatResponse:
    return response_of(decoded(wire(*chunks), **options))


# ------------------------------------------------------------------------------- whole answers
WHOLE: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"content": "Hello, 上海 😀"},
        [{"role": "assistant", "content": ""}, {"content": "Hello, 上"}, {"content": "海 😀"}],
    ),
    ({"content": ""}, [{"role": "assistant", "content": ""}, {}]),
    ({"content": None}, [{"role": "assistant"}, {"content": None}]),
    ({"content": None, "refusal": "I cannot."}, [{"content": None, "refusal": "I "}, {"refusal": "cannot."}]),
    (
        {"content": None, "audio": {"transcript": "Good day"}},
        [
            {"audio": {"id": "a", "transcript": "Good "}},
            {"audio": {"transcript": "day"}},
            {"audio": {"data": "AA=="}},
        ],
    ),
    (
        {
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}},
            ],
        },
        [
            {"role": "assistant", "content": None},
            {"tool_calls": [entry(0, "c1", "f", "", type="function")]},
            {"tool_calls": [entry(0, None, None, '{"a": ')]},
            {"tool_calls": [entry(0, None, None, "1}")]},
            {"tool_calls": [entry(1, "c2", "g", "", type="function")]},
        ],
    ),
    (
        {"content": "Wait.", "function_call": {"name": "f", "arguments": '{"a":1}'}},
        [
            {"content": "Wait."},
            {"function_call": {"name": "f", "arguments": '{"a"'}},
            {"function_call": {"arguments": ":1}"}},
        ],
    ),
    (
        {"content": "4", "reasoning_content": "2 and 2", "reasoning": "2 and 2"},
        [
            {"reasoning_content": "2 and ", "reasoning": "2 and ", "content": None},
            {"reasoning_content": "2", "reasoning": "2"},
            {"content": "4"},
        ],
    ),
    (
        {
            "content": "4",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "2 and 2", "format": "x", "index": 0, "signature": "s"},
                {"type": "reasoning.encrypted", "data": "xyz", "index": 1},
                {"type": "reasoning.encrypted", "data": "abc", "index": 1},
            ],
        },
        [
            {"reasoning_details": [{"type": "reasoning.text", "text": "2 and", "format": "x", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.text", "text": " 2", "format": "x", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.text", "signature": "s", "format": "x", "index": 0}]},
            {
                "content": "4",
                "reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz", "index": 1}],
            },
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "abc", "index": 1}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "abc", "index": 1}]},
        ],
    ),
    (
        {
            "content": None,
            "thinking_signature": "sig",
            "extra_content": {"a": {"b": 1}, "c": 2},
            "tool_calls": [
                {
                    "id": "c1",
                    "function": {"name": "f", "arguments": "{}"},
                    "extra_content": {"google": {"thought_signature": "t"}},
                }
            ],
        },
        [
            {"thinking_signature": "si", "extra_content": {"a": {"b": 1}}},
            {"thinking_signature": "g", "extra_content": {"c": 2}},
            {"tool_calls": [entry(0, "c1", "f", "{}")]},
            {"tool_calls": [entry(0, extra_content={"google": {"thought_signature": "t"}})]},
            {"thinking_signature": "sig"},
        ],
    ),
    (
        {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": " two"}]},
        [
            {"content": [{"type": "text", "text": "one"}]},
            {"content": []},
            {"content": [{"type": "text", "text": " two"}]},
        ],
    ),
    (
        {"content": None, "tool_calls": [{"id": 7, "function": {"name": "f", "arguments": {"n": 2**70}}}]},
        [{"tool_calls": [{"id": 7, "function": {"name": "f", "arguments": {"n": 2**70}}}]}],
    ),
]


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "length", "eos", "strange"])
@pytest.mark.parametrize(("message", "deltas"), WHOLE)
def test_the_response_is_that_of_the_same_answer_in_one_piece(
    message: dict[str, Any], deltas: list[dict[str, Any]], reason: str
) -> None:
    fields = {"id": "r1", "model": "m-1"}
    body = {**fields, "usage": USAGE, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
    chunks = [chunk(delta, **fields) for delta in deltas]
    events = decoded(wire(*chunks, chunk({}, reason, **fields), {**fields, "choices": [], "usage": USAGE}))
    response = response_of(events)
    assert response == decode_response(json.dumps(body).encode())
    assert response.usage == TokenUsage(9, 4, 13, None, 2)
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text == (response.message.text or "")
    assert isinstance(events[-1], ResponseComplete)


def test_the_order_of_events() -> None:
    data = wire(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "Hello"}),
        calls_chunk(entry(0, "a", "f", "")),
        calls_chunk(entry(0, None, None, '{"x":1}')),
        calls_chunk(entry(1, "b", "g", "{}")),
        chunk({}, "tool_calls"),
    )
    events = decoded(data)
    calls = (ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", "{}"))
    message = AiMessage("Hello", calls, (ProviderContent("openai", {"reasoning_content": "hm"}),))
    assert events == [
        ReasoningDelta("hm"),
        TextDelta("Hello"),
        ToolCallDelta(0, "a", "f", ""),
        ToolCallDelta(0, "a", "f", '{"x":1}'),
        ToolCallComplete(0, calls[0]),
        ToolCallDelta(1, "b", "g", "{}"),
        ToolCallComplete(1, calls[1]),
        ResponseComplete(ChatResponse(message, finish_reason=FinishReason.TOOL_CALLS)),
    ]


def test_a_call_is_complete_as_soon_as_the_next_one_begins() -> None:
    decoder = StreamDecoder()
    assert ToolCallComplete not in map(
        type, decoder.feed(wire(calls_chunk(entry(0, "a", "f", "{}")), done=False))
    )
    events = decoder.feed(wire(calls_chunk(entry(1, "b", "g", "")), done=False))
    assert events == [ToolCallComplete(0, ToolCall("a", "f", "{}")), ToolCallDelta(1, "b", "g", "")]


def test_calls_in_turns_are_complete_when_they_are_whole() -> None:
    events = decoded(
        wire(
            calls_chunk(entry(0, "a", "f", ""), entry(1, "b", "g", "")),
            calls_chunk(entry(1, None, None, '{"y":'), entry(0, None, None, '{"x":')),
            calls_chunk(entry(0, None, None, "1}"), entry(1, None, None, "2}")),
            chunk({}, "tool_calls"),
        )
    )
    expected = (ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", '{"y":2}'))
    assert [event for event in events if isinstance(event, ToolCallComplete)] == [
        ToolCallComplete(0, expected[0]),
        ToolCallComplete(1, expected[1]),
    ]
    assert response_of(events).message.tool_calls == expected


# ------------------------------------------------------------------------ dialects of the calls
DIALECTS: dict[str, tuple[list[Any], list[tuple[str, str, str]]]] = {
    "no index, whole calls, new ids": (
        [calls_chunk(entry(None, "a", "w", '{"p":1}')), calls_chunk(entry(None, "b", "w", '{"p":2}'))],
        [("a", "w", '{"p":1}'), ("b", "w", '{"p":2}')],
    ),
    "no index, no ids, whole calls in one chunk": (
        [
            calls_chunk(
                entry(None, "", "w", '{"p":1}'), entry(None, "", "w", '{"p":2}'), entry(None, "", "v", "{}")
            )
        ],
        [("", "w", '{"p":1}'), ("", "w", '{"p":2}'), ("", "v", "{}")],
    ),
    "no index, no ids, equal calls in one chunk": (
        [calls_chunk(entry(None, None, "roll", "{}"), entry(None, None, "roll", "{}"))],
        [("", "roll", "{}"), ("", "roll", "{}")],
    ),
    "no index, no ids, calls without arguments in one chunk": (
        [calls_chunk(entry(None, None, "roll"), entry(None, None, "roll"))],
        [("", "roll", ""), ("", "roll", "")],
    ),
    "no index, no ids, one after the other": (
        [calls_chunk(entry(None, None, "w", '{"p":1}')), calls_chunk(entry(None, None, "w", '{"p":2}'))],
        [("", "w", '{"p":1}'), ("", "w", '{"p":2}')],
    ),
    "no index, in pieces": (
        [
            calls_chunk(entry(None, "a", "w", "")),
            calls_chunk(entry(None, None, None, '{"p"')),
            calls_chunk(entry(None, None, None, ":1}")),
            calls_chunk(entry(None, "b", "v", "")),
            calls_chunk(entry(None, None, None, "{}")),
        ],
        [("a", "w", '{"p":1}'), ("b", "v", "{}")],
    ),
    "no index, id in each piece, in turns": (
        [
            calls_chunk(entry(None, "a", "w", ""), entry(None, "b", "v", "")),
            calls_chunk(entry(None, "b", None, '{"q"')),
            calls_chunk(entry(None, "a", None, '{"p"')),
            calls_chunk(entry(None, "b", None, ":2}")),
            calls_chunk(entry(None, "a", None, ":1}")),
        ],
        [("a", "w", '{"p":1}'), ("b", "v", '{"q":2}')],
    ),
    "no index, one id for all": (
        [
            calls_chunk(entry(None, "call_w", "w", '{"p":1}')),
            calls_chunk(entry(None, "call_w", "w", '{"p":2}')),
        ],
        [("call_w", "w", '{"p":1}'), ("call_w", "w", '{"p":2}')],
    ),
    "index null": (
        [
            calls_chunk({"index": None, "id": "a", "function": {"name": "w", "arguments": ""}}),
            calls_chunk({"index": None, "id": None, "function": {"name": None, "arguments": "{}"}}),
        ],
        [("a", "w", "{}")],
    ),
    "index 0 for all, new ids, in pieces": (
        [
            calls_chunk(entry(0, "a", "w", "")),
            calls_chunk(entry(0, None, None, '{"p":1}')),
            calls_chunk(entry(0, "b", "w", "")),
            calls_chunk(entry(0, None, None, '{"p":2}')),
        ],
        [("a", "w", '{"p":1}'), ("b", "w", '{"p":2}')],
    ),
    "index 0 for all, in turns": (
        [
            calls_chunk(entry(0, "a", "w", ""), entry(0, "b", "v", "")),
            calls_chunk(entry(0, "a", None, '{"p":'), entry(0, "b", None, '{"q":')),
            calls_chunk(entry(0, "b", None, "2}"), entry(0, "a", None, "1}")),
        ],
        [("a", "w", '{"p":1}'), ("b", "v", '{"q":2}')],
    ),
    "index 0 for all, no ids": (
        [calls_chunk(entry(0, None, "w", '{"p":1}')), calls_chunk(entry(0, None, "v", '{"p":2}'))],
        [("", "w", '{"p":1}'), ("", "v", '{"p":2}')],
    ),
    "index 0 for all, no ids, one name": (
        [calls_chunk(entry(0, None, "w", '{"p":1}')), calls_chunk(entry(0, None, "w", '{"p":2}'))],
        [("", "w", '{"p":1}'), ("", "w", '{"p":2}')],
    ),
    "index that begins at 1": (
        [calls_chunk(entry(1, "a", "w", "{}")), calls_chunk(entry(2, "b", "v", "{}"))],
        [("a", "w", "{}"), ("b", "v", "{}")],
    ),
    "index that counts the pieces": (
        [
            calls_chunk(entry(0, "a", "w", "")),
            calls_chunk(entry(1, None, None, '{"p":')),
            calls_chunk(entry(2, "a", None, "1}")),
        ],
        [("a", "w", '{"p":1}')],
    ),
    "index that is nonsense": (
        [calls_chunk(entry("x", "a", "w", '{"p"')), calls_chunk(entry(-1, "a", None, ":1}"))],
        [("a", "w", '{"p":1}')],
    ),
    "one id for several indexes": (
        [calls_chunk(entry(0, "x", "w", '{"p":1}')), calls_chunk(entry(1, "x", "w", '{"p":2}'))],
        [("x", "w", '{"p":1}'), ("x", "w", '{"p":2}')],
    ),
    "another id in each piece": (
        [
            calls_chunk(entry(0, "r1", "w", '{"p"')),
            calls_chunk(entry(0, "r2", None, ":1")),
            calls_chunk(entry(0, "r3", None, "}")),
        ],
        [("r1", "w", '{"p":1}')],
    ),
    "another id and the name in each piece": (
        [calls_chunk(entry(0, "r1", "w", '{"p"')), calls_chunk(entry(0, "r2", "w", ":1}"))],
        [("r1", "w", '{"p":1}')],
    ),
    "id and name in each piece": (
        [calls_chunk(entry(0, "a", "w", piece)) for piece in ('{"p"', ":", '{"q":1}', "}")],
        [("a", "w", '{"p":{"q":1}}')],
    ),
    "id at last": (
        [calls_chunk(entry(0, None, "w", "")), calls_chunk(entry(0, "a", None, "{}"))],
        [("a", "w", "{}")],
    ),
    "name after the id": (
        [
            calls_chunk(entry(0, "a", "w", "{}")),
            calls_chunk(entry(1, "b")),
            calls_chunk(entry(1, None, "v", "")),
            calls_chunk(entry(1, None, None, "{}")),
        ],
        [("a", "w", "{}"), ("b", "v", "{}")],
    ),
    "name a little longer each time": (
        [calls_chunk(entry(0, "a", name)) for name in ("get", "get_ti", "get_time")],
        [("a", "get_time", "")],
    ),
    "name in three parts": (
        [calls_chunk(entry(0, "a", name)) for name in ("get", "_", "time")],
        [("a", "get_time", "")],
    ),
    "all arguments once more, as a whole": (
        [
            calls_chunk(entry(0, "a", "w", '{"p"')),
            calls_chunk(entry(0, None, None, ":1}")),
            calls_chunk(entry(0, "a", "w", '{"p":1}')),
        ],
        [("a", "w", '{"p":1}')],
    ),
    "all arguments after a part of them": (
        [calls_chunk(entry(0, "a", "w", '{"p"')), calls_chunk(entry(0, None, None, '{"p":1}'))],
        [("a", "w", '{"p":1}')],
    ),
    "an empty object before the arguments": (
        [
            calls_chunk(entry(0, "a", "w", "{}")),
            calls_chunk(entry(0, None, None, '{"p"')),
            calls_chunk(entry(0, None, None, ":1}")),
        ],
        [("a", "w", '{"p":1}')],
    ),
    "arguments as an object": (
        [calls_chunk(entry(0, "a", "w", {"p": 12345678901234567890123}))],
        [("a", "w", '{"p":12345678901234567890123}')],
    ),
    "other arguments for a call that is whole are an error of the arguments": (
        [calls_chunk(entry(0, "a", "w", '{"p":1}')), calls_chunk(entry(0, None, None, '{"p":2}'))],
        [("a", "w", '{"p":1}{"p":2}')],
    ),
    "a call that is complete takes no more": (
        [
            calls_chunk(entry(0, "a", "w", "{}")),
            calls_chunk(entry(1, "b", "v", "{}")),
            calls_chunk(entry(0, None, None, "\n")),
        ],
        [("a", "w", "{}"), ("b", "v", "{}")],
    ),
    "calls in the last chunk": (
        [chunk({"tool_calls": [entry(0, "a", "w", "{}")]}, "tool_calls")],
        [("a", "w", "{}")],
    ),
    "calls after the last chunk": (
        [chunk({}, "tool_calls"), calls_chunk(entry(0, "a", "w", "{}"))],
        [("a", "w", "{}")],
    ),
    "nothing in between": (
        [
            calls_chunk(),
            calls_chunk(None, {}, entry(0)),
            calls_chunk(entry(0, "a", "w", "{}")),
            chunk(None),
            {"choices": [None]},
        ],
        [("a", "w", "{}")],
    ),
    "the whole message in place of a delta": (
        [{"choices": [{"message": {"content": None, "tool_calls": [entry(None, "a", "w", "{}")]}}]}],
        [("a", "w", "{}")],
    ),
}


@pytest.mark.parametrize(("chunks", "calls"), DIALECTS.values(), ids=DIALECTS)
def test_dialects(chunks: list[Any], calls: list[tuple[str, str, str]]) -> None:
    events = decoded(wire(*chunks, chunk({}, "tool_calls")))
    response = response_of(events)
    assert [(call.id, call.name, call.arguments) for call in response.message.tool_calls] == calls
    complete = [event for event in events if isinstance(event, ToolCallComplete)]
    assert complete == [
        ToolCallComplete(place, call) for place, call in enumerate(response.message.tool_calls)
    ]


def test_names_are_those_of_the_tools() -> None:
    names = tool_names(ChatRequest([], [ToolSpecification("calendar.list")]))
    data = wire(calls_chunk(entry(0, "a", "calendar_list", "{}")), chunk({}, "tool_calls"))
    events = decoded(data, names=names)
    call = ToolCall("a", "calendar.list", "{}")
    assert events[:2] == [ToolCallDelta(0, "a", "calendar.list", "{}"), ToolCallComplete(0, call)]
    assert response_of(events).message.tool_calls == (call,)


def test_only_the_first_choice_is_read() -> None:
    both = [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}}]
    other = {"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]}
    response = said({"choices": both}, other, chunk({}, "stop"))
    assert (response.message.text, response.finish_reason) == ("yes", FinishReason.STOP)


# ------------------------------------------------------------------------------- other servers
@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf", b": welcome\n\n", b"\n\n"])
def test_lines(head: bytes, line_end: str) -> None:
    data = head + wire(chunk({"content": "é\n"}), chunk({}, "stop"), line_end=line_end)
    expected = decoded(wire(chunk({"content": "é\n"}), chunk({}, "stop")))
    assert decoded(data) == expected
    assert decoded(data[place : place + 1] for place in range(len(data))) == expected


def test_comments_names_and_several_lines_of_data() -> None:
    text = json.dumps(chunk({"content": "x"}, "stop"), indent=1).replace("\n", "\ndata: ")
    data = (
        f": ping\n\nevent: message\nid: 4\ndata: {text}\n\nevent: ping\ndata: now\n\ndata:\n\ndata: null\n\n"
    )
    assert response_of(decoded(data.encode() + b"data: [DONE]\n\n")).message.text == "x"


@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b"data: [DONE]", b"data:[DONE]\n", b""])
def test_the_end_of_the_stream(end: bytes) -> None:
    data = wire(chunk({"content": "x"}), chunk({}, "stop"), done=False) + end
    assert response_of(decoded(data)).message.text == "x"


def test_the_last_event_without_its_empty_line() -> None:
    assert (
        response_of(decoded(wire(chunk({"content": "x"}, "stop"), done=False).rstrip())).message.text == "x"
    )


def test_done_without_a_reason() -> None:
    response = said(chunk({"content": "x"}))
    assert (response.message.text, response.finish_reason) == ("x", None)


def test_nothing_is_read_after_done() -> None:
    decoder = StreamDecoder()
    events = decoder.feed(wire(chunk({"content": "x"}, "stop")) + b"data: rubbish\n\n")
    assert isinstance(events[-1], ResponseComplete)
    assert decoder.is_complete
    assert decoder.feed(b"data: more rubbish\n\n") == []
    assert decoder.end() == []
    assert decoder.failure is None


def test_surrogates_that_no_utf8_carries() -> None:
    data = b'data: {"choices": [{"delta": {"content": "a\\ud83d"}, "finish_reason": "stop"}]}\n\n'
    assert response_of(decoded(data)).message.text == "a\ufffd"


def test_an_answer_in_one_piece() -> None:
    message = {"content": "hi", "tool_calls": [entry(None, "a", "f", "{}"), entry(None, "b", "g", '{"half')]}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "length"}]}, indent=1).encode()
    for data in (body, b"\xef\xbb\xbf" + body, b" \n" + body):
        events = decoded(data[place : place + 1] for place in range(len(data)))
        assert events == [
            TextDelta("hi"),
            ToolCallComplete(0, ToolCall("a", "f", "{}")),
            ResponseComplete(decode_response(body)),
        ]
        assert decoded(data) == events


# ----------------------------------------------------------------------------------- cut short
@pytest.mark.parametrize("reason", ["length", "max_tokens", "content_filter"])
@pytest.mark.parametrize("arguments", ["", '{"x": "half', '{"x": {}'])
def test_a_call_that_was_cut_off_is_in_the_response_only(reason: str, arguments: str) -> None:
    data = wire(
        calls_chunk(entry(0, "a", "f", "{}")), calls_chunk(entry(1, "b", "g", arguments)), chunk({}, reason)
    )
    events = decoded(data)
    calls = response_of(events).message.tool_calls
    assert calls == (ToolCall("a", "f", "{}"), ToolCall("b", "g", arguments))
    assert [event for event in events if isinstance(event, ToolCallComplete)] == [
        ToolCallComplete(0, calls[0])
    ]


def test_a_whole_call_of_an_answer_that_was_cut_off_is_complete() -> None:
    events = decoded(wire(calls_chunk(entry(0, "a", "f", '{"x": 1}')), chunk({}, "length")))
    assert ToolCallComplete(0, ToolCall("a", "f", '{"x": 1}')) in events


def test_wrong_arguments_are_complete_where_the_model_ended_by_itself() -> None:
    events = decoded(wire(calls_chunk(entry(0, "a", "f", "{'x': 1}")), chunk({}, "tool_calls")))
    assert ToolCallComplete(0, ToolCall("a", "f", "{'x': 1}")) in events


CUT = wire(chunk({"content": "x"}), calls_chunk(entry(0, "a", "f", '{"p": 1')), done=False)


@pytest.mark.parametrize(
    "data", [b"", b": ping\n\n", b"data: {", b"dat", CUT, CUT[:-1], CUT[:-9], CUT + b"data: [DO"]
)
def test_a_stream_that_ends_too_early(data: bytes) -> None:
    decoder = StreamDecoder()
    events = decoder.feed(data)
    with pytest.raises(ModelConnectionError, match="ended before the answer was complete"):
        events += decoder.end()
    assert not {ToolCallComplete, ResponseComplete} & set(map(type, events))
    for again in (decoder.end, lambda: decoder.feed(b"")):
        with pytest.raises(ModelConnectionError):
            again()


# -------------------------------------------------------------------------------------- errors
ERRORS: list[tuple[Any, type[ModelError], int | None]] = [
    ({"error": {"message": "slow down", "code": 429}}, ModelRateLimitError, 429),
    ({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, ModelRateLimitError, None),
    (
        {"error": {"message": "slow down", "type": "insufficient_quota", "code": None}},
        ModelRateLimitError,
        None,
    ),
    ({"error": {"message": "slow down", "code": "invalid_api_key"}}, ModelAuthenticationError, None),
    ({"error": {"message": "slow down", "code": "401"}}, ModelAuthenticationError, 401),
    ({"error": {"message": "slow down", "type": "server_error"}}, ModelServerError, None),
    ({"error": {"message": "slow down", "type": "overloaded_error"}}, ModelServerError, None),
    ({"error": {"message": "slow down", "code": 502}, "choices": []}, ModelServerError, 502),
    ({"error": {"message": "slow down", "type": "invalid_request_error"}}, ModelRequestError, None),
    ({"error": {"message": "slow down", "status": 404}}, ModelRequestError, 404),
    ({"error": {"message": "slow down"}}, ModelResponseError, None),
    ({"error": "slow down"}, ModelResponseError, None),
    ({"error": {"message": "slow down", "code": 7, "type": ["x"]}}, ModelResponseError, None),
    (
        {"object": "error", "message": "slow down", "type": "BadRequestError", "code": 400},
        ModelRequestError,
        400,
    ),
    ({"message": "slow down", "code": 503}, ModelServerError, 503),
    ({"detail": "slow down"}, ModelResponseError, None),
    ({"choices": [{"delta": {}, "error": {"code": 502, "message": "slow down"}}]}, ModelServerError, 502),
]


@pytest.mark.parametrize(("event", "kind", "status"), ERRORS)
def test_errors_in_the_stream(event: Any, kind: type[ModelError], status: int | None) -> None:
    decoder = StreamDecoder()
    events = decoder.feed(wire(chunk({"content": "x"}), event, chunk({"content": "y"})))
    assert events == [TextDelta("x")]
    assert type(decoder.failure) is kind
    assert decoder.failure.status == status
    assert "slow down" in str(decoder.failure)
    for more in (lambda: decoder.feed(b""), decoder.end):
        with pytest.raises(kind):
            more()


@pytest.mark.parametrize("data", [b'{"message": "slow down"}', b"slow down", b'"slow down"'])
def test_errors_by_the_name_of_the_event(data: bytes) -> None:
    with pytest.raises(ModelResponseError, match="slow down"):
        decoded(b"event: error\ndata: " + data + b"\n\n")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"data: rubbish\n\n", "not JSON .*: rubbish"),
        (b"data: [1]\n\n", r"not a JSON object: \[1\]"),
        (b"<html>login</html>\n", "not a stream of events: <html>login</html>"),
        (wire(calls_chunk(entry(0, "a", None, "{}"))), "names no function"),
        (wire(chunk({"tool_calls": "x"})), "not a list"),
        (b"data: [DONE]\n\n", "no choices"),
        (b'{"error": {"message": "over"}}', "tells an error: over"),
        (b'{"choices": [', "not JSON"),
    ],
)
def test_what_is_no_answer(data: bytes, says: str) -> None:
    with pytest.raises(ModelResponseError, match=says):
        decoded(data)
    with pytest.raises(ModelResponseError, match=says):
        decoded(data[place : place + 1] for place in range(len(data)))


@pytest.mark.parametrize(
    "data",
    [
        wire({"error": {"message": "wrong key sk-secret"}}),
        b"data: sk-secret\n\n",
        b'data: "sk-secret"\n\n',
        b"event: error\ndata: sk-secret\n\n",
        b"sk-secret",
        b'{"error": "sk-secret"}',
        wire(chunk({"tool_calls": "sk-secret"})),
        wire(calls_chunk(entry(0, "sk-secret", None, "{}"))),
    ],
)
def test_errors_show_no_secrets(data: bytes) -> None:
    with pytest.raises(ModelResponseError, match=r"\*\*\*") as caught:
        decoded(data, without_secrets=lambda text: text.replace(b"sk-secret", b"***"))
    assert "sk-secret" not in str(caught.value)


def test_secrets_whose_removal_breaks_the_json() -> None:
    with pytest.raises(ModelResponseError, match="tells an error"):
        decoded(wire({"error": "x"}), without_secrets=lambda text: text.replace(b'"', b"***"))


# ---------------------------------------------------------------------------- size and cutting
def test_an_event_of_two_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "é" * 2**20
    data = wire(chunk({"content": text}, "stop"))
    events = decoded(data[place : place + 8191] for place in range(0, len(data), 8191))
    assert events[0] == TextDelta(text)


@pytest.mark.parametrize(
    "delta",
    [{"content": "x" * 60}, {"reasoning_content": "x" * 60}, {"tool_calls": [entry(0, "a", "f", "x" * 60)]}],
)
def test_an_answer_that_does_not_end(delta: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_stream, "ANSWER_LIMIT", 3000)
    with pytest.raises(ModelResponseError, match="larger than the limit, 3,000 characters"):
        decoded(wire(chunk(delta), done=False) for _ in range(100))


def test_an_answer_in_one_piece_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_stream, "ANSWER_LIMIT", 3000)
    with pytest.raises(ModelResponseError, match="larger than the limit"):
        decoded(b"{" + b" " * 100 for _ in range(100))


def test_pieces_are_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred thousand pieces, of which the text of the arguments is looked at twice."""
    looked_at: list[int] = []
    is_whole = openai_stream_calls.is_whole

    def counting(arguments: str) -> bool:
        looked_at.append(len(arguments))
        return is_whole(arguments)

    monkeypatch.setattr(openai_stream_calls, "is_whole", counting)
    count = 200_000
    decoder = StreamDecoder()
    decoder.feed(wire(calls_chunk(entry(0, "a", "f", '{"x": "')), done=False))
    piece = wire(calls_chunk(entry(0, None, None, "{}}")), done=False)
    events: list[ModelEvent] = []
    for _ in range(count // 100):
        found = decoder.feed(piece * 100)
        assert len(found) == 100
    assert len(decoder._calls.calls[0]._pieces) == count + 1
    events = decoder.feed(wire(calls_chunk(entry(0, None, None, '"}')), chunk({}, "tool_calls")))
    [call] = response_of(events).message.tool_calls
    assert len(call.arguments) == 3 * count + 9
    assert looked_at == [len(call.arguments)]


def test_pieces_of_text_are_joined_once() -> None:
    decoder = StreamDecoder()
    piece = wire(chunk({"content": "ab"}), chunk({"reasoning_content": "cd"}), done=False) * 1000
    for _ in range(100):
        assert len(decoder.feed(piece)) == 2000
    message = response_of(decoder.feed(wire(chunk({}, "stop")))).message
    assert message.text == "ab" * 100_000
    assert message.contents == (ProviderContent("openai", {"reasoning_content": "cd" * 100_000}),)


TEXTS = st.text(st.sampled_from('a"\\{}é上😀\n\r\u2028'), max_size=6)
DELTAS = st.one_of(
    st.builds(lambda text: {"content": text}, TEXTS),
    st.builds(lambda text: {"role": "assistant", "reasoning_content": text}, TEXTS),
    st.builds(
        lambda entries: {"tool_calls": entries},
        st.lists(
            st.builds(
                entry,
                st.sampled_from([None, 0, 1, 2, "1"]),
                st.sampled_from([None, "", "a", "b"]),
                st.sampled_from([None, "f", "g"]),
                st.sampled_from([None, "", "{}", '{"x":', "1}", '{"x":1}', '{"é": "😀"}']),
            ),
            max_size=3,
        ),
    ),
)
ENDS = st.sampled_from(
    [
        [chunk({}, "stop")],
        [chunk({}, "tool_calls"), {"choices": [], "usage": USAGE}],
        [chunk({}, "length")],
        [],
        [{"error": {"message": "over", "code": 500}}],
        ["rubbish"],
    ]
)


@given(st.lists(DELTAS, max_size=8), ENDS, st.booleans(), st.sampled_from(["\n", "\r", "\r\n"]), st.data())
def test_how_the_bytes_are_cut_makes_no_difference(
    deltas: list[Any], end: list[Any], done: bool, line_end: str, data: st.DataObject
) -> None:
    sent = wire(*map(chunk, deltas), *end, done=done, line_end=line_end)
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=20))
    places = sorted({0, len(sent), *cuts})
    pieces = [sent[start:stop] for start, stop in itertools.pairwise(places)]

    def run(*given: bytes) -> tuple[list[ModelEvent], str | None]:
        decoder = StreamDecoder()
        events: list[ModelEvent] = []
        try:
            for piece in given:
                events += decoder.feed(piece)
            events += decoder.end()
        except ModelError as error:
            return merged(events), f"{type(error).__name__}: {error}"
        return merged(events), None

    expected = run(sent)
    assert run(*pieces) == expected
    events, failure = expected
    # Calls are complete in order, once, as they are in the response.
    complete = [event for event in events if isinstance(event, ToolCallComplete)]
    assert [event.index for event in complete] == sorted({event.index for event in complete})
    if failure is None:
        calls = response_of(events).message.tool_calls
        assert all(calls[event.index] == event.call for event in complete)


STYLES = [
    "OpenAI",
    "all in turns",
    "index 0",
    "no index",
    "id in each",
    "all in each",
    "text index",
    "late id",
]
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["f", "get_time"]),
        st.dictionaries(st.sampled_from("abc"), st.integers() | TEXTS | st.dictionaries(TEXTS, TEXTS)),
    ),
    min_size=1,
    max_size=4,
)


@given(CALLS, st.sampled_from(STYLES), st.data())
def test_calls_come_out_as_they_went_in(calls: list[Any], style: str, data: st.DataObject) -> None:
    calls = [(f"c{place}", name, json.dumps(values)) for place, (name, values) in enumerate(calls)]
    queues: list[list[Any]] = []
    for place, (label, name, arguments) in enumerate(calls):
        places = data.draw(st.lists(st.integers(0, len(arguments)), max_size=5))
        cuts = sorted({0, len(arguments), *places})
        pieces = [arguments[start:stop] for start, stop in itertools.pairwise(cuts)]
        if style != "all in each":  # there, nothing tells an empty piece from the next call
            pieces.insert(0, "")
        index = {"index 0": 0, "no index": None, "text index": str(place)}.get(style, place)
        queue = [
            entry(
                index,
                label if number == 0 or style in ("id in each", "all in each") else None,
                name if number == 0 or style == "all in each" else None,
                piece,
            )
            for number, piece in enumerate(pieces)
        ]
        if style == "late id":
            queue[-1]["id"] = queue[0].pop("id")
        queues.append(queue)
    entries: list[Any] = []
    if style == "all in turns":
        while any(queues):
            entries.append(data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
        order = [found["id"] for found in entries if "id" in found]
        calls.sort(key=lambda call: order.index(call[0]))  # a call has the place at which it began
    else:
        entries = [found for queue in queues for found in queue]
    several = data.draw(st.booleans())
    chunks = [calls_chunk(*entries)] if several else [calls_chunk(found) for found in entries]
    events = decoded(wire(*chunks, chunk({}, "tool_calls")))
    response = response_of(events)
    assert [(call.id, call.name, call.arguments) for call in response.message.tool_calls] == calls
    complete = [event.call for event in events if isinstance(event, ToolCallComplete)]
    assert complete == list(response.message.tool_calls)
    for place, (_, _, arguments) in enumerate(calls):
        pieces = [
            event.arguments for event in events if isinstance(event, ToolCallDelta) and event.index == place
        ]
        assert "".join(pieces) == arguments
