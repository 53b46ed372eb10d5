"""Arguments of tools that come with a JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest

from fasttool.errors import ToolArgumentsError
from fasttool.schema import normalise
from fasttool.specification import ToolSpecification
from fasttool.tools import bind_schema


def bind(schema: Any, arguments: Any, **options: Any) -> Any:
    return bind_schema(ToolSpecification("t", parameters=schema), **options).bind(arguments)


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
    (properties(n={"type": "array", "items": {"type": "number"}}), '{"n": ["1", 2]}', {"n": [1, 2]}),
    (properties(n={"type": "array", "prefixItems": [{"type": "integer"}]}), '{"n": ["1"]}', {"n": [1]}),
    (properties(n={"type": "object"}), '{"n": {"k": 1}}', {"n": {"k": 1}}),
    (properties(n=properties(k={"type": "string"})), '{"n": {"k": 1, "l": 2}}', {"n": {"k": "1", "l": 2}}),
    (properties(n={"properties": {"k": {"type": "string"}}}), '{"n": {"k": 1}}', {"n": {"k": "1"}}),
    (
        properties(n={"additionalProperties": {"type": "integer"}, "type": "object"}),
        '{"n": {"k": "1"}}',
        {"n": {"k": 1}},
    ),
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


def one(schema: Any) -> Any:
    return properties(n=schema)


PAIR = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": False}
PETS = {
    "oneOf": [
        {**properties(kind={"const": "cat"}, lives={"type": "integer"}), "required": ["kind"]},
        {**properties(kind={"enum": ["dog"]}, age={"type": "integer"}), "required": ["kind", "age"]},
    ]
}
SHAPES = {"type": "object", **PETS}
EITHER = {
    **properties(a={"type": "integer"}, b={"type": "integer"}),
    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
}
BASE = {
    "allOf": [
        {**properties(a={"type": "integer"}), "required": ["a"]},
        {"$ref": "#/$defs/More"},
        {**properties(a={"minimum": 5})},
    ],
}
MORE = {"More": {**properties(b={"type": ["integer", "null"]}, c={"type": "integer"}), "required": ["b"]}}
JSON_VALUE = {
    "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/J"}}]
}
LONG = 12345678901234567890123

MORE_TAKEN: list[tuple[Any, str, Any]] = [
    # lists
    (one({**PAIR, "minItems": 2}), '{"n": ["1", true]}', {"n": [1, True]}),
    (one(PAIR), '{"n": ["1"]}', {"n": [1]}),
    (one(PAIR), '{"n": []}', {"n": []}),
    (
        one({**PAIR, "items": {"type": "integer"}, "maxItems": 3}),
        '{"n": [1, true, "3"]}',
        {"n": [1, True, 3]},
    ),
    (one({"prefixItems": [{"type": "integer"}]}), '{"n": ["1", "x"]}', {"n": ["1", "x"]}),
    (one({"type": "array", "contains": {"const": 1}}), '{"n": [2]}', {"n": [2]}),
    (
        one({"type": "array", "uniqueItems": True}),
        '{"n": [1, true, [1], [true], "1"]}',
        {"n": [1, True, [1], [True], "1"]},
    ),
    (one({"type": "array", "items": {"type": "integer"}}), '{"n": "[1, 2]"}', {"n": [1, 2]}),
    # objects
    (one(BASE) | {"$defs": MORE}, '{"n": {"a": "5", "b": null, "c": null}}', {"n": {"a": 5, "b": None}}),
    (
        one({"type": "object", "patternProperties": {"^x": {"type": "integer"}}}),
        '{"n": {"y": "1"}}',
        {"n": {"y": "1"}},
    ),
    (
        one(
            {
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}},
                "additionalProperties": False,
            }
        ),
        '{"n": {"x1": "1"}}',
        {"n": {"x1": 1}},
    ),
    (
        one({**properties(a={}), "if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        '{"n": {"a": 1}}',
        {"n": {"a": 1}},
    ),
    (one({"not": {"type": "string"}}), '{"n": "x"}', {"n": "x"}),
    (one({**properties(a={"type": "integer"}), "required": ["z"]}), '{"n": {"z": null}}', {"n": {"z": None}}),
    (EITHER, '{"a": null, "b": "1"}', {"b": 1}),
    (one(EITHER), '{"n": {"a": "1"}}', {"n": {"a": 1}}),
    (
        {**properties(a={}), "additionalProperties": False, "oneOf": [properties(b={"type": "integer"})]},
        '{"b": "1"}',
        {"b": 1},
    ),
    # alternatives
    (one(PETS), '{"n": {"kind": "dog", "age": "3"}}', {"n": {"kind": "dog", "age": 3}}),
    (SHAPES, '{"kind": "cat", "lives": "9", "more": 1}', {"kind": "cat", "lives": 9, "more": 1}),
    (SHAPES, {"kind": "dog", "age": LONG}, {"kind": "dog", "age": LONG}),
    (one({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}), '{"n": "B"}', {"n": "b"}),
    (
        one(
            {
                "anyOf": [
                    {"type": "array", "items": {"type": "integer"}},
                    {"type": "array", "items": {"type": "string"}},
                ]
            }
        ),
        '{"n": ["1", "2"]}',
        {"n": ["1", "2"]},
    ),
    (
        one({"anyOf": [properties(x={"type": "integer"}), properties(y={"type": "string"})]}),
        '{"n": {"x": "1"}}',
        {"n": {"x": "1"}},
    ),
    (one({"type": "string", "anyOf": [{"pattern": "^a"}, {"enum": ["b"]}]}), '{"n": "b"}', {"n": "b"}),
    # choices
    (one({"enum": [{"a": 1}, [1], 2, None, "x"]}), '{"n": {"a": 1.0}}', {"n": {"a": 1.0}}),
    (one({"enum": [{"a": 1}, [1], 2, None, "x"]}), '{"n": null}', {"n": None}),
    (one({"enum": ["1", "2"]}), '{"n": 2}', {"n": "2"}),
    (one({"enum": ["True", "False"]}), '{"n": true}', {"n": "True"}),
    (one({"enum": [1, 2]}), '{"n": "2"}', {"n": 2}),
    (one({"enum": ["1", 1]}), '{"n": 1}', {"n": 1}),
    (one({"enum": ["1", 1]}), '{"n": "1"}', {"n": "1"}),
    (one({"type": "integer", "enum": [1, "a"]}), '{"n": 1}', {"n": 1}),
    # numbers
    (one({"type": "number"}), f'{{"n": {LONG}}}', {"n": LONG}),
    (one({"type": ["number", "null"]}), f'{{"n": [{LONG}]}}'.replace("[", "").replace("]", ""), {"n": LONG}),
    (one({"type": "number"}), '{"n": 1.0}', {"n": 1.0}),
    (one({"type": "number"}), '{"n": "2.5"}', {"n": 2.5}),
    (one({"type": "integer"}), '{"n": 27.0}', {"n": 27}),
    (one({"type": ["integer", "string", "null"]}), '{"n": null}', {"n": None}),
    (one({"type": "number", "multipleOf": 0.5}), f'{{"n": {10**400}}}', {"n": 10**400}),
    (one({"type": "string", "format": "date"}), '{"n": "tomorrow"}', {"n": "tomorrow"}),
    # absent, null and default
    (one({"type": "integer", "default": 5}), "{}", {}),
    (one({"type": "integer", "default": 5}), '{"n": null}', {}),
    (one(one({"type": "integer"})), '{"n": {"n": null}}', {"n": {}}),
    (one({"type": "array", "items": one({"type": "integer"})}), '{"n": [{"n": null}]}', {"n": [{}]}),
    # names
    (
        {
            "type": "object",
            "properties": {"": {"type": "integer"}, "$ref": {"type": "integer"}, "__proto__": {}, "a-b": {}},
        },
        '{"": "1", "$ref": "2", "__proto__": 3, "a-b": 4}',
        {"": 1, "$ref": 2, "__proto__": 3, "a-b": 4},
    ),
    # references
    (
        one({"$ref": "#/$defs/J"}) | {"$defs": {"J": JSON_VALUE}},
        '{"n": [1, ["x", [2.0]]]}',
        {"n": [1, ["x", [2]]]},
    ),
    (
        one({"$ref": "#/$defs/L"}) | {"$defs": {"L": {"type": "array", "items": {"$ref": "#/$defs/L"}}}},
        '{"n": [[], [[]]]}',
        {"n": [[], [[]]]},
    ),
    (one({"$ref": "#/properties/n"}), '{"n": 5}', {"n": 5}),
    (one({"allOf": [{"$ref": "#/properties/n"}, {"type": "integer"}]}), '{"n": "5"}', {"n": 5}),
    (
        one({"$ref": "#/$defs/I", "minimum": 2}) | {"$defs": {"I": {"type": "integer"}}},
        '{"n": "5"}',
        {"n": 5},
    ),
]


@pytest.mark.parametrize(("schema", "arguments", "expected"), MORE_TAKEN)
def test_more_is_taken(schema: Any, arguments: Any, expected: Any) -> None:
    test_taken(schema, arguments, expected)


@pytest.mark.parametrize(
    ("schema", "arguments", "text"),
    [
        (
            one({**PAIR, "minItems": 2}),
            '{"n": [1]}',
            '"n" must be a list of 2 elements .an integer, true or false.',
        ),
        (one({**PAIR, "minItems": 2}), '{"n": ["x", true]}', r'"n\[0\]" must be an integer'),
        (one({"type": "array", "uniqueItems": True}), '{"n": [1, 1.0]}', "must not have an element twice"),
        (one({"type": "array", "maxItems": 1}), '{"n": [1, 2]}', "must have at most 1 element"),
        (one(BASE) | {"$defs": MORE}, '{"n": {"a": 4, "b": 1}}', '"n.a" must be at least 5, got 4'),
        (one(BASE) | {"$defs": MORE}, '{"n": {"a": 5}}', '"n.b" is required and is missing'),
        (
            {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False},
            '{"y": 1}',
            'arguments has the name "y"; other names match',
        ),
        (
            one({"type": "object", "propertyNames": {"enum": ["a"]}}),
            '{"n": {"b": 1}}',
            'name "b", which is not allowed',
        ),
        (one({"type": "object", "minProperties": 1}), '{"n": {}}', "must have at least 1 entr"),
        (
            {**properties(a={}, b={}), "dependentRequired": {"a": ["b"]}},
            '{"a": 1}',
            'must have "b" where it has "a"',
        ),
        (EITHER, "{}", 'the arguments must have "a" or "b"'),
        (one({**EITHER, "oneOf": EITHER["anyOf"]}), '{"n": {"a": 1, "b": 1}}', "only one of them"),
        (one(PETS), '{"n": {"kind": "cow"}}', '"n.kind" is "cow"; it must be one of cat, dog'),
        (SHAPES, '{"kind": "dog"}', '"age" is required and is missing'),
        (SHAPES, "[]", "must be a JSON object"),
        (one({"enum": [{"a": 1}]}), '{"n": {"a": true}}', '"n" must be one of {"a":1}, got an object'),
        (one({"enum": [1]}), '{"n": true}', '"n" must be one of 1, got true'),
        (one({"type": "number"}), '{"n": "x"}', '"n" must be a number, got "x"'),
        (one({"type": "number", "minimum": 5}), '{"n": 3}', '"n" must be at least 5, got 3'),
        (one({"type": "string", "pattern": "^[a-z]+$"}), '{"n": "A"}', "must match the pattern"),
        (
            one({"type": "array", "items": {**one({"type": "integer"}), "required": ["n"]}}),
            '{"n": [{"n": null}]}',
            "was null",
        ),
        (
            {**properties(a={}), "additionalProperties": False},
            '{"b": 1}',
            '"b" is not a known name; accepted: a',
        ),
    ],
)
def test_more_is_refused(schema: Any, arguments: Any, text: str) -> None:
    test_refused(schema, arguments, text)


def test_further_names_can_be_forbidden() -> None:
    schema = properties(a={"type": "integer"})
    assert bind(schema, '{"a": 1, "b": 2}') == {"a": 1, "b": 2}
    with pytest.raises(ToolArgumentsError, match='"b" is not a known name; accepted: a'):
        bind(schema, '{"a": 1, "b": 2}', forbid_extra=True)
    typed = {**schema, "additionalProperties": {"type": "integer"}}
    assert bind(typed, '{"b": "2"}', forbid_extra=True) == {"b": 2}


def test_anchors_and_ids_are_understood_in_the_normal_form() -> None:
    schema, warnings = normalise(
        {
            **one({"$ref": "#node"}),
            "$defs": {"N": {"$anchor": "node", **properties(v={"type": "integer"}, next={"$ref": "#node"})}},
        }
    )
    assert warnings == []
    assert bind(schema, '{"n": {"next": {"v": "1"}}}') == {"n": {"next": {"v": 1}}}


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*$",
        "a*a*a*a*a*b",
        "(a|a)" * 30 + "$",
        "a?" * 40 + "a" * 40,
        "(" * 90 + ")" * 90,
        "(?<n>x)",
        "[",
        "x{2",
        "\\p{L}x",
        "[]x]",
        "\\1x",
        "(?=(a+)+x)",
        "^(?!a)",
        "[a--b]",
        "x**",
        "\\ud800",
        "a)",
        "x{3,2}",
    ],
)
def test_a_pattern_that_is_unclear_or_could_take_long_refuses_nothing(pattern: str) -> None:
    for text in ("a" * 40 + "!", "a" * 100_000):
        assert bind(one({"type": "string", "pattern": pattern}), {"n": text}) == {"n": text}


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        ("^[A-Z]{2}-\\d{3,}$", "AB-123", "AB-12"),
        ("^[^@]+@[^@]+\\.[a-z]{2,}$", "a@b.org", "a.b.org"),
        ("^(\\d{1,3}\\.){3}\\d{1,3}$", "10.0.0.1", "10.0.1"),
        ("^(?:a|b)?[\\x41\\-\\b]$", "bA", "bB"),
        ("^.+?/[[a]$", "x/[", "x/b"),
        ("a|b", "xb", "xc"),
        ("\\bword\\b", "a word", "awords"),
    ],
)
def test_plain_patterns_are_enforced(pattern: str, right: str, wrong: str) -> None:
    schema = one({"type": "string", "pattern": pattern})
    assert bind(schema, {"n": right}) == {"n": right}
    with pytest.raises(ToolArgumentsError, match="must match the pattern"):
        bind(schema, {"n": wrong})


def test_what_the_two_languages_of_patterns_see_differently_is_let_pass() -> None:
    assert bind(one({"type": "string", "pattern": "^\\S$"}), {"n": "\ufeff\ufeff"}) == {"n": "\ufeff\ufeff"}


def chained(last: Any, link: Any) -> dict[str, Any]:
    """Return a schema of 60 definitions, each made of references to the next one."""
    definitions = {f"D{i}": link({"$ref": f"#/$defs/D{i + 1}"}) for i in range(60)}
    return {**one({"$ref": "#/$defs/D0"}), "$defs": {**definitions, "D60": last}}


@pytest.mark.parametrize(
    ("link", "taken"),
    [
        (lambda ref: {"anyOf": [ref, dict(ref)]}, 5),
        (lambda ref: {"oneOf": [{"allOf": [ref, dict(ref)]}, ref]}, 5),
        (lambda ref: {"allOf": [ref, dict(ref), {"title": "x"}]}, 5),
        (lambda ref: {"anyOf": [one(ref), properties(m=ref), {"type": "integer"}]}, 5),
        (lambda ref: {**properties(k={}), "anyOf": [one(ref), properties(m=ref)]}, {"n": {"m": {}}}),
        (lambda ref: {"type": "array", "prefixItems": [ref, ref], "minItems": 0}, [[], [[]]]),
    ],
)
def test_small_schemas_that_say_very_much_are_read_in_a_moment(link: Any, taken: Any) -> None:
    assert bind(chained({"type": ["integer", "object", "array"]}, link), {"n": taken}) == {"n": taken}


def test_what_is_accepted_is_told_in_bounded_length() -> None:
    pairs = chained(
        {"type": "integer"},
        lambda ref: {"type": "array", "prefixItems": [ref, ref], "minItems": 2, "maxItems": 2},
    )
    with pytest.raises(ToolArgumentsError) as caught:
        bind(pairs, {"n": [1]})
    assert len(str(caught.value)) < 2500
    with pytest.raises(ToolArgumentsError) as caught:
        bind(one({"enum": [f"v{i}" for i in range(100_000)]}), {"n": "x"})
    assert len(str(caught.value)) < 2500


def test_a_recursive_union_ends_for_values_that_fit_nowhere() -> None:
    tree = {
        "anyOf": [
            {**properties(a={"$ref": "#/$defs/U"}, b={"type": "integer"}), "required": ["b"]},
            {**properties(a={"$ref": "#/$defs/U"}, c={"type": "integer"}), "required": ["c"]},
        ]
    }
    value: Any = 1
    for _ in range(50):
        value = {"a": value, "b": 1, "c": 2}
    with pytest.raises(ToolArgumentsError, match='"n" must be an object with a, b or an object with a, c'):
        bind({**one({"$ref": "#/$defs/U"}), "$defs": {"U": tree}}, {"n": value})


def test_many_properties() -> None:
    schema = {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(20_000)}}
    assert bind(schema, {"p7": "7"}) == {"p7": 7}


def test_b019_null_for_want_of_a_value_is_left_out_where_null_is_no_value() -> None:
    schema = {
        **properties(
            query={"type": "string"},
            limit={"type": "integer", "default": 10},
            tag={"type": ["string", "null"]},
        ),
        "required": ["query"],
    }
    assert bind(schema, '{"query": "cats", "limit": null, "tag": null}') == {"query": "cats", "tag": None}
    with pytest.raises(ToolArgumentsError, match='"query" is required and was null'):
        bind(schema, '{"query": null}')


def test_b016_elements_of_lists_are_converted_like_arguments() -> None:
    found = bind(
        one({"type": "array", "items": {"type": "integer"}}), '{"n": [123, 456.0, 9007199254740993]}'
    )
    assert repr(found) == "{'n': [123, 456, 9007199254740993]}"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array"}, [1, "a"]),
        ({}, {"a": [None]}),
        (True, 5),
        ({"type": ["integer", "string", "null"]}, None),
        ({"type": "null"}, None),
    ],
)
def test_b120_faulty_and_empty_schemas_take_what_they_say(schema: Any, value: Any) -> None:
    normal, _ = normalise({"properties": {"a": schema}})
    assert bind(normal, {"a": value}) == {"a": value}


def test_deep_schemas_end() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(120):
        schema = properties(a=schema)
    value: Any = "1"
    for _ in range(90):
        value = {"a": value}
    with pytest.raises(ToolArgumentsError):
        bind(schema, value)
