"""Broken argument text that is guessed at on request."""

from __future__ import annotations

import sys

import pytest

from fasttool import tool, tool_plan
from fasttool.coercion.guessing import MAX_GUESSED
from fasttool.errors import MissingExtraError, ProblemKind, ToolArgumentsError


@tool(repair_json=True)
def write(path: str = "notes.txt", count: int = 0) -> str:
    """Write."""
    return f"{path} {count}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"path": "a", "count": 3', "a 3"),
        ("{path: 'a', count: \"3\"}", "a 3"),
        ('{"path": "a" "count": 3}', "a 3"),
        ('{"path": "a"} and then', "a 0"),
        (b'{"path": "a", "count": 3', "a 3"),
        ('{"path": "a,]"}', "a,] 0"),
    ],
)
def test_it_is_guessed_at_where_a_tool_asks_for_it(text: str | bytes, expected: str) -> None:
    assert tool_plan(write).call(text).text == expected


@pytest.mark.parametrize(
    "text", ["{", "nothing", "[1", '"text', "{" * 3000, b"\xff{", "{" + " " * MAX_GUESSED]
)
def test_a_guess_that_is_no_object_leaves_the_error(text: str | bytes) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        tool_plan(write).call(text)
    assert caught.value.problems[0].kind in (ProblemKind.INVALID_JSON, ProblemKind.WRONG_TYPE)


def test_values_are_held_to_the_schema_as_ever() -> None:
    with pytest.raises(ToolArgumentsError, match='"count" must be an integer'):
        tool_plan(write).call("{count: many}")


def test_without_the_package_the_declaration_fails_and_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "json_repair", None)

    @tool(repair_json=True)
    def f(a: int) -> int:
        return a

    with pytest.raises(MissingExtraError, match=r"pip install 'fasttool\[repair\]'"):
        tool_plan(f)
