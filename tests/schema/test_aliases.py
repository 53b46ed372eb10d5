"""Named aliases, those that contain themselves among them."""

from __future__ import annotations

import sys
import textwrap
import types
from typing import Annotated, Any, TypeVar

import pytest
from typing_extensions import TypeAliasType

from fasttool import tool_plan
from fasttool.errors import ConfigurationError, ToolArgumentsError

T = TypeVar("T")
Json = TypeAliasType("Json", "bool | int | float | str | list[Json] | dict[str, Json] | None")
Tree = TypeAliasType("Tree", "dict[str, Tree[T]] | T", type_params=(T,))
Plain = TypeAliasType("Plain", list[int])
Bare = TypeAliasType("Bare", "Bare | int")
Growing = TypeAliasType("Growing", "list[Growing[list[T]]]", type_params=(T,))
Unknown = TypeAliasType("Unknown", "list[Nowhere]")  # noqa: F821


def plan_of(annotation: Any) -> Any:
    def f(a: Any) -> str:
        return repr(a)

    f.__annotations__["a"] = annotation
    return tool_plan(f)


def test_an_alias_that_contains_itself_is_a_definition() -> None:
    plan = plan_of(Json)
    schema = plan.specification.parameters
    assert schema["properties"] == {"a": {"$ref": "#/$defs/Json"}}
    assert schema["required"] == []
    assert schema["$defs"]["Json"]["anyOf"][-2:] == [
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
        {"type": "null"},
    ]
    assert plan.call('{"a": [1, "x", {"k": [null, 2.5, true]}]}').text == "[1, 'x', {'k': [None, 2.5, True]}]"
    assert plan.call('{"a": null}').text == "None"


def test_a_generic_alias_keeps_its_type() -> None:
    plan = plan_of(Tree[int])
    assert plan.call('{"a": {"x": {"y": "3"}, "z": 4}}').text == "{'x': {'y': 3}, 'z': 4}"
    with pytest.raises(ToolArgumentsError, match=r'"a\.x\.y" must be'):
        plan.call('{"a": {"x": {"y": "q"}}}')


def test_two_uses_share_one_definition_and_keep_their_descriptions() -> None:
    def f(a: Annotated[Json, "first"], b: list[Json], c: Json = 1) -> None: ...

    schema = tool_plan(f).specification.parameters
    assert schema is not None
    assert list(schema["$defs"]) == ["Json"]
    assert schema["properties"]["a"] == {"$ref": "#/$defs/Json", "description": "first"}
    assert schema["properties"]["c"] == {"$ref": "#/$defs/Json", "default": 1}


def test_depth_has_a_limit() -> None:
    with pytest.raises(ToolArgumentsError, match="nested deeper"):
        plan_of(Json).call('{"a":' + "[" * 500 + "]" * 500 + "}")


def test_an_alias_that_does_not_contain_itself_is_what_it_stands_for() -> None:
    assert plan_of(Plain).specification.parameters["properties"]["a"] == {
        "type": "array",
        "items": {"type": "integer"},
    }


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Bare, "Bare, an alias that stands for nothing but itself"),
        (Growing[int], "Growing, an alias that has no end"),
        (Unknown, "Unknown, which uses 'Nowhere', a name that is not defined"),
    ],
)
def test_an_alias_without_a_meaning_is_refused(annotation: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        plan_of(annotation)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement came with Python 3.12")
def test_the_type_statement_and_type_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        from dataclasses import dataclass

        type Json = None | int | str | list[Json] | dict[str, Json]

        @dataclass
        class Box[T]:
            value: T
            more: "list[Box[T]] | None" = None

        def f(a: Json, b: Box[int]) -> str:
            return repr((a, b.value, [box.value for box in b.more or ()]))

        def g[T: (int, str)](x: T, y: list[T]) -> str:
            return repr((x, y))
    """
    module = types.ModuleType("written_here")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = vars(module)
    exec(textwrap.dedent(source), names)
    text = '{"a": [1, ["x", null]], "b": {"value": "3", "more": [{"value": "4"}]}}'
    assert tool_plan(names["f"]).call(text).text == "([1, ['x', None]], 3, [4])"
    assert tool_plan(names["g"]).call('{"x": 1, "y": ["a", 2]}').text == "(1, ['a', 2])"
