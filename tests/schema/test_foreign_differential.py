"""What a validator of JSON Schema accepts is accepted and comes out equal; what is accepted is then valid.

Two documented differences: a schema that lists properties or elements and no type is one of an object or an
array, and a text is also taken for an enum in another case.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fasttool.errors import ToolArgumentsError
from fasttool.schema import normalise
from fasttool.schema.exactness import identity
from fasttool.specification import ToolSpecification
from fasttool.tools import bind_schema
from tests.vectors_finder import data_file, vector_file

NAMES = st.sampled_from(["a", "b", "kind", "", "$ref", "__proto__", "a b", "ä", "class", "x-1"])
TEXTS = st.sampled_from(["", "a", "A", "ab", "27", "1.5", "true", "null", "[1]", '{"a": 1}', "ä", "a\n"])
NUMBERS = st.one_of(
    st.integers(-3, 6), st.sampled_from([0.5, 1.0, 2.5, -1.0, 2**63, 2**64 + 1, 10**30, 1e15])
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
REFERENCES = st.sampled_from(["#/$defs/A", "#/$defs/B", "#/$defs/none", "#"]).map(
    lambda place: {"$ref": place}
)


def some(*pairs: tuple[str, Any]) -> Any:
    return st.fixed_dictionaries({}, optional=dict(pairs))


COUNT = st.integers(0, 3)
PATTERNS = st.sampled_from(["^a", "a$", "^[a-z]+$", "^.$", "^(a|b)?$"])
UNCLEAR = st.one_of(PATTERNS, st.sampled_from(["(a+)+$", "\\d"]))
STRING = some(("minLength", COUNT), ("maxLength", COUNT), ("pattern", PATTERNS), ("format", st.just("date")))
BOUNDS = some(
    ("minimum", st.integers(-2, 2)),
    ("exclusiveMaximum", st.sampled_from([2, 3.5])),
    ("multipleOf", COUNT.map(abs)),
)
LEAVES = st.one_of(
    STRING.map(lambda more: {"type": "string", **more}),
    BOUNDS.map(lambda more: {"type": "integer", **more}),
    BOUNDS.map(lambda more: {"type": "number", **more}),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({}),
    st.lists(
        st.sampled_from(["integer", "string", "null", "boolean", "number"]),
        min_size=1,
        max_size=3,
        unique=True,
    ).map(lambda kinds: {"type": kinds}),
    st.lists(VALUES, min_size=1, max_size=4).map(lambda values: {"enum": values}),
    VALUES.map(lambda value: {"const": value}),
)
SIZES = (("minItems", COUNT), ("maxItems", COUNT), ("uniqueItems", st.booleans()))
REQUIRED = st.lists(NAMES, max_size=2, unique=True)


def plain(inner: Any) -> Any:
    """Arrays and objects whose keywords are all enforced."""
    return st.one_of(
        some(("items", inner), *SIZES).map(lambda more: {"type": "array", **more}),
        st.tuples(
            st.dictionaries(NAMES, inner, min_size=1, max_size=3),
            some(
                ("required", REQUIRED),
                ("additionalProperties", st.one_of(st.booleans(), inner)),
                ("minProperties", COUNT),
            ),
        ).map(lambda parts: {"type": "object", "properties": parts[0], **parts[1]}),
        inner.map(lambda value: {"type": "object", "additionalProperties": value}),
        st.lists(inner, min_size=1, max_size=3).map(lambda members: {"anyOf": members}),
    )


def any_kind(inner: Any) -> Any:
    """All keywords, whether they are enforced or not."""
    members = st.lists(inner, min_size=1, max_size=3)
    beside = some(
        ("anyOf", members),
        ("oneOf", members),
        ("allOf", members),
        ("not", inner),
        ("if", inner),
        ("then", inner),
        ("contains", inner),
        ("propertyNames", STRING),
        ("pattern", UNCLEAR),
        ("patternProperties", st.dictionaries(UNCLEAR, inner, max_size=2)),
        ("dependentRequired", st.dictionaries(NAMES, REQUIRED, max_size=2)),
        ("unevaluatedProperties", st.booleans()),
        ("prefixItems", members),
        ("required", REQUIRED),
    )
    groups = REQUIRED.map(lambda names: {"required": names})
    return st.one_of(
        plain(inner),
        st.tuples(st.one_of(plain(inner), LEAVES), beside).map(lambda parts: {**parts[0], **parts[1]}),
        beside.map(lambda more: {"type": ["object", "array"], **more}),
        st.tuples(plain(inner), st.lists(groups, min_size=1, max_size=2)).map(
            lambda p: {**p[0], "oneOf": p[1]}
        ),
        st.tuples(members, st.booleans()).map(
            lambda p: {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": f"k{i}"}, "a": m},
                        "required": ["kind"] if p[1] else [],
                    }
                    for i, m in enumerate(p[0])
                ]
            }
        ),
    )


def documents(kinds: Any, references: bool) -> Any:
    leaves = st.one_of(LEAVES, REFERENCES) if references else LEAVES
    schemas = st.recursive(leaves, kinds, max_leaves=8)
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, schemas, min_size=1, max_size=2)},
        optional={"$defs": st.fixed_dictionaries({"A": schemas, "B": schemas}), "required": REQUIRED},
    )


@st.composite
def instances(draw: Any, root: Any, schema: Any, depth: int = 0) -> Any:
    """Values that often fit."""
    if draw(st.integers(0, 9)) == 0 or not isinstance(schema, dict) or depth > 5:
        return draw(VALUES)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        target = root if schema["$ref"] == "#" else root.get("$defs", {}).get(name, True)
        return draw(instances(root, target, depth + 1))
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "const" in schema:
        return schema["const"]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema and "properties" not in schema:
            return draw(instances(root, draw(st.sampled_from(schema[keyword])), depth + 1))
    kind = schema.get("type")
    kind = draw(st.sampled_from(kind)) if isinstance(kind, list) else kind
    if kind == "array":
        items = [*schema.get("prefixItems", []), *[schema.get("items", {})] * draw(COUNT)]
        return [draw(instances(root, item, depth + 1)) for item in items[: draw(COUNT) + 1]]
    if kind == "object":
        entries = dict(schema.get("properties", {}))
        more = schema.get("additionalProperties", {})
        if more is not False:
            for name in [*schema.get("required", []), draw(NAMES)]:
                entries.setdefault(name, more)
        return {
            name: draw(instances(root, entry, depth + 1))
            for name, entry in entries.items()
            if name in schema.get("required", []) or draw(st.booleans())
        }
    basic = {
        "string": TEXTS,
        "integer": NUMBERS,
        "number": NUMBERS,
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return draw(basic.get(kind or "", VALUES))


@st.composite
def cases(draw: Any, kinds: Any, references: bool = True) -> Any:
    schema, _ = normalise(draw(documents(kinds, references)))
    found = draw(instances(schema, schema))
    return schema, found if isinstance(found, dict) else {"a": found}


def binder(schema: Any, **options: Any) -> Any:
    return bind_schema(ToolSpecification("t", parameters=schema), **options)


def assert_taken(schema: Any, arguments: Any) -> None:
    for given_form in (arguments, json.dumps(arguments)):
        found = binder(schema).bind(given_form)
        assert identity(found) == identity(arguments)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


SETTINGS = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(cases(any_kind))
def test_valid_arguments_are_taken_as_they_are(case: Any) -> None:
    schema, arguments = case
    valid = Draft202012Validator(schema).is_valid(arguments)
    event(f"valid: {valid}")
    if valid:
        assert_taken(schema, arguments)
    else:
        # Refused or not, it ends; no other error comes out.
        with contextlib.suppress(ToolArgumentsError):
            binder(schema).bind(arguments)


def as_text(value: Any) -> Any:
    """Return a value as a careless model would send it."""
    if isinstance(value, dict):
        return {name: as_text(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [as_text(entry) for entry in value]
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


@SETTINGS
@given(cases(plain, references=False), st.booleans())
def test_what_is_accepted_is_valid_then(case: Any, careless: bool) -> None:
    schema, arguments = case
    try:
        found = binder(schema).bind(as_text(arguments) if careless else arguments)
    except ToolArgumentsError:
        event("refused")
        return
    event("accepted")
    assert list(Draft202012Validator(schema).iter_errors(found)) == []


def vector_schemas() -> list[Any]:
    cases = json.loads(vector_file("mcp/mcp_schema.json").read_text())["cases"]
    return [case["in"] for case in cases if isinstance(case.get("in"), dict)]


VECTORS = vector_schemas()


@SETTINGS
@given(st.data())
def test_the_schemas_of_servers_take_what_is_valid(data: Any) -> None:
    schema, _ = normalise(data.draw(st.sampled_from(VECTORS)))
    arguments = data.draw(instances(schema, schema))
    if isinstance(arguments, dict) and Draft202012Validator(schema).is_valid(arguments):
        event("valid")
        assert_taken(schema, arguments)


def test_there_are_schemas_of_servers() -> None:
    assert len(VECTORS) > 50
    for schema in VECTORS:
        binder(normalise(schema)[0])


def right_value(value: Any) -> Any:
    """Return the first value that an answer accepts; at every depth it lists several."""
    if isinstance(value, dict):
        return {
            name: right_value(next(entry for entry in accepted if entry != ""))
            for name, accepted in value.items()
            if isinstance(accepted, list) and any(entry != "" for entry in accepted)
        }
    return [right_value(entry) for entry in value] if isinstance(value, list) else value


def test_the_right_calls_of_a_benchmark_are_taken_wherever_they_fit_their_own_schema() -> None:
    tools_file, cases_file = (
        data_file("function-calling/tools.jsonl"),
        data_file("function-calling/cases.jsonl"),
    )
    if tools_file is None or cases_file is None:
        pytest.skip("the questions are not at hand")
    tools = {}
    for line in tools_file.read_text().splitlines():
        function = json.loads(line)
        schema, _ = normalise(function["parameters"])
        tools[function["tool_id"]] = function["name"], schema, binder(schema)
    assert len(tools) == 3258
    taken = 0
    refused = []
    for line in cases_file.read_text().splitlines():
        case = json.loads(line)
        offered = {tools[key][0]: tools[key] for key in case["tools"]}
        for call in case["expect"]["calls"]:
            _, schema, bind = offered[call["name"]]
            arguments = right_value(call["accept"])
            try:
                bind.bind(json.dumps(arguments))
                taken += 1
            except ToolArgumentsError:
                refused.append((case["id"], Draft202012Validator(schema).is_valid(arguments)))
    assert [entry for entry in refused if entry[1]] == []
    # The others are choices and types that the answers do not keep to.
    assert (taken, len(refused)) == (3222, 80)
