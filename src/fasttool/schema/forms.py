"""Forms: what a type means to a schema and to a binder, in one value.

A type is read once into a form.  The JSON Schema and the argument coercer are two folds over
the same form, so what the schema shows is what the binder accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

ABSENT: Any = type(
    "Absent", (), {"__repr__": lambda self: "ABSENT", "__reduce__": lambda self: "ABSENT", "__slots__": ()}
)()
"""No default is given."""


class UnsupportedTypeError(TypeError):
    """A type has no form; the text says which, and why."""


@dataclass(slots=True, eq=False)
class Form:
    """What one value may be.

    Args:
        description: shown in the schema; None for none.
        constraints: further keywords of its JSON Schema, shown and enforced (minimum, pattern, ...).
        checks: what else is enforced and never shown: words for it, and what returns the fault of a value.
    """

    description: str | None = None
    constraints: dict[str, Any] = field(default_factory=dict, kw_only=True)
    checks: tuple[tuple[str, Callable[[Any], str | None]], ...] = field(default=(), kw_only=True)


@dataclass(slots=True, eq=False)
class AnyForm(Form):
    """Any JSON value, untouched."""


@dataclass(slots=True, eq=False)
class NullForm(Form):
    """Only null."""


@dataclass(slots=True, eq=False)
class StringForm(Form):
    """Text."""


@dataclass(slots=True, eq=False)
class IntegerForm(Form):
    """A whole number of any size."""


@dataclass(slots=True, eq=False)
class NumberForm(Form):
    """A finite float."""


@dataclass(slots=True, eq=False)
class BooleanForm(Form):
    """true or false."""


@dataclass(slots=True, eq=False)
class DecimalForm(Form):
    """A finite decimal number, with the digits that were written."""


@dataclass(slots=True, eq=False)
class FormattedForm(Form):
    """A value that is written as text of some format.

    Args:
        schema: keywords of its JSON Schema.
        accepts: what is accepted, as an error text says it.
        read: returns the value of a text, or raises ValueError.
    """

    schema: dict[str, Any] = field(kw_only=True)
    accepts: str = field(kw_only=True)
    read: Callable[[str], Any] = field(kw_only=True)


@dataclass(slots=True, eq=False)
class EnumForm(Form):
    """A member of an enum, by its name, or by its value where that is asked for."""

    enum: type[Enum] = field(kw_only=True)
    by_value: bool = field(default=False, kw_only=True)


@dataclass(slots=True, eq=False)
class LiteralForm(Form):
    """One of a few JSON scalars.

    Args:
        values: the scalars.
        by_text: a number stands for its text, and a text for its number, where only that is one of them.
    """

    values: tuple[Any, ...] = field(kw_only=True)
    by_text: bool = field(default=False, kw_only=True)


@dataclass(slots=True, eq=False)
class ListForm(Form):
    """A JSON array.

    Args:
        item: what each element may be.
        construct: makes the value from the list of elements; None keeps the list.
        unique: an element counts once (a set).
    """

    item: Form = field(kw_only=True)
    construct: Callable[[Iterable[Any]], Any] | None = field(default=None, kw_only=True)
    unique: bool = field(default=False, kw_only=True)


@dataclass(slots=True, eq=False)
class TupleForm(Form):
    """A JSON array of fixed length, with a form for each place.

    Args:
        items: what each element may be.
        construct: makes the value from the list of elements.
    """

    items: tuple[Form, ...] = field(kw_only=True)
    construct: Callable[[Iterable[Any]], Any] = field(default=tuple, kw_only=True)


@dataclass(slots=True, eq=False)
class MapForm(Form):
    """A JSON object with free keys.

    Args:
        value: what each value may be.
        key: what the text of a key is read as; None keeps text.
    """

    value: Form = field(kw_only=True)
    key: Form | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class FieldForm:
    """A named value: a parameter of a tool, or a field of an object.

    Args:
        name: its name in Python.
        wire_name: its name in the schema and in the arguments.
        form: what it may be.
        required: it must be given.
        default: used where it is absent, and for null where null is not a value; ABSENT for none.
        default_factory: makes the default, anew for each call; None for none.
        shown_default: the default as the schema tells it; ABSENT where it does not.
        declared_default: the default was given in ``P``: it is read as an argument is.
    """

    name: str
    wire_name: str
    form: Form
    required: bool = True
    default: Any = ABSENT
    default_factory: Callable[[], Any] | None = None
    shown_default: Any = ABSENT
    declared_default: bool = False


@dataclass(slots=True, eq=False)
class ObjectForm(Form):
    """A JSON object with known fields; may contain itself.

    Args:
        name: name of the type, for definitions and messages.
        fields: in the order in which ``construct`` takes them.
        construct: makes the value; None keeps a dictionary of what was given.
        keyword_only: ``construct`` takes its fields by keyword.
        extra: what further fields may be; None refuses them.
    """

    name: str = field(kw_only=True)
    fields: list[FieldForm] = field(default_factory=list, kw_only=True)
    construct: Callable[..., Any] | None = field(default=None, kw_only=True)
    keyword_only: bool = field(default=False, kw_only=True)
    extra: Form | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class OptionalForm(Form):
    """What ``inner`` may be, or null."""

    inner: Form = field(kw_only=True)


@dataclass(slots=True, eq=False)
class UseForm(Form):
    """One use of a shared form, with a description of its own."""

    inner: Form = field(kw_only=True)


@dataclass(slots=True, eq=False)
class AliasForm(Form):
    """What a named alias may be that contains itself (``type Json = str | list[Json]``).

    Args:
        name: name of the alias, for definitions and messages.
        inner: what the alias stands for.
    """

    name: str = field(kw_only=True)
    inner: Form = field(default_factory=AnyForm, kw_only=True)


@dataclass(slots=True, eq=False)
class UnionForm(Form):
    """What any of ``members`` may be; at least two of them.

    Args:
        members: what it may be.
        exact: a value in which one of these checks, at least two, finds no fault is taken as it stands,
            before any member may convert something in it.
    """

    members: tuple[Form, ...] = field(kw_only=True)
    exact: tuple[Callable[[Any], str | None], ...] = field(default=(), kw_only=True)
