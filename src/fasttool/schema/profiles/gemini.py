"""Gemini's dialect: the subset of OpenAPI 3.0 that ``FunctionDeclaration.parameters`` takes.

Newer versions of the API also take plain JSON Schema in ``parametersJsonSchema``; for those there is the
profile ``json_schema``. The subset is the safe choice: every version and every gateway takes it, and it
is checked with a clear error instead of being passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fasttool.schema.keywords import ANNOTATIONS
from fasttool.schema.profiles.lowered import Lowered, Notes
from fasttool.schema.profiles.reduction import KINDS, Reduction
from fasttool.schema.profiles.wording import described

MAX_SCHEMAS = 2_000
"""Schemas in the result: references are written out, and those can multiply."""

_MAX_DEPTH = 30
_MAX_INTEGER = 2**63 - 1

# Gemini API reference, "Schema". A field is refused where it does not belong to the type
# ("only allowed for OBJECT type"), as is any field that is not in the list ("Unknown name").
_FIELDS = {
    "string": ("minLength", "maxLength", "pattern"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_COUNTS = frozenset(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"])
# "only 'enum' and 'date-time' are supported for STRING type"
_FORMATS = {"string": ("date-time",), "integer": ("int32", "int64"), "number": ("float", "double")}
_PLACED = frozenset(
    [
        *("type", "enum", "properties", "required", "items", "title", "description"),
        *("nullable", "$defs", "unevaluatedProperties", "unevaluatedItems"),
    ]
)


def gemini_schema(schema: dict[str, Any]) -> Lowered:
    """Return a schema of the subset; a tool without parameters has no ``properties``.

    Args:
        schema: in normal form.
    """
    notes = Notes()
    walk = _Gemini(schema, notes)
    return Lowered(walk.root(schema), notes.texts())


class _Gemini(Reduction):
    def __init__(self, root: Mapping[str, Any], notes: Notes) -> None:
        super().__init__(root, notes)
        self._left = MAX_SCHEMAS
        self._open: list[str] = ["#"]

    def root(self, schema: dict[str, Any]) -> dict[str, Any]:
        top = self.combinations.flat({key: value for key, value in schema.items() if key != "$defs"}, "")
        texts = self.moved(top, [key for key in ("enum", "const") if key in top], "")
        top = {key: value for key, value in top.items() if key not in ("enum", "const")}
        return self.typed("object", False, described(top, texts), "", 0)

    def too_deep(self, path: str) -> dict[str, Any]:
        self.notes.add(path, "what is inside is left out: it is too deep or too large.")
        return {"type": "object"}

    def node(self, schema: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            return self.too_deep(path)
        return super().node(schema, path, depth)

    def reference(self, schema: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        """Write out what is referred to; what stands beside the reference wins."""
        reference = schema["$ref"]
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        target = self.combinations.target(reference)
        if reference in self._open:
            self.notes.add(path, f"the reference to {reference}, which it is inside of, is cut.")
            kind = target.get("type", siblings.get("type"))
            name = reference.rpartition("/")[2] if reference != "#" else "the arguments"
            kind = kind if kind in KINDS else "object"
            cut = {key: value for key, value in siblings.items() if key in ("title", "description")}
            return self._cut(kind, described(cut, [f"Of the same form as {name}."]))
        self._open.append(reference)
        result = self.node({**target, **siblings}, path, depth + 1)
        self._open.pop()
        return result

    def _cut(self, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"type": kind, **schema, **({"items": {"type": "string"}} if kind == "array" else {})}

    def untyped(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        """A place without a type is refused, so every type is named."""
        others = [key for key in schema if key not in _PLACED and key != "description"]
        self.notes.add(path, "any value is accepted, which is written as a union of the types.")
        members = [self._cut(kind, {}) for kind in ("string", "number", "boolean", "object", "array")]
        outside = described(schema, self.moved(schema, others, path))
        return self.union(
            members, False, {key: outside[key] for key in ("description",) if key in outside}, path
        )

    def union(
        self, members: list[dict[str, Any]], nullable: bool, schema: dict[str, Any], path: str
    ) -> dict[str, Any]:
        # "When using any_of, it must be the only field set": what holds for all goes into each member.
        others = [key for key in schema if key in ANNOTATIONS and key not in ("title", "description")]
        outside = described(
            {key: schema[key] for key in ("description",) if key in schema}, self.moved(schema, others, path)
        )
        flat: list[dict[str, Any]] = []
        for member in members:
            flat += member.get("anyOf", [member])
        finished: list[dict[str, Any]] = []
        for member in flat:
            if said := outside.get("description"):
                inside = member.get("description")
                member = described({**member, "description": said}, [inside] if inside else [])
            if nullable:
                member = {**member, "nullable": True}
            if member not in finished:
                finished.append(member)
        return finished[0] if len(finished) == 1 else {"anyOf": finished}

    def typed(
        self, kind: str, nullable: bool, schema: dict[str, Any], path: str, depth: int
    ) -> dict[str, Any]:
        if kind == "null":
            return {"type": "string", **described({}, ["Always null."]), "nullable": True}
        result: dict[str, Any] = {"type": kind}
        refused = []
        for key, value in schema.items():
            if key in ("title", "description"):
                result[key] = value
            elif key not in _PLACED and not self._field(kind, key, value, result):
                refused.append(key)
        texts = self.moved(schema, refused, path)
        if "enum" in schema:
            texts += self._values(kind, schema["enum"], result, path)
        if nullable:
            result["nullable"] = True
        if kind == "object":
            self._object(result, schema, path, depth)
        elif kind == "array":
            items = self.element(schema, path, depth)
            result["items"] = self.untyped({}, f"{path}[]") if items is None else items
        return described(result, texts)

    def _field(self, kind: str, key: str, value: Any, result: dict[str, Any]) -> bool:
        """Take a keyword over where there is a field for it; False where there is none."""
        if key == "additionalProperties":
            return value is False
        if kind == "integer" and key in ("exclusiveMinimum", "exclusiveMaximum") and value == int(value):
            bound, other, better = (
                (int(value) + 1, "minimum", max)
                if key == "exclusiveMinimum"
                else (int(value) - 1, "maximum", min)
            )
            if abs(bound) > _MAX_INTEGER:
                return False
            result[other] = better(bound, result.get(other, bound))
            return True
        if key == "format":
            if value not in _FORMATS.get(kind, ()):
                return False
        elif key not in _FIELDS.get(kind, ()):
            return False
        elif key in _COUNTS:
            value = int(value)
        if isinstance(value, (int, float)):
            if abs(value) > _MAX_INTEGER:
                return False
            if key == "minimum" and key in result:
                value = max(value, result[key])
            elif key == "maximum" and key in result:
                value = min(value, result[key])
        result[key] = value
        return True

    def _values(self, kind: str, values: list[Any], result: dict[str, Any], path: str) -> list[str]:
        """Put choices in their place.

        ``enum`` is for text only, and no entry may be empty. Numbers are not turned into text: the
        arguments would come back as text, which a choice of numbers does not take.
        """
        if kind != "string":
            return self.moved({"enum": values}, ["enum"], path)
        shown = [value for value in values if value]
        if shown:
            result["enum"] = shown
        if len(shown) == len(values):
            return []
        self.notes.add(path, "the empty text among the values of enum is left out.")
        return ["May be empty."]

    def _object(self, result: dict[str, Any], schema: dict[str, Any], path: str, depth: int) -> None:
        properties = schema.get("properties")
        if not properties:  # "should be non-empty for OBJECT type"
            return
        result["properties"] = finished = {}
        for name, entry in properties.items():
            finished[name] = self.node(entry, f"{path}.{name}" if path else name, depth + 1)
        required = [name for name in schema.get("required", ()) if name in finished]
        if required:
            result["required"] = required
