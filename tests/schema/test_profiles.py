"""Schemas in the dialects of providers: what is changed, that providers take it, that arguments come back."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

import jsonschema
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fasttool import tool_plan
from fasttool.errors import ConfigurationError
from fasttool.evaluation import read_questions
from fasttool.schema import normalise
from fasttool.schema.profiles import Lowered, Profile, lower
from fasttool.specification import ToolSpecification
from fasttool.tools import bind_schema

VECTORS = Path(__file__).parents[1] / "vectors" / "mcp" / "mcp_schema.json"
DIALECTS = [profile for profile in Profile if profile is not Profile.JSON_SCHEMA]


def schemas_of_servers() -> list[dict[str, Any]]:
    cases = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]
    return [normalise(case["in"])[0] for case in cases if "in" in case]


def schemas_of_questions() -> list[dict[str, Any]]:
    if importlib.util.find_spec("bfcl_eval") is None:
        return []
    found: dict[str, dict[str, Any]] = {}
    for category, limit in (("simple_python", None), ("live_simple", None), ("live_multiple", 100)):
        for question in read_questions(category, limit):
            for specification in question.tools:
                assert specification.parameters_json is not None
                found[specification.parameters_json.decode()] = specification.parameters or {}
    return list(found.values())


ALL = schemas_of_servers() + schemas_of_questions()


def arguments(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def referred(reference: str) -> str:
    """The name of a definition; empty for the top."""
    return reference[8:].replace("%25", "%").replace("~1", "/").replace("~0", "~")


def said(lowered: Lowered) -> str:
    return "\n".join(lowered.notes)


# ------------------------------------------------------------------------- what providers document
def at_top(schema: dict[str, Any], *refused: str) -> Iterator[str]:
    if schema.get("type") != "object":
        yield "the top is no object"
    yield from (f"{keyword} at the top" for keyword in refused if keyword in schema)


def nodes(schema: Any, path: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each schema in a schema, by the keywords that the dialects share."""
    assert isinstance(schema, dict), path
    yield path, schema
    for keyword in ("properties", "$defs"):
        for name, entry in schema.get(keyword, {}).items():
            yield from nodes(entry, f"{path}/{keyword}/{name}")
    for index, entry in enumerate(schema.get("anyOf", ())):
        yield from nodes(entry, f"{path}/anyOf/{index}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}/items")


def openai_strict_faults(schema: dict[str, Any]) -> Iterator[str]:
    """OpenAI, "Structured model outputs", section "Supported schemas"."""
    yield from at_top(schema, "anyOf", "oneOf", "allOf", "enum", "not", "const")
    per_type = {
        "string": {"pattern", "format"},
        "number": {"multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"},
        "array": {"items", "minItems", "maxItems"},
        "object": {"properties", "required", "additionalProperties"},
        "boolean": set(),
        "null": set(),
    }
    per_type["integer"] = per_type["number"]
    formats = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
    total = 0
    for path, node in nodes(schema):
        if "$ref" in node:
            if node.keys() != {"$ref"}:
                yield f"{path}: something beside $ref"
            if node["$ref"] != "#" and referred(node["$ref"]) not in schema.get("$defs", {}):
                yield f"{path}: {node['$ref']} is not there"
            continue
        known = {"title", "description", "$defs"} if path == "#" else {"title", "description"}
        if "anyOf" in node:
            if unknown := node.keys() - known - {"anyOf"}:
                yield f"{path}: {unknown} beside anyOf"
            continue
        kinds = node.get("type")
        if kinds is None:
            yield f"{path}: no type"
            continue
        kinds = kinds if isinstance(kinds, list) else [kinds]
        allowed = known.union({"type", "enum"}, *(per_type[kind] for kind in kinds))
        if unknown := node.keys() - allowed:
            yield f"{path}: {unknown} is not permitted"
        if "format" in node and node["format"] not in formats:
            yield f"{path}: format {node['format']}"
        if "object" in kinds:
            total += len(node["properties"])
            if node.get("additionalProperties") is not False:
                yield f"{path}: not closed"
            if sorted(node.get("required", ())) != sorted(node["properties"]):
                yield f"{path}: not all required"
        if "array" in kinds and "items" not in node:
            yield f"{path}: no items"
        if "enum" in node and "null" in kinds and None not in node["enum"]:
            yield f"{path}: null is a type but not among the values"
    if total > 5000:
        yield "too many properties"


def anthropic_strict_faults(schema: dict[str, Any]) -> Iterator[str]:
    """Anthropic, "Structured outputs", section "JSON Schema limitations"."""
    yield from at_top(schema, "anyOf", "oneOf", "allOf")
    refused = re.compile(
        "M|oneOf|allOf|not|multipleOf|minimum|maximum|maxItems|maxLength|minLength|exclusive.*"
    )
    for path, node in nodes(schema):
        yield from (f"{path}: {key}" for key in node if refused.fullmatch(key))
        if node.get("type") == "object" and node.get("additionalProperties") is not False:
            yield f"{path}: not closed"
        if node.get("minItems", 0) > 1:
            yield f"{path}: minItems"
        if isinstance(node.get("type"), list):
            yield f"{path}: several types"


def gemini_faults(schema: dict[str, Any]) -> Iterator[str]:
    """Gemini API reference, "Schema", and what the API answers."""
    yield from at_top(schema, "anyOf")
    everywhere = {"type", "title", "description", "nullable"}
    per_type = {
        "string": {"enum", "format", "minLength", "maxLength", "pattern"},
        "integer": {"format", "minimum", "maximum"},
        "number": {"format", "minimum", "maximum"},
        "boolean": set(),
        "array": {"items", "minItems", "maxItems"},
        "object": {"properties", "required", "minProperties", "maxProperties"},
    }
    formats = {"string": ["date-time"], "integer": ["int32", "int64"], "number": ["float", "double"]}
    for path, node in nodes(schema):
        if "anyOf" in node:
            if node.keys() != {"anyOf"}:
                yield f"{path}: anyOf must be the only field"
            continue
        kind = node.get("type")
        if kind not in per_type:
            yield f"{path}: type {kind}"
            continue
        if unknown := node.keys() - everywhere - per_type[kind]:
            yield f"{path}: Unknown name {unknown}"
        if not all(isinstance(value, str) and value for value in node.get("enum", ())):
            yield f"{path}: enum"
        if "format" in node and node["format"] not in formats[kind]:
            yield f"{path}: format"
        if kind == "array" and "items" not in node:
            yield f"{path}: missing field items"
        if node.get("properties") == {}:
            yield f"{path}: properties should be non-empty"
        if not node.get("properties", {}).keys() >= set(node.get("required", ())):
            yield f"{path}: required"


def faults(lowered: Lowered, profile: Profile) -> list[str]:
    schema = lowered.schema
    found = [] if isinstance(schema.get("properties", {}), dict) else ["properties"]
    if profile is Profile.GEMINI:
        return found + list(gemini_faults(schema))
    if profile is Profile.OPENAI_STRICT and lowered.strict:
        return found + list(openai_strict_faults(schema))
    if profile is Profile.ANTHROPIC_STRICT and lowered.strict:
        return found + list(anthropic_strict_faults(schema))
    refused = ("anyOf", "oneOf", "allOf")
    if profile in (Profile.OPENAI, Profile.OPENAI_STRICT):
        refused += ("enum", "not", "const")
    return found + list(at_top(schema, *refused)) + ([] if "properties" in schema else ["no properties"])


# -------------------------------------------------------------------------------- on many schemas
@pytest.mark.parametrize("profile", DIALECTS)
def test_every_schema_that_there_is(profile: Profile) -> None:
    wrong = []
    strict = 0
    for schema in ALL:
        before = json.dumps(schema)
        lowered = lower(schema, profile)
        strict += lowered.strict
        wrong += [(fault, before) for fault in faults(lowered, profile)]
        if json.dumps(schema) != before:
            wrong.append(("changed", before))
        again = lower(lowered.schema, profile, strict=lowered.strict)
        if again.schema != lowered.schema or again.strict != lowered.strict:
            wrong.append(("another one when it is lowered again", before))
    assert wrong == []
    # Most tools can be strict; a free-form map or an argument of any type keeps one from it.
    assert strict > len(ALL) / 2 if profile.endswith("strict") else strict == 0


@pytest.mark.parametrize("profile", DIALECTS)
def test_schemas_of_servers_stay_valid(profile: Profile) -> None:
    for schema in schemas_of_servers():
        jsonschema.Draft202012Validator.check_schema(lower(schema, profile).schema)


NAMES = st.sampled_from(["a", "b", "type", "properties", "default", "$ref", "año", ""])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-3, 10**20), st.floats(-5, 5), NAMES)
KEYWORDS = st.sampled_from(
    [
        *("type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if"),
        *("$ref", "$defs", "additionalProperties", "patternProperties", "prefixItems", "default", "format"),
        *("minimum", "exclusiveMinimum", "minItems", "maxLength", "pattern", "description", "nullable"),
    ]
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
REFERENCES = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a"])
RAW = st.recursive(
    st.one_of(LEAVES, TYPES, REFERENCES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(NAMES, inner, max_size=3),
        st.dictionaries(KEYWORDS, inner, max_size=4),
        st.fixed_dictionaries(
            {"type": TYPES}, optional={"items": inner, "enum": st.lists(LEAVES, max_size=3)}
        ),
        st.fixed_dictionaries({"$ref": REFERENCES}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
            optional={"required": st.lists(NAMES, max_size=2), "$defs": st.dictionaries(NAMES, inner)},
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(raw=st.dictionaries(KEYWORDS, RAW, max_size=5), profile=st.sampled_from(DIALECTS))
def test_any_schema_is_lowered(raw: dict[str, Any], profile: Profile) -> None:
    schema, _ = normalise(raw)
    before = copy.deepcopy(schema)
    lowered = lower(schema, profile)
    assert schema == before
    assert faults(lowered, profile) == []
    jsonschema.Draft202012Validator.check_schema(lowered.schema)
    assert lower(schema, profile) == lowered
    json.dumps(lowered.schema)


@pytest.mark.parametrize("profile", DIALECTS)
def test_large_and_deep_schemas_stay_bounded(profile: Profile) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(90):
        deep = arguments(inner=deep)
    # Each definition refers to the next one ten times: written out, these are ten billion schemas.
    fan = {
        f"D{number}": arguments(**{f"p{i}": {"$ref": f"#/$defs/D{number + 1}"} for i in range(10)})
        for number in range(10)
    }
    fan["D10"] = {"type": "string"}
    doubled = {
        f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}, {"$ref": f"#/$defs/D{n + 1}"}]} for n in range(40)
    }
    for schema in (
        deep,
        {**arguments(a={"$ref": "#/$defs/D0"}), "$defs": fan},
        {"type": "object", "allOf": [{"$ref": "#/$defs/D0"}], "$defs": {**doubled, "D40": arguments(a={})}},
        arguments(**{f"p{i}": {"enum": [f"{i}-{j}" for j in range(40)]} for i in range(300)}),
    ):
        lowered = lower(schema, profile)
        assert len(json.dumps(lowered.schema)) < 1_000_000
        assert len(lowered.notes) <= 304
        assert all(len(note) <= 240 for note in lowered.notes)


# ------------------------------------------------------------------------------------- the rules
def test_none_is_a_tool_without_parameters() -> None:
    empty = {"type": "object", "properties": {}}
    assert lower(None, "json_schema").schema == empty
    assert lower(None, "openai").schema == empty
    assert lower(None, "anthropic").schema == empty
    assert lower(None, "gemini").schema == {"type": "object"}
    assert lower(None, "openai", strict=True) == Lowered(
        {**empty, "required": [], "additionalProperties": False}, (), True
    )


def test_json_schema_is_left_alone() -> None:
    schema = {"$schema": "x", "oneOf": [{"type": "dict"}]}
    lowered = lower(schema, Profile.JSON_SCHEMA, strict=True)
    assert lowered == Lowered(schema, (), False)
    assert lowered.schema["oneOf"] is not schema["oneOf"]


def test_strict_chooses_the_form() -> None:
    schema = arguments(a={"type": "string"})
    assert lower(schema, "openai", strict=True) == lower(schema, "openai-strict")
    assert lower(schema, "anthropic-strict", strict=False) == lower(schema, "anthropic")
    assert lower(schema, "gemini", strict=True).strict is False


def test_an_unknown_profile() -> None:
    with pytest.raises(ConfigurationError, match=r"no profile 'cohere'; there are json_schema, openai, "):
        lower(None, "cohere")


@pytest.mark.parametrize(
    ("given", "strict"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"const": "a"}, {"type": ["string", "null"], "enum": ["a", None]}),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "d"},
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "d"},
        ),
        (
            {"type": ["string", "integer"]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        ),
        ({"$ref": "#/$defs/D"}, {"anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}]}),
        (
            {"$ref": "#/$defs/D", "description": "d"},
            {"anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}], "description": "d"},
        ),
        ({"type": "integer", "default": 3}, {"type": ["integer", "null"], "description": "Default: 3."}),
        (
            {"type": "string", "minLength": 2, "format": "uri", "description": "where"},
            {"type": ["string", "null"], "description": "where. Length: at least 2. Format: uri."},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "maxItems": 2},
            {
                "type": ["array", "null"],
                "maxItems": 2,
                "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "description": "Elements in this order: integer, string.",
            },
        ),
    ],
)
def test_strict_and_optional(given: dict[str, Any], strict: dict[str, Any]) -> None:
    schema = {**arguments(p=given), "$defs": {"D": {"type": "string"}}}
    lowered = lower(schema, "openai", strict=True)
    assert lowered.strict
    assert lowered.schema["properties"] == {"p": strict}
    assert lowered.schema["required"] == ["p"]


def test_anthropic_keeps_optional_properties() -> None:
    lowered = lower(
        arguments(a={"type": ["string", "null"]}, b={"type": "integer", "minimum": 1}), "anthropic-strict"
    )
    assert lowered.strict
    assert lowered.schema == {
        **arguments(
            a={"anyOf": [{"type": "string"}, {"type": "null"}]},
            b={"type": "integer", "description": "At least 1."},
        ),
        "required": [],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (arguments(m={"type": "object"}), "m: strict is not possible: it takes any names."),
        (arguments(m={}), "m: strict is not possible: any value is accepted."),
        (arguments(m={"type": "array"}), "m: strict is not possible: its elements may be anything."),
        (
            {**arguments(), "additionalProperties": {"type": "string"}},
            "it takes names beyond its properties.",
        ),
        (arguments(**{f"p{n}": {"type": "string"} for n in range(5001)}), "may be 5,000, and are 5,001"),
    ],
)
def test_what_cannot_be_strict_is_plain(schema: dict[str, Any], why: str) -> None:
    lowered = lower(schema, "openai", strict=True)
    assert not lowered.strict
    assert why in said(lowered)
    assert lowered.schema == lower(schema, "openai").schema


def test_recursion_in_strict_mode() -> None:
    schema = {
        **arguments(root={"$ref": "#/$defs/N"}),
        "$defs": {"N": arguments(next={"$ref": "#/$defs/N"})},
    }
    assert lower(schema, "openai-strict").strict
    refused = lower(schema, "anthropic-strict")
    assert not refused.strict
    assert "it contains itself" in said(refused)
    assert refused.schema == schema


def test_alternatives_at_the_top_are_folded() -> None:
    schema = {
        "type": "object",
        "properties": {"verbose": {"type": "boolean"}},
        "oneOf": [
            {
                "properties": {"action": {"const": "create"}, "name": {"type": "string"}},
                "required": ["action", "name"],
            },
            {
                "properties": {"action": {"const": "delete"}, "id": {"type": "integer"}},
                "required": ["action", "id"],
            },
        ],
    }
    for profile in ("openai", "anthropic"):
        lowered = lower(schema, profile)
        assert lowered.schema == {
            "type": "object",
            "properties": {
                "verbose": {"type": "boolean"},
                "action": {"enum": ["create", "delete"]},
                "name": {"type": "string"},
                "id": {"type": "integer"},
            },
            "required": ["action"],
            "description": "Exactly one of these: action = create and name; action = delete and id.",
        }
        assert "arguments: oneOf is written as one object" in said(lowered)


def test_alternatives_that_declare_properties_are_not_strict_where_null_stands_for_absence() -> None:
    schema = {**arguments(), "oneOf": [arguments(a={"type": "string"}), arguments(b={"type": "string"})]}
    assert "null cannot stand" in said(lower(schema, "openai-strict"))
    assert lower(schema, "anthropic-strict").strict


def test_parts_at_the_top_are_folded() -> None:
    schema = {
        "type": "object",
        "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}],
        "enum": [{"a": "x", "b": 1}],
        "$defs": {"A": {**arguments(a={"type": "string"}), "required": ["a"]}},
    }
    lowered = lower(schema, "openai").schema
    assert lowered["properties"] == {"a": {"type": "string"}, "b": {"type": "integer"}}
    assert lowered["required"] == ["a", "b"]
    assert lowered["description"] == 'One of: {"a":"x","b":1}.'
    assert lower(schema, "anthropic").schema["enum"] == [{"a": "x", "b": 1}]


def test_names_of_arguments_that_anthropic_refuses_are_noted() -> None:
    schema = arguments(**{"año": {"type": "integer"}, "Content-Type": {"type": "string"}})
    for profile in ("anthropic", "anthropic-strict"):
        lowered = lower(schema, profile)
        assert list(lowered.schema["properties"]) == ["año", "Content-Type"]
        assert [note for note in lowered.notes if "refuses" in note] == [
            "año: the provider refuses this name of an argument; the tool needs another one."
        ]


def test_lists_without_items_get_them_for_openai() -> None:
    schema = arguments(
        a={"type": "array"}, items={"type": "string"}, b={"anyOf": [{"type": ["array", "null"]}]}
    )
    lowered = lower(schema, "openai")
    assert lowered.schema == arguments(
        a={"type": "array", "items": {}},
        items={"type": "string"},
        b={"anyOf": [{"type": ["array", "null"], "items": {}}]},
    )
    assert [note.split(":")[0] for note in lowered.notes] == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        (
            {"enum": ["a", "", None]},
            {"type": "string", "enum": ["a"], "nullable": True, "description": "May be empty."},
        ),
        # Not as text: arguments would come back as text, which a choice of numbers does not take.
        ({"enum": [1, 2]}, {"type": "integer", "description": "One of: 1, 2."}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        (
            {"type": ["string", "integer", "null"], "description": "d"},
            {
                "anyOf": [
                    {"type": "string", "description": "d", "nullable": True},
                    {"type": "integer", "description": "d", "nullable": True},
                ]
            },
        ),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "description": "More than 0."}),
        ({"type": "string", "format": "uuid"}, {"type": "string", "description": "Format: uuid."}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "object", "description": 'Each further value fits {"type":"integer"}.'},
        ),
        ({"type": "null"}, {"type": "string", "description": "Always null.", "nullable": True}),
        ({"type": "string", "properties": {"a": {}}, "required": ["a"]}, {"type": "string"}),
    ],
)
def test_gemini(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert lower(arguments(p=given), "gemini").schema["properties"] == {"p": expected}


def test_gemini_names_every_type_where_any_value_is_taken() -> None:
    members = lower(arguments(p={}), "gemini").schema["properties"]["p"]["anyOf"]
    assert [member["type"] for member in members] == ["string", "number", "boolean", "object", "array"]


# -------------------------------------------------------------------- bugs that others have had
class Node(pydantic.BaseModel):
    value: int
    child: Node | None = pydantic.Field(default=None, description="next")


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    f: str


class Cat(TypedDict):
    kind: Literal["cat"]
    name: str


class Dog(TypedDict):
    kind: Literal["dog"]
    breed: str


def test_b042_a_default_reaches_only_who_takes_it() -> None:
    def latest(major: int = 0) -> str:
        return str(major)

    plan = tool_plan(latest)
    for profile in ("openai-strict", "gemini"):
        entry = lower(plan.specification.parameters, profile).schema["properties"]["major"]
        assert "default" not in entry
        assert entry["description"] == "Default: 0."
    assert plan.bind("{}") == plan.bind('{"major": null}') == {"major": 0}


@pytest.mark.parametrize("profile", DIALECTS)
def test_b049_recursion_ends_and_descriptions_stay(profile: Profile) -> None:
    def walk(root: Node) -> int:
        return root.value

    schema = tool_plan(walk).specification.parameters
    lowered = lower(schema, profile)
    assert "next" in json.dumps(lowered.schema)
    assert faults(lowered, profile) == []
    assert ("$ref" in json.dumps(lowered.schema)) == (profile is not Profile.GEMINI)
    if profile is Profile.GEMINI:
        assert "is cut" in said(lowered)


def test_b051_and_b064_free_form_maps_are_never_closed() -> None:
    def first(o: Open) -> None: ...
    def second(m: dict[str, Any]) -> None: ...
    def third(scores: dict[str, int], groups: list[dict[str, str]]) -> None: ...

    for function in (first, second, third):
        schema = tool_plan(function).specification.parameters
        assert schema is not None
        lowered = lower(schema, "openai", strict=True)
        assert not lowered.strict
        assert "strict is not possible" in said(lowered)
        assert lowered.schema == schema
        assert lower(schema, "anthropic").schema == schema


def test_b053_what_stands_beside_a_reference() -> None:
    schema = {
        "type": "object",
        "$defs": {"O": {"type": "object", "properties": {"label": {"type": "string"}}}},
        "properties": {"q": {"$ref": "#/$defs/O", "title": "Q", "description": "pick"}},
    }
    assert lower(schema, "gemini").schema["properties"]["q"] == {
        "type": "object",
        "title": "Q",
        "description": "pick",
        "properties": {"label": {"type": "string"}},
    }
    assert lower({**schema, "required": ["q"]}, "openai-strict").schema["properties"]["q"] == {
        "anyOf": [{"$ref": "#/$defs/O"}],
        "title": "Q",
        "description": "pick",
    }


def test_b055_unknown_keywords_go_but_names_and_data_stay() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "k": {"const": "x"},
            "n": {"type": "integer", "exclusiveMinimum": 0, "default": 1},
            "title": {"type": "string", "enum": ["default", "const"]},
            "default": {"type": "string"},
        },
        "required": ["k", "gone"],
    }
    assert lower(schema, "gemini").schema == {
        "type": "object",
        "properties": {
            "k": {"type": "string", "enum": ["x"]},
            "n": {"type": "integer", "minimum": 1, "description": "Default: 1."},
            "title": {"type": "string", "enum": ["default", "const"]},
            "default": {"type": "string"},
        },
        "required": ["k"],
    }


def test_b059_no_parameters_are_no_dummy() -> None:
    def observe() -> str:
        return "seen"

    plan = tool_plan(observe)
    assert lower(plan.specification.parameters, "openai").schema == {"type": "object", "properties": {}}
    assert plan.bind("{}") == plan.bind("") == plan.bind("null") == {}


@pytest.mark.parametrize("profile", DIALECTS)
def test_b060_both_alternatives_are_seen(profile: Profile) -> None:
    def act(pet: Cat | Dog, other: Cat | Dog | None = None) -> str:
        return pet["kind"]

    plan = tool_plan(act)
    lowered = lower(plan.specification.parameters, profile)
    assert faults(lowered, profile) == []
    members = lowered.schema["properties"]["pet"]["anyOf"]
    assert [sorted(member.get("properties", member)) for member in members[:2]]
    assert "breed" in json.dumps(lowered.schema)
    assert plan.bind({"pet": {"kind": "dog", "breed": "x"}, "other": None})["pet"]["kind"] == "dog"


def test_b062_places_of_a_tuple_are_told() -> None:
    def f(pair: tuple[int, str], raw: list, anything: Any) -> None:  # type: ignore[type-arg]
        ...

    plan = tool_plan(f)
    pair = lower(plan.specification.parameters, "gemini").schema["properties"]["pair"]
    assert pair["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert (pair["minItems"], pair["maxItems"]) == (2, 2)
    assert pair["description"] == "Elements in this order: integer, string."
    openai = lower(plan.specification.parameters, "openai").schema["properties"]
    assert [place["type"] for place in openai["pair"]["prefixItems"]] == ["integer", "string"]
    assert openai["raw"]["items"] == openai["pair"]["items"] == {}


# ------------------------------------------------------------------ arguments come back and bind
def null_sample(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Arguments that a strict schema allows, null wherever it can be."""
    if "$ref" in schema:
        name = referred(schema["$ref"])
        return null_sample(root["$defs"][name] if name else root, root)
    if "anyOf" in schema:
        members = schema["anyOf"]
        return None if {"type": "null"} in members else null_sample(members[0], root)
    kind = schema["type"]
    if isinstance(kind, list) or kind == "null":
        return None
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: null_sample(entry, root) for name, entry in schema["properties"].items()}
    if kind == "array":
        return [null_sample(schema["items"], root)] * schema.get("minItems", 1)
    return {"string": "text", "integer": 1, "number": 1.5, "boolean": True}[kind]


def test_nulls_of_strict_mode_bind_for_foreign_tools() -> None:
    bound = 0
    for schema in ALL:
        lowered = lower(schema, "openai", strict=True)
        if not lowered.strict or "anyOf" in schema:  # a sample of nulls fits no alternative that requires
            continue
        sample = null_sample(lowered.schema, lowered.schema)
        jsonschema.Draft202012Validator(lowered.schema).validate(sample)
        values = bind_schema(ToolSpecification("t", None, schema)).bind(json.dumps(sample))
        # An optional argument that was null is one that was left out.
        nullable = {name for name, entry in schema["properties"].items() if "null" in json.dumps(entry)}
        left = {name for name, value in values.items() if value is None}
        assert left <= nullable, schema
        bound += 1
    assert bound > 20


@dataclass
class Range:
    low: int
    high: int = 10
    label: str | None = None


def test_nulls_of_strict_mode_bind_for_python_tools() -> None:
    def find(
        query: str,
        limit: int = 5,
        kind: Literal["a", "b"] = "a",
        tags: tuple[str, ...] = ("x",),
        span: Range | None = None,
        ranges: list[Range] = [],  # noqa: B006
        fast: bool = True,
        mode: int | str = "m",
        note: str | None = None,
    ) -> None: ...

    plan = tool_plan(find)
    lowered = lower(plan.specification.parameters, "openai", strict=True)
    assert lowered.strict
    assert list(openai_strict_faults(lowered.schema)) == []
    sample = null_sample(lowered.schema, lowered.schema)
    assert sample == {"query": "text", **dict.fromkeys(list(lowered.schema["properties"])[1:])}
    assert plan.bind(json.dumps(sample)) == plan.bind('{"query": "text"}')
    inner = {"low": 1, "high": None, "label": None}
    assert plan.bind({**sample, "span": inner, "ranges": [inner]})["ranges"] == [Range(1)]
