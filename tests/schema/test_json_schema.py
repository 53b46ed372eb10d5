"""Forms to JSON Schema."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from fasttool.schema.forms import (
    FieldForm,
    IntegerForm,
    MapForm,
    ObjectForm,
    OptionalForm,
    StringForm,
)
from fasttool.schema.json_schema import parameters_schema
from fasttool.tools import P, tool_plan


def test_no_parameters() -> None:
    assert parameters_schema([]) is None
    assert parameters_schema([], extra=IntegerForm()) == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": {"type": "integer"},
    }


def test_descriptions_and_defaults() -> None:
    fields = [
        FieldForm("a", "A", OptionalForm("may be absent", inner=StringForm("inner")), required=False),
        FieldForm("b", "b", MapForm("free", value=OptionalForm(inner=IntegerForm()))),
        FieldForm("c", "c", IntegerForm(), required=False, default=1, shown_default=1),
    ]
    assert parameters_schema(fields) == {
        "type": "object",
        "properties": {
            "A": {"type": "string", "description": "may be absent"},
            "b": {
                "type": "object",
                "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "description": "free",
            },
            "c": {"type": "integer", "default": 1},
        },
        "required": ["b"],
    }


def test_two_types_of_one_name() -> None:
    def node(name: str) -> ObjectForm:
        form = ObjectForm(name="Node")
        form.fields.append(FieldForm(name, name, OptionalForm(inner=form), required=False))
        return form

    schema = parameters_schema([FieldForm("x", "x", node("left")), FieldForm("y", "y", node("right"))])
    assert schema is not None
    assert list(schema["$defs"]) == ["Node", "Node2"]
    assert schema["$defs"]["Node2"]["properties"] == {"right": {"$ref": "#/$defs/Node2"}}


def test_extra_fields() -> None:
    schema = parameters_schema([FieldForm("x", "x", ObjectForm(name="o", extra=StringForm()))])
    assert schema is not None
    assert schema["properties"]["x"]["additionalProperties"] == {"type": "string"}


@dataclass
class Item:
    """An item."""

    name: str
    tags: list[str] = field(default_factory=list)


def test_a_signature() -> None:
    def collect(
        items: list[Item],
        when: Annotated[str, P("ISO date")] = "2020-01-01",
        marks: frozenset[int] = frozenset({1}),
        sentinel: Any = object,
        **rest: int,
    ) -> None: ...

    schema = tool_plan(collect).specification.parameters
    json.dumps(schema)
    assert schema == {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "description": "An item.",
                    "properties": {
                        "name": {"type": "string"},
                        "tags": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["name"],
                },
            },
            "when": {"type": "string", "description": "ISO date", "default": "2020-01-01"},
            "marks": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "default": [1]},
            "sentinel": {},
        },
        "required": ["items"],
        "additionalProperties": {"type": "integer"},
    }
