"""One walk over a schema for dialects that know one type per place, unions, objects and lists.

What a dialect makes of each is the part of its subclass: ``strict`` and ``gemini``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from fasttool.schema.dialects import fits
from fasttool.schema.keywords import ANNOTATIONS
from fasttool.schema.profiles.combinations import Combinations
from fasttool.schema.profiles.lowered import Notes
from fasttool.schema.profiles.wording import described, sentence

MAX_DEPTH = 40
"""Schemas inside each other; providers take no more than ten levels of objects."""

_OF_TYPE = {
    "string": frozenset(
        [
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "contentEncoding",
            "contentMediaType",
            "contentSchema",
        ]
    ),
    **dict.fromkeys(
        ("integer", "number"),
        frozenset(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"]),
    ),
    "array": frozenset(
        [
            *("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
            *("contains", "minContains", "maxContains", "unevaluatedItems"),
        ]
    ),
    "object": frozenset(
        [
            *("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
            *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas"),
            "unevaluatedProperties",
        ]
    ),
    "boolean": frozenset[str](),
    "null": frozenset[str](),
}
KINDS = ("string", "integer", "number", "boolean", "array", "object")
_TYPED = frozenset().union(*_OF_TYPE.values())
# A schema without a type that has one of these is about values of that type.
_TELLING = {keyword: kind for kind in ("object", "array", "number", "string") for keyword in _OF_TYPE[kind]}
del _TELLING["format"]


class Reduction(ABC):
    """The walk; a path is written as ``places[].city``.

    Args:
        root: a schema in normal form.
        notes: gets what was changed.
    """

    def __init__(self, root: Mapping[str, Any], notes: Notes) -> None:
        self.notes = notes
        self.combinations = Combinations(root, notes)

    def node(self, schema: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        """Return a schema in the dialect."""
        if depth > MAX_DEPTH:
            return self.too_deep(path)
        schema = self.combinations.joined(schema, path)
        if "$ref" in schema:
            return self.reference(schema, path, depth)
        if "anyOf" in schema or "oneOf" in schema:
            if "properties" in schema:
                return self.node(self.combinations.flat(schema, path), path, depth)
            return self._alternatives(schema, path, depth)
        return self._by_type(schema, path, depth)

    @abstractmethod
    def too_deep(self, path: str) -> dict[str, Any]:
        """Return what stands for a schema that is not gone into."""

    @abstractmethod
    def reference(self, schema: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        """Return a schema with a ``$ref``."""

    @abstractmethod
    def untyped(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        """Return a schema that any value fits."""

    @abstractmethod
    def typed(
        self, kind: str, nullable: bool, schema: dict[str, Any], path: str, depth: int
    ) -> dict[str, Any]:
        """Return a schema of one type, perhaps with null, whose other keywords are about that type."""

    @abstractmethod
    def union(
        self, members: list[dict[str, Any]], nullable: bool, schema: dict[str, Any], path: str
    ) -> dict[str, Any]:
        """Return a union of finished members; of the schema only the annotations count."""

    def element(self, schema: dict[str, Any], path: str, depth: int) -> dict[str, Any] | None:
        """Return the finished schema of the elements of a list, None where any value is one."""
        places = schema.get("prefixItems")
        if isinstance(places, list) and places:
            distinct = [place for number, place in enumerate(places) if place not in places[:number]]
            items = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        else:
            items = schema.get("items")
        if not isinstance(items, dict) or ANNOTATIONS.issuperset(items):
            return None
        return self.node(items, f"{path}[]", depth + 1)

    def moved(self, schema: Mapping[str, Any], keywords: Any, path: str) -> list[str]:
        """Return what keywords that the dialect refuses say, and note each."""
        texts = []
        for keyword in keywords:
            text = sentence(keyword, schema[keyword])
            if text is None:
                self.notes.add(path, f"{keyword} is left out.")
            else:
                self.notes.add(path, f"{keyword} is moved to the description.")
                texts.append(text)
        return texts

    def _alternatives(self, schema: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        keyword = "anyOf" if "anyOf" in schema else "oneOf"
        if keyword == "oneOf":
            self.notes.add(path, "oneOf is written as anyOf.")
        elif "oneOf" in schema:
            self.notes.add(path, "oneOf beside anyOf is left out.")
        outside = {key: value for key, value in schema.items() if key in ANNOTATIONS}
        shared = {
            key: value
            for key, value in schema.items()
            if key not in ANNOTATIONS and key not in ("anyOf", "oneOf")
        }
        members: list[dict[str, Any]] = []
        nullable = False
        for member in schema[keyword]:
            if member.get("type") == "null":
                nullable = True
                continue
            # What stands beside the alternatives holds for each of them.
            inside = {**shared, **member}
            if isinstance(shared.get("type"), str) and isinstance(member.get("type"), list):
                inside["type"] = shared["type"]
            members.append(inside)
        if not members:
            return self._by_type({**outside, "type": "null"}, path, depth)
        if len(members) == 1:
            only = members[0]
            if nullable and isinstance(only.get("type"), str):
                only = {**only, "type": [only["type"], "null"]}
                if "const" in only:
                    only["enum"] = [only.pop("const")]
                if "enum" in only and None not in only["enum"]:
                    only["enum"] = [*only["enum"], None]
                return self.node({**only, **outside}, path, depth)
            if not nullable:
                return self.node({**only, **outside}, path, depth)
        finished = [self.node(member, path, depth + 1) for member in members]
        return self.union(finished, nullable, outside, path)

    def _by_type(self, schema: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        kinds = schema.get("type", [])
        kinds = list(kinds) if isinstance(kinds, list) else [kinds]
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            schema = {key: value for key, value in schema.items() if key not in ("enum", "const")}
            if any(isinstance(value, (dict, list)) for value in values):
                schema = self.unlisted(values, schema, path)
            else:
                fitting = [value for value in values if not kinds or any(fits(value, kind) for kind in kinds)]
                # A declared type that no value has is a slip: the values say what is meant.
                kinds = _kinds_of(fitting, kinds) if fitting else _kinds_of(values, [])
                schema["enum"] = fitting or values
        if not kinds:
            kinds = list(dict.fromkeys(_TELLING[keyword] for keyword in schema if keyword in _TELLING))[:1]
        nullable = "null" in kinds
        kinds = [kind for kind in kinds if kind != "null"]
        if not kinds:
            return self.typed("null", False, schema, path, depth) if nullable else self.untyped(schema, path)
        if len(kinds) == 1:
            return self.typed(kinds[0], nullable, _about(schema, kinds[0]), path, depth)
        inside = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
        members = [self.typed(kind, False, _about(inside, kind), path, depth + 1) for kind in kinds]
        return self.union(members, nullable, schema, path)

    def unlisted(self, values: list[Any], schema: dict[str, Any], path: str) -> dict[str, Any]:
        """Return a schema without its list of values, some of which are lists or objects."""
        return described(schema, self.moved({"enum": values}, ["enum"], path))


def _kinds_of(values: list[Any], declared: list[Any]) -> list[Any]:
    """The types of values; of declared ones those that a value has."""
    found: list[Any] = []
    for value in values:
        for kind in declared or ("null", "boolean", "integer", "number", "string"):
            if fits(value, kind):
                if kind not in found:
                    found.append(kind)
                break
    return found


def _about(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """The keywords of a schema that say something of values of one type."""
    own = _OF_TYPE[kind]
    result = {key: value for key, value in schema.items() if key == "type" or key in own or key not in _TYPED}
    if "enum" in result:
        result["enum"] = [value for value in result["enum"] if value is not None and fits(value, kind)]
        if not result["enum"]:
            del result["enum"]
    return result
