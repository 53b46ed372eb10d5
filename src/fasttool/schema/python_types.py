"""Python types -> forms (reference: core, sections 1.3 to 1.7)."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import types
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin

from fasttool import json_text
from fasttool.schema.enums import member_text
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
from fasttool.schema.parameter import P

ACCEPTED_TYPES = (
    "str, int, float, bool, None, Any, enums, Literal, list, set, frozenset, tuple[T, ...], dict[str, T], "
    "dataclasses and unions of them"
)

_SCALARS: dict[Any, type[Form]] = {
    str: StringForm,
    int: IntegerForm,
    float: NumberForm,
    bool: BooleanForm,
    None: NullForm,
    type(None): NullForm,
    Any: AnyForm,
    object: AnyForm,
    inspect.Parameter.empty: AnyForm,
}
_LISTS: dict[Any, Any] = {
    list: None,
    collections.abc.Iterable: None,
    collections.abc.Collection: None,
    collections.abc.Sequence: None,
    collections.abc.MutableSequence: None,
    set: set,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    frozenset: frozenset,
    tuple: tuple,
}
_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class UnsupportedTypeError(TypeError):
    """A type has no form; the text says which, and why."""


class TypeReader:
    """Reads the types of one tool; an object type that is met again gives the same form.

    Args:
        namespace: further names that annotations may use (those of a local scope).
    """

    def __init__(self, namespace: Mapping[str, Any] | None = None) -> None:
        self._namespace = dict(namespace or {})
        self._objects: dict[Any, ObjectForm] = {}

    def read(self, annotation: Any, variables: Mapping[Any, Any] | None = None) -> Form:
        """Return the form of a resolved annotation.

        Args:
            annotation: a type, not a string.
            variables: what the type variables of a generic class stand for.

        Raises:
            UnsupportedTypeError: the type, or one inside it, has no form.
        """
        variables = variables or {}
        scalar = _SCALARS.get(annotation) if _hashable(annotation) else None
        if scalar is not None:
            return scalar()
        origin = get_origin(annotation)
        arguments = get_args(annotation)
        if origin is Annotated:
            form = self.read(arguments[0], variables)
            description = annotated_description(arguments[1:])
            return _described(form, description)
        if origin is Union or origin is types.UnionType:
            return self._union(arguments, variables)
        if origin is Literal:
            return _literal(arguments)
        if isinstance(annotation, NewType):
            return self.read(annotation.__supertype__, variables)
        if isinstance(annotation, TypeVar):
            return self._variable(annotation, variables)
        if type(annotation).__name__ == "TypeAliasType" or type(origin).__name__ == "TypeAliasType":
            return self._alias(annotation, origin, arguments, variables)
        kind = origin or annotation
        if _hashable(kind) and kind in _LISTS:
            return self._list(kind, annotation, arguments, variables)
        if kind in _MAPS:
            key = self.read(arguments[0], variables) if arguments else StringForm()
            if not isinstance(key, (StringForm, IntegerForm, EnumForm, LiteralForm, AnyForm)):
                raise UnsupportedTypeError(
                    f"{type_name(annotation)}, whose keys cannot be the text of a JSON key"
                )
            value = self.read(arguments[1], variables) if arguments else AnyForm()
            return MapForm(key=None if isinstance(key, (StringForm, AnyForm)) else key, value=value)
        if isinstance(kind, type) and issubclass(kind, Enum):
            if not len(kind):
                raise UnsupportedTypeError(f"{kind.__name__}, an enum without members")
            return EnumForm(_own_docstring(kind), enum=kind)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return self._dataclass(kind, annotation, arguments, variables)
        raise UnsupportedTypeError(type_name(annotation))

    def _union(self, arguments: tuple[Any, ...], variables: Mapping[Any, Any]) -> Form:
        members = [self.read(member, variables) for member in arguments]
        values = [member for member in members if not isinstance(member, NullForm)]
        inner = values[0] if len(values) == 1 else UnionForm(members=tuple(values))
        return OptionalForm(inner=inner) if len(values) < len(members) else inner

    def _variable(self, variable: TypeVar, variables: Mapping[Any, Any]) -> Form:
        if variable in variables:
            return self.read(variables[variable])
        if variable.__bound__ is not None:
            return self.read(variable.__bound__, variables)
        if variable.__constraints__:
            return self._union(variable.__constraints__, variables)
        return AnyForm()

    def _alias(
        self, annotation: Any, origin: Any, arguments: tuple[Any, ...], variables: Mapping[Any, Any]
    ) -> Form:
        alias = origin or annotation
        bound = dict(zip(alias.__type_params__, arguments, strict=False))
        return self.read(alias.__value__, {**variables, **bound})

    def _list(
        self, kind: Any, annotation: Any, arguments: tuple[Any, ...], variables: Mapping[Any, Any]
    ) -> Form:
        if kind is tuple and arguments and not (len(arguments) == 2 and arguments[1] is Ellipsis):
            raise UnsupportedTypeError(f"{type_name(annotation)}, a tuple of fixed length")
        item = self.read(arguments[0], variables) if arguments else AnyForm()
        construct = _LISTS[kind]
        unique = construct in (set, frozenset)
        if unique and isinstance(_inner(item), (ListForm, MapForm)):
            raise UnsupportedTypeError(f"{type_name(annotation)}, whose elements cannot be hashed")
        return ListForm(item=item, construct=construct, unique=unique)

    def _dataclass(
        self, kind: type, annotation: Any, arguments: tuple[Any, ...], variables: Mapping[Any, Any]
    ) -> ObjectForm:
        bound = tuple(
            variables.get(argument, argument) if _hashable(argument) else argument for argument in arguments
        )
        key = (kind, bound) if all(map(_hashable, bound)) else (kind, repr(bound))
        found = self._objects.get(key)
        if found is not None:
            return found
        form = ObjectForm(_own_docstring(kind), name=kind.__name__, construct=kind)
        self._objects[key] = form
        inner = dict(zip(getattr(kind, "__parameters__", ()), bound, strict=False))
        hints = resolved_hints(kind, self._namespace)
        entries = [entry for entry in dataclasses.fields(kind) if entry.init]
        form.keyword_only = any(entry.kw_only for entry in entries)
        for entry in entries:
            try:
                read = read_field(
                    self,
                    entry.name,
                    hints.get(entry.name, Any),
                    default=ABSENT if entry.default is dataclasses.MISSING else entry.default,
                    default_factory=None
                    if entry.default_factory is dataclasses.MISSING
                    else entry.default_factory,
                    variables=inner,
                )
            except UnsupportedTypeError as error:
                raise UnsupportedTypeError(f"{kind.__name__}, whose field {entry.name} is {error}") from None
            form.fields.append(read)
        check_wire_names(form.fields, f"{kind.__name__}")
        return form


def read_field(
    reader: TypeReader,
    name: str,
    annotation: Any,
    *,
    default: Any = ABSENT,
    default_factory: Any = None,
    description: str | None = None,
    variables: Mapping[Any, Any] | None = None,
) -> FieldForm:
    """Return the form of a parameter or field: type, ``P``, default and description put together.

    Args:
        reader: reads the type.
        name: its name in Python.
        annotation: its resolved annotation.
        default: its default in Python; ABSENT for none.
        default_factory: makes its default; None for none.
        description: used where the annotation gives none.
        variables: what type variables stand for.

    Raises:
        UnsupportedTypeError: the type has no form.
        ValueError: P and the type contradict each other.
    """
    form = reader.read(annotation, variables)
    marker = parameter_marker(annotation)
    optional = isinstance(form, OptionalForm)
    if marker is not None and marker.has_default:
        if optional:
            raise ValueError(
                "has a default in P and may be None: use one of the two to say that it may be absent"
            )
        if default is not ABSENT or default_factory is not None:
            raise ValueError("has a default in P and another in Python: give one of them")
        default = marker.default
    has_default = default is not ABSENT or default_factory is not None
    required = not has_default and not optional and (marker is None or marker.required is not False)
    if not required and not has_default:
        default = None
    text = annotated_description(get_args(annotation)[1:]) if get_origin(annotation) is Annotated else None
    return FieldForm(
        name=name,
        wire_name=(marker.name if marker is not None else None) or name,
        form=_described(form, text or description),
        required=required,
        default=default,
        default_factory=default_factory,
        shown_default=ABSENT if marker is not None and marker.has_default else json_default(default),
    )


def json_default(default: Any) -> Any:
    """Return a default as a schema shows it; ABSENT where it has no JSON form or says nothing."""
    if default is ABSENT or default is None:
        return ABSENT
    if isinstance(default, Enum):
        return member_text(default)
    try:
        value = json_text.decode(json_text.encode(default))
    except json_text.JsonTextError:
        return ABSENT
    return ABSENT if value is None else value


def check_wire_names(fields: Iterable[FieldForm], owner: str) -> None:
    """Raise ValueError where two fields have one name in the schema."""
    seen: dict[str, str] = {}
    for entry in fields:
        if entry.wire_name in seen:
            raise ValueError(
                f"{owner} has two parameters named {entry.wire_name!r}: {seen[entry.wire_name]}, {entry.name}"
            )
        seen[entry.wire_name] = entry.name


def parameter_marker(annotation: Any) -> P | None:
    """Return the ``P`` of an ``Annotated`` annotation."""
    if get_origin(annotation) is Annotated:
        for extra in get_args(annotation)[1:]:
            if isinstance(extra, P):
                return extra
    return None


def annotated_description(extras: Iterable[Any]) -> str | None:
    """Return the description among the extras of ``Annotated``: ``P``, a bare string, or a ``Field``."""
    for extra in extras:
        text = extra if isinstance(extra, str) else getattr(extra, "description", None)
        if isinstance(text, str) and text.strip():
            return text
    return None


def resolved_hints(owner: Any, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations of a function or class as types.

    Raises:
        UnsupportedTypeError: a name in an annotation is unknown.
    """
    try:
        return typing.get_type_hints(owner, localns=dict(namespace) or None, include_extras=True)
    except NameError as error:
        raise UnsupportedTypeError(f"{error.name!r}, a name that is not defined where it is used") from None
    except (SyntaxError, AttributeError, TypeError) as error:
        raise UnsupportedTypeError(f"an annotation that cannot be read ({error})") from None


def type_name(annotation: Any) -> str:
    """Return a type as its author would write it."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "")


def _literal(values: tuple[Any, ...]) -> Form:
    scalars = tuple(value for value in values if value is not None)
    for value in scalars:
        if isinstance(value, Enum) or not isinstance(value, (str, int, bool)):
            raise UnsupportedTypeError(f"Literal[{value!r}], which is not a string, an integer or a boolean")
    form: Form = LiteralForm(values=scalars) if scalars else NullForm()
    return OptionalForm(inner=form) if scalars and len(scalars) < len(values) else form


def _described(form: Form, description: str | None) -> Form:
    """Return ``form`` with a description of its own; a shared object form is not changed for it."""
    if not description or not description.strip():
        return form
    if isinstance(form, ObjectForm):
        return UseForm(description, inner=form)
    form.description = description
    return form


def _inner(form: Form) -> Form:
    return form.inner if isinstance(form, OptionalForm) else form


def _own_docstring(kind: type) -> str | None:
    """Return the docstring of a class that its author wrote; dataclass makes one where there is none."""
    text = kind.__dict__.get("__doc__")
    if not isinstance(text, str) or not text.strip() or text.startswith(f"{kind.__name__}("):
        return None
    return inspect.cleandoc(text)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
