"""Strict schemas: every object closed, every value of a known type, so that a provider can enforce them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fasttool.schema.keywords import ANNOTATIONS
from fasttool.schema.profiles.combinations import definition_name
from fasttool.schema.profiles.lowered import Lowered, Notes
from fasttool.schema.profiles.reduction import Reduction
from fasttool.schema.profiles.wording import described

_BOUNDS = frozenset(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
_PLACED = frozenset(
    [
        *("type", "enum", "properties", "required", "additionalProperties"),
        *("items", "prefixItems", "title", "description", "$defs"),
    ]
)
_FURTHER_NAMES = ("patternProperties", "unevaluatedProperties")
_LOOKAROUND = re.compile(r"\(\?[=!<]|\\[1-9]")


class StrictRules(NamedTuple):
    """What a provider's strict mode takes.

    Attributes:
        keywords: what may stand in a schema of each type, beyond what all take.
        formats: values of ``format``.
        all_required: an optional property must be required, with null among its types.
        null_in_type: null is an entry of ``type``, else a member of ``anyOf``.
        recursion: a schema may contain itself.
        max_min_items: largest ``minItems``; None for any.
        max_properties: properties of all objects.
        max_depth: objects inside each other.
        max_values: entries of all ``enum``.
        max_text: characters of all names and values.
        max_optional: properties that are not required.
        max_unions: places with more than one type.
    """

    keywords: Mapping[str, frozenset[str]]
    formats: frozenset[str]
    all_required: bool
    null_in_type: bool
    recursion: bool
    max_min_items: int | None = None
    max_properties: int | None = None
    max_depth: int | None = None
    max_values: int | None = None
    max_text: int | None = None
    max_optional: int | None = None
    max_unions: int | None = None


# OpenAI, guide "Structured model outputs", section "Supported schemas". What it does not list is refused
# ("... is not permitted"), as are `default`, keywords beside a `$ref`, and look-around in patterns.
OPENAI = StrictRules(
    keywords={
        "string": frozenset(["pattern", "format"]),
        "integer": _BOUNDS,
        "number": _BOUNDS,
        "array": frozenset(["minItems", "maxItems"]),
    },
    formats=frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
    all_required=True,
    null_in_type=True,
    recursion=True,
    max_properties=5_000,
    max_depth=10,
    max_values=1_000,
    max_text=120_000,
)

# Anthropic, "Structured outputs", section "JSON Schema limitations": no recursion, no bounds, minItems
# 0 or 1; an optional property may stay one, but there are limits on those and on unions.
ANTHROPIC = StrictRules(
    keywords={"string": frozenset(["format"]), "array": frozenset(["minItems"])},
    formats=frozenset(
        ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]
    ),
    all_required=False,
    null_in_type=False,
    recursion=False,
    max_min_items=1,
    max_optional=24,
    max_unions=16,
)


def strict_schema(schema: dict[str, Any], rules: StrictRules) -> Lowered:
    """Return a schema that strict mode takes; where it cannot be one, ``strict`` is False and notes say why.

    Args:
        schema: in normal form.
        rules: the provider's.
    """
    notes = Notes()
    walk = _Strict(schema, notes, rules)
    result = walk.root(schema)
    walk.check_limits(result)
    reasons = walk.reasons.texts()
    return Lowered(result, (*reasons, *notes.texts()), not reasons)


class _Strict(Reduction):
    def __init__(self, root: Mapping[str, Any], notes: Notes, rules: StrictRules) -> None:
        super().__init__(root, notes)
        self._rules = rules
        self._edges: dict[str, set[str]] = {}
        self._place = "#"
        self.reasons = Notes()  # why it cannot be strict

    def root(self, schema: dict[str, Any]) -> dict[str, Any]:
        top = self.combinations.flat({key: value for key, value in schema.items() if key != "$defs"}, "")
        texts = self.moved(top, [key for key in ("enum", "const") if key in top], "")
        top = {key: value for key, value in top.items() if key not in ("enum", "const")}
        result = self.typed("object", False, described(top, texts), "", 0)
        definitions: dict[str, Any] = {}
        while missing := [name for name in self._used() if name not in definitions]:
            for name in missing:
                self._place = f"#/$defs/{name}"
                target = self.combinations.target(_pointer(name))
                definitions[name] = self.node(target, f"$defs.{name}", 1)
        if definitions:
            result["$defs"] = definitions
        if self.combinations.moved_properties and self._rules.all_required:
            # The tool would get null for what belongs to another alternative.
            self.refuse("", "parts or alternatives declare properties, for which null cannot stand")
        if not self._rules.recursion and self._is_recursive():
            self.refuse("", "it contains itself")
        return result

    def refuse(self, path: str, why: str) -> None:
        self.reasons.add(path, f"strict is not possible: {why}.")

    def too_deep(self, path: str) -> dict[str, Any]:
        self.refuse(path, "it is too deep")
        return {"type": "string"}

    def reference(self, schema: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        reference = schema["$ref"]
        name = definition_name(reference)
        self._edges.setdefault(self._place, set()).add("#" if name is None else f"#/$defs/{name}")
        others = [key for key in schema if key not in ("$ref", "type", "title", "description", "$defs")]
        outside = {key: value for key, value in schema.items() if key in ("title", "description")}
        outside = described(outside, self.moved(schema, others, path))
        # Nothing may stand beside a $ref.
        return {"anyOf": [{"$ref": reference}], **outside} if outside else {"$ref": reference}

    def untyped(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        self.refuse(path, "any value is accepted")
        return {key: value for key, value in schema.items() if key in ("title", "description")}

    def union(
        self, members: list[dict[str, Any]], nullable: bool, schema: dict[str, Any], path: str
    ) -> dict[str, Any]:
        flat: list[dict[str, Any]] = []
        for member in members:
            flat += member["anyOf"] if member.keys() == {"anyOf"} else [member]
        if nullable and {"type": "null"} not in flat:
            flat.append({"type": "null"})
        outside = {key: value for key, value in schema.items() if key in ("title", "description")}
        others = [key for key in schema if key in ANNOTATIONS and key not in outside]
        return {"anyOf": flat, **described(outside, self.moved(schema, others, path))}

    def typed(
        self, kind: str, nullable: bool, schema: dict[str, Any], path: str, depth: int
    ) -> dict[str, Any]:
        in_type = nullable and self._rules.null_in_type
        result: dict[str, Any] = {"type": [kind, "null"] if in_type else kind}
        refused = []
        for key, value in schema.items():
            if key in ("title", "description"):
                result[key] = value
            elif key not in _PLACED and not (key in _FURTHER_NAMES and value is False):
                if self._takes(kind, key, value):
                    result[key] = value
                else:
                    refused.append(key)
        if "enum" in schema:
            result["enum"] = [*schema["enum"], None] if in_type else schema["enum"]
        if kind == "object":
            self._object(result, schema, path, depth)
        elif kind == "array":
            items = self.element(schema, path, depth)
            if items is None:
                self.refuse(path, "its elements may be anything")
                items = {}
            result["items"] = items
            refused += [key for key in ("prefixItems",) if key in schema]
        result = described(result, self.moved(schema, refused, path))
        if not nullable or in_type:
            return result
        outside: dict[str, Any] = {key: result.pop(key) for key in ("title", "description") if key in result}
        return {"anyOf": [result, {"type": "null"}], **outside}

    def _takes(self, kind: str, keyword: str, value: Any) -> bool:
        if keyword not in self._rules.keywords.get(kind, ()):
            return False
        if keyword == "format":
            return value in self._rules.formats
        if keyword == "pattern":
            return _LOOKAROUND.search(value) is None
        limit = self._rules.max_min_items
        return not (keyword == "minItems" and limit is not None and value > limit)

    def _object(self, result: dict[str, Any], schema: dict[str, Any], path: str, depth: int) -> None:
        properties = schema.get("properties", {})
        further = schema.get("additionalProperties")
        if schema.get("patternProperties") or (further is not None and further is not False):
            self.refuse(path, "it takes names beyond its properties")
        elif further is None and not properties and depth:
            self.refuse(path, "it takes any names")
        needed = schema.get("required", ())
        result["properties"] = finished = {}
        for name, entry in properties.items():
            place = f"{path}.{name}" if path else name
            finished[name] = self.node(entry, place, depth + 1)
            if name not in needed and self._rules.all_required:
                finished[name] = _with_null(finished[name])
                self.notes.add(
                    place, "null stands for leaving it out, since all properties must be required."
                )
        result["required"] = (
            list(finished) if self._rules.all_required else [name for name in finished if name in needed]
        )
        result["additionalProperties"] = False

    def _used(self) -> list[str]:
        found = dict.fromkeys(target for targets in self._edges.values() for target in sorted(targets))
        return [name for target in found if (name := definition_name(_pointer_of(target))) is not None]

    def _is_recursive(self) -> bool:
        reached: set[str] = set()
        for start in self._edges:
            reached.clear()
            waiting = list(self._edges[start])
            while waiting:
                place = waiting.pop()
                if place == start:
                    return True
                if place not in reached:
                    reached.add(place)
                    waiting += self._edges.get(place, ())
        return False

    def check_limits(self, schema: dict[str, Any]) -> None:
        """Refuse a finished schema that is larger than the provider takes."""
        counts = dict.fromkeys(("properties", "depth", "values", "text", "optional", "unions"), 0)
        counts["text"] = sum(map(len, schema.get("$defs", {})))
        waiting: list[tuple[Any, int]] = [(schema, 0)]
        while waiting:
            node, depth = waiting.pop()
            values = node.get("enum", ())
            counts["values"] += len(values)
            counts["text"] += sum(len(value) for value in values if isinstance(value, str))
            counts["unions"] += "anyOf" in node and len(node["anyOf"]) > 1
            properties = node.get("properties")
            if properties is not None:
                depth += 1
                counts["properties"] += len(properties)
                counts["text"] += sum(map(len, properties))
                counts["optional"] += len(properties) - len(node["required"])
                waiting += [(entry, depth) for entry in properties.values()]
            counts["depth"] = max(counts["depth"], depth)
            waiting += [(entry, depth) for entry in node.get("anyOf", ())]
            waiting += [(entry, 0) for entry in node.get("$defs", {}).values()]
            if "items" in node:
                waiting.append((node["items"], depth))
        for what, limit in (
            ("properties", self._rules.max_properties),
            ("depth", self._rules.max_depth),
            ("values", self._rules.max_values),
            ("text", self._rules.max_text),
            ("optional", self._rules.max_optional),
            ("unions", self._rules.max_unions),
        ):
            if limit is not None and counts[what] > limit:
                self.refuse("", f"{_LIMITED[what]} may be {limit:,}, and are {counts[what]:,}")


_LIMITED = {
    "properties": "the properties of all objects",
    "depth": "the objects inside each other",
    "values": "the values of all enums",
    "text": "the characters of names and values",
    "optional": "the optional properties",
    "unions": "the places with several types",
}


def _pointer(name: str) -> str:
    return "#/$defs/" + name.replace("~", "~0").replace("/", "~1").replace("%", "%25")


def _pointer_of(place: str) -> str:
    """A place of ``_edges`` as a reference: places hold names as they are."""
    return place if place == "#" else _pointer(place[8:])


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, str):
        if kind == "null":
            return schema
        result = {**schema, "type": [kind, "null"]}
        if "enum" in schema:
            result["enum"] = [*schema["enum"], None]
        return result
    if kind is not None:
        return schema  # null is there already
    if "anyOf" in schema:
        members = schema["anyOf"]
        if any(member.get("type") == "null" or "null" in member.get("type", ()) for member in members):
            return schema
        return {**schema, "anyOf": [*members, {"type": "null"}]}
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return schema
