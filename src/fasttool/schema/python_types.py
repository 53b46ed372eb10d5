"""Python types -> forms (reference: core, sections 1.3 to 1.7)."""

from __future__ import annotations

import collections
import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin

from fasttool import json_text
from fasttool.schema.attribute_docstrings import attribute_docstrings
from fasttool.schema.constraints import checks, constraint_keywords
from fasttool.schema.enums import member_text, shown_values
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
    UnsupportedTypeError,
    UseForm,
)
from fasttool.schema.parameter import P
from fasttool.schema.structures import LEFT_TO_TYPE, read_structure

if TYPE_CHECKING:
    from fasttool.schema.formats import Format

ACCEPTED_TYPES = (
    "str, int, float, bool, None, Any, Decimal, enums, Literal, dates, times, UUID, bytes, paths, "
    "IP addresses, list, set, tuple, dict[str, T], dataclasses, TypedDict, NamedTuple, pydantic models, "
    "attrs classes, msgspec structs, and unions of them"
)

_SCALARS: dict[Any, type[Form]] = {
    str: StringForm,
    int: IntegerForm,
    float: NumberForm,
    bool: BooleanForm,
    Decimal: DecimalForm,
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
    collections.deque: collections.deque,
}
_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


_MODULES_OF_FORMATS = ("datetime", "uuid", "pathlib", "ipaddress")
_MAX_VARIANTS = 20


class TypeReader:
    """Reads the types of one tool; an object type that is met again gives the same form.

    Args:
        namespace: further names that annotations may use (those of a local scope).
    """

    def __init__(self, namespace: Mapping[str, Any] | None = None) -> None:
        self._namespace = dict(namespace or {})
        self._objects: dict[Any, ObjectForm] = {}
        self._aliases: dict[Any, AliasForm | None] = {}

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
        form = format_of(annotation)
        if form is not None:
            return FormattedForm(schema=form.schema, accepts=form.accepts, read=form.read)
        origin = get_origin(annotation)
        arguments = get_args(annotation)
        if origin is Annotated:
            return self._annotated(arguments[0], arguments[1:], variables)
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
            choices: Iterable[Any] = key.values if isinstance(key, LiteralForm) else ()
            if isinstance(key, EnumForm):
                choices = shown_values(key.enum, by_value=key.by_value)
            if not all(isinstance(choice, str) for choice in choices):
                raise UnsupportedTypeError(f"{type_name(annotation)}, whose keys are not all text")
            value = self.read(arguments[1], variables) if arguments else AnyForm()
            return MapForm(key=None if isinstance(key, (StringForm, AnyForm)) else key, value=value)
        if isinstance(kind, type) and issubclass(kind, Enum):
            if not len(kind):
                raise UnsupportedTypeError(f"{kind.__name__}, an enum without members")
            return EnumForm(_own_docstring(kind), enum=kind)
        return self._object(kind, annotation, arguments, variables)

    def _annotated(self, annotation: Any, extras: tuple[Any, ...], variables: Mapping[Any, Any]) -> Form:
        form = self.read(annotation, variables)
        try:
            keywords = constraint_keywords(form, extras)
            checks(keywords)
        except ValueError as error:
            raise UnsupportedTypeError(f"{type_name(annotation)}, which {error}") from None
        if keywords:
            _inner(form).constraints |= keywords
        if any(isinstance(extra, P) and extra.values for extra in extras):
            _show_values(form)
        return _described(form, annotated_description(extras))

    def _union(self, arguments: tuple[Any, ...], variables: Mapping[Any, Any]) -> Form:
        members = [self.read(member, variables) for member in arguments]
        nullable = any(isinstance(member, (NullForm, OptionalForm)) for member in members)
        # null inside a member (an alias, a type variable) is null of the whole.
        values = [_inner(member) for member in members if not isinstance(member, NullForm)]
        if not values:
            return NullForm()
        inner = values[0] if len(values) == 1 else UnionForm(members=tuple(values))
        return OptionalForm(inner=inner) if nullable else inner

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
        alias = annotation if origin is None else origin
        places = tuple(_substituted(argument, variables) for argument in arguments)
        key = (alias, places) if all(map(_hashable, places)) else (alias, repr(places))
        if key in self._aliases:  # it is being read, and contains itself here; or it was read before
            form = self._aliases[key] or AliasForm(name=alias.__name__)
            self._aliases[key] = form
            return OptionalForm(inner=form) if isinstance(form.inner, OptionalForm) else form
        self._aliases[key] = None
        bound = dict(zip(alias.__type_params__, places, strict=False))
        if len(self._aliases) > _MAX_VARIANTS:
            raise UnsupportedTypeError(f"{alias.__name__}, an alias that has no end")
        try:
            inner = self.read(_value_of(alias, self._namespace), {**variables, **bound})
        finally:
            own = self._aliases[key]
            if own is None:  # it does not contain itself
                del self._aliases[key]
        if own is None:
            return inner
        if _is_bare(inner, own):
            raise UnsupportedTypeError(f"{alias.__name__}, an alias that stands for nothing but itself")
        own.inner = inner
        return OptionalForm(inner=own) if isinstance(inner, OptionalForm) else own

    def _list(
        self, kind: Any, annotation: Any, arguments: tuple[Any, ...], variables: Mapping[Any, Any]
    ) -> Form:
        is_fixed = not (len(arguments) == 2 and arguments[1] is Ellipsis)
        if kind is tuple and annotation is not tuple and annotation is not typing.Tuple and is_fixed:  # noqa: UP006
            places = () if arguments == ((),) else arguments
            return TupleForm(items=tuple(self.read(place, variables) for place in places))
        item = self.read(arguments[0], variables) if arguments else AnyForm()
        construct = _LISTS[kind]
        unique = construct in (set, frozenset)
        if unique and _cannot_be_hashed(item):
            raise UnsupportedTypeError(f"{type_name(annotation)}, whose elements cannot be hashed")
        return ListForm(item=item, construct=construct, unique=unique)

    def _object(
        self, kind: Any, annotation: Any, arguments: tuple[Any, ...], variables: Mapping[Any, Any]
    ) -> ObjectForm:
        bound = tuple(_substituted(argument, variables) for argument in arguments)
        key = (kind, bound) if all(map(_hashable, bound)) else (kind, repr(bound))
        found = self._objects.get(key) if _hashable(kind) else None
        if found is not None:
            return found
        structure = read_structure(kind, lambda owner: resolved_hints(owner, self._namespace))
        if structure is None:
            raise UnsupportedTypeError(type_name(annotation))
        form = ObjectForm(
            _own_docstring(kind),
            name=kind.__name__,
            construct=structure.construct,
            keyword_only=structure.keyword_only,
            extra=AnyForm() if structure.allows_extra else None,
        )
        self._objects[key] = form
        if sum(known is kind for known, _ in self._objects) > _MAX_VARIANTS:
            raise UnsupportedTypeError(
                f"{type_name(annotation)}, a generic class that contains ever new ones"
            )
        inner = _type_variables(kind, dict(zip(getattr(kind, "__parameters__", ()), bound, strict=False)))
        described = attribute_docstrings(kind)
        for entry in structure.fields:
            annotated = Annotated[(entry.annotation, *entry.extras)] if entry.extras else entry.annotation
            try:
                read = read_field(
                    self,
                    entry.name,
                    annotated,
                    default=entry.default,
                    default_factory=entry.factory,
                    description=entry.description or described.get(entry.name),
                    variables=inner,
                )
            except UnsupportedTypeError as error:
                raise UnsupportedTypeError(f"{kind.__name__}, whose field {entry.name} is {error}") from None
            if entry.wire_name is not None:
                read.wire_name = entry.wire_name
            if not entry.required or entry.default is LEFT_TO_TYPE:
                read.required, read.default, read.shown_default = False, ABSENT, ABSENT
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
    _refuse_inner_marker(annotation)
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
        declared_default=marker is not None and marker.has_default,
        shown_default=ABSENT if marker is not None and marker.has_default else json_default(default, form),
    )


def json_default(default: Any, form: Form) -> Any:
    """Return a default as a schema shows it; ABSENT where it has no JSON form or says nothing."""
    if default is ABSENT or default is None:
        return ABSENT
    default = _worded(default, form)
    try:
        value = json_text.decode(json_text.encode(default))
    except json_text.JsonTextError:
        return ABSENT
    return ABSENT if value is None else value


def _worded(value: Any, form: Form) -> Any:
    """Return a Python value in the words that its form has for it."""
    form = _inner(form)
    if isinstance(value, Enum):
        return value.value if isinstance(form, EnumForm) and form.by_value else member_text(value)
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    if isinstance(value, (set, frozenset, list, tuple)) and isinstance(form, (ListForm, TupleForm)):
        items = form.items if isinstance(form, TupleForm) else (form.item,) * len(value)
        return [_worded(element, item) for element, item in zip(value, items, strict=False)]
    if isinstance(value, dict) and isinstance(form, MapForm):
        key = form.key or StringForm()
        return {str(_worded(name, key)): _worded(element, form.value) for name, element in value.items()}
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(form, ObjectForm) and form.construct is not None and isinstance(form.construct, type):
        return {
            entry.wire_name: _worded(getattr(value, entry.name), entry.form)
            for entry in form.fields
            if hasattr(value, entry.name)
        }
    if format_of(type(value)) is not None:
        from fasttool.schema.formats import written

        return written(value)
    return value


def format_of(annotation: Any) -> Format | None:
    """Return how values of a type are written as text, None where they are not.

    Those types live in a few modules; the formats load with the first of them.
    """
    if isinstance(annotation, type) and (
        annotation is bytes or annotation.__module__.partition(".")[0] in _MODULES_OF_FORMATS
    ):
        from fasttool.schema.formats import FORMATS

        return next((FORMATS[kind] for kind in annotation.__mro__ if kind in FORMATS), None)
    return None


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
        # The last one was written around the others.
        for extra in reversed(get_args(annotation)[1:]):
            if isinstance(extra, P):
                return extra
    return None


def _refuse_inner_marker(annotation: Any) -> None:
    """Raise ValueError for a ``P`` inside a type that says more than a description: nothing would heed it."""
    inner = get_args(annotation)
    if get_origin(annotation) is Annotated:
        inner = get_args(inner[0])
    elif get_origin(annotation) is Literal:
        return
    for argument in inner:
        marker = parameter_marker(argument)
        if marker is not None and (marker.name or marker.has_default or marker.required is not None):
            raise ValueError(
                "has P with a name, default or required inside its type: write P around the whole type, "
                "Annotated[..., P(...)]"
            )
        _refuse_inner_marker(argument)


def annotated_description(extras: Iterable[Any]) -> str | None:
    """Return the last description among the extras of ``Annotated``: ``P``, a bare string, or a ``Field``."""
    for extra in reversed(tuple(extras)):
        text = extra if isinstance(extra, str) else getattr(extra, "description", None)
        if isinstance(text, str) and text.strip():
            return text
    return None


def resolved_hints(owner: Any, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations of a function or class as types.

    Raises:
        UnsupportedTypeError: a name in an annotation is unknown.
    """
    # Not all versions of Python look for the type parameters of a class or function themselves.
    own = {variable.__name__: variable for variable in getattr(owner, "__type_params__", ())}
    try:
        return typing.get_type_hints(owner, localns={**own, **namespace} or None, include_extras=True)
    except NameError as error:
        raise UnsupportedTypeError(f"{error.name!r}, a name that is not defined where it is used") from None
    except (SyntaxError, AttributeError, TypeError) as error:
        raise UnsupportedTypeError(f"an annotation that cannot be read ({error})") from None


def _value_of(alias: Any, namespace: Mapping[str, Any]) -> Any:
    """Return what a named alias stands for, names inside it resolved where it was written."""
    module = sys.modules.get(getattr(alias, "__module__", None) or "")
    holder = type(alias.__name__, (), {})
    try:
        holder.__annotations__ = {"value": alias.__value__}
        hints = typing.get_type_hints(
            holder, dict(getattr(module, "__dict__", {})), dict(namespace) or None, include_extras=True
        )
    except NameError as error:
        raise UnsupportedTypeError(
            f"{alias.__name__}, which uses {error.name!r}, a name that is not defined where it is used"
        ) from None
    return hints["value"]


def type_name(annotation: Any) -> str:
    """Return a type as its author would write it."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    if type(annotation).__name__ == "PydanticRecursiveRef":
        return "a generic pydantic model that contains itself: write the class without type parameters"
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
    if isinstance(form, (ObjectForm, AliasForm)):
        return UseForm(description, inner=form)
    form.description = description
    return form


def _cannot_be_hashed(form: Form) -> bool:
    """Say whether a set could never, or not always, hold values of a form."""
    form = _inner(form)
    if isinstance(form, UnionForm):
        return any(map(_cannot_be_hashed, form.members))
    if isinstance(form, ListForm):
        return form.construct not in (frozenset, tuple) or _cannot_be_hashed(form.item)
    if isinstance(form, TupleForm):
        return any(map(_cannot_be_hashed, form.items))
    if isinstance(form, ObjectForm):
        return getattr(form.construct, "__hash__", None) is None
    return isinstance(form, MapForm)


def _show_values(form: Form) -> None:
    """Show the enum of a form, or of its elements, by values."""
    if isinstance(form, EnumForm):
        for member in form.enum:
            if not isinstance(member.value, (str, bool, int, float)):
                raise UnsupportedTypeError(
                    f"{form.enum.__name__}, an enum whose values are not all text or numbers"
                )
        form.by_value = True
    elif isinstance(form, OptionalForm):
        _show_values(form.inner)
    elif isinstance(form, ListForm):
        _show_values(form.item)


def _is_bare(form: Form, alias: AliasForm) -> bool:
    """Say whether an alias is met again without a list, a map or an object in between."""
    form = _inner(form)
    if isinstance(form, UnionForm):
        return any(_is_bare(member, alias) for member in form.members)
    return form is alias


def _inner(form: Form) -> Form:
    return form.inner if isinstance(form, OptionalForm) else form


def _own_docstring(kind: type) -> str | None:
    """Return the docstring of a class that its author wrote; dataclass makes one where there is none."""
    text = kind.__dict__.get("__doc__")
    if not isinstance(text, str) or not text.strip() or text.startswith(f"{kind.__name__}("):
        return None
    return inspect.cleandoc(text)


def _substituted(annotation: Any, variables: Mapping[Any, Any]) -> Any:
    """Return a type with what its type variables stand for."""
    if isinstance(annotation, TypeVar):
        return variables.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    if not parameters or (isinstance(annotation, type) and not get_args(annotation)):
        return annotation
    return annotation[tuple(variables.get(parameter, parameter) for parameter in parameters)]


def _type_variables(kind: type, variables: dict[Any, Any]) -> dict[Any, Any]:
    """Return what the type variables of a class and of its bases stand for."""
    found = dict(variables)
    for base in getattr(kind, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and origin is not typing.Generic:
            bound = (_substituted(argument, variables) for argument in get_args(base))
            inherited = dict(zip(getattr(origin, "__parameters__", ()), bound, strict=False))
            found = {**_type_variables(origin, inherited), **found}
    return found


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
