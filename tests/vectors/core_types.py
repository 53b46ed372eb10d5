"""The types, values and error words of the core vectors, in Python."""

from __future__ import annotations

import datetime
import decimal
import uuid
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar

from fasttool.errors import ProblemKind
from fasttool.tools import P

T = TypeVar("T")


class Color(Enum):
    RED = 1
    GREEN = 2
    fahrenheit = 3
    Kelvin = 4


class Currency(Enum):
    USD = 1
    EUR = 2


@dataclass
class Address:
    city: str
    zip: str


@dataclass
class Person:
    name: str
    age: int
    active: bool | None = None
    address: Address | None = None
    tags: list[str] | None = None


@dataclass
class TaggedDog:
    type: Literal["Dog"]
    name: str
    breed: str


@dataclass
class TaggedCat:
    type: Literal["Cat"]
    name: str
    indoor: bool


class Discriminator:
    """Names the field that tells the members of a union apart."""

    def __init__(self, discriminator: str) -> None:
        self.discriminator = discriminator


@dataclass
class Box(Generic[T]):
    value: T


@dataclass
class Node:
    name: str
    children: list[Node]


@dataclass
class Simple:
    n: int
    d: float
    s: str
    b: bool
    color: Color


@dataclass
class WithDate:
    date: datetime.date
    at: datetime.datetime
    t: datetime.time


TYPES: dict[str, Any] = {
    **dict.fromkeys(("int", "int8", "int16", "int32", "int64", "bigint"), int),
    **dict.fromkeys(("float", "float32", "float64"), float),
    **dict.fromkeys(("string", "str", "charsequence"), str),
    "bool": bool,
    "any": Any,
    "list": list,
    "map": dict,
    "enum<Color>": Color,
    "enum": Currency,
    "enum[USD,EUR]": Currency,
    "enum[RED]": Color,
    "object<Person>": Person,
    "object<Simple>": Simple,
    "object<Node>": Node,
    "object<Box<int32>>": Box[int],
    "object<Animal>": Annotated[TaggedDog | TaggedCat, Discriminator("type")],
    "object<WithDate>": WithDate,
    "object": Person,
    "uuid": uuid.UUID,
    "decimal": decimal.Decimal,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "time": datetime.time,
    "instant": datetime.datetime,
    "optional": Optional,
}
NAMED = {kind.__name__: kind for kind in (Person, Address, Box, Node, Simple)}
TAGGED: dict[str, Any] = {"Dog": TaggedDog, "Cat": TaggedCat}
KINDS = {
    "bad_discriminator": {ProblemKind.NOT_ALLOWED, ProblemKind.MISSING},
    "bad_enum": {ProblemKind.NOT_ALLOWED},
    "bad_uuid": {ProblemKind.WRONG_TYPE},
    "bad_date": {ProblemKind.WRONG_TYPE},
    "missing_field": {ProblemKind.WRONG_TYPE},
    "bad_json": {ProblemKind.INVALID_JSON, ProblemKind.WRONG_TYPE},
    "empty_string": {ProblemKind.NOT_ALLOWED, ProblemKind.WRONG_TYPE},
    "missing_required": {ProblemKind.MISSING},
    "not_finite": {ProblemKind.NOT_FINITE},
    "not_integral": {ProblemKind.NOT_INTEGRAL},
    "out_of_range": {ProblemKind.OUT_OF_RANGE},
    "unknown_field": {ProblemKind.UNKNOWN_NAME},
    "wrong_type": {ProblemKind.WRONG_TYPE},
}


def python_type(text: str) -> Any:
    """Return the annotation for a type as the vectors write it.

    Raises:
        KeyError: it is none that is known here.
    """
    text, _, default = text.partition(" default=")
    text, _, required = text.partition(" required=")
    if default:
        return Annotated[python_type(text), P(default="" if default == "(empty)" else default)]
    if required:
        return Annotated[python_type(text), P(required=required == "true")]
    if text.endswith("?"):
        return python_type(text[:-1]) | None
    if text in TYPES:
        return TYPES[text]
    container, _, inner = text.replace("[", "<").replace("]", ">")[:-1].partition("<")
    if container == "optional":
        return python_type(inner) | None
    if container in ("list", "array"):
        return list[python_type(inner)]  # type: ignore[misc]
    if container == "set":
        return set[python_type(inner)]  # type: ignore[misc]
    if container == "map":
        key, _, value = inner.partition(",")
        return dict[python_type(key), python_type(value)]  # type: ignore[misc]
    raise KeyError(text)


def python_value(value: Any) -> Any:
    """Return the Python value of an expected value."""
    if isinstance(value, list):
        return [python_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$int" in value:
        text = value["$int"]
        return 10**400 if text.startswith("1 followed by 400") else int(text)
    if "$float" in value:
        return float(value["$float"])
    if "$enum" in value:
        return Color[value["$enum"]]
    if "$set" in value:
        return {python_value(item) for item in value["$set"]}
    if "$some" in value:
        return python_value(value["$some"][0])
    if "$none" in value:
        return None
    if "$uuid" in value:
        return uuid.UUID(value["$uuid"])
    if "$decimal" in value:
        return decimal.Decimal(value["$decimal"])
    if "$LocalDate" in value:
        return datetime.date.fromisoformat(value["$LocalDate"])
    if "$LocalDateTime" in value:
        return datetime.datetime.fromisoformat(value["$LocalDateTime"])
    if "$LocalTime" in value:
        return datetime.time.fromisoformat(value["$LocalTime"])
    if "$instant" in value:
        return datetime.datetime.fromisoformat(value["$instant"])
    if "$type" in value:
        fields = {name: python_value(item) for name, item in value.items() if name != "$type"}
        if value["$type"] in TAGGED:
            return TAGGED[value["$type"]](value["$type"], **fields)
        return NAMED[value["$type"]](**fields)
    return {name: python_value(item) for name, item in value.items()}
