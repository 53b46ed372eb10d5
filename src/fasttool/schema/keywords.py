"""The keywords of JSON Schema 2020-12, by what their values are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DEFINITIONS = ("$defs", "definitions")
# Keywords whose schemas apply to the value itself, not to a part of it.
IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
IN_PLACE_SCHEMAS = ("not", "if", "then", "else")
SCHEMAS = frozenset(
    [
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
SCHEMA_LISTS = frozenset([*IN_PLACE_LISTS, "prefixItems"])
SCHEMA_MAPS = frozenset(["dependentSchemas", "patternProperties", "properties", *DEFINITIONS])
# Here a boolean says more plainly what is meant.
BOOLEAN_SCHEMAS = frozenset(["additionalProperties", "unevaluatedItems", "unevaluatedProperties"])
REFERENCES = frozenset(["$ref", "$dynamicRef"])
# Names for places: references are pointers when we are done.  The header is between client and server.
DROPPED = frozenset(
    [
        "$anchor",
        "$comment",
        "$dynamicAnchor",
        "$id",
        "$recursiveAnchor",
        "$schema",
        "$vocabulary",
        "x-mcp-header",
    ]
)
ANNOTATIONS = frozenset(
    ["title", "description", "default", "deprecated", "examples", "readOnly", "writeOnly"]
)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


# What the metaschema asks of keywords that hold no schema.
CHECKS: dict[str, Callable[[Any], bool]] = {
    # What of these two can be said in 2020-12 has been rewritten before.
    "$recursiveRef": lambda value: False,
    "dependencies": lambda value: False,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "examples": _is_list,
    "multipleOf": _is_positive,
    **dict.fromkeys(
        ["title", "description", "format", "pattern", "contentEncoding", "contentMediaType"], _is_text
    ),
    **dict.fromkeys(["uniqueItems", "deprecated", "readOnly", "writeOnly"], _is_flag),
    **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], _is_number),
    **dict.fromkeys(
        [
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minContains",
            "maxContains",
            "minProperties",
            "maxProperties",
        ],
        _is_count,
    ),
}
