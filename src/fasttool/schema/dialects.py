"""The words of other schema dialects: type names, keywords of old drafts and of OpenAPI, defaults as text."""

from __future__ import annotations

import re
from typing import Any

from fasttool import json_text

_DIALECT_TYPES = {
    name: kind
    for kind, names in {
        "string": "string str char character charsequence text",
        "integer": "integer int long short byte bigint biginteger "
        "int8 int16 int32 int64 uint uint8 uint16 uint32 uint64",
        "number": "number float double decimal bigdecimal float32 float64 numeric",
        "boolean": "boolean bool",
        "array": "array list tuple set frozenset sequence collection iterable arraylist linkedlist "
        "hashset linkedhashset treeset vector queue deque stack",
        "object": "object dict dictionary map mapping hashmap hashtable linkedhashmap treemap "
        "concurrenthashmap record struct",
        "null": "null none nil",
    }.items()
    for name in names.split()
}
_LONGEST_TYPE = 80
_GENERIC = re.compile(r"(\w+)\s*(?:<.*>|\[.*\])", re.ASCII | re.DOTALL)
_OLD_KEYWORDS = frozenset(["additionalItems", "definitions", "dependencies", "$recursiveRef"])
_BOUNDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
_OTHER_DEMANDS = ("$ref", "allOf", "oneOf")
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}
_TRUTH = {"true": True, "True": True, "false": False, "False": False}


def type_name(name: str) -> str | None:
    """Return the JSON type that a type name of any dialect means, None for an unknown one."""
    if kind := _DIALECT_TYPES.get(name):
        return kind
    if len(name) > _LONGEST_TYPE:
        return None
    word = name.strip().lower()
    if word.endswith("[]"):
        return "array"
    if generic := _GENERIC.fullmatch(word):
        word = generic[1]
    return _DIALECT_TYPES.get(word)


def truth(value: Any) -> bool | None:
    """Return what a flag of any dialect says, also as text; None for what is no flag."""
    if isinstance(value, bool):
        return value
    return _FLAGS.get(value.lower()) if isinstance(value, str) and len(value) < 6 else None


def fits(value: Any, kind: str) -> bool:
    """Return whether a JSON value is of a JSON type."""
    if value is None:
        return kind == "null"
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int):
        return kind in ("integer", "number")
    if isinstance(value, float):
        return kind == "number" or (kind == "integer" and value.is_integer())
    if isinstance(value, str):
        return kind == "string"
    return kind == ("object" if isinstance(value, dict) else "array")


def convert_default(value: Any, kind: str) -> list[Any]:
    """Return what a default of the wrong type says in the right one; an empty list if that is not exact.

    Args:
        value: a JSON value that is not of the type.
        kind: a JSON type.
    """
    if kind == "string":
        if isinstance(value, bool):
            return ["true" if value else "false"]
        return [repr(value)] if isinstance(value, (int, float)) else []
    if not isinstance(value, str) or kind == "null":
        return []
    if kind == "boolean":
        return [_TRUTH[value]] if value in _TRUTH else []
    try:
        found = json_text.decode(value)
    except (json_text.JsonTextError, RecursionError):
        return []
    if not fits(found, kind) or (isinstance(found, (int, float)) and repr(found) != value):
        return []
    return [found]


def allow_null(schema: dict[Any, Any]) -> None:
    """Let a schema accept null as well, which OpenAPI 3.0 says with ``nullable: true``.

    Args:
        schema: a raw schema, changed at its top only.
    """
    kind = schema.get("type")
    if isinstance(kind, str):
        schema["type"] = [kind, "null"]
    elif isinstance(kind, (list, tuple)) and "null" not in kind:
        schema["type"] = [*kind, "null"]
    if "const" in schema and "enum" not in schema:
        schema["enum"] = [schema.pop("const")]
    values = schema.get("enum")
    if isinstance(values, (list, tuple)) and not any(value is None for value in values):
        schema["enum"] = [*values, None]
    others = [keyword for keyword in _OTHER_DEMANDS if keyword in schema]
    members = schema.get("anyOf")
    if isinstance(members, (list, tuple)) and members and not others:
        if not any(isinstance(member, dict) and member.get("type") == "null" for member in members):
            schema["anyOf"] = [*members, {"type": "null"}]
    elif others:
        inner = {keyword: schema.pop(keyword) for keyword in ("anyOf", *others) if keyword in schema}
        schema["anyOf"] = [inner, {"type": "null"}]


def modern(schema: dict[Any, Any]) -> dict[Any, Any]:
    """Return a raw schema in the keywords of 2020-12: itself, or a copy of its top.

    Args:
        schema: a raw schema, of any draft from 4 on.
    """
    items = schema.get("items")
    is_tuple = isinstance(items, (list, tuple)) and "prefixItems" not in schema
    exclusive = [(old, new) for old, new in _BOUNDS if isinstance(schema.get(new), bool)]
    if not is_tuple and not exclusive and _OLD_KEYWORDS.isdisjoint(schema):
        return schema
    result = {keyword: value for keyword, value in schema.items() if keyword != "additionalItems"}
    if is_tuple:
        del result["items"]
        if items:
            result["prefixItems"] = items
        if schema.get("additionalItems", True) is not True:
            result["items"] = schema["additionalItems"]
    for old, new in exclusive:
        del result[new]
        if schema[new] and old in result:
            result[new] = result.pop(old)
    if isinstance(reference := schema.get("$recursiveRef"), str):
        del result["$recursiveRef"]
        result["$dynamicRef" if "$ref" in result else "$ref"] = reference
    if isinstance(dependencies := schema.get("dependencies"), dict):
        del result["dependencies"]
        needs = {key: [need] if isinstance(need, str) else need for key, need in dependencies.items()}
        _add(result, "dependentRequired", {k: v for k, v in needs.items() if isinstance(v, (list, tuple))})
        _add(result, "dependentSchemas", {k: v for k, v in needs.items() if not isinstance(v, (list, tuple))})
    if isinstance(definitions := schema.get("definitions"), dict):
        del result["definitions"]
        _add(result, "$defs", definitions)
    return result


def _add(schema: dict[Any, Any], keyword: str, entries: dict[Any, Any]) -> None:
    """Add entries to a keyword that may hold some already; of two with one name the present one stays."""
    present = schema.get(keyword)
    if entries:
        schema[keyword] = {**entries, **present} if isinstance(present, dict) else entries
