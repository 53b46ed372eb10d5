"""Faults that other libraries had with arguments; the ids name their reports."""

from __future__ import annotations

import functools
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from fasttool import messages, tool, tool_plan
from fasttool.errors import ProblemKind, ToolArgumentsError
from fasttool.models.openai_codec import encode_request


class State(Enum):
    ACTIVE = "active"
    INACTIVE = "inactive"


def ping() -> str:
    return "pong"


def status(verbose: bool = False) -> str:
    return str(verbose)


def trace(n: int) -> int:
    return n


def total(values: list[int]) -> int:
    return sum(values)


def city_time(city: str) -> str:
    return city


def write(path: str = "notes.txt", content: str = "") -> str:
    raise AssertionError("never called")


def search(query: str, limit: int = 10, tag: str | None = "x") -> str:
    return query


def list_items(limit: int | None = None, order: str = "asc") -> str:
    return order


def echo(s: str) -> str:
    return s


def save(text: str) -> str:
    return text


def read(path: str) -> str:
    return path


def by_author(ids: list[int]) -> str:
    return str(ids)


def set_state(s: State) -> str:
    return s.name


def collect(tags: list[str], ids: set[int] = frozenset()) -> str:  # type: ignore[assignment]
    return str(tags)


def times(
    start: datetime | None = None, day: date | None = None, u: UUID | None = None, d: Decimal | None = None
) -> str:
    return "times"


def transfer(account: str, amount: int) -> str:
    raise AssertionError("never called")


def switch(on: bool) -> str:
    return str(on)


def go(agent: str) -> str:
    return agent


def anything(arguments: dict[str, Any]) -> str:
    return str(arguments)


ACCEPTED: list[tuple[str, Any, Any, dict[str, Any]]] = [
    *(("B001", ping, text, {}) for text in ("", "  ", "\n")),
    *(("B002", status, text, {"verbose": False}) for text in (None, "null", "  null  ")),
    ("B003", trace, json.dumps(json.dumps({"n": 2}, indent=2)), {"n": 2}),
    ("B004", total, '{"values": "[1, 2, 3]"}', {"values": [1, 2, 3]}),
    ("B006", city_time, '```json\n{"city": "Oslo"}\n```', {"city": "Oslo"}),
    ("B006", city_time, '```\n{"city": "Oslo"}\n```', {"city": "Oslo"}),
    ("B009", city_time, '{"city": "what\'s the user\'s file"}', {"city": "what's the user's file"}),
    ("B016", by_author, '{"ids": [123, 456.0]}', {"ids": [123, 456]}),
    ("B016", by_author, '{"ids": [9007199254740993]}', {"ids": [9007199254740993]}),
    *(
        ("B017", set_state, json.dumps({"s": text}), {"s": State.ACTIVE})
        for text in ("ACTIVE", "Active", " active ")
    ),
    (
        "B019",
        search,
        '{"query": "cats", "limit": null, "tag": null}',
        {"query": "cats", "limit": 10, "tag": None},
    ),
    *(("B022", list_items, text, {"limit": None, "order": "asc"}) for text in (None, "", "{}", "null")),
    ("B024", collect, '{"tags": "[\\"a\\"]"}', {"tags": ["a"], "ids": frozenset()}),
    (
        "B027",
        times,
        '{"start": "2026-01-05T10:00:00Z", "day": "2026-01-05", "d": "0.10", '
        '"u": "12345678-1234-5678-1234-567812345678"}',
        {
            "start": datetime(2026, 1, 5, 10, tzinfo=UTC),
            "day": date(2026, 1, 5),
            "u": UUID("12345678-1234-5678-1234-567812345678"),
            "d": Decimal("0.10"),
        },
    ),
    ("B028", save, '{"text": "line1\nline2\tend"}', {"text": "line1\nline2\tend"}),
    ("B031", go, '{"agent": "b", "parameters": {}, "self": 1}', {"agent": "b"}),
    ("B033", read, {"path": "a"}, {"path": "a"}),
    ("B033", anything, '{"arguments": {"x": 1}}', {"arguments": {"x": 1}}),
]


@pytest.mark.parametrize(
    ("function", "arguments", "expected"), [case[1:] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED]
)
def test_what_is_accepted(function: Any, arguments: Any, expected: dict[str, Any]) -> None:
    found = tool_plan(function).bind(arguments)
    assert found == expected
    assert repr(found) == repr(expected)


REFUSED: list[tuple[str, Any, Any, ProblemKind, str]] = [
    ("B001", trace, "", ProblemKind.MISSING, '"n" is required and is missing'),
    ("B004", total, '{"values": "one, two"}', ProblemKind.WRONG_TYPE, '"values" must be a list'),
    ("B006", city_time, '```json\n{"city": "Os\n```', ProblemKind.INVALID_JSON, "not valid JSON"),
    ("B007", write, '{"path": "report.md", "cont', ProblemKind.INVALID_JSON, "line 1"),
    *(
        ("B010", by_author, text, ProblemKind.INVALID_JSON, "not valid JSON")
        for text in ("{'ids': {1, 2}}", "{'ids': b'ab'}", "{'ids': 1+2j}")
    ),
    ("B012", save, '{"text": "he said "I am ok" twice"}', ProblemKind.INVALID_JSON, "not valid JSON"),
    ("B014", read, '{"path": "a.txt"} I will read it now', ProblemKind.INVALID_JSON, "not valid JSON"),
    ("B014", read, '{"path": "a.txt"}</tool_call>', ProblemKind.INVALID_JSON, "not valid JSON"),
    ("B017", set_state, '{"s": "aktive"}', ProblemKind.NOT_ALLOWED, "one of ACTIVE, INACTIVE"),
    ("B019", search, '{"query": null}', ProblemKind.MISSING, '"query" is required and was null'),
    ("B021", transfer, '{"account": "A1"}', ProblemKind.MISSING, 'for tool transfer: "amount" is required'),
    *(
        ("B023", switch, json.dumps({"on": value}), ProblemKind.WRONG_TYPE, "must be true or false")
        for value in ("false", 0, "", "maybe")
    ),
    ("B024", collect, '{"tags": "abc"}', ProblemKind.WRONG_TYPE, '"tags" must be a list'),
    ("B024", collect, '{"tags": ["a"], "ids": 3}', ProblemKind.WRONG_TYPE, '"ids" must be a list'),
    ("B027", times, '{"day": "05/01/2026"}', ProblemKind.WRONG_TYPE, "2026"),
    ("B033", read, '{"arguments": {"path": "a"}}', ProblemKind.MISSING, '"path" is required'),
]


@pytest.mark.parametrize(
    ("function", "arguments", "kind", "text"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_what_is_refused(function: Any, arguments: Any, kind: ProblemKind, text: str) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        tool_plan(function).call(arguments)
    assert [problem.kind for problem in caught.value.problems] == [kind]
    assert text in str(caught.value)
    assert function.__name__ in str(caught.value)


def test_b011_a_lone_surrogate_does_not_poison_later_requests() -> None:
    arguments = '{"s": "bad \\ud800 end"}'
    result = tool_plan(echo).call(arguments)
    history = [
        messages.UserMessage("hi"),
        messages.AiMessage(None, (messages.ToolCall("1", "echo", arguments),)),
        messages.ToolResultMessage("1", "echo", result.text),
    ]
    body = encode_request(messages.ChatRequest(history), model="m")
    assert "\ufffd" in json.loads(body)["messages"][2]["content"]
    body.decode()


def test_b025_the_exact_type_of_a_union_wins_whatever_the_order() -> None:
    kinds = (date, float, Decimal, int, str, bool, None)
    for order in (kinds, kinds[::-1], kinds[3:] + kinds[:3]):
        seen: list[type] = []

        def show(v: Any, seen: list[type] = seen) -> None:
            seen.append(type(v))

        def f(v: Any) -> None: ...

        f.__annotations__["v"] = functools.reduce(lambda left, right: left | right, order)  # type: ignore[arg-type, return-value]
        for text in ('"10031853"', "3", "true", "3.5"):
            show(tool_plan(f).bind(f'{{"v": {text}}}')["v"])
        assert seen == [str, int, bool, float]


def test_b031_further_arguments_go_where_the_function_takes_them_or_are_refused() -> None:
    def rest(agent: str, **more: Any) -> str:
        return json.dumps(more)

    @tool(extra="forbid")
    def exact(agent: str) -> str:
        return agent

    assert tool_plan(rest).call('{"agent": "b", "x": {}, "self": 1}').text == '{"x": {}, "self": 1}'
    assert tool_plan(exact).specification.parameters["additionalProperties"] is False  # type: ignore[index]
    with pytest.raises(ToolArgumentsError, match='"x" is not a known name; accepted: agent') as caught:
        tool_plan(exact).call('{"agent": "b", "x": 1}')
    assert caught.value.problems[0].kind is ProblemKind.UNKNOWN_NAME
