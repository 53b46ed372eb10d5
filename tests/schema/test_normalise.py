from __future__ import annotations

import copy
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fasttool import json_text
from fasttool.schema.normalise import MAX_DEPTH, normalise
from tests.vectors_finder import data_file, vector_file

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in json.loads(vector_file("mcp/mcp_schema.json").read_text("utf-8"))["cases"]
}

# What a case asks beyond the schema, and why it is not asked here.
LISTS = "a tool that cannot be used is left out of the list by the reader of the list"
METADATA = "the fields beside the schema are read by the reader of the list"
HEADERS = "which headers are allowed is decided from the raw schema by the MCP client"
NOT_ASKED = {
    "name_missing": LISTS,
    "annotations": METADATA,
    "annotations_odd": METADATA,
    "meta_shadows": METADATA,
    "header_nested": HEADERS,
    "header_space": HEADERS,
    "header_number_null_type": HEADERS,
    "header_nullable_string": HEADERS,
    "header_no_type": HEADERS,
    "header_dup_case": HEADERS,
    "header_in_items": HEADERS,
    "header_in_anyof": HEADERS,
    "header_in_defs": HEADERS,
    "header_crlf": HEADERS,
}
METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA)
KNOWN_FIELDS = {"id", "note", "langchain4j", "expected", "in", "in_missing", "tools"}
KNOWN_EXPECTATIONS = {"schema", "warnings"}


def pairs_of(case: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each schema of a case with what is expected of it."""
    if "tools" in case:
        tools = case["tools"]
        yield from zip((tool["inputSchema"] for tool in tools), case["expected"], strict=True)
    else:
        yield None if case.get("in_missing") else case["in"], case["expected"]


def assert_normal(schema: dict[str, Any]) -> None:
    assert METASCHEMA.is_valid(schema)
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    json.dumps(schema, allow_nan=False).encode()
    json_text.encode(schema)
    again, warnings = normalise(schema)
    assert warnings == []
    assert again == schema


def schema_of(schema: Any, *warnings: str) -> dict[str, Any]:
    """The normal form, after a look at the warnings and at the input."""
    before = copy.deepcopy(schema)
    result, found = normalise(schema)
    assert found == list(warnings)
    assert schema == before
    assert_normal(result)
    return result


def property_of(schema: Any, *warnings: str) -> Any:
    """The normal form of the schema of a property."""
    return schema_of({"type": "object", "properties": {"p": schema}}, *warnings)["properties"]["p"]


@pytest.mark.parametrize("case_id", CASES)
def test_vector(case_id: str) -> None:
    case = CASES[case_id]
    if case_id in NOT_ASKED:
        for schema, expected in [] if "tools" in case else pairs_of(case):
            result, warnings = normalise(schema)
            assert_normal(result)
            if "schema" in expected:
                assert (result, warnings) == (expected["schema"], expected.get("warnings", []))
        return
    assert case.keys() <= KNOWN_FIELDS, f"{case_id} asks for something that is not known here"
    for schema, expected in pairs_of(case):
        assert expected.keys() <= KNOWN_EXPECTATIONS, f"{case_id} expects something that is not known here"
        assert schema_of(schema, *expected.get("warnings", [])) == expected["schema"]


def test_what_is_not_asked_is_still_in_the_vectors() -> None:
    assert NOT_ASKED.keys() <= CASES.keys()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("dict", "object"),
        ("HashMap", "object"),
        ("Hashtable", "object"),
        ("Object", "object"),
        ("Map<String, Integer>", "object"),
        ("float", "number"),
        ("double", "number"),
        ("decimal", "number"),
        ("int", "integer"),
        ("long", "integer"),
        ("short", "integer"),
        ("byte", "integer"),
        ("bool", "boolean"),
        ("Boolean", "boolean"),
        ("str", "string"),
        ("char", "string"),
        ("String", "string"),
        ("tuple", "array"),
        ("list", "array"),
        ("set", "array"),
        ("Array", "array"),
        ("ArrayList", "array"),
        ("List[int]", "array"),
        ("int[]", "array"),
        ("None", "null"),
    ],
)
def test_type_name_of_another_dialect(name: str, kind: str) -> None:
    assert property_of({"type": name}, f"dialect-type:{name}") == {"type": kind}


@pytest.mark.parametrize("name", ["any", "", "file", "Any?", "int" * 50])
def test_unknown_type_name_is_no_type(name: str) -> None:
    assert property_of({"type": name, "description": "D"}, "unknown-type") == {"description": "D"}


def test_types_in_a_list() -> None:
    assert property_of({"type": ["int", "integer", "null"]}, "dialect-type:int") == {
        "type": ["integer", "null"]
    }
    assert property_of({"type": ["any", 5, "string"]}, "unknown-type", "bad-type") == {"type": "string"}
    assert property_of({"type": []}, "bad-type") == {}
    assert property_of({"type": {"type": "string"}}, "bad-type") == {}


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        ("integer", "5", 5),
        ("integer", "-3", -3),
        ("number", "0.5", 0.5),
        ("number", "7", 7),
        ("boolean", "False", False),
        ("boolean", "true", True),
        ("string", 5, "5"),
        ("string", 1.5, "1.5"),
        ("string", True, "true"),
        ("array", "[1, 2]", [1, 2]),
        ("object", "{}", {}),
        (["integer", "null"], "5", 5),
    ],
)
def test_default_that_converts_exactly(kind: Any, default: Any, expected: Any) -> None:
    found = property_of({"type": kind, "default": default}, "converted-default")["default"]
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("integer", "dontcare"),
        ("integer", "05"),
        ("integer", 1.5),
        ("integer", True),
        ("integer", None),
        ("number", "0.10000000000000000001"),
        ("number", "NaN"),
        ("boolean", 1),
        ("boolean", "yes"),
        ("string", None),
        ("string", ["a"]),
        ("array", "a, b"),
        ("array", {}),
        ("array", "[" * 100_000),
        ("object", "None"),
        (["integer", "number"], "5"),
        ("string", float("nan")),
    ],
)
def test_default_of_another_type_is_left_out(kind: Any, default: Any) -> None:
    schema, warnings = normalise({"properties": {"p": {"type": kind, "default": default}}})
    assert schema["properties"]["p"] == {"type": kind}
    assert warnings == ["bad-default"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "default": 5.0},
        {"type": "number", "default": 5},
        {"type": ["string", "null"], "default": None},
        {"default": None},
        {"anyOf": [{"type": "string"}], "default": 5},
        {"type": "array", "default": []},
    ],
)
def test_default_that_is_nothing_wrong_stays(schema: dict[str, Any]) -> None:
    assert property_of(schema) == schema


def test_optional_keyword_takes_the_name_out_of_required() -> None:
    raw = {
        "properties": {
            "a": {"type": "string", "optional": True},
            "b": {"optional": False},
            "c": {"optional": "True"},
        },
        "required": ["a", "b", "c"],
    }
    assert schema_of(raw, *["dialect-keyword:optional"] * 3) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {}, "c": {}},
        "required": ["b"],
    }
    # As a name it is a property like any other.
    assert property_of({"type": "object", "properties": {"optional": {"type": "boolean"}}})["properties"]


def test_required_names_that_nobody_declares() -> None:
    raw = {"properties": {"a": {}}, "required": ["a", "b", "a", 5]}
    assert schema_of(raw, "bad-required", "unknown-required:b")["required"] == ["a"]
    assert "required" not in schema_of({"required": ["b"]}, "unknown-required:b")
    assert "required" not in property_of({"type": "object", "required": ["b"]}, "unknown-required:b")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}},
        {"type": "object", "required": ["a"], "patternProperties": {"^a": {}}},
        {"required": ["a"], "allOf": [{"properties": {"a": {}}}]},
        {"allOf": [{"required": ["a"]}], "properties": {"a": {}}},
        {"dependentSchemas": {"b": {"required": ["a"], "properties": {"b": {}}}}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
        {"not": {"required": ["a"]}},
    ],
)
def test_required_names_that_may_be_declared_elsewhere_stay(schema: dict[str, Any]) -> None:
    assert property_of(schema) == schema


def test_property_names_stay_as_they_are() -> None:
    names = ["Content-Type", "año_vehiculo", "a.b", "$ref", "type", "", "a b", "名", "required", "nullable"]
    raw = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    assert schema_of(raw) == raw


def test_keywords_nobody_knows_stay() -> None:
    raw = {
        "type": "object",
        "properties": {"p": {"type": "string", "x-order": 3, "discriminator": {"propertyName": "k"}}},
        "unevaluatedProperties": False,
        "minProperties": 1,
        "x-list": [{"$ref": "#/nowhere", "type": "any", "a": None}],
        "additionalProperties": {"type": "integer"},
    }
    assert schema_of(raw) == raw


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "integer", "minimum": 5, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 5},
        ),
        ({"maximum": 5, "exclusiveMaximum": False}, {"maximum": 5}),
        ({"exclusiveMaximum": True}, {}),
        ({"items": [{}], "additionalItems": False}, {"prefixItems": [{}], "items": False}),
        ({"items": [], "additionalItems": {"type": "null"}}, {"items": {"type": "null"}}),
        ({"items": {}, "additionalItems": False}, {"items": {}}),
        (
            {"dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": "f"}},
            {"dependentRequired": {"a": ["b"], "e": ["f"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
        ),
        ({"definitions": {"A": {}}, "$defs": {"B": True}}, {"$defs": {"A": {}, "B": {}}}),
        ({"$recursiveRef": "#"}, {"$ref": "#"}),
    ],
)
def test_keywords_of_old_drafts(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert property_of(schema) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"type": ["string"], "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"const": "a", "nullable": True}, {"enum": ["a", None]}),
        (
            {"anyOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        (
            {"$ref": "#", "description": "D", "nullable": True},
            {"description": "D", "anyOf": [{"$ref": "#"}, {"type": "null"}]},
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "array"}], "nullable": True},
            {"anyOf": [{"oneOf": [{"type": "string"}, {"type": "array"}]}, {"type": "null"}]},
        ),
    ],
)
def test_nullable_of_openapi(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    found = property_of(schema)
    assert found == expected
    if "$ref" not in schema and schema["nullable"]:
        assert Draft202012Validator(found).is_valid(None)


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("properties", ["a"]),
        ("patternProperties", "a"),
        ("$defs", 1),
        ("definitions", 1),
        ("items", "string"),
        ("not", 5),
        ("allOf", {}),
        ("oneOf", []),
        ("prefixItems", []),
        ("enum", []),
        ("enum", "a"),
        ("examples", "a"),
        ("minimum", "0"),
        ("minimum", True),
        ("maximum", float("inf")),
        ("multipleOf", 0),
        ("minLength", -1),
        ("maxItems", 1.5),
        ("title", 5),
        ("format", ["date"]),
        ("uniqueItems", "true"),
        ("dependentRequired", ["a"]),
        ("dependencies", 5),
        ("$ref", 5),
        ("required", True),
        ("nullable", "yes"),
        ("x-odd", object()),
        pytest.param("x-long", 10**5000, id="x-long"),
    ],
)
def test_keyword_of_a_wrong_type_is_left_out(keyword: str, value: Any) -> None:
    schema, warnings = normalise({"properties": {"p": {keyword: value, "description": "D"}}})
    assert schema["properties"]["p"] == {"description": "D"}
    assert warnings == [f"bad-{keyword}"]


def test_schemas_of_a_wrong_type() -> None:
    assert property_of("string", "bad-schema") == {}
    assert property_of(None, "bad-schema") == {}
    assert property_of({"anyOf": [5, {"type": "null"}]}, "bad-anyOf") == {"anyOf": [{"type": "null"}]}
    assert property_of({"prefixItems": [5, {"type": "null"}]}, "bad-schema") == {
        "prefixItems": [{}, {"type": "null"}]
    }
    # `not: {}` would refuse every value.
    assert property_of({"not": {"type": "any"}}, "unknown-type") == {}


@pytest.mark.parametrize(
    ("root", "expected", "warnings"),
    [
        ({}, {"type": "object", "properties": {}}, []),
        ({"type": "dict"}, {"type": "object", "properties": {}}, ["dialect-type:dict"]),
        ({"type": "any", "title": "T"}, {"type": "object", "title": "T", "properties": {}}, ["unknown-type"]),
        ({"type": "string"}, {"type": "object", "properties": {}}, ["schema-not-object"]),
        ({"type": ["string", "null"]}, {"type": "object", "properties": {}}, ["schema-not-object"]),
        ({"enum": ["a"]}, {"type": "object", "properties": {}}, ["bad-enum"]),
        ({"const": 1}, {"type": "object", "properties": {}}, ["bad-const"]),
        ({"default": 1}, {"type": "object", "properties": {}}, ["bad-default"]),
        ({"nullable": True, "type": "object"}, {"type": "object", "properties": {}}, []),
        ([], {"type": "object", "properties": {}}, ["schema-not-object"]),
        ("{}", {"type": "object", "properties": {}}, ["schema-not-object"]),
    ],
)
def test_root_becomes_an_object(root: Any, expected: dict[str, Any], warnings: list[str]) -> None:
    assert schema_of(root, *warnings) == expected


A = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


def test_root_reference_is_merged_with_what_stands_beside_it() -> None:
    raw = {"$ref": "#/$defs/A", "properties": {"y": {}}, "required": ["y"], "title": "T", "$defs": {"A": A}}
    assert schema_of(raw) == {
        "type": "object",
        "properties": {"x": {"type": "string"}, "y": {}},
        "required": ["x", "y"],
        "title": "T",
        "$defs": {"A": A},
    }
    conflict = {"$ref": "#/$defs/A", "properties": {"x": {"maxLength": 3}}, "$defs": {"A": A}}
    found = schema_of(conflict)
    assert found["properties"] == {"x": {"maxLength": 3}}
    assert found["allOf"] == [{"$ref": "#/$defs/A"}]


def test_root_reference_by_way_of_another() -> None:
    raw = {"$ref": "#/$defs/B", "$defs": {"A": A, "B": {"$ref": "#/$defs/A"}}}
    assert schema_of(raw)["properties"] == A["properties"]


@pytest.mark.parametrize(
    ("reference", "warning"),
    [
        ("#", "cyclic-ref:#"),
        ("#/$defs/A", "unresolved-ref:#/$defs/A"),
        ("https://example.org/a.json", "remote-ref:https://example.org/a.json"),
    ],
)
def test_root_reference_to_nowhere(reference: str, warning: str) -> None:
    assert schema_of({"$ref": reference, "title": "T"}, warning) == {
        "type": "object",
        "title": "T",
        "properties": {},
    }


@pytest.mark.parametrize(
    "reference",
    ["https://example.org/a.json", "other.json#/$defs/A", "file:///etc/passwd", "http://[", "//example.org"],
)
def test_remote_reference_is_not_fetched(reference: str) -> None:
    assert property_of({"$ref": reference, "type": "string"}, f"remote-ref:{reference}") == {"type": "string"}


@pytest.mark.parametrize(
    "reference",
    [
        "#/properties/a/type",
        "#/x/99999999999999999999",
        "#/x/²",
        "#/x/1",
        "#nowhere",
        "#/$defs/%ff",
    ],
)
def test_reference_to_nothing_that_is_a_schema(reference: str) -> None:
    raw = {"properties": {"a": {"type": "string"}, "b": {"$ref": reference}}, "x": [5, 6], "$defs": {}}
    assert schema_of(raw, f"unresolved-ref:{reference}")["properties"]["b"] == {}


def test_references_into_the_body_get_a_definition() -> None:
    raw = {
        "properties": {
            "a": {"type": "object", "properties": {"next": {"$ref": "#/properties/a"}}},
            "b": {"$ref": "#/properties/a"},
            "c": {"anyOf": [{"type": "int"}, {"$ref": "#/properties/c/anyOf/0"}]},
            "d": {"$ref": "#/components/schemas/a"},
        },
        "components": {"schemas": {"a": {"type": "boolean"}}},
    }
    found = schema_of(raw, "dialect-type:int", "dialect-type:int")
    assert found["properties"]["b"] == {"$ref": "#/$defs/a"}
    assert found["$defs"] == {
        "a": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a"}}},
        "0": {"type": "integer"},
        "a_2": {"type": "boolean"},
    }
    assert found["properties"]["d"] == {"$ref": "#/$defs/a_2"}


def test_definitions_of_both_keywords() -> None:
    raw = {
        "properties": {"a": {"$ref": "#/definitions/A"}, "b": {"$ref": "#/$defs/A"}},
        "definitions": {"A": {"type": "string"}},
        "$defs": {"A": {"type": "integer"}},
    }
    found = schema_of(raw)
    assert found["$defs"] == {"A": {"type": "integer"}, "A_2": {"type": "string"}}
    assert found["properties"] == {"a": {"$ref": "#/$defs/A_2"}, "b": {"$ref": "#/$defs/A"}}


def test_names_of_definitions_are_escaped() -> None:
    raw = {"properties": {"p": {"$ref": "#/$defs/a%25~1~0%2e"}}, "$defs": {"a%/~.": {"type": "string"}}}
    assert schema_of(raw)["properties"]["p"] == {"$ref": "#/$defs/a%25~1~0."}


def test_anchors_and_ids_become_pointers() -> None:
    raw = {
        "$id": "https://example.org/tool.json",
        "properties": {
            "a": {"$ref": "#node"},
            "b": {"$ref": "tool.json#/$defs/B"},
            "c": {"$ref": "https://example.org/item.json"},
            "d": {"$dynamicRef": "#node"},
            "e": {"$ref": "https://example.org/item.json#/$defs/Inner"},
        },
        "$defs": {
            "A": {"$anchor": "node", "type": "string"},
            "B": {"type": "integer"},
            "C": {
                "$id": "item.json",
                "items": {"$ref": "#/$defs/Inner"},
                "$defs": {"Inner": {"type": "null"}},
            },
        },
    }
    found = schema_of(raw)
    assert found["properties"] == {
        "a": {"$ref": "#/$defs/A"},
        "b": {"$ref": "#/$defs/B"},
        "c": {"$ref": "#/$defs/C"},
        "d": {"$dynamicRef": "#/$defs/A"},
        "e": {"$ref": "#/$defs/Inner"},
    }
    assert found["$defs"] == {
        "A": {"type": "string"},
        "B": {"type": "integer"},
        "C": {"items": {"$ref": "#/$defs/Inner"}, "$defs": {"Inner": {"type": "null"}}},
        "Inner": {"type": "null"},
    }


def test_references_that_lead_back_to_themselves() -> None:
    raw = {
        "properties": {"p": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}, "C": {"$ref": "#/$defs/C"}},
    }
    found = schema_of(raw, "cyclic-ref:#/$defs/A", "cyclic-ref:#/$defs/C")
    assert found["$defs"] == {"A": {"$ref": "#/$defs/B"}, "B": {}, "C": {}}
    assert Draft202012Validator(found).is_valid({"p": 1})
    raw = {"allOf": [{"anyOf": [{"$ref": "#"}, {"not": {"$ref": "#"}}]}]}
    found = schema_of(raw, "cyclic-ref:#", "cyclic-ref:#")
    assert found == {"type": "object", "properties": {}, "allOf": [{"anyOf": [{}, {}]}]}
    # Without the reference nobody declares the name.
    raw = {"$defs": {"A": {"$ref": "#/$defs/A", "properties": {}, "required": ["x"]}}}
    found = schema_of(raw, "cyclic-ref:#/$defs/A", "unknown-required:x")
    assert found["$defs"] == {"A": {"properties": {}}}


def nested(depth: int, keyword: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        inner: Any = {"p": schema} if keyword == "properties" else schema
        schema = {keyword: [inner] if keyword == "allOf" else inner}
    return schema


@pytest.fixture
def deep_validator() -> Iterator[None]:
    """Room for jsonschema, which takes several frames for a level."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


def depth_of(value: Any) -> int:
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, (dict, list)):
            deepest = max(deepest, depth)
            waiting += [(entry, depth + 1) for entry in (node.values() if isinstance(node, dict) else node)]
    return deepest


@pytest.mark.parametrize("keyword", ["properties", "items", "allOf", "x-value", "default", "$defs"])
@pytest.mark.usefixtures("deep_validator")
def test_depth_has_a_limit(keyword: str) -> None:
    result, warnings = normalise(nested(100_000, keyword))
    assert warnings == ["too-deep"]
    assert MAX_DEPTH - 2 <= depth_of(result) <= MAX_DEPTH + 3
    orjson.dumps(result)
    assert_normal(result)


def test_depth_of_not_has_a_limit() -> None:
    # Of what was cut off nothing is known, so nothing is refused.
    assert normalise(nested(100_000, "not")) == ({"type": "object", "properties": {}}, ["too-deep"])


@pytest.mark.parametrize("keyword", ["properties", "items", "allOf", "x-value"])
def test_depth_below_the_limit_is_kept(keyword: str) -> None:
    raw = nested(60, keyword)
    assert normalise(raw) == ({"type": "object", "properties": {}, **raw}, [])


@pytest.mark.usefixtures("deep_validator")
def test_references_to_what_is_deeper_than_the_limit() -> None:
    raw = nested(1000, "items")
    raw["properties"] = {"p": {"$ref": "#" + "/items" * 1000}}
    found, warnings = normalise(raw)
    assert warnings == ["too-deep"]
    assert found["$defs"] == {"items": {"type": "string"}}
    assert_normal(found)


def test_depth_of_the_caller_leaves_room() -> None:
    def call(frames: int) -> int:
        return call(frames - 1) if frames else depth_of(normalise(nested(100_000, "properties"))[0])

    assert call(sys.getrecursionlimit() // 2) >= MAX_DEPTH - 2


def test_objects_that_contain_themselves() -> None:
    raw: dict[str, Any] = {"type": "object", "properties": {}}
    raw["properties"]["again"] = raw
    raw["x-list"] = [1]
    raw["x-list"].append(raw["x-list"])
    found, warnings = normalise(raw)
    assert found == {"type": "object", "properties": {"again": {}}, "x-list": [1, {}]}
    assert warnings == ["cyclic-schema", "cyclic-schema"]
    assert_normal(found)


@pytest.mark.parametrize("keyword", ["anyOf", "x-value", "required"])
def test_parts_that_are_shared_many_times(keyword: str) -> None:
    part: Any = ["a"] * 100 if keyword == "required" else {"type": "string"}
    raw: dict[str, Any] = {keyword: part if keyword == "required" else [part, part]}
    for _ in range(60):
        raw = {"anyOf": [raw, raw]} if keyword != "x-value" else {keyword: [raw, raw]}
    found, warnings = normalise(raw)
    assert set(warnings) == {"too-large"}
    assert len(json.dumps(found)) < 10_000_000
    # A part that is merely used twice stays.
    shared = {"type": "string"}
    assert normalise({"properties": {"a": shared, "b": shared}})[1] == []


def test_keys_and_texts_that_have_no_json_form() -> None:
    raw = {
        1: "one",
        None: "nothing",
        "properties": {5: {"type": "string"}, ("a",): {}, "\ud800": {}},
        "description": "a\ud800",
        "x-list": [float("nan"), {1, 2}, (1, 2), b"a"],
        "$defs": {3: {}},
    }
    found, warnings = normalise(raw)
    assert found["1"] == "one"
    assert found["properties"] == {"5": {"type": "string"}, "\ufffd": {}}
    assert found["description"] == "a\ufffd"
    assert found["x-list"] == [None, None, [1, 2], None]
    assert warnings == ["bad-key"] * 5 + ["bad-text"] + ["not-json"] * 3 + ["bad-key"]
    assert_normal(found)


def test_long_names_in_warnings_are_cut() -> None:
    _, warnings = normalise({"properties": {"p": {"$ref": "#/" + "x" * 10_000}}})
    assert [len(warning) for warning in warnings] == [120]


# --- any input at all

KEYWORDS = [
    "type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "not", "if", "then", "$ref",
    "$defs", "definitions", "default", "enum", "const", "nullable", "optional", "additionalProperties",
    "prefixItems", "patternProperties", "dependencies", "dependentSchemas", "dependentRequired",
    "exclusiveMinimum", "minimum",
    "description", "$id", "$anchor", "$dynamicRef", "$recursiveRef", "additionalItems", "maxLength",
    "examples", "uniqueItems", "$schema", "$comment", "x-odd", "contains", "unevaluatedItems",
]  # fmt: skip
REFERENCES = [
    "#", "#/$defs/a", "#/definitions/b", "#/properties/a", "#/$defs/a/properties/b", "#/anyOf/0", "#a", "a",
    "#/allOf/0/$ref", "https://example.org/a", "a#/$defs/a", "#/$defs/a%25", "#/%", "#/items", "#/default",
]  # fmt: skip
NAMES = ["a", "b", "a%", "~", "/", "", "\ud800", "type"]
TYPES = ["object", "array", "string", "integer", "number", "null", "dict", "float", "any", "", "List[int]"]

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([*TYPES, *REFERENCES, *NAMES, "5", "true", "[]", "{}"])
    | st.sampled_from([object(), b"x", {1}, ()])
)
keys = (
    st.sampled_from(KEYWORDS) | st.sampled_from(NAMES) | st.integers(0, 3) | st.none() | st.text(max_size=3)
)
junk = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5) | st.tuples(inner, inner)
    ),
    max_leaves=30,
)


def schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas that are right in most places."""
    maps = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    lists = st.lists(inner, max_size=3)
    names = st.lists(st.sampled_from(NAMES), max_size=3)
    fields: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), max_size=3),
        "$ref": st.sampled_from(REFERENCES),
        "$dynamicRef": st.sampled_from(REFERENCES),
        "$id": st.sampled_from(["a", "#a", "https://example.org/a"]),
        "$anchor": st.just("a"),
        "required": names,
        "optional": st.booleans(),
        "nullable": st.booleans(),
        "default": leaves,
        "enum": st.lists(leaves, max_size=2),
        "const": leaves,
        "items": inner | lists,
        "dependencies": st.dictionaries(st.sampled_from(NAMES), inner | names, max_size=2),
        **dict.fromkeys(
            ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"], maps
        ),
        **dict.fromkeys(["anyOf", "oneOf", "allOf", "prefixItems"], lists),
        **dict.fromkeys(["not", "if", "then", "else", "additionalProperties", "contains"], inner),
    }
    return st.lists(st.sampled_from(sorted(fields)), max_size=5, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({name: fields[name] for name in chosen})
    )


near_schemas = st.recursive(st.booleans() | st.just({}) | leaves, schemas_of, max_leaves=20)


def frozen(value: Any) -> Any:
    """A picture of a value that shows every change of it, identity included."""
    if isinstance(value, dict):
        return id(value), tuple((key, frozen(entry)) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return id(value), tuple(map(frozen, value))
    return id(value)


@given(st.one_of(junk, near_schemas, st.dictionaries(keys, junk | near_schemas, max_size=5)))
@example({"allOf": [{"$ref": "#"}], "required": ["x"]})
@example({"type": "object", "nullable": True, "$ref": "#/properties/a", "properties": {"a": {"$ref": "#"}}})
def test_any_input_gives_a_normal_schema(raw: Any) -> None:
    before = frozen(raw)
    schema, warnings = normalise(raw)
    assert frozen(raw) == before
    assert_normal(schema)
    assert all(isinstance(warning, str) and warning.encode() for warning in warnings)
    if not schema.keys() & {
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "patternProperties",
    }:
        further = schema.get("additionalProperties")
        if not isinstance(further, dict) and not schema.keys() & {"$ref", "$dynamicRef"}:
            assert set(schema.get("required", [])) <= schema["properties"].keys()


@given(near_schemas.filter(lambda schema: isinstance(schema, dict)), junk)
def test_references_of_the_result_are_all_there(schema: dict[str, Any], value: Any) -> None:
    result, _ = normalise({"properties": {"a": schema}, "$defs": {"a": schema}})
    for reference in references_in(result):
        assert reference == "#" or reference.removeprefix("#/$defs/") in {
            name.replace("~", "~0").replace("/", "~1").replace("%", "%25") for name in result["$defs"]
        }


def references_in(schema: dict[str, Any]) -> Iterator[str]:
    for keyword, value in schema.items():
        if keyword in ("$ref", "$dynamicRef"):
            yield value
        elif keyword in ("properties", "$defs", "patternProperties", "dependentSchemas"):
            for entry in value.values():
                yield from references_in(entry)
        elif keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for entry in value:
                yield from references_in(entry)
        elif keyword in ("not", "if", "then", "else", "items", "additionalProperties", "contains"):
            yield from references_in(value) if isinstance(value, dict) else ()


# --- real documents


def real_documents() -> list[tuple[str, Any]]:
    """Name and parameters of each function document that is at hand."""
    path = data_file("function-calling/tools.jsonl")
    if path is not None:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [(line["name"], line["parameters"]) for line in lines]
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs bfcl-eval (make venv installs it)")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    documents = []
    for file in sorted(folder.glob("BFCL_v4_*.json")):
        for line in file.read_text("utf-8").splitlines():
            functions = json.loads(line).get("function", []) if line.startswith('{"id"') else []
            documents += [(function["name"], function["parameters"]) for function in functions]
    return documents


def test_real_function_documents() -> None:
    documents = real_documents()
    assert len(documents) > 1000
    for name, raw in documents:
        before = json.dumps(raw)
        schema, _ = normalise(raw)
        assert json.dumps(raw) == before
        assert_normal(schema)
        assert list(schema["properties"]) == list(raw.get("properties", {})), name
        waiting = [schema]
        while waiting:
            node = waiting.pop()
            properties = node.get("properties", {})
            assert set(node.get("required", [])) <= properties.keys(), name
            waiting += [*properties.values(), *([node["items"]] if "items" in node else [])]
