"""Forms -> JSON Schema (reference: core, sections 1.3 to 1.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fasttool.schema.enums import shown_values
from fasttool.schema.forms import (
    ABSENT,
    AliasForm,
    AnyForm,
    BooleanForm,
    DecimalForm,
    EnumForm,
    FieldForm,
    Form,
    FormattedForm,
    IntegerForm,
    ListForm,
    LiteralForm,
    MapForm,
    NullForm,
    NumberForm,
    ObjectForm,
    OptionalForm,
    StringForm,
    TupleForm,
    UnionForm,
    UseForm,
)

_Named = ObjectForm | AliasForm
_SIMPLE: dict[type[Form], str] = {
    StringForm: "string",
    IntegerForm: "integer",
    NumberForm: "number",
    DecimalForm: "number",
    BooleanForm: "boolean",
    NullForm: "null",
}
_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def parameters_schema(
    fields: Sequence[FieldForm], *, extra: Form | None = None, closed: bool = False
) -> dict[str, Any] | None:
    """Return the schema of a tool's parameters, None for a tool without any.

    Args:
        fields: the parameters, in the order of the signature.
        extra: what further arguments may be; None does not mention them.
        closed: further arguments are refused.
    """
    if not fields and extra is None:
        return None
    writer = _Writer()
    schema = writer.object_schema(fields)
    if extra is not None:
        schema["additionalProperties"] = writer.schema(extra)
    elif closed:
        schema["additionalProperties"] = False
    definitions = writer.definitions()
    if definitions:
        schema["$defs"] = definitions
    return schema


def _choices(values: list[Any]) -> dict[str, Any]:
    kinds = {_JSON_TYPES.get(type(value)) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    return {"type": kind, "enum": values} if kind else {"enum": values}


class _Writer:
    """One pass over the forms of one tool.

    An object is written where it is first met; inside itself, and from then on, it becomes a ``$ref``
    to a definition, which is made only then.  An alias that contains itself is always a ``$ref``.
    """

    def __init__(self) -> None:
        self._open: list[_Named] = []
        self._names: dict[_Named, str] = {}

    def schema(self, form: Form) -> dict[str, Any]:
        schema = self._body(form)
        if form.constraints:
            schema = {**schema, **form.constraints}
        if form.description:
            # A description belongs beside the type; beside a $ref it is an annotation of the use.
            schema = {**schema, "description": form.description}
        return schema

    def _body(self, form: Form) -> dict[str, Any]:
        simple = _SIMPLE.get(type(form))
        if simple is not None:
            return {"type": simple}
        if isinstance(form, (OptionalForm, UseForm)):
            # null is always taken where a value is optional; the schema shows what is useful.
            return self.schema(form.inner)
        if isinstance(form, FormattedForm):
            return dict(form.schema)
        if isinstance(form, TupleForm):
            count = len(form.items)
            places = [self._nested(item) for item in form.items]
            return {"type": "array", "prefixItems": places, "minItems": count, "maxItems": count}
        if isinstance(form, EnumForm):
            return _choices(shown_values(form.enum, by_value=form.by_value))
        if isinstance(form, LiteralForm):
            return _choices(list(form.values))
        if isinstance(form, ListForm):
            schema: dict[str, Any] = {"type": "array", "items": self._nested(form.item)}
            if form.unique:
                schema["uniqueItems"] = True
            return schema
        if isinstance(form, MapForm):
            written: dict[str, Any] = {"type": "object"}
            if isinstance(form.key, IntegerForm):
                written["propertyNames"] = {"pattern": r"^[+-]?[0-9]+$"}
            elif form.key is not None:
                written["propertyNames"] = {"enum": [str(key) for key in self._body(form.key)["enum"]]}
            if not isinstance(form.value, AnyForm) or form.value.description:
                written["additionalProperties"] = self._nested(form.value)
            return written
        if isinstance(form, UnionForm):
            return {"anyOf": [self.schema(member) for member in form.members]}
        if isinstance(form, (ObjectForm, AliasForm)):
            return self._named(form)
        return {}

    def _nested(self, form: Form) -> dict[str, Any]:
        """Inside a list or a map, where nothing else says that null is allowed, the schema does."""
        if not isinstance(form, OptionalForm):
            return self.schema(form)
        schema = self.schema(form.inner)
        if isinstance(form.inner, AliasForm):  # its definition says it
            return schema
        members = schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
        return {"anyOf": [*members, {"type": "null"}]}

    def _named(self, form: _Named) -> dict[str, Any]:
        # Types that contain each other would otherwise be written out along every way through them.
        if isinstance(form, AliasForm) or form in self._open or form in self._names:
            return {"$ref": f"#/$defs/{self._name(form)}"}
        return self._written(form)

    def _written(self, form: _Named) -> dict[str, Any]:
        self._open.append(form)
        if isinstance(form, AliasForm):
            schema = self._nested(form.inner)
            self._open.pop()
            return schema
        schema = self.object_schema(form.fields)
        if form.extra is not None:
            schema["additionalProperties"] = self._nested(form.extra)
        self._open.pop()
        return schema

    def object_schema(self, fields: Sequence[FieldForm]) -> dict[str, Any]:
        properties = {}
        for entry in fields:
            properties[entry.wire_name] = self.schema(entry.form)
            if entry.shown_default is not ABSENT:
                properties[entry.wire_name]["default"] = entry.shown_default
        required = [entry.wire_name for entry in fields if entry.required]
        return {"type": "object", "properties": properties, "required": required}

    def _name(self, form: _Named) -> str:
        name = self._names.get(form)
        if name is None:
            taken = set(self._names.values())
            name, number = form.name, 2
            while name in taken:
                name, number = f"{form.name}{number}", number + 1
            self._names[form] = name
        return name

    def definitions(self) -> dict[str, Any]:
        """Write what was referred to; writing may refer to more."""
        written: dict[str, Any] = {}
        while len(written) < len(self._names):
            form, name = next((f, n) for f, n in self._names.items() if n not in written)
            written[name] = self._written(form)
            if form.description:
                written[name]["description"] = form.description
        return written
