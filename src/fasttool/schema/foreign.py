"""JSON Schema -> forms, for tools that come with a schema instead of a signature.

What a form cannot say (patterns, bounds, conditions) is not checked here; the model still sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from fasttool.schema.constraints import enforced_keywords
from fasttool.schema.forms import (
    AnyForm,
    BooleanForm,
    FieldForm,
    Form,
    IntegerForm,
    ListForm,
    LiteralForm,
    MapForm,
    NullForm,
    NumberForm,
    ObjectForm,
    OptionalForm,
    StringForm,
    UnionForm,
)

_SIMPLE: dict[str, type[Form]] = {
    "string": StringForm,
    "integer": IntegerForm,
    "number": NumberForm,
    "boolean": BooleanForm,
    "null": NullForm,
}
_MAX_DEPTH = 100


def schema_form(schema: Mapping[str, Any] | None) -> ObjectForm:
    """Return the form of a tool's parameters.

    Args:
        schema: an object schema in the normal form of ``normalise``; None for no parameters.
    """
    reader = _Reader(schema or {})
    form = reader.object_form(schema or {}, 0)
    if isinstance(form, ObjectForm):
        return form
    return ObjectForm(name="arguments", extra=AnyForm())


class _Reader:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._references: dict[str, Form] = {}

    def form(self, schema: Any, depth: int) -> Form:
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return AnyForm()
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._referred(reference, depth)
        values = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if isinstance(values, list) and values:
            return _choices(values)
        for keyword in ("anyOf", "oneOf"):
            members = schema.get(keyword)
            if isinstance(members, list) and members and "type" not in schema:
                return _union([self.form(member, depth + 1) for member in members])
        parts = schema.get("allOf")
        if isinstance(parts, list) and len(parts) == 1 and "type" not in schema:
            return self.form(parts[0], depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            return _union([self._typed(name, schema, depth) for name in kind])
        if kind is None and isinstance(schema.get("properties"), Mapping):
            kind = "object"
        return self._typed(kind, schema, depth)

    def _typed(self, kind: Any, schema: Mapping[str, Any], depth: int) -> Form:
        simple = _SIMPLE.get(kind) if isinstance(kind, str) else None
        if simple is not None:
            form = simple()
            form.constraints = enforced_keywords(form, schema)
            return form
        if kind == "array":
            return ListForm(
                item=AnyForm() if "prefixItems" in schema else self.form(schema.get("items"), depth + 1)
            )
        if kind == "object":
            return self.object_form(schema, depth)
        return AnyForm()

    def object_form(self, schema: Mapping[str, Any], depth: int) -> Form:
        properties = schema.get("properties")
        further = schema.get("additionalProperties", True)
        # Keywords that add properties from elsewhere: what they allow is not refused here.
        if any(
            keyword in schema for keyword in ("allOf", "anyOf", "oneOf", "patternProperties", "if", "$ref")
        ):
            further = True
        extra = None if further is False else self.form(further, depth + 1)
        if not isinstance(properties, Mapping) or not properties:
            if extra is None:
                return ObjectForm(name="object")
            return MapForm(value=extra) if depth else ObjectForm(name="arguments", extra=extra)
        required = schema.get("required")
        needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        fields = [
            FieldForm(name, name, self.form(entry, depth + 1), required=name in needed)
            for name, entry in properties.items()
        ]
        return ObjectForm(name="object", fields=fields, extra=extra)

    def _referred(self, reference: str, depth: int) -> Form:
        found = self._references.get(reference)
        if found is None:
            target = self._target(reference)
            if isinstance(target, Mapping) and isinstance(target.get("properties"), Mapping):
                # Only an object can contain itself: its form is known before its fields are.
                placeholder = ObjectForm(name=reference.rpartition("/")[2])
                self._references[reference] = placeholder
                form = self.object_form(target, depth + 1)
                if isinstance(form, ObjectForm):
                    placeholder.fields, placeholder.extra = form.fields, form.extra
                return placeholder
            self._references[reference] = AnyForm()
            found = self._references[reference] = self.form(target, depth + 1)
        return found

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return None
        target: Any = self._root
        for part in reference[1:].split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if not isinstance(target, Mapping) or key not in target:
                return None
            target = target[key]
        return target


def _choices(values: list[Any]) -> Form:
    scalars = tuple(value for value in values if value is not None)
    if not all(isinstance(value, (str, int, float)) for value in scalars):
        return AnyForm()
    inner: Form = LiteralForm(values=scalars) if scalars else NullForm()
    return OptionalForm(inner=inner) if scalars and len(scalars) < len(values) else inner


def _union(members: list[Form]) -> Form:
    if any(isinstance(member, AnyForm) for member in members):
        return AnyForm()
    values = [member for member in members if not isinstance(member, NullForm)]
    if not values:
        return NullForm() if members else AnyForm()
    inner = values[0] if len(values) == 1 else UnionForm(members=tuple(values))
    return OptionalForm(inner=inner) if len(values) < len(members) else inner
