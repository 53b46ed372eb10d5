"""Python types to forms, and the types that have none."""

from __future__ import annotations

import collections.abc
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, InitVar, dataclass, field
from enum import Enum
from typing import Annotated, Any, Generic, Literal, NewType, Optional, TypeVar, Union

import pytest

from fasttool.errors import ConfigurationError, ToolArgumentsError
from fasttool.schema.forms import (
    ABSENT,
    AnyForm,
    IntegerForm,
    ListForm,
    MapForm,
    ObjectForm,
    OptionalForm,
    StringForm,
    UnionForm,
)
from fasttool.schema.python_types import (
    TypeReader,
    UnsupportedTypeError,
    annotated_description,
    check_wire_names,
    json_default,
    parameter_marker,
    read_field,
    resolved_hints,
    type_name,
)
from fasttool.tools import P, tool_plan

T = TypeVar("T")
U = TypeVar("U")
Name = Annotated[str, P("a name")]
UserId = NewType("UserId", int)


class Color(Enum):
    RED = 1


@dataclass
class Box(Generic[T]):
    value: T


@dataclass
class IntBox(Box[int]):
    extra: str = ""


@dataclass
class Labelled(Box[U], Generic[U]):
    label: str


@dataclass
class Outer(Generic[T]):
    box: Box[list[T]]


@dataclass
class Growing(Generic[T]):
    value: T
    next: Growing[list[T]] | None = None


@dataclass
class Chain:
    value: int
    next: Annotated[Chain | None, P("the next one")] = None


@dataclass
class Ping:
    pong: Pong | None = None


@dataclass
class Pong:
    ping: Ping | None = None


@dataclass
class Base:
    b: int
    _: KW_ONLY
    k: str = "k"


@dataclass
class Derived(Base):
    d: float
    made: int = field(default=0, init=False)
    many: list[int] = field(default_factory=lambda: [1])


@dataclass
class WithInitVar:
    x: int
    scale: InitVar[int]
    y: int = 7


@dataclass(init=False)
class OwnOrder:
    x: int
    y: int

    def __init__(self, y: int, x: int) -> None:
        self.x, self.y = x, y


@dataclass
class Empty:
    pass


def plan_of(annotation: Any, default: Any = ABSENT) -> Any:
    if default is ABSENT:

        def t(a: Any) -> None: ...

    else:

        def t(a: Any = default) -> None: ...

    t.__annotations__["a"] = annotation
    return tool_plan(t)


def schema_of(annotation: Any) -> Any:
    return plan_of(annotation).specification.parameters["properties"]["a"]


INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (UserId, INTEGER),
        (NewType("Names", list[str]), {"type": "array", "items": {"type": "string"}}),
        (Any, {}),
        (object, {}),
        (None, {"type": "null"}),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (collections.abc.Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (collections.abc.Sequence[int], {"type": "array", "items": INTEGER}),
        (list, {"type": "array", "items": {}}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (set, {"type": "array", "items": {}, "uniqueItems": True}),
        (list[int | None], {"type": "array", "items": {"anyOf": [INTEGER, {"type": "null"}]}}),
        (int | str, {"anyOf": [INTEGER, {"type": "string"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, "b", None], {"enum": [1, "b"]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (Box[int], {"type": "object", "properties": {"value": INTEGER}, "required": ["value"]}),
        (Box, {"type": "object", "properties": {"value": {}}, "required": ["value"]}),
        (Empty, {"type": "object", "properties": {}, "required": []}),
    ],
    ids=str,
)
def test_types(annotation: Any, schema: Any) -> None:
    assert schema_of(annotation) == schema


def test_optional_in_every_spelling() -> None:
    spellings = [int | None, None | int, Optional[int], Union[int, None], Union[None, int]]  # noqa: UP007, UP045
    for annotation in spellings:
        plan = plan_of(annotation)
        assert plan.specification.parameters == {
            "type": "object",
            "properties": {"a": INTEGER},
            "required": [],
        }
        assert plan.bind("{}") == {"a": None}


def test_generics() -> None:
    assert schema_of(IntBox)["properties"] == {"value": INTEGER, "extra": {"type": "string", "default": ""}}
    assert schema_of(Labelled[int])["properties"]["value"] == INTEGER
    assert schema_of(Box[Box[int]])["properties"]["value"]["properties"]["value"] == INTEGER
    inner = schema_of(Outer[int])["properties"]["box"]["properties"]["value"]
    assert inner == {"type": "array", "items": INTEGER}
    assert plan_of(Outer[int]).bind('{"a": {"box": {"value": ["1"]}}}') == {"a": Outer(Box([1]))}
    assert plan_of(IntBox).bind('{"a": {"value": "5"}}') == {"a": IntBox(5)}

    bound, constrained = TypeVar("bound", bound=int), TypeVar("constrained", int, str)
    assert schema_of(bound) == INTEGER
    assert schema_of(constrained) == {"anyOf": [INTEGER, {"type": "string"}]}
    with pytest.raises(ConfigurationError, match="contains ever new ones"):
        plan_of(Growing[int])


def test_recursion() -> None:
    parameters = plan_of(Chain).specification.parameters
    reference = {"$ref": "#/$defs/Chain", "description": "the next one"}
    assert parameters["properties"]["a"]["properties"]["next"] == reference
    assert parameters["$defs"]["Chain"]["properties"]["next"] == reference
    assert plan_of(Chain).bind('{"a": {"value": 1, "next": {"value": "2"}}}') == {"a": Chain(1, Chain(2))}
    assert plan_of(Ping).bind('{"a": {"pong": {"ping": {}}}}') == {"a": Ping(Pong(Ping()))}


def test_types_that_contain_each_other_stay_small() -> None:
    """Written out along every way through them, ten of them would take millions of pages."""
    names = [f"Kind{number}" for number in range(10)]
    union = " | ".join(names)
    namespace: dict[str, Any] = {"dataclass": dataclass}
    for name in names:
        exec(f"@dataclass\nclass {name}:\n    of: '{union} | None' = None\n", namespace)
        namespace[name].__module__ = __name__
        globals()[name] = namespace[name]
    specification = plan_of(eval(union, globals())).specification
    assert specification.parameters_json is not None
    assert len(specification.parameters_json) < 20_000
    assert set(specification.parameters["$defs"]) == set(names)


def test_dataclass_fields() -> None:
    schema = schema_of(Derived)
    assert list(schema["properties"]) == ["b", "k", "d", "many"]
    assert schema["required"] == ["b", "d"]
    plan = plan_of(Derived)
    assert plan.bind('{"a": {"b": 1, "d": 2}}') == {"a": Derived(1, 2.0)}
    assert plan.bind('{"a": {"b": 1, "d": 2, "k": 3, "many": [4]}}') == {"a": Derived(1, 2.0, [4], k="3")}
    with pytest.raises(ToolArgumentsError, match=r'"a\.made" is not a known name'):
        plan.bind('{"a": {"b": 1, "d": 2, "made": 1}}')


def test_dataclasses_with_an_init_of_their_own() -> None:
    assert plan_of(OwnOrder).bind('{"a": {"x": 1, "y": 2}}')["a"].x == 1
    with pytest.raises(
        ConfigurationError, match="WithInitVar, whose __init__ takes other values than its fields"
    ):
        plan_of(WithInitVar)


class NoMembers(Enum):
    pass


@pytest.mark.parametrize(
    ("annotation", "shown"),
    [
        (complex, "complex"),
        (range, "range"),
        (tuple[int, complex], "complex"),
        (list[complex], "complex"),
        (dict[float, int], r"dict\[float, int\], whose keys cannot be the text of a JSON key"),
        (set[list[int]], r"set\[list\[int\]\], whose elements cannot be hashed"),
        (Callable[[], int], "Callable"),
        (type[int], r"type\[int\]"),
        (NoMembers, "NoMembers, an enum without members"),
        (Literal[b"x"], r"Literal\[b'x'\], which is not a string"),
        (Literal[Color.RED], "which is not a string"),
        (collections.abc.Iterator[int], "Iterator"),
        (Box[complex], "Box, whose field value is complex"),
        (int | complex, "complex"),
    ],
    ids=str,
)
def test_types_without_a_form(annotation: Any, shown: str) -> None:
    with pytest.raises(
        ConfigurationError, match=rf"\AParameter a of tool t has the type .*{shown}.*; accepted: .*\.\Z"
    ):
        plan_of(annotation)
    with pytest.raises(UnsupportedTypeError):
        TypeReader().read(annotation)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement came with Python 3.12")
def test_type_aliases() -> None:
    namespace: dict[str, Any] = {}
    exec("type Ids = list[int]\ntype Pair[T] = dict[str, T]\ntype Maybe = int | None", namespace)
    assert schema_of(namespace["Ids"]) == {"type": "array", "items": INTEGER}
    assert schema_of(namespace["Pair"][int]) == {"type": "object", "additionalProperties": INTEGER}
    assert plan_of(namespace["Maybe"]).bind("{}") == {"a": None}


def test_local_names() -> None:
    @dataclass
    class Local:
        n: int
        other: Local | None = None

    def t(a: Local) -> Local:
        """Test."""
        return Local(a.n)

    assert tool_plan(t).bind('{"a": {"n": 1, "other": {"n": 2}}}') == {"a": Local(1, Local(2))}

    def unknown(a: Nowhere) -> None:  # noqa: F821
        """Test."""

    with pytest.raises(
        ConfigurationError, match="uses 'Nowhere', a name that is not defined where it is used"
    ):
        tool_plan(unknown)


@pytest.mark.parametrize("annotation", ["int[", "int.x", "1 +"])
def test_annotations_that_cannot_be_read(annotation: str) -> None:
    with pytest.raises(ConfigurationError, match="an annotation that cannot be read"):
        plan_of(annotation)


def test_markers() -> None:
    assert parameter_marker(int) is None
    outer = Annotated[Name, P("destination", name="to")]
    marker = parameter_marker(outer)
    assert marker is not None
    assert (marker.name, marker.description) == ("to", "destination")
    assert schema_of(Name) == {"type": "string", "description": "a name"}
    assert schema_of(Annotated[int, "plain text"]) == {**INTEGER, "description": "plain text"}
    assert plan_of(outer).specification.parameters["properties"] == {
        "to": {"type": "string", "description": "destination"}
    }
    assert annotated_description([1, " ", "a", type("Field", (), {"description": "b"})]) == "b"
    assert annotated_description([]) is None
    assert schema_of(list[Name])["items"] == {"type": "string", "description": "a name"}


@pytest.mark.parametrize(
    ("annotation", "default", "text"),
    [
        (Optional[Annotated[int, P(name="x")]], ABSENT, "inside its type"),  # noqa: UP045
        (list[Annotated[int, P(default=1)]], ABSENT, "inside its type"),
        (dict[str, list[Annotated[int, P(required=False)]]], ABSENT, "inside its type"),
        (Annotated[int | None, P(default=1)], ABSENT, "has a default in P and may be None"),
        (Annotated[int, P(default=1)], 2, "has a default in P and another in Python"),
        (int, P("text"), "has P\\(...\\) as its default"),
        (Annotated[int, P(default="x")], ABSENT, "The default in P does not fit the type"),
    ],
)
def test_contradictions(annotation: Any, default: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text) as raised:
        plan_of(annotation, default)
    assert "ool t" in str(raised.value)


def test_read_field_and_names() -> None:
    entry = read_field(TypeReader(), "a", Annotated[int, P(required=False)], description="used if P has none")
    assert (entry.required, entry.default, entry.wire_name) == (False, None, "a")
    assert entry.form.description == "used if P has none"
    assert read_field(TypeReader(), "a", int, default=3).shown_default == 3
    two = [read_field(TypeReader(), name, Annotated[int, P(name="x")]) for name in "ab"]
    with pytest.raises(ValueError, match="two parameters named 'x': a, b"):
        check_wire_names(two, "Tool t")
    check_wire_names(two[:1], "Tool t")


@pytest.mark.parametrize(
    ("default", "shown"),
    [
        (ABSENT, ABSENT),
        (None, ABSENT),
        (1, 1),
        ((1, 2), [1, 2]),
        (Color.RED, "RED"),
        (float("nan"), ABSENT),
        (object(), ABSENT),
        (frozenset({1}), [1]),
        (2**70, 2**70),
    ],
)
def test_defaults_in_the_schema(default: Any, shown: Any) -> None:
    assert json_default(default, AnyForm()) == shown


def test_forms_of_types() -> None:
    reader = TypeReader({"Local": int})
    assert isinstance(reader.read(int), IntegerForm)
    assert isinstance(reader.read(int | None), OptionalForm)
    assert isinstance(reader.read(int | str | None), OptionalForm)
    union = reader.read(int | str)
    assert isinstance(union, UnionForm)
    assert [type(member) for member in union.members] == [IntegerForm, StringForm]
    mapping = reader.read(dict[int, Any])
    assert isinstance(mapping, MapForm)
    assert (type(mapping.key), type(mapping.value)) == (IntegerForm, AnyForm)
    values = reader.read(frozenset[int])
    assert isinstance(values, ListForm)
    assert (values.construct, values.unique) == (frozenset, True)
    first, second = reader.read(Chain), reader.read(Chain)
    assert isinstance(first, ObjectForm)
    assert first is second


def test_small_parts() -> None:
    assert type_name(int) == "int"
    assert type_name(Optional[int]) == "Optional[int]"  # noqa: UP045
    assert resolved_hints(plan_of, {})["annotation"] is Any
    assert repr(ABSENT) == "ABSENT"
