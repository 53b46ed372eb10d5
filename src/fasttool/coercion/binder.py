"""Forms -> binders: the second fold over what a type means (the first is the schema)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fasttool._ext.coerce import (
    ANY,
    BOOLEAN,
    CHOICE,
    INTEGER,
    LIST,
    MAP,
    MISSING,
    NULL,
    NUMBER,
    OBJECT,
    OMITTED,
    PARAMETER_TEXT,
    TEXT,
    UNION,
    ArgumentBinder,
    Coercer,
)
from fasttool.coercion.arguments import read_arguments
from fasttool.schema.enums import accepted_texts, member_texts
from fasttool.schema.forms import (
    ABSENT,
    AnyForm,
    BooleanForm,
    EnumForm,
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
    UseForm,
)

_SCALARS: dict[type[Form], tuple[int, str]] = {
    AnyForm: (ANY, "any value"),
    NullForm: (NULL, "null"),
    StringForm: (TEXT, "text"),
    IntegerForm: (INTEGER, "an integer"),
    NumberForm: (NUMBER, "a number"),
    BooleanForm: (BOOLEAN, "true or false"),
}
# Members of a union are tried from the narrow to the wide, so that their order in the source says nothing.
_WIDTHS = {
    kind: width for width, kind in enumerate((BOOLEAN, INTEGER, NUMBER, CHOICE, OBJECT, LIST, MAP, TEXT, ANY))
}


def argument_binder(owner: str, fields: Sequence[FieldForm], *, extra: Form | None = None) -> ArgumentBinder:
    """Return the binder of a tool's parameters.

    Args:
        owner: name of the tool, for messages.
        fields: its parameters.
        extra: what further arguments are read as; None passes them over.
    """
    return _Compiler().binder(owner, fields, extra=extra, closed=False, read=read_arguments)


class _Compiler:
    """One pass over the forms of one tool; an object that contains itself gives one node."""

    def __init__(self) -> None:
        self._objects: dict[ObjectForm, dict[bool, Coercer]] = {}
        self._opaque = False

    def binder(
        self, owner: str, fields: Sequence[FieldForm], *, extra: Form | None, closed: bool, read: Any = None
    ) -> ArgumentBinder:
        # A whole parameter of type text may come as a list or an object: its JSON text is kept.
        coercers = [self.coercer(entry.form, whole=read is not None) for entry in fields]
        further = None if extra is None else self.coercer(extra)
        return ArgumentBinder(
            owner,
            [entry.name for entry in fields],
            [entry.wire_name for entry in fields],
            coercers,
            [_default(entry) for entry in fields],
            [entry.default_factory for entry in fields],
            extra=further,
            closed=closed,
            opaque=self._opaque,
            read=read,
        )

    def coercer(self, form: Form, *, optional: bool = False, whole: bool = False) -> Coercer:
        if isinstance(form, OptionalForm):
            return self.coercer(form.inner, optional=True, whole=whole)
        if isinstance(form, UseForm):
            return self.coercer(form.inner, optional=optional, whole=whole)
        scalar = _SCALARS.get(type(form))
        if scalar is not None:
            kind, accepts = scalar
            if kind == TEXT and whole:
                kind = PARAMETER_TEXT
            self._opaque = self._opaque or kind == ANY
            return Coercer(kind, accepts, optional)
        if isinstance(form, EnumForm):
            return _enum(form, optional)
        if isinstance(form, LiteralForm):
            return _literal(form, optional)
        if isinstance(form, ObjectForm):
            return self._object(form, optional)
        if isinstance(form, UnionForm):
            members = [self.coercer(member) for member in form.members]
            coercer = Coercer(
                UNION, " or ".join(dict.fromkeys(member.accepts for member in members)), optional
            )
            coercer.set_members(sorted(members, key=_width))
            return coercer
        if isinstance(form, MapForm):
            coercer = Coercer(MAP, "an object", optional)
            coercer.set_items(self.coercer(form.value), None if form.key is None else self.coercer(form.key))
            return coercer
        if isinstance(form, ListForm):
            item = self.coercer(form.item)
            coercer = Coercer(LIST, f"a list (each element: {item.accepts})", optional)
            coercer.set_items(item, None, form.construct)
            return coercer
        raise TypeError(f"{type(form).__name__} has no coercer")

    def _object(self, form: ObjectForm, optional: bool) -> Coercer:
        known = self._objects.setdefault(form, {})
        if optional in known:
            return known[optional]
        names = ", ".join(entry.wire_name for entry in form.fields)
        coercer = known[optional] = Coercer(
            OBJECT, f"an object with {names}" if names else "an object", optional
        )
        # An object that stays a dictionary has the fields of its schema by their own names.
        fields = self.binder(form.name, form.fields, extra=form.extra, closed=form.extra is None)
        coercer.set_object(fields, form.construct, form.keyword_only)
        return coercer


def _width(coercer: Coercer) -> int:
    return _WIDTHS.get(coercer.kind, len(_WIDTHS))


def _default(entry: FieldForm) -> Any:
    if entry.default is not ABSENT:
        return entry.default
    return MISSING if entry.required or entry.default_factory is not None else OMITTED


def _enum(form: EnumForm, optional: bool) -> Coercer:
    shown = member_texts(form.enum)
    exact, folded = accepted_texts(form.enum)
    # A value that is not just the name is free text: white space at its ends does not count.
    values = {
        member.value.casefold(): member
        for member in form.enum
        if isinstance(member.value, str)
        and member.value != member.name
        and folded.get(member.value.casefold()) is member
    }
    coercer = Coercer(CHOICE, f"one of {', '.join(shown)}", optional)
    coercer.set_choices(exact, folded, values)
    return coercer


def _literal(form: LiteralForm, optional: bool) -> Coercer:
    texts = {value: value for value in form.values if isinstance(value, str)}
    folded: dict[str, Any] = {}
    for text in texts:
        key = text.casefold()
        folded[key] = MISSING if key in folded else text
    clear = {key: text for key, text in folded.items() if text is not MISSING}
    others = [value for value in form.values if not isinstance(value, str)]
    accepts = ", ".join(
        str(value).lower() if isinstance(value, bool) else str(value) for value in form.values
    )
    coercer = Coercer(CHOICE, f"one of {accepts}", optional)
    coercer.set_choices(texts, clear, clear, others)
    return coercer
