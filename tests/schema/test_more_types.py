"""Types beyond the JSON ones: what their schema shows is what the binder takes back."""

from __future__ import annotations

import collections
import datetime
import enum
import ipaddress
import pathlib
import re
import typing
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Required, TypedDict

import annotated_types
import attrs
import msgspec
import pydantic
import pytest

from fasttool import P, tool_plan
from fasttool.errors import ConfigurationError, ToolArgumentsError


def plan_for(annotation: Any) -> Any:
    def take(value):  # type: ignore[no-untyped-def]
        """Take."""
        return value

    take.__annotations__ = {"value": annotation}
    return tool_plan(take)


def schema_of(annotation: Any) -> Any:
    return plan_for(annotation).specification.parameters["properties"]["value"]


def bound(annotation: Any, value: Any) -> Any:
    return plan_for(annotation).bind({"value": value})["value"]


def refused(annotation: Any, value: Any) -> str:
    with pytest.raises(ToolArgumentsError) as raised:
        plan_for(annotation).bind({"value": value})
    return str(raised.value)


def text_of(name: str) -> dict[str, str]:
    return {"type": "string", "format": name}


@pytest.mark.parametrize(
    ("annotation", "schema", "text", "value"),
    [
        (datetime.date, text_of("date"), "2026-01-05", datetime.date(2026, 1, 5)),
        (datetime.time, text_of("time"), "10:30", datetime.time(10, 30)),
        (
            datetime.datetime,
            text_of("date-time"),
            "2026-01-05T10:00:00Z",
            datetime.datetime(2026, 1, 5, 10, tzinfo=datetime.UTC),
        ),
        (datetime.timedelta, text_of("duration"), "P1DT2H", datetime.timedelta(days=1, hours=2)),
        (
            uuid.UUID,
            {"type": "string", "description": "String in a UUID format"},
            "550e8400-e29b-41d4-a716-446655440000",
            uuid.UUID("550e8400-e29b-41d4-a716-446655440000"),
        ),
        (bytes, {"type": "string", "contentEncoding": "base64", "format": "byte"}, "aGk=", b"hi"),
        (pathlib.Path, text_of("path"), "a/b.txt", pathlib.Path("a/b.txt")),
        (ipaddress.IPv4Address, text_of("ipv4"), "127.0.0.1", ipaddress.IPv4Address("127.0.0.1")),
        (ipaddress.IPv6Address, text_of("ipv6"), "::1", ipaddress.IPv6Address("::1")),
    ],
)
def test_text_of_a_format(annotation: Any, schema: Any, text: str, value: Any):
    assert schema_of(annotation) == schema
    assert bound(annotation, text) == value
    assert type(bound(list[annotation], [text])[0]) is type(value)
    assert bound(annotation | None, None) is None
    for wrong in (5, True, [], {"year": 2026}):
        assert "must be" in refused(annotation, wrong)


@pytest.mark.parametrize(
    ("annotation", "wrong", "says"),
    [
        (datetime.date, "05/01/2026", "ISO 8601"),
        (datetime.date, "2026-02-30", "ISO 8601"),
        (datetime.date, "20260105", "ISO 8601"),
        (datetime.datetime, "yesterday", "ISO 8601"),
        (datetime.datetime, "2026-01-05T25:00:00Z", "ISO 8601"),
        (datetime.timedelta, "P", "ISO 8601"),
        (datetime.timedelta, "PT", "ISO 8601"),
        (datetime.timedelta, "P99999999999D", "ISO 8601"),
        (uuid.UUID, "{550e8400-e29b-41d4-a716-446655440000}", "a UUID"),
        (uuid.UUID, "550e8400e29b41d4a716446655440000", "a UUID"),
        (uuid.UUID, "1-2-3-4-5", "a UUID"),
        (bytes, "a", "base64"),
        (pathlib.Path, "a\0b", "a path"),
        (ipaddress.IPv4Address, "localhost", "an IPv4 address"),
    ],
)
def test_other_ways_of_writing_are_refused(annotation: Any, wrong: str, says: str):
    assert says in refused(annotation, wrong)


@pytest.mark.parametrize(
    "text", ["2026-01-05T10:00:00.123456789Z", "2026-01-05 10:00", "2026-01-05T10:00:00+02:00", "2026-01-05"]
)
def test_moments_as_models_write_them(text: str):
    assert bound(datetime.datetime, text).date() == datetime.date(2026, 1, 5)


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("1.10", "1.10"),
        ("0.1234567890123456789", "0.1234567890123456789"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1e400", "1E+400"),
        ('" 1.50 "', "1.50"),
        ("3", "3"),
    ],
)
def test_decimals_keep_their_digits(text: str, digits: str):
    plan = plan_for(Decimal)
    assert str(plan.bind(f'{{"value": {text}}}')["value"]) == digits
    assert schema_of(Decimal) == {"type": "number"}


@pytest.mark.parametrize("value", [True, "NaN", "Infinity", "1_000", "", "abc", [], None])
def test_what_is_no_decimal(value: Any):
    assert "a decimal number" in refused(Decimal, value)


def test_a_value_beside_a_decimal_stays_plain():
    def take(price: Decimal, anything: Any) -> None:
        """Take."""

    values = tool_plan(take).bind('{"price": 1.10, "anything": [1.5, {"a": 2.5}]}')
    assert str(values["price"]) == "1.10"
    assert type(values["anything"][0]) is float
    assert type(values["anything"][1]["a"]) is float


def test_tuples():
    assert schema_of(tuple[int, str]) == {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "minItems": 2,
        "maxItems": 2,
    }
    assert bound(tuple[int, str], ["1", "a"]) == (1, "a")
    assert bound(tuple[int, ...], [1, 2.0]) == (1, 2)
    assert bound(tuple[()], []) == ()
    assert "2 elements (an integer, text), got 1 elements" in refused(tuple[int, str], [1])
    assert '"value[0]" must be an integer' in refused(tuple[int, str], ["x", "a"])
    assert bound(collections.deque[int], [1]) == collections.deque([1])


class Movie(TypedDict, total=False):
    """a movie"""

    title: Required[str]
    year: int


class Book(TypedDict):
    title: str
    year: NotRequired[int]


class Point(NamedTuple):
    x: int
    y: int = 7


@pytest.mark.parametrize("kind", [Movie, Book])
def test_typed_dicts(kind: Any):
    assert schema_of(kind)["required"] == ["title"]
    assert bound(kind, {"title": "T"}) == {"title": "T"}
    assert bound(kind, {"title": "T", "year": "1999"}) == {"title": "T", "year": 1999}
    assert "title" in refused(kind, {"year": 1999})
    assert "not a known name" in refused(kind, {"title": "T", "director": "D"})


def test_named_tuples():
    assert bound(Point, {"x": "1"}) == Point(1, 7)
    assert schema_of(Point)["required"] == ["x"]


class Size(pydantic.BaseModel):
    width: float = pydantic.Field(gt=0, description="in cm")
    unit: str = pydantic.Field("cm", alias="u")


class Product(pydantic.BaseModel):
    sku: Annotated[str, pydantic.Field(pattern="^S")]
    size: Size
    tags: list[str] = pydantic.Field(default_factory=list)

    @pydantic.field_validator("tags")
    @classmethod
    def check_tags(cls, tags: list[str]) -> list[str]:
        if "bad" in tags:
            raise ValueError("no bad tags")
        return tags


class Open(pydantic.BaseModel):
    model_config = {"extra": "allow"}

    name: str


def test_pydantic_models():
    schema = schema_of(Product)
    assert schema["required"] == ["sku", "size"]
    assert schema["properties"]["size"]["properties"]["width"] == {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "in cm",
    }
    assert "u" in schema["properties"]["size"]["properties"]
    product = bound(Product, {"sku": "S1", "size": {"width": "2", "u": "mm"}})
    assert product == Product(sku="S1", size=Size(width=2, u="mm"))
    assert product.tags is not bound(Product, {"sku": "S1", "size": {"width": 2}}).tags
    text = refused(Product, {"sku": "X", "size": {"width": 0}})
    assert '"value.sku" must match the pattern ^S' in text
    assert '"value.size.width" must be more than 0' in text
    assert "no bad tags" in refused(Product, {"sku": "S", "size": {"width": 1}, "tags": ["bad"]})
    assert bound(Open, {"name": "n", "more": [1]}).model_extra == {"more": [1]}
    assert "not a known name" in refused(Size, {"width": 1, "depth": 2})


@attrs.define
class Account:
    owner: str
    _balance: int = 0
    notes: list[str] = attrs.field(factory=list)


class Track(msgspec.Struct, rename="camel"):
    track_name: str
    play_count: Annotated[int, msgspec.Meta(ge=0)] = 0


def test_attrs_classes_and_msgspec_structs():
    assert bound(Account, {"owner": "o", "balance": "3"}) == Account("o", 3)
    assert schema_of(Account)["required"] == ["owner"]
    assert bound(Track, {"trackName": "t"}) == Track("t")
    assert schema_of(Track)["properties"]["playCount"] == {"type": "integer", "minimum": 0}
    assert '"value.playCount" must be at least 0' in refused(Track, {"trackName": "t", "playCount": -1})


@dataclass
class Cat:
    kind: Literal["cat"]
    name: str


@dataclass
class Dog:
    kind: Literal["dog", "puppy"]
    name: str
    breed: str


@pytest.mark.parametrize(
    "annotation", [Cat | Dog, Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]]
)
def test_unions_with_a_tag(annotation: Any):
    assert bound(annotation, {"kind": "puppy", "name": "R", "breed": "L"}) == Dog("puppy", "R", "L")
    assert '"value.kind" is "cow"; it must be one of cat, dog, puppy' in refused(annotation, {"kind": "cow"})
    assert '"value.kind" is missing' in refused(annotation, {"name": "R"})
    assert '"value.breed" is required' in refused(annotation, {"kind": "dog", "name": "R"})
    assert len(schema_of(annotation)["anyOf"]) == 2


Everything = datetime.date | float | Decimal | int | str | bool | None


@pytest.mark.parametrize("value", ["10031853", 3, True, 3.5, None])
def test_unions_take_the_exact_type_first(value: Any):
    found = bound(Everything, value)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("annotation", "keywords", "right", "wrong", "says"),
    [
        (Annotated[int, annotated_types.Ge(1)], {"minimum": 1}, 1, 0, "must be at least 1, got 0"),
        (Annotated[int, annotated_types.Gt(1)], {"exclusiveMinimum": 1}, 2, 1, "must be more than 1"),
        (Annotated[float, annotated_types.Le(1)], {"maximum": 1}, 1, 1.5, "must be at most 1"),
        (Annotated[float, annotated_types.Lt(1)], {"exclusiveMaximum": 1}, 0.5, 1, "must be less than 1"),
        (Annotated[int, annotated_types.MultipleOf(5)], {"multipleOf": 5}, 10, 11, "a multiple of 5"),
        (
            Annotated[float, annotated_types.MultipleOf(0.1)],
            {"multipleOf": 0.1},
            0.3,
            0.35,
            "a multiple of 0.1",
        ),
        (Annotated[str, annotated_types.Len(1, 2)], {"maxLength": 2}, "ab", "abc", "at most 2 characters"),
        (Annotated[list[int], annotated_types.MinLen(1)], {"minItems": 1}, [1], [], "at least 1 element"),
        (Annotated[int, pydantic.Field(ge=1, le=3)], {"minimum": 1, "maximum": 3}, 3, 4, "at most 3"),
        (Annotated[str, pydantic.Field(pattern="^a")], {"pattern": "^a"}, "ab", "ba", "the pattern ^a"),
        (Annotated[Decimal, pydantic.Field(ge=1)], {"minimum": 1}, 2, "0.5", "must be at least 1"),
        (Annotated[int | None, annotated_types.Ge(1)], {"minimum": 1}, None, 0, "must be at least 1"),
    ],
)
def test_constraints_are_shown_and_enforced(
    annotation: Any, keywords: dict[str, Any], right: Any, wrong: Any, says: str
):
    assert schema_of(annotation).items() >= keywords.items()
    bound(annotation, right)
    assert says in refused(annotation, wrong)
    assert says in refused(list[annotation], [wrong])


def test_a_constraint_of_one_use_stays_there():
    def take(a: Annotated[int, annotated_types.Ge(1)], b: int) -> None:
        """Take."""

    plan = tool_plan(take)
    assert plan.bind({"a": 1, "b": -1}) == {"a": 1, "b": -1}
    assert plan.specification.parameters["properties"]["b"] == {"type": "integer"}


def test_a_pattern_that_is_none():
    class Broken:
        pattern = "("

    with pytest.raises(ConfigurationError, match="not a regular expression"):
        plan_for(Annotated[str, Broken()])


def test_a_compiled_pattern():
    class Code:
        pattern = re.compile("^[A-Z]$")

    assert schema_of(Annotated[str, Code()])["pattern"] == "^[A-Z]$"


def test_a_description_beside_a_constraint():
    annotation = Annotated[int, P("how many"), annotated_types.Ge(1)]
    assert schema_of(annotation) == {"type": "integer", "minimum": 1, "description": "how many"}


@pytest.mark.parametrize("annotation", [complex, type, re.Pattern, memoryview])
def test_what_stays_refused(annotation: Any):
    with pytest.raises(
        ConfigurationError, match=f"has the type .*{annotation.__name__}.*; accepted: str, int"
    ):
        plan_for(annotation)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Unit(enum.Enum):
    METRE = "m"
    MILE = "mi"


class Grade(enum.Enum):
    A = 1
    B = 2


class Mood(enum.StrEnum):
    GLAD = "glad!"
    SAD = "sad"


@pytest.mark.parametrize(
    ("annotation", "shown", "accepted"),
    [
        (
            Level,
            {"type": "string", "enum": ["LOW", "HIGH"]},
            {"HIGH": Level.HIGH, "low": Level.LOW, 5: Level.HIGH},
        ),
        (Unit, {"type": "string", "enum": ["METRE", "MILE"]}, {"METRE": Unit.METRE, "mi": Unit.MILE}),
        (Mood, {"type": "string", "enum": ["glad!", "sad"]}, {"glad!": Mood.GLAD, "SAD": Mood.SAD}),
        (Annotated[Unit, P(values=True)], {"type": "string", "enum": ["m", "mi"]}, {"m": Unit.METRE}),
        (Annotated[Grade, P(values=True)], {"type": "integer", "enum": [1, 2]}, {2: Grade.B, "A": Grade.A}),
    ],
)
def test_enums(annotation: Any, shown: dict[str, Any], accepted: dict[Any, Any]):
    assert schema_of(annotation) == shown
    for value, member in accepted.items():
        assert bound(annotation, value) is member
    for wrong in (0, True, "x", [], 1.5):
        assert "must be one of" in refused(annotation, wrong)


def test_plain_enums_of_numbers_go_by_name():
    assert "must be one of A, B" in refused(Grade, 1)


def test_lists_of_enums_by_value():
    annotation = Annotated[list[Unit], P("units", values=True)]
    assert schema_of(annotation)["items"] == {"type": "string", "enum": ["m", "mi"]}
    assert bound(annotation, ["m"]) == [Unit.METRE]


def test_an_enum_whose_values_cannot_be_shown():
    class Odd(enum.Enum):
        A = object()

    with pytest.raises(ConfigurationError, match="whose values are not all text or numbers"):
        plan_for(Annotated[Odd, P(values=True)])


@dataclass
class Described:
    """a thing"""

    name: str
    """what it is called:
    in full"""
    size: int = 1
    "how big"
    colour: Annotated[str, P("from P")] = "red"
    "from the string"


def test_strings_below_fields_describe_them():
    properties = schema_of(Described)["properties"]
    assert properties["name"]["description"] == "what it is called:\nin full"
    assert properties["size"]["description"] == "how big"
    assert properties["colour"]["description"] == "from P"


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (datetime.date, datetime.date(2026, 1, 5), "2026-01-05"),
        (datetime.timedelta, datetime.timedelta(hours=1, microseconds=5), "PT1H0.000005S"),
        (bytes, b"hi", "aGk="),
        (pathlib.PurePosixPath, pathlib.PurePosixPath("a/b"), "a/b"),
        (Decimal, Decimal("1.5"), 1.5),
        (set[int], frozenset({1}), [1]),
        (Level, Level.HIGH, "HIGH"),
        (Annotated[Unit, P(values=True)], Unit.MILE, "mi"),
    ],
)
def test_defaults_are_shown_as_they_are_accepted(annotation: Any, default: Any, shown: Any):
    def take(value):  # type: ignore[no-untyped-def]
        """Take."""

    take.__annotations__ = {"value": annotation}
    take.__defaults__ = (default,)
    plan = tool_plan(take)
    assert plan.specification.parameters["properties"]["value"]["default"] == shown
    assert plan.bind({})["value"] is default
    assert plan.bind({"value": shown})["value"] == default


@dataclass
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low must not be above high")


@dataclass(frozen=True)
class Frozen:
    a: int


@dataclass(slots=True)
class Slotted:
    a: int
    b: str = "b"


@dataclass
class Counting:
    a: int
    made: typing.ClassVar[list[int]] = []

    def __setattr__(self, name: str, value: Any) -> None:
        self.made.append(value)
        object.__setattr__(self, name, value)


def test_dataclasses_are_made_as_they_want_to_be():
    assert bound(Checked, {"low": 1, "high": 2}) == Checked(1, 2)
    assert "low must not be above high" in refused(Checked, {"low": 3, "high": 2})
    assert bound(Frozen, {"a": 1}) == Frozen(1)
    assert bound(Slotted, {"a": 1}) == Slotted(1)
    assert bound(Counting, {"a": 7}).a == 7
    assert Counting.made == [7]


class Get(msgspec.Struct, tag=True):
    key: str


class Put(msgspec.Struct, tag=True):
    key: str
    value: str = ""


class Delete(msgspec.Struct, tag="delete", tag_field="op"):
    key: str


def test_a_tagged_struct_shows_its_tag_and_is_chosen_by_it() -> None:
    def store(what: Get | Put, last: Delete) -> str:
        return f"{what} {last}"

    plan = tool_plan(store)
    first, second = (plan.specification.parameters or {})["properties"]["what"]["anyOf"]
    assert first["properties"]["type"] == {"type": "string", "enum": ["Get"]}
    assert second["required"] == ["type", "key"]
    text = '{"what": {"type": "Put", "key": "a"}, "last": {"op": "delete", "key": "b"}}'
    assert plan.call(text).text == "Put(key='a', value='') Delete(key='b')"
    with pytest.raises(ToolArgumentsError, match="must be one of Get, Put"):
        plan.call('{"what": {"type": "Pop", "key": "a"}, "last": {"op": "delete", "key": "b"}}')
