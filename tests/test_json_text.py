"""JSON text in and out, with integers of any size and any text."""

from __future__ import annotations

import json
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttool.json_text import JsonTextError, decode, decode_exactly, encode, replace_surrogates

JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=15,
)


@given(JSON)
def test_round_trip(value: Any) -> None:
    text = encode(value)
    assert decode(text) == decode(text.decode()) == decode_exactly(text) == value
    assert json.loads(text) == value


class Named(str, Enum):  # noqa: UP042
    RED = "red"


class Number(IntEnum):
    ONE = 1


class Point(NamedTuple):
    x: Any
    y: Any


@pytest.mark.parametrize("other", [1, 2**70, "\ud800"], ids=ascii)
def test_the_exact_way_writes_what_the_fast_way_writes(other: Any) -> None:
    """A long integer or a surrogate somewhere changes nothing elsewhere."""

    def form(item: Any) -> Any:
        return item._asdict() if isinstance(item, Point) else str(item)

    value = {
        "e": Named.RED,
        "n": Number.ONE,
        "p": Point(1, None),
        "k": {1: 1, None: 2},
        "t": (1,),
        "o": other,
    }
    written = json.loads(encode(value, form))
    assert {**written, "o": None} == {
        "e": "red",
        "n": 1,
        "p": {"x": 1, "y": None},
        "k": {"1": 1, "null": 2},
        "t": [1],
        "o": None,
    }


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, 1j, {(1, 2): 3}, [10**5000]], ids=lambda value: repr(type(value))
)
def test_no_json_form(value: Any) -> None:
    with pytest.raises(JsonTextError):
        encode(value)


def test_deep_and_endless_values() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    endless: list[Any] = []
    endless.append(endless)
    for value in (deep, endless):
        with pytest.raises(JsonTextError):
            encode(value)


def test_numbers_keep_their_digits() -> None:
    for number in (2**63, 2**64, -(2**70), 10**4000):
        assert decode(f"[{number}]") == decode_exactly(f"[{number}]") == [number]
        assert type(decode(str(number).encode())) is int


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value at line 1, column 1"),
        ("[1,\n2", "line 2, column 2"),
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        (b"\xff", "not UTF-8"),
        ("9" * 4301, "too many digits"),
        ("[" * 100_000, "too deep"),
    ],
)
def test_not_json(text: Any, reason: str) -> None:
    for read in (decode, decode_exactly):
        with pytest.raises(JsonTextError, match=reason):
            read(text)


def test_surrogates() -> None:
    assert replace_surrogates("a\ud800b\udfff😀") == "a�b�😀"
    assert decode('{"\\ud800": ["\\udc00", "é\\ud83d\\ude00"]}') == {"�": ["�", "é😀"]}
    assert encode({"\ud800": "\udfff"}) == '{"�":"�"}'.encode()
