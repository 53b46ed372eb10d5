"""Argument text to a dictionary: strict JSON first, then exact repairs, never a guess."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttool.coercion.arguments import read_arguments
from fasttool.coercion.repairs import repaired
from fasttool.errors import ProblemKind, ToolArgumentsError
from fasttool.json_text import JsonTextError, encode

FENCED = '```json\n{"city": "Oslo"}\n```'
READ: list[tuple[Any, dict[str, Any]]] = [
    (None, {}),
    ("", {}),
    (" \n\t", {}),
    ("null", {}),
    (b"  null  ", {}),
    ("{}", {}),
    ('{"n": 2}', {"n": 2}),
    (b'{"n": 2}', {"n": 2}),
    (bytearray(b'{"n": 2}'), {"n": 2}),
    (memoryview(b'{"n": 2}'), {"n": 2}),
    ({"n": 2}, {"n": 2}),
    ({1: 2}, {"1": 2}),
    ('"{\\n  \\"n\\": 2\\n}"', {"n": 2}),
    ('"  "', {}),
    ('"{"n": 2}"', {"n": 2}),
    ('{\\"n\\": 2}', {"n": 2}),
    (FENCED, {"city": "Oslo"}),
    ('  ```\n{"city": "Oslo"}```  \n', {"city": "Oslo"}),
    ('```json\r\n{"city": "```"}\r\n```', {"city": "```"}),
    ('```json\n{"city": "Oslo",}\n```', {"city": "Oslo"}),
    ('{"a": 1, }', {"a": 1}),
    ('{"a": [1, 2 ,\n],}', {"a": [1, 2]}),
    ('{"a": "x, }", "b": "[1,]",}', {"a": "x, }", "b": "[1,]"}),
    ('{"a": "say \\"hi, }\\"",}', {"a": 'say "hi, }"'}),
    ('{"text": "line1\nline2\tend\x01"}', {"text": "line1\nline2\tend\x01"}),
    ('{"text": "a\\\\\nb"}', {"text": "a\\\nb"}),
    ('{"query": "what\'s the user\'s file"}', {"query": "what's the user's file"}),
    ('{"n": 123456789012345678901}', {"n": 123456789012345678901}),
    ('{"s": "bad \\ud800 end"}', {"s": "bad � end"}),
    ('{"a": 1}{"a": 1}', {"a": 1}),
    ('{"a": 1}\n{"a": 1} {"a": 1}\n', {"a": 1}),
    ('{"s": "\\ud800"}{"s": "\\ud800"}', {"s": "�"}),
]
REFUSED = [
    ("{'city': 'Oslo'}", "Expecting property name"),
    ('{"path": "report.md", "cont', "Unterminated string"),
    ('```json\n{"city": "Os\n```', "Expecting value at line 1, column 1"),
    ('{"text": "he said "I am ok" twice"}', "Expecting ',' delimiter at line 1, column 20"),
    ('{"path": "a.txt"} I will read it now', "Extra data"),
    ('{"path": "a.txt"}</tool_call>', "Extra data"),
    ('{"a": 1}{"a": 2}', "Extra data"),
    ('{"a": NaN}', "NaN is not JSON"),
    ('{"a": NaN}{"a": NaN}', "is not JSON|Extra data"),
    ('{"a": Infinity}', "Infinity is not JSON"),
    ("[1,,]", "Expecting value"),
    ("[,]", "Expecting value"),
    ('{"a":,}', "Expecting value"),
    ('{"a" 1,}', "Expecting ':'"),
    ("[" * 200_000, "too deep"),
    ("1" * 5000, "too many digits"),
    (b"\xff\xfe", "not UTF-8"),
]


@pytest.mark.parametrize(("arguments", "expected"), READ, ids=repr)
def test_read(arguments: Any, expected: dict[str, Any]) -> None:
    found = read_arguments("t", arguments)
    assert found == expected
    assert type(found) is dict


@pytest.mark.parametrize(("arguments", "reason"), REFUSED, ids=lambda value: repr(value)[:30])
def test_refused(arguments: Any, reason: str) -> None:
    with pytest.raises(ToolArgumentsError, match=reason) as raised:
        read_arguments("t", arguments)
    assert [problem.kind for problem in raised.value.problems] == [ProblemKind.INVALID_JSON]
    assert str(raised.value).startswith("Wrong arguments for tool t: ")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("[]", "a list"),
        ("5", "a number"),
        ("1.5", "a number"),
        ("true", "true or false"),
        ('"x" ', "text|valid"),
    ],
)
def test_not_an_object(arguments: str, kind: str) -> None:
    with pytest.raises(ToolArgumentsError, match=kind):
        read_arguments("t", arguments)


@pytest.mark.parametrize("arguments", [5, [1], object(), 1.5, True])
def test_not_text(arguments: Any) -> None:
    with pytest.raises(ToolArgumentsError, match="must be a JSON object, got a Python"):
        read_arguments("t", arguments)


def test_encoded_three_times() -> None:
    text = encode(encode(encode({"a": 1}).decode()).decode()).decode()
    with pytest.raises(ToolArgumentsError, match="must be a JSON object, got text"):
        read_arguments("t", text)


@given(st.dictionaries(st.text(max_size=5), st.one_of(st.text(), st.integers(), st.none()), max_size=4))
def test_what_is_strict_json_is_never_changed(value: dict[str, Any]) -> None:
    assert read_arguments("t", encode(value)) == value
    assert read_arguments("t", f"```json\n{encode(value).decode()}\n```") == value
    assert read_arguments("t", encode(encode(value).decode())) == value


@given(st.text(alphabet='{}[]",:\\ \n`a1', max_size=30))
def test_a_repair_gives_json_or_an_error(text: str) -> None:
    try:
        value = repaired(text)
    except JsonTextError:
        return
    assert not isinstance(value, float) or math.isfinite(value)
    encode(value)
