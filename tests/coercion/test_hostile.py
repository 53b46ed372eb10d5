"""Whatever the arguments are, binding ends, and ends in values or in an error of ours."""

from __future__ import annotations

import copy
import datetime
import ipaddress
import pathlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest

from fasttool.errors import ProblemKind, ToolArgumentsError, ToolExecutionError
from fasttool.tools import tool_plan


class Boom(RuntimeError):
    pass


def boom(*arguments: Any, **keywords: Any) -> Any:
    raise Boom("boom")


class Unequal:
    __eq__ = boom
    __hash__ = object.__hash__


class Unhashable:
    __hash__ = boom


class Textless:
    __str__ = __repr__ = __format__ = boom


class Key:
    def __hash__(self) -> int:
        return hash("a")

    __eq__ = boom


class Text(str):
    __str__ = __repr__ = __format__ = strip = casefold = boom
    __slots__ = ()


class Integer(int):
    __int__ = __index__ = __float__ = __str__ = __repr__ = __eq__ = bit_length = boom
    __hash__ = int.__hash__


class Float(float):
    __float__ = __int__ = is_integer = __repr__ = __eq__ = __ge__ = __le__ = boom
    __hash__ = float.__hash__


class Items(list[Any]):
    __iter__ = __len__ = boom


class Dictionary(dict[Any, Any]):
    items = keys = __iter__ = get = __len__ = boom


class Unread(Mapping[Any, Any]):
    __getitem__ = __iter__ = boom

    def __len__(self) -> int:
        return 1


class Color(Enum):
    RED = 1


@dataclass
class Pair:
    a: Pair | None = None
    b: Pair | None = None


@dataclass
class Record:
    n: int
    names: list[str] = field(default_factory=list)


@dataclass
class Left:
    next: Left | Right | None = None
    x: int = 0


@dataclass
class Right:
    next: Left | Right | None = None
    x: str = ""


class Named(NamedTuple):
    n: int
    pair: Pair | None = None


class Typed(TypedDict, total=False):
    n: int
    a: Any


@dataclass
class A:
    kind: Literal["a"]
    inner: TaggedPair | None = None


@dataclass
class B:
    kind: Literal["b"]
    inner: TaggedPair | None = None


class Discriminator:
    discriminator = "kind"


TaggedPair = Annotated[A | B, Discriminator()]


def nested(levels: int, *, as_list: bool = False) -> Any:
    value: Any = [] if as_list else {}
    for _ in range(levels):
        value = [value] if as_list else {"a": value}
    return value


def inside_itself() -> tuple[Any, Any]:
    values: list[Any] = []
    values.append(values)
    mapping: dict[str, Any] = {}
    mapping.update(a=mapping, b=mapping)
    return values, mapping


TYPES = [
    str, int, float, bool, Any, Color, Literal["a", 1, True], list[int], list[str], list[Any], set[int],
    set[Any], tuple[int, ...], dict[str, int], dict[int, str], dict, Pair, Record, int | str, int | float,
    list[int] | dict[str, int], Pair | Record, Left | Right, int | None, list[Pair], Decimal,
    list[Decimal], bytes, datetime.date, datetime.datetime, datetime.time, datetime.timedelta, uuid.UUID,
    pathlib.Path, Named, Typed, ipaddress.IPv4Address, tuple[int, str], tuple[Any, Pair], TaggedPair,
]  # fmt: skip
VALUES: list[Any] = [
    [1e300, inside_itself()[1]], {"n": 1, "a": inside_itself()[1]}, ["x", {"a": {"b": 1}}],
    {"kind": "a", "inner": 5}, {"kind": Text("a")}, {"kind": []}, "9" * 400 + "-01-01", "P9999999999999D",
    "0001-01-01T00:00:00+14:00", Unequal(), Unhashable(), Textless(), Text("x"), Text("12"), Integer(5),
    Float(5.5), Float(2.0**70), Items([1]), Dictionary(a=1), Unread(), *inside_itself(), nested(100_000),
    nested(100_000, as_list=True), {Key(): 1}, {Text("x"): 1}, {Textless(): 1}, [Unequal()], [Textless()],
    {"a": {Textless(): {"b": 1}}}, float("nan"), [float("nan")], float("-inf"), "\ud800", ["\ud800"],
    {"\ud800": 1}, 10**5000, -(10**400), "9" * 5000, "1e999999999", "1e-999999999", "1" * 4300,
    "0." + "1" * 4000, {1: 2}, {None: 1}, b"x", object(), int, {1, 2}, range(3), iter([1]), 1j, "[[[", "{",
    "[1]", '{"a": 1}', "null", "[" * 100_000, "[" * 900 + "]" * 900,
    "[" * 600 + '"é", 1234567890123456789012' + "]" * 600, '{"a":' * 200 + "1" + "}" * 200,
]  # fmt: skip


def plan_of(annotation: Any) -> Any:
    def t(a: Any) -> None:
        """Test."""

    t.__annotations__["a"] = annotation
    return tool_plan(t)


def assert_readable(error: ToolArgumentsError) -> None:
    assert error.problems
    assert 0 < len(str(error)) < 2000


@pytest.mark.parametrize("annotation", TYPES, ids=str)
def test_hostile_values(annotation: Any) -> None:
    plan = plan_of(annotation)
    for value in VALUES:
        try:
            plan.bind({"a": value})
        except ToolArgumentsError as error:
            assert_readable(error)


def test_hostile_further_arguments() -> None:
    def t(a: int = 0, **rest: dict[str, int]) -> None:
        """Test."""

    plan = tool_plan(t)
    for value in VALUES:
        try:
            plan.bind({"b": value})
        except ToolArgumentsError as error:
            assert_readable(error)


@pytest.mark.parametrize(
    "arguments",
    [
        Unread(), Dictionary(a=1), {Key(): 1}, *inside_itself(), 5, 1.5, object(), [1], b"\xff",
        Text('{"a":1}'), "\ud800", '{"a":1}\ud800', b"\xef\xbb\xbf{}", "\ufeff{}", "\x00", "{}\x00",
        memoryview(b"abcdef")[::2],
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_hostile_arguments(arguments: Any) -> None:
    with pytest.raises(ToolArgumentsError):
        plan_of(int).bind(arguments)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_brackets_without_end(text: str) -> None:
    for annotation in (Any, list[Any], dict[str, Any]):
        with pytest.raises(ToolArgumentsError):
            plan_of(annotation).bind('{"a": ' + text + "}")


@pytest.mark.parametrize("levels", [200, 900, 5000])
def test_text_that_is_deep_and_must_be_read_exactly(levels: int) -> None:
    text = '{"a":' + "[" * levels + '123456789012345678901, "é\\ud800"' + "]" * levels + "}"
    try:
        value = plan_of(Any).bind(text)["a"]
    except ToolArgumentsError as error:
        value = error
    if isinstance(value, ToolArgumentsError):
        assert value.problems[0].kind is ProblemKind.INVALID_JSON
    else:
        for _ in range(levels):
            outer, (value, *_) = value, value
        assert outer == [123456789012345678901, "é�"]


@pytest.mark.parametrize("levels", [127, 128, 300])
def test_depth_of_known_types(levels: int) -> None:
    value = nested(levels)
    if levels == 127:
        found, depth = plan_of(Pair).bind({"a": value})["a"], 0
        while found is not None:
            found, depth = found.a, depth + 1
        assert depth == 128
        return
    with pytest.raises(ToolArgumentsError, match="is nested deeper than 128 levels") as raised:
        plan_of(Pair).bind({"a": value})
    assert [problem.kind for problem in raised.value.problems] == [ProblemKind.TOO_DEEP]


def chain(levels: int, leaf: Any) -> Any:
    value = leaf
    for _ in range(levels):
        value = {"next": value, "x": "text"}
    return value


def test_unions_inside_unions_are_tried_once() -> None:
    """Trying each member at each level would take 2**100 steps."""
    value = plan_of(Left | Right).bind({"a": chain(100, {"x": "text"})})["a"]
    depth = 0
    while value is not None:
        assert type(value) is Right
        value, depth = value.next, depth + 1
    assert depth == 101
    with pytest.raises(ToolArgumentsError):
        plan_of(Left | Right).bind({"a": chain(100, {"unknown": 1})})


def test_text_of_many_megabytes() -> None:
    plan = plan_of(str)
    text = 'é\\"' * (5 * 2**20 // 4)
    assert plan.bind('{"a": "' + text + '"}')["a"] == text.replace('\\"', '"')
    with pytest.raises(ToolArgumentsError) as raised:
        plan.bind("x" * 5 * 2**20)
    assert len(str(raised.value)) < 500
    with pytest.raises(ToolArgumentsError, match="longer than"):
        plan.bind(" " * (64 * 2**20 + 1))


SHAPES: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "[" * n,
    "commas": lambda n: "," * n,
    "escaped quotes": lambda n: '\\"' * (n // 2),
    "escaped quotes in a string": lambda n: '"' + '\\"' * (n // 2) + "\\",
    "quotes": lambda n: '"' * n,
    "objects": lambda n: '{"a":1}' * (n // 7) + "x",
    "commas and spaces": lambda n: "[1" + " ," * (n // 2),
    "a fence and spaces": lambda n: "```\n" + " " * n + "x",
    "a fence and lines": lambda n: "```\n" + "\n" * n + "x",
    "fences": lambda n: "```\n" + "\n```  " * (n // 6) + "x",
    "spaces": lambda n: " " * n + "x",
    "backslashes": lambda n: '{"a": "' + "\\" * n,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_repairs_are_linear(shape: str) -> None:
    """Four times the length is about four times the work; of a quadratic repair, minutes."""
    plan = plan_of(str)

    def seconds(length: int) -> float:
        text = SHAPES[shape](length)
        started = time.process_time()
        with pytest.raises(ToolArgumentsError):
            plan.bind(text)
        return time.process_time() - started

    short = min(seconds(2**15) for _ in range(3))
    assert min(seconds(2**17) for _ in range(2)) < 10 * short + 0.05


@pytest.mark.parametrize(
    "error", [KeyError("x"), AttributeError("x"), Boom("x"), RecursionError("x"), OSError()]
)
def test_objects_that_fail(error: Exception) -> None:
    @dataclass
    class Failing:
        n: int

        def __post_init__(self) -> None:
            raise error

    with pytest.raises(ToolExecutionError) as raised:
        plan_of(Failing).bind('{"a": {"n": 1}}')
    assert raised.value.__cause__ is error
    assert str(raised.value)
    with pytest.raises(ToolExecutionError):
        plan_of(Failing).call('{"a": {"n": 1}}')


@pytest.mark.parametrize(
    "error", [ValueError("n must be 2"), TypeError("n must be 2"), AssertionError("n must be 2")]
)
def test_objects_that_refuse(error: Exception) -> None:
    @dataclass
    class Refusing:
        n: int

        def __post_init__(self) -> None:
            raise error

    with pytest.raises(ToolArgumentsError, match='"a" is refused: n must be 2') as raised:
        plan_of(Refusing).bind('{"a": {"n": 1}}')
    assert raised.value.__cause__ is error


def test_factories_that_fail() -> None:
    @dataclass
    class Made:
        n: int = field(default_factory=boom)

    with pytest.raises(ToolExecutionError, match="boom"):
        plan_of(Made).bind('{"a": {}}')
    assert plan_of(Made).bind('{"a": {"n": 1}}') == {"a": Made(1)}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_interrupts_pass(error: BaseException) -> None:
    @dataclass
    class Interrupted:
        n: int

        def __post_init__(self) -> None:
            raise error

    with pytest.raises(type(error)):
        plan_of(Interrupted).bind('{"a": {"n": 1}}')


def test_the_arguments_are_left_alone() -> None:
    given = {"a": {"n": "1", "names": ["x", 2]}, "more": [1]}
    before = copy.deepcopy(given)
    bound = plan_of(Record).bind(given)
    bound["a"].names.append("y")
    assert given == before


def test_arguments_that_change_meanwhile() -> None:
    def t(a: dict[str, int], b: list[str]) -> None:
        """Test."""

    plan = tool_plan(t)
    given: dict[str, Any] = {"a": {str(n): "1" for n in range(500)}, "b": [1] * 500}
    done = threading.Event()

    def change() -> None:
        number = 0
        while not done.is_set():
            number += 1
            given["a"][f"k{number % 50}"] = 1
            given["a"].pop(f"k{(number + 25) % 50}", None)
            given["b"].append(1)
            given["b"].pop(0)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(100):
            try:
                bound = plan.bind(given)
            except ToolArgumentsError:
                continue
            assert set(map(type, bound["b"])) == {str}
    finally:
        done.set()
        thread.join()


def test_one_plan_in_many_threads() -> None:
    plan = plan_of(list[Record])
    text = '{"a": [{"n": "1", "names": [1, 2]}, {"n": 2.0}]}'
    expected = plan.bind(text)
    failures: list[Any] = []

    def bind() -> None:
        for _ in range(200):
            if plan.bind(text) != expected:
                failures.append(text)

    threads = [threading.Thread(target=bind) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
