"""Corners of types: what a schema shows must bind, and what can never bind is refused."""

from __future__ import annotations

import enum
import typing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

import annotated_types
import pydantic
import pytest
import typing_extensions

from fasttool import P, tool_plan
from fasttool.errors import ConfigurationError
from tests.schema.test_more_types import bound, plan_for, refused, schema_of

T = TypeVar("T")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Cat:
    name: str
    kind: Literal["cat"] = "cat"


@dataclass
class Dog:
    name: str
    breed: str
    kind: Literal["dog"] = "dog"


def test_a_member_that_fails_its_constraint_leaves_the_others():
    annotation = Annotated[int, annotated_types.Ge(3)] | float
    assert (type(bound(annotation, 2)), bound(annotation, 2)) == (float, 2.0)
    assert bound(annotation, 3) == 3
    assert "must be at least 3" in refused(Annotated[int, annotated_types.Ge(3)] | str, 2)


def test_a_tag_with_a_default_may_be_absent():
    assert bound(Cat | Dog, {"name": "a"}) == Cat("a")
    assert bound(Cat | Dog, {"name": "a", "breed": "b"}) == Dog("a", "b")
    assert '"value.kind" is "cow"' in refused(Cat | Dog, {"name": "a", "kind": "cow"})


@pytest.mark.parametrize(
    "annotation",
    [None, Literal[None], typing.Union[int, Any], typing.Union[Annotated[int | None, "x"], str]],  # noqa: UP007
)
def test_null_where_it_is_a_value(annotation: Any):
    assert bound(annotation, None) is None


@dataclass
class Box(typing.Generic[T]):
    value: T | int


def test_null_through_a_type_variable():
    assert bound(Box[str | None], {"value": None}) == Box(None)


@pytest.mark.parametrize(
    ("annotation", "right", "wrong"),
    [
        (Annotated[Decimal, annotated_types.Ge(Decimal("0.5"))], "0.5", "0.1"),
        (Annotated[Decimal, annotated_types.Ge(0.1)], "0.1", "0.05"),
        (Annotated[int, annotated_types.MultipleOf(2)], 10**400, 10**400 + 1),
    ],
)
def test_constraints_on_odd_numbers(annotation: Any, right: Any, wrong: Any):
    bound(annotation, right)
    assert "must be" in refused(annotation, wrong)


def test_a_float_beyond_its_divisor():
    assert "a multiple of" in refused(Annotated[float, annotated_types.MultipleOf(1e-10)], 1e308)


def test_constraints_that_cannot_be_shown_are_refused():
    with pytest.raises(ConfigurationError, match=r"has a constraint \(max_length\) that cannot be shown"):
        plan_for(Annotated[bytes, annotated_types.MaxLen(1)])


def test_the_digits_of_whole_numbers_with_exponents():
    assert plan_for(int).bind('{"value": 1e30}') == {"value": 10**30}


class Root(pydantic.RootModel[list[int]]):
    pass


class Choices(pydantic.BaseModel):
    a: int = pydantic.Field(validation_alias=pydantic.AliasChoices("b", "c"))


class ByName(pydantic.BaseModel):
    model_config = {"validate_by_alias": False, "validate_by_name": True}

    a: int = pydantic.Field(alias="b")


@pydantic.dataclasses.dataclass
class PydanticDataclass:
    x: int = pydantic.Field(default=3, ge=1)
    tags: list[str] = pydantic.Field(default_factory=list)


class Old(typing_extensions.TypedDict):
    a: int
    b: typing_extensions.NotRequired[str]


def test_what_pydantic_can_do():
    with pytest.raises(ConfigurationError, match="a RootModel: use the type of its root"):
        plan_for(Root)
    assert bound(Choices, {"b": 1}).a == 1
    assert bound(ByName, {"a": 1}).a == 1
    assert bound(PydanticDataclass, {}) == PydanticDataclass()
    assert bound(PydanticDataclass, {"x": "2"}) == PydanticDataclass(x=2)
    assert "must be at least 1" in refused(PydanticDataclass, {"x": 0})
    assert bound(Old, {"a": "1"}) == {"a": 1}


def test_keys_of_maps_are_shown():
    assert schema_of(dict[Colour, int])["propertyNames"] == {"enum": ["RED", "BLUE"]}
    assert bound(dict[Colour, int], {"RED": 1}) == {Colour.RED: 1}
    assert bound(dict[int, int], {"7": 1}) == {7: 1}
    assert schema_of(dict[int, int])["propertyNames"] == {"pattern": "^[+-]?[0-9]+$"}
    for annotation in (dict[Literal[1, 2], int], dict[Annotated[Colour, P(values=True)], int]):
        with pytest.raises(ConfigurationError, match="whose keys are not all text"):
            plan_for(annotation)


@dataclass
class Plain:
    a: int


@dataclass(frozen=True)
class Hashable:
    a: int


def test_sets_hold_what_can_be_hashed():
    assert bound(set[Hashable], [{"a": 1}]) == {Hashable(1)}
    assert bound(set[tuple[int, str]], [[1, "a"]]) == {(1, "a")}
    for annotation in (
        set[Plain],
        set[int | list[int]],
        frozenset[dict[str, int]],
        set[tuple[list[int], int]],
    ):
        with pytest.raises(ConfigurationError, match="cannot be hashed"):
            plan_for(annotation)


@dataclass
class Settings:
    colours: list[Colour] = field(default_factory=list)
    size: Annotated[int, P(name="Size")] = 3


def test_defaults_are_in_the_words_of_the_schema():
    def take(a: list[Colour] = [Colour.RED], b: Settings = Settings([Colour.BLUE])) -> None:  # noqa: B006, B008
        """Take."""

    properties = tool_plan(take).specification.parameters["properties"]  # type: ignore[index]
    assert properties["a"]["default"] == ["RED"]
    assert properties["b"]["default"] == {"colours": ["BLUE"], "Size": 3}


def test_the_empty_tuple_is_not_any_tuple():
    assert bound(tuple[()], []) == ()
    assert "0 elements" in refused(tuple[()], [1])
    assert bound(tuple, [1, "a"]) == (1, "a")
