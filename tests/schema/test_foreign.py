"""Arguments of tools that come with a JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest

from fasttool.errors import ToolArgumentsError
from fasttool.specification import ToolSpecification
from fasttool.tools import bind_schema


def bind(schema: Any, arguments: Any) -> Any:
    return bind_schema(ToolSpecification("t", parameters=schema)).bind(arguments)


def properties(**entries: Any) -> dict[str, Any]:
    return {"type": "object", "properties": entries}


TREE = {
    **properties(root={"$ref": "#/$defs/Node"}),
    "$defs": {
        "Node": {**properties(n={"type": "integer"}, next={"$ref": "#/$defs/Node"}), "required": ["n"]}
    },
}
TAKEN: list[tuple[Any, str, Any]] = [
    (None, '{"x": 1}', {"x": 1}),
    ({}, '{"x": [1]}', {"x": [1]}),
    (properties(n={"type": "integer"}), '{"n": "5"}', {"n": 5}),
    (properties(n={"type": "integer"}), "{}", {}),
    (properties(n={"type": "integer"}), '{"n": null}', {}),
    (properties(n={"type": ["integer", "null"]}), '{"n": null}', {"n": None}),
    (properties(n={"type": ["integer", "string"]}), '{"n": "5"}', {"n": "5"}),
    (properties(n={"type": "integer"}), '{"n": 1, "more": [1.5]}', {"n": 1, "more": [1.5]}),
    (properties(n={"enum": ["a", 1, None]}), '{"n": null}', {"n": None}),
    (properties(n={"enum": ["Up"]}), '{"n": "UP"}', {"n": "Up"}),
    (properties(n={"const": 3}), '{"n": 3}', {"n": 3}),
    (properties(n={"anyOf": [{"type": "integer"}, {"type": "null"}]}), '{"n": "7"}', {"n": 7}),
    (properties(n={"oneOf": [{"type": "integer"}, {"type": "string"}]}), '{"n": "7"}', {"n": "7"}),
    (properties(n={"allOf": [{"type": "boolean"}]}), '{"n": true}', {"n": True}),
    (properties(n={"type": "array", "items": {"type": "number"}}), '{"n": ["1", 2]}', {"n": [1.0, 2.0]}),
    (properties(n={"type": "array", "prefixItems": [{"type": "integer"}]}), '{"n": ["1"]}', {"n": ["1"]}),
    (properties(n={"type": "object"}), '{"n": {"k": 1}}', {"n": {"k": 1}}),
    (properties(n=properties(k={"type": "string"})), '{"n": {"k": 1, "l": 2}}', {"n": {"k": "1", "l": 2}}),
    (properties(n={"properties": {"k": {"type": "string"}}}), '{"n": {"k": 1}}', {"n": {"k": "1"}}),
    (
        properties(n={"additionalProperties": {"type": "integer"}, "type": "object"}),
        '{"n": {"k": "1"}}',
        {"n": {"k": 1}},
    ),
    (properties(n={"enum": [{"a": 1}]}), '{"n": 5}', {"n": 5}),
    (properties(n={"type": "strange"}), '{"n": 5}', {"n": 5}),
    (properties(n={"$ref": "http://x/y"}), '{"n": 5}', {"n": 5}),
    (properties(n={"$ref": "#/$defs/none"}), '{"n": 5}', {"n": 5}),
    (properties(n=True, m=False), '{"n": 5, "m": 6}', {"n": 5, "m": 6}),
    (TREE, '{"root": {"n": "1", "next": {"n": 2.0}}}', {"root": {"n": 1, "next": {"n": 2}}}),
    ({**properties(a={"$ref": "#"}), "required": []}, '{"a": {"a": {}}}', {"a": {"a": {}}}),
]


@pytest.mark.parametrize(("schema", "arguments", "expected"), TAKEN)
def test_taken(schema: Any, arguments: str, expected: Any) -> None:
    found = bind(schema, arguments)
    assert found == expected
    assert repr(found) == repr(expected)


CLOSED = {**properties(k={"type": "string"}), "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "arguments", "text"),
    [
        ({**properties(n={"type": "integer"}), "required": ["n"]}, "{}", '"n" is required and is missing'),
        (
            {**properties(n={"type": "integer"}), "required": ["n"]},
            '{"n": null}',
            '"n" is required and was null',
        ),
        (properties(n={"type": "integer"}), '{"n": "x"}', '"n" must be an integer'),
        (properties(n={"enum": ["a", "b"]}), '{"n": "c"}', '"n" must be one of a, b, got "c"'),
        (properties(n=CLOSED), '{"n": {"l": 1}}', '"n.l" is not a known name; accepted: k'),
        (
            properties(n={"type": "object", "additionalProperties": False}),
            '{"n": {"l": 1}}',
            "accepted: none",
        ),
        (TREE, '{"root": {"n": 1, "next": {}}}', '"root.next.n" is required and is missing'),
        (None, "[]", "must be a JSON object"),
    ],
)
def test_refused(schema: Any, arguments: str, text: str) -> None:
    with pytest.raises(ToolArgumentsError, match=text):
        bind(schema, arguments)


def test_deep_schemas_end() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(120):
        schema = properties(a=schema)
    value: Any = "1"
    for _ in range(90):
        value = {"a": value}
    with pytest.raises(ToolArgumentsError):
        bind(schema, value)
