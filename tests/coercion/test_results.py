"""What a tool returns, as the model is told it."""

from __future__ import annotations

import datetime
import json
import math
import pathlib
import uuid
from collections import ChainMap, deque, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any

import pytest

from fasttool.coercion.results import json_form, result_contents, result_text
from fasttool.json_text import JsonTextError
from fasttool.messages import ImageContent, TextContent

Point = namedtuple("Point", "x y")


class Color(Enum):
    RED = 1


class Named(str, Enum):  # noqa: UP042
    RED = "red"


class Shade(StrEnum):
    DARK = "dark"


@dataclass
class Pair:
    left: Any
    right: Any = None


TEXTS: list[tuple[Any, str]] = [
    (None, "Success"),
    ("", ""),
    ("a\ud800", "a�"),
    (0, "0"),
    (False, "false"),
    ([], "[]"),
    ({}, "{}"),
    (math.nan, '"NaN"'),
    (-math.inf, '"-Infinity"'),
    (2**70, str(2**70)),
    (Decimal("0.10"), "0.10"),
    ([Decimal("0.10")], '["0.10"]'),
    (Color.RED, '"RED"'),
    (Shade.DARK, '"dark"'),
    ((1, "a"), '[1,"a"]'),
    ({1}, "[1]"),
    (deque([1]), "[1]"),
    (ChainMap({"a": 1}), '{"a":1}'),
    (Point(1, 2), '{"x":1,"y":2}'),
    (Point(1, 2**70), f'{{"x":1,"y":{2**70}}}'),
    (Pair(1, Pair({2})), '{"left":1,"right":{"left":[2],"right":null}}'),
    (Pair(2**70), f'{{"left":{2**70},"right":null}}'),
    ({"c": Named.RED}, '{"c":"red"}'),
    ({"c": Named.RED, "n": 2**70}, f'{{"c":"red","n":{2**70}}}'),
    (b"\xff", '"/w=="'),
    ({1: "int key", None: 2, False: 3}, '{"1":"int key","null":2,"false":3}'),
    (datetime.datetime(2026, 1, 5), '"2026-01-05T00:00:00"'),
    (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    (pathlib.PurePosixPath("/a"), '"/a"'),
    (["\ud800é"], '["�é"]'),
    (range(3), "[0,1,2]"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=lambda value: ascii(value)[:30])
def test_text(value: Any, text: str) -> None:
    assert result_text(value) == text
    text.encode()


def test_text_of_declared_types() -> None:
    assert result_text("a", quoted=True) == '"a"'
    assert result_text(None, nothing="null") == "null"
    assert result_text(None, quoted=True, nothing="null") == "null"


def inside_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [object(), 1j, [object()], inside_itself(), print, Color, {(1, 2): 3}])
def test_no_json_form(value: Any) -> None:
    with pytest.raises((JsonTextError, TypeError)):
        result_text(value)


def test_objects_of_other_libraries() -> None:
    class Model:
        def model_dump(self, mode: str) -> dict[str, Any]:
            return {"mode": mode}

    class Struct:
        __struct_fields__ = ("a",)
        a = 1

    class Array:
        dtype = "int"

        def tolist(self) -> list[int]:
            return [1]

    assert json.loads(result_text([Model(), Struct(), Array()])) == [{"mode": "json"}, {"a": 1}, [1]]
    with pytest.raises(TypeError, match="a complex number has no JSON form"):
        json_form(1j)
    with pytest.raises(TypeError, match="a object has no JSON form"):
        json_form(object())


def test_contents() -> None:
    image = ImageContent(url="http://x/y.png")
    assert result_contents(image) == (image,)
    assert result_contents([image, 1, "a", None]) == (
        image,
        TextContent("1"),
        TextContent("a"),
        TextContent("Success"),
    )
    assert result_contents(("a", image)) == (TextContent("a"), image)
    for value in ("a", [], ["a"], None, {"a": image}):
        assert result_contents(value) is None
