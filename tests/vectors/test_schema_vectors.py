"""The schema vectors: signatures to name, description and parameters.

Keys of ``$defs`` are names of fasttool's own choosing: the vectors write ``<Node>`` for whatever it is.
"""

from __future__ import annotations

import datetime
import enum
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, Optional, TypeVar
from uuid import UUID

import pytest

from fasttool.errors import ConfigurationError
from fasttool.tools import P, ToolService, find_tools, tool, tool_plan
from tests.vectors_finder import vector_file

T = TypeVar("T")

DEVIATIONS = {
    "S20": "a set says uniqueItems; sets and tuples are accepted as arrays",
    "S21": "a set says uniqueItems",
    "S25": "a map describes its values",
    "S27": "a map describes its values",
    "S33": "a type's own description stands wherever the use has none",
    "S36": "the first use is written out, with its own description; the definition has none of it",
    "S37": "as S36; later uses are references",
    "S39": "a link that may end is optional",
    "S57": "Optional of Optional is Optional",
}
# id -> why this version refuses it
OUT_OF_SLICE = {
    "S56": "Optional without a type says nothing",
}
# id -> why there is nothing in Python to run it on
NOT_IN_PYTHON = {
    "S02": "injected: see test_injection",
    "S13": "Python's int and float have no narrower widths: see S14",
    "S26": "about classes of Java",
    "S47": "no discriminators yet: see test_unions_of_dataclasses",
    "S49": "no discriminators yet",
    "S50": "no discriminators yet",
    "S51": "no discriminators yet",
    "S53": "no discriminators yet",
    "S70": "Python has no interface methods that an implementation does not override",
    "S72": "a provider's dialect: tests/schema has it",
}


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    fahrenheit = 3


class Unit(enum.Enum):
    """a unit"""

    C = "c"
    F = "f"


@dataclass
class Address:
    street: str
    city: str


@dataclass
class Person:
    """a person"""

    name: Annotated[str, P("a name")]
    age: Annotated[int, P("years old")]
    address: Annotated[Address, P("addr here")]


@dataclass
class DAddr:
    """An addr"""

    city: str


@dataclass
class TwoAddr:
    a: DAddr
    b: Annotated[DAddr, P("second")]
    c: DAddr


@dataclass
class Node:
    name: str
    children: list[Node]


@dataclass
class Lnk:
    v: int
    next: Lnk | None


@dataclass
class A:
    b: B


@dataclass
class B:
    a: A


@dataclass
class Gen(Generic[T]):
    value: T
    items: list[T]


@dataclass
class OptField:
    b: str | None


@dataclass
class Parent:
    base: int


@dataclass
class Child(Parent):
    own: int


@dataclass
class Empty:
    pass


@dataclass
class EnumHolder:
    c: Color
    u: Annotated[Unit, P("desc")]
    v: Unit
    id: UUID
    k: Annotated[UUID, P("key")]


def described(**annotations: Any) -> Callable[..., Any]:
    """A function ``t`` with these parameters and no docstring."""
    names: dict[str, Any] = {}
    exec(f"def t({', '.join(annotations)}): ...", names)
    names["t"].__annotations__ = annotations
    return names["t"]  # type: ignore[no-any-return]


SIGNATURES: dict[str, Callable[[], Callable[..., Any]]] = {
    "S04": lambda: tool("d")(described()),
    "S06": lambda: tool("", "")(described()),
    "S07": lambda: tool(" ")(described()),
    "S09": lambda: tool(name="custom name!")(described()),
    "S14": lambda: described(a=bool, b=int, c=float, d=str),
    "S15": lambda: described(bi=int, bd=Decimal),
    "S16": lambda: described(u=UUID),
    "S17": lambda: described(u=Annotated[UUID, P("the id")]),
    "S18": lambda: described(c=Color),
    "S19": lambda: described(u=Unit, v=Annotated[Unit, P("override")]),
    "S20": lambda: described(a=list[str], b=set[int], c=Collection[Color], d=tuple[float, ...]),
    "S21": lambda: described(a=list[list[int]], b=list[set[Color]]),
    "S23": lambda: described(a=Annotated[list[str], P("names")]),
    "S24": lambda: described(m=dict[str, int]),
    "S25": lambda: described(m=Annotated[dict[str, int], P("map from name to age")]),
    "S27": lambda: described(a=list[dict[str, int]]),
    "S28": lambda: described(o=object),
    "S30": lambda: described(p=Person),
    "S31": lambda: described(p=Annotated[Person, P("param desc")]),
    "S32": lambda: described(a=Annotated[DAddr, P("first")], b=Annotated[DAddr, P("second")], c=DAddr),
    "S33": lambda: described(t=TwoAddr),
    "S35": lambda: described(n=Node),
    "S36": lambda: described(n=Annotated[Node, P("root")]),
    "S37": lambda: described(a=Annotated[Node, P("x")], b=Annotated[Node, P("y")]),
    "S38": lambda: described(l=list[Node]),
    "S39": lambda: described(n=Lnk),
    "S40": lambda: described(a=A),
    "S41": lambda: described(g=Gen[int]),
    "S43": lambda: described(o=OptField),
    "S44": lambda: described(c=Child),
    "S45": lambda: described(e=Empty),
    "S46": lambda: described(e=EnumHolder),
    "S54": lambda: described(d=datetime.date, dt=datetime.datetime, t=datetime.time),
    "S55": lambda: described(
        a=str | None,
        b=Optional[int],  # noqa: UP045
        c=list[str] | None,
        d=Color | None,
        e=Person | None,
        f=Annotated[float | None, P("desc")],
    ),
    "S56": lambda: described(a=Optional),
    "S57": lambda: described(a=Optional[Optional[str]]),  # noqa: UP045
    "S58": lambda: described(
        a=str,
        b=Annotated[str, P(required=False)],
        c=Annotated[str, P(required=True)],
        d=Annotated[str, P(default="x")],
        e=Annotated[str, P(required=True, default="x")],
        f=str | None,
    ),
    "S61": lambda: described(
        a=Annotated[str, P("v")],
        b=Annotated[str, P(description="d")],
        c=Annotated[str, P("")],
        d=Annotated[str, P(" ")],
    ),
}
NODE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/<Node>"}},
    },
    "required": ["name", "children"],
}
STRINGS = {"type": "string"}
MAP = {"type": "object", "additionalProperties": {"type": "integer"}}
COLOR = {"type": "string", "enum": ["RED", "GREEN", "fahrenheit"]}


def arguments(required: list[str] | None = None, /, **properties: Any) -> dict[str, Any]:
    needed = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": needed}


CITY = arguments(city=STRINGS)
LINK = arguments(["v"], v={"type": "integer"}, next={"$ref": "#/$defs/<Lnk>"})
OURS: dict[str, Any] = {
    "S20": arguments(
        a={"type": "array", "items": STRINGS},
        b={"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        c={"type": "array", "items": COLOR},
        d={"type": "array", "items": {"type": "number"}},
    ),
    "S21": arguments(
        a={"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        b={"type": "array", "items": {"type": "array", "items": COLOR, "uniqueItems": True}},
    ),
    "S25": arguments(m={**MAP, "description": "map from name to age"}),
    "S27": arguments(a={"type": "array", "items": MAP}),
    "S33": arguments(
        t=arguments(
            a={**CITY, "description": "An addr"},
            b={**CITY, "description": "second"},
            c={**CITY, "description": "An addr"},
        )
    ),
    "S36": {**arguments(n={**NODE, "description": "root"}), "$defs": {"<Node>": NODE}},
    "S37": {
        **arguments(a={**NODE, "description": "x"}, b={"$ref": "#/$defs/<Node>", "description": "y"}),
        "$defs": {"<Node>": NODE},
    },
    "S39": {**arguments(n=LINK), "$defs": {"<Lnk>": LINK}},
    "S57": arguments([], a=STRINGS),
}


def in_our_words(schema: Any) -> Any:
    return json.loads(json.dumps(schema).replace("<", "").replace(">", ""))


def check_rest(number: str) -> bool:
    """Run a row that is about more than a signature; say whether it is one."""
    if number == "S12":
        with pytest.raises((ConfigurationError, ValueError)):
            tool_plan(tool(metadata="not json")(described()))  # type: ignore[call-overload]
    elif number == "S63":
        with pytest.raises(ConfigurationError, match="two parameters named 'x': a, b"):
            tool_plan(described(a=Annotated[str, P(name="x")], b=Annotated[int, P(name="x")]))
    elif number == "S66":
        specification = tool_plan(described()).specification
        with pytest.raises(ConfigurationError, match="Two tools are named t"):
            ToolService([tool("d")(described()), {specification: lambda call, context: ""}])
    elif number in ("S67", "S68", "S69"):
        _check_inheritance(number)
    else:
        return False
    return True


def _check_inheritance(number: str) -> None:
    class Base:
        @tool("base")
        def t(self) -> None: ...

        @staticmethod
        @tool("fixed")
        def fixed() -> None: ...

        @tool("hidden")
        def _hidden(self) -> None: ...

    class Plain(Base):
        def t(self) -> None: ...

    class Marked(Base):
        @tool("marked", name="other")
        def t(self) -> None: ...

    class Same(Base):
        pass

    kind = {"S67": Same, "S68": Plain, "S69": Marked}[number]
    found = [(plan.name, plan.specification.description) for plan in find_tools(kind())]
    first = {"S67": [("t", "base")], "S68": [], "S69": [("other", "marked")]}[number]
    assert found == [*first, ("fixed", "fixed"), ("_hidden", "hidden")]


def rows() -> list[dict[str, Any]]:
    found = json.loads(vector_file("core/schema.json").read_text(encoding="utf-8"))
    return found if isinstance(found, list) else found["cases"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in rows()])
def test_schema(row: dict[str, Any]) -> None:
    number = row["id"]
    if number in NOT_IN_PYTHON or check_rest(number):
        return
    function = SIGNATURES[number]()
    if number in OUT_OF_SLICE:
        with pytest.raises(
            ConfigurationError, match=r"\AParameter \w+ of tool t has the type .*accepted: .*\.\Z"
        ):
            tool_plan(function)
        return
    specification = tool_plan(function).specification
    expected = row["expect"]
    assert specification.name == expected["name"]
    assert specification.description == expected["description"]
    parameters = row.get("recommended", expected["parameters"])
    parameters = OURS.get(number, parameters)
    assert specification.parameters == (None if parameters is None else in_our_words(parameters))
    if parameters is not None:
        assert list(specification.parameters["properties"]) == list(parameters["properties"])


def test_unions_of_dataclasses() -> None:
    parameters = tool_plan(described(a=DAddr | Parent)).specification.parameters
    assert parameters == arguments(
        a={"anyOf": [{**CITY, "description": "An addr"}, arguments(base={"type": "integer"})]}
    )


def test_every_listed_row_exists() -> None:
    known = {row["id"] for row in rows()}
    assert {*SIGNATURES, *DEVIATIONS, *OUT_OF_SLICE, *NOT_IN_PYTHON} - known == set()
    assert set(OURS) == set(DEVIATIONS)
