"""Values of every type at every depth, and the words of the errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal

import pytest

from fasttool._ext.coerce import ArgumentBinder
from fasttool.coercion.binder import argument_binder
from fasttool.errors import ProblemKind, ToolArgumentsError
from fasttool.schema.forms import FieldForm, Form, IntegerForm
from fasttool.tools import P, tool_plan


class State(Enum):
    ACTIVE = "active"
    INACTIVE = "not active"


class Shade(StrEnum):
    DARK = "dark-one"
    light = "Light"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Item:
    name: str
    price: float = 0.0
    tags: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Order:
    items: list[Item]
    first: Item | None = None


def plan_of(annotation: Any, **keywords: Any) -> Any:
    def t(a: Any) -> None:
        """Test."""

    t.__annotations__["a"] = annotation
    return tool_plan(t)


LONG = 12345678901234567890123
TAKEN: list[tuple[Any, str, Any]] = [
    (list[int], "[123, 456.0]", [123, 456]),
    (list[int], '"[1, 2, 3]"', [1, 2, 3]),
    (tuple[int, ...], "[1]", (1,)),
    (frozenset[str], "[1, 2]", frozenset({"1", "2"})),
    (int, str(LONG), LONG),
    (int, f'"{LONG}"', LONG),
    (str, str(LONG), str(LONG)),
    (str, f"[{LONG}]", f"[{LONG}]"),
    (Any, f"[{LONG}]", [LONG]),
    (int | float, str(LONG), LONG),
    (Literal[12345678901234567890123], str(LONG), LONG),
    (dict[str, int], f'{{"k": {LONG}}}', {"k": LONG}),
    (float, str(2**64), float(2**64)),
    (int | str, '"10031853"', "10031853"),
    (float | int | str | bool, "3", 3),
    (float | int | str | bool, "true", True),
    (str | bool | int | float, "3.5", 3.5),
    (int | list[int], '"[1]"', [1]),
    (list[int] | list[str], '["a"]', ["a"]),
    (State, '"ACTIVE"', State.ACTIVE),
    (State, '"Active"', State.ACTIVE),
    (State, '" active "', State.ACTIVE),
    (State, '"not active"', State.INACTIVE),
    (Shade, '"dark-one"', Shade.DARK),
    (Shade, '"DARK"', Shade.DARK),
    (Level, '"low"', Level.LOW),
    (Literal["a", 1, True, None], "null", None),
    (Literal["a", 1, True], "1.0", 1),
    (Literal["a", 1, True], "true", True),
    (Literal["Up"], '" UP "', "Up"),
    (dict[State, int], '{"active": 1}', {State.ACTIVE: 1}),
    (Item, '{"name": "x", "price": null}', Item("x", 0.0)),
    (Order, '{"items": [{"name": 1, "price": "2.5"}]}', Order(items=[Item("1", 2.5)])),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), TAKEN, ids=str)
def test_taken(annotation: Any, value: str, expected: Any) -> None:
    for arguments in (f'{{"a": {value}}}', f'{{"a": {value}}}'.encode(), f'"{{\\"a\\": {escaped(value)}}}"'):
        found = plan_of(annotation).bind(arguments)["a"]
        assert found == expected
        assert type(found) is type(expected)


def escaped(value: str) -> str:
    """As it stands inside text."""
    return value.replace("\\", "\\\\").replace('"', '\\"')


REFUSED: list[tuple[Any, str, ProblemKind, str]] = [
    (bool, '"false"', ProblemKind.WRONG_TYPE, '"a" must be true or false, got "false"'),
    (bool, "0", ProblemKind.WRONG_TYPE, '"a" must be true or false, got 0'),
    (int, "1.5", ProblemKind.NOT_INTEGRAL, '"a" must be an integer, got 1.5'),
    (int, "true", ProblemKind.WRONG_TYPE, '"a" must be an integer, got true'),
    (int, '"1_000"', ProblemKind.WRONG_TYPE, '"a" must be an integer, got "1_000"'),
    (int, '"1e99999"', ProblemKind.OUT_OF_RANGE, '"a" has too many digits, got "1e99999"'),
    (float, "1e400", ProblemKind.INVALID_JSON, ""),
    (list[str], '"abc"', ProblemKind.WRONG_TYPE, '"a" must be a list (each element: text), got "abc"'),
    (set[int], "3", ProblemKind.WRONG_TYPE, '"a" must be a list (each element: an integer), got 3'),
    (list[int], "[1, [2]]", ProblemKind.WRONG_TYPE, '"a[1]" must be an integer, got a list'),
    (list[str], "[null]", ProblemKind.WRONG_TYPE, '"a[0]" must be text, got null'),
    (list[str], '["x", {}]', ProblemKind.WRONG_TYPE, '"a[1]" must be text, got an object'),
    (dict[str, int], '{"k": "x"}', ProblemKind.WRONG_TYPE, '"a.k" must be an integer, got "x"'),
    (dict[int, int], '{"k": 1}', ProblemKind.WRONG_TYPE, '"a.k" must be an integer, got "k"'),
    (State, '"aktive"', ProblemKind.NOT_ALLOWED, '"a" must be one of ACTIVE, INACTIVE, got "aktive"'),
    (State, '" INACTIVE "', ProblemKind.NOT_ALLOWED, "got"),
    (Literal[1, 2], "true", ProblemKind.NOT_ALLOWED, '"a" must be one of 1, 2, got true'),
    (Item, '{"price": 1}', ProblemKind.MISSING, '"a.name" is required and is missing; it must be text'),
    (Item, '{"name": "x", "prize": 1}', ProblemKind.UNKNOWN_NAME, "accepted: name, price, tags"),
    (
        Order,
        '{"items": [{"name": "x"}, {}]}',
        ProblemKind.MISSING,
        '"a.items[1].name" is required and is missing',
    ),
    (int | None, '"x"', ProblemKind.WRONG_TYPE, '"a" must be an integer, got "x"'),
    (int | bool, '"x"', ProblemKind.WRONG_TYPE, '"a" must be an integer or true or false, got "x"'),
]


@pytest.mark.parametrize(("annotation", "value", "kind", "text"), REFUSED, ids=str)
def test_refused(annotation: Any, value: str, kind: ProblemKind, text: str) -> None:
    with pytest.raises(ToolArgumentsError) as raised:
        plan_of(annotation).bind(f'{{"a": {value}}}')
    if value == "1e400":  # strict JSON, and a number that no float holds
        assert raised.value.problems[0].kind is ProblemKind.NOT_FINITE
        return
    assert [problem.kind for problem in raised.value.problems] == [kind]
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)
    assert str(raised.value).endswith(".")


def test_every_problem_is_told() -> None:
    def transfer(account: str, amount: int, to: Item, note: str = "") -> None:
        """Transfer."""

    with pytest.raises(ToolArgumentsError) as raised:
        tool_plan(transfer).bind('{"account": null, "to": {"nam": 1}, "note": []}')
    assert [(problem.path, problem.kind) for problem in raised.value.problems] == [
        ("account", ProblemKind.MISSING),
        ("amount", ProblemKind.MISSING),
        ("to.name", ProblemKind.MISSING),
        ("to.nam", ProblemKind.UNKNOWN_NAME),
    ]
    assert raised.value.tool == "transfer"


def test_null_and_defaults() -> None:
    def search(query: str, limit: int = 10, tag: str | None = "x", extra: Any = 1) -> None:
        """Search."""

    plan = tool_plan(search)
    assert plan.bind('{"query": "c", "limit": null, "tag": null, "extra": null}') == {
        "query": "c",
        "limit": 10,
        "tag": None,
        "extra": None,
    }
    assert plan.bind('{"query": "c"}') == {"query": "c", "limit": 10, "tag": "x", "extra": 1}


def test_unknown_names_are_passed_over_and_injected_nowhere() -> None:
    def go(agent: str) -> None:
        """Go."""

    assert tool_plan(go).bind('{"agent": "b", "parameters": {}, "self": 1}') == {"agent": "b"}


def test_any_name_is_a_parameter() -> None:
    def run(
        config: str, self_: int, name: str, arguments: str, schema: dict[str, Any], copy: bool = False
    ) -> str:
        """Run."""
        return f"{config} {self_} {name} {arguments} {schema} {copy}"

    arguments = {"config": "c", "self_": 1, "name": "n", "arguments": "a", "schema": {"x": 1}, "copy": True}
    assert tool_plan(run).bind(arguments) == arguments
    assert tool_plan(run).call(arguments).text == "c 1 n a {'x': 1} True"


def test_a_default_factory_runs_for_each_value() -> None:
    plan = plan_of(list[Item])
    first, second = plan.bind('{"a": [{"name": "x"}, {"name": "y"}]}')["a"]
    first.tags.append("t")
    assert second.tags == []


def test_wire_names() -> None:
    def t(c: Annotated[str, P(name="city")], **rest: int) -> None:
        """Test."""

    plan = tool_plan(t)
    assert plan.bind('{"city": "Rome", "x": "1"}') == {"c": "Rome", "x": 1}
    with pytest.raises(ToolArgumentsError, match='"city" is required and is missing'):
        plan.bind('{"c": 5}')


def test_argument_binder() -> None:
    binder = argument_binder("t", [FieldForm("n", "n", IntegerForm())])
    assert isinstance(binder, ArgumentBinder)
    assert binder.values('{"n": "1"}') == [1]
    assert binder.bind({"n": 1.0}) == {"n": 1}
    with pytest.raises(TypeError, match="Form has no coercer"):
        argument_binder("t", [FieldForm("n", "n", Form())])
