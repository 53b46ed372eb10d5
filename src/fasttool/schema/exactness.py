"""Whether a JSON value is what a form says as it stands, and when two values are the same."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

from fasttool.schema.forms import (
    AliasForm,
    AnyForm,
    BooleanForm,
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
    TupleForm,
    UnionForm,
    UseForm,
)

_MAX_DEPTH = 128
"""Values inside each other; the binder reads no deeper ones either."""


def identity(value: Any) -> Hashable:
    """Return what is equal for equal JSON values alone: 1 and 1.0 are the same, 1 and true are not.

    Raises:
        RecursionError: the value is nested too deep.
    """
    if isinstance(value, bool) or value is None:
        return (type(value).__name__, value)
    if isinstance(value, Mapping):
        return ("object", frozenset((name, identity(entry)) for name, entry in value.items()))
    if isinstance(value, (list, tuple)):
        return ("list", tuple([identity(entry) for entry in value]))
    return value if isinstance(value, (int, float, str)) else ("other", id(value))


class ExactMatch:
    """A check that a value is what a form says.

    Args:
        form: of plain JSON values; it may be completed until the first use.
    """

    __slots__ = ("_form",)

    def __init__(self, form: Form) -> None:
        self._form = form

    def __call__(self, value: Any) -> str | None:
        return None if _Comparison().fits(self._form, value, 0) else "must be another value"


class _Comparison:
    """One comparison; a part of the value is compared with a form once, however many ways lead to it."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}

    def fits(self, form: Form, value: Any, depth: int) -> bool:
        while isinstance(form, UseForm):
            form = form.inner
        if isinstance(form, OptionalForm):
            return value is None or self.fits(form.inner, value, depth)
        if not isinstance(value, (dict, list, tuple, Mapping)):
            return self._scalar(form, value, depth) and _passes(form, value)
        if depth > _MAX_DEPTH:
            return False
        key = (id(form), id(value))
        known = self._known.get(key)
        if known is None:
            # Met again before it is known, it leads in a circle that says nothing.
            self._known[key] = False
            known = self._known[key] = self._container(form, value, depth + 1) and _passes(form, value)
        return known

    def _scalar(self, form: Form, value: Any, depth: int) -> bool:
        if isinstance(form, AnyForm):
            return True
        if isinstance(form, UnionForm):
            return any(self.fits(member, value, depth) for member in form.members)
        if isinstance(form, AliasForm):
            return depth <= _MAX_DEPTH and self.fits(form.inner, value, depth + 1)
        if isinstance(form, LiteralForm):
            return any(identity(value) == identity(choice) for choice in form.values)
        if value is None:
            return isinstance(form, NullForm)
        if isinstance(value, bool):
            return isinstance(form, BooleanForm)
        if isinstance(value, str):
            return isinstance(form, StringForm)
        if isinstance(value, float) and not math.isfinite(value):
            return False
        if isinstance(form, IntegerForm):
            return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return isinstance(form, NumberForm) and isinstance(value, (int, float))

    def _container(self, form: Form, value: Any, depth: int) -> bool:
        if isinstance(form, AnyForm):
            return True
        if isinstance(form, UnionForm):
            return any(self.fits(member, value, depth) for member in form.members)
        if isinstance(form, AliasForm):
            return self.fits(form.inner, value, depth)
        if isinstance(value, Mapping):
            if isinstance(form, MapForm):
                return all(self.fits(form.value, entry, depth) for entry in value.values())
            return isinstance(form, ObjectForm) and self._object(form, value, depth)
        if isinstance(form, ListForm):
            return all(self.fits(form.item, entry, depth) for entry in value)
        return (
            isinstance(form, TupleForm)
            and len(form.items) == len(value)
            and all(self.fits(item, entry, depth) for item, entry in zip(form.items, value, strict=True))
        )

    def _object(self, form: ObjectForm, value: Mapping[str, Any], depth: int) -> bool:
        found = 0
        for entry in form.fields:
            if entry.wire_name not in value:
                if entry.required:
                    return False
                continue
            found += 1
            if not self.fits(entry.form, value[entry.wire_name], depth):
                return False
        if found == len(value):
            return True
        if form.extra is None:
            return False
        names = {entry.wire_name for entry in form.fields}
        return all(self.fits(form.extra, value[name], depth) for name in value if name not in names)


def _passes(form: Form, value: Any) -> bool:
    return all(check(value) is None for _, check in form.checks)
