"""Classes with named fields -> what is known of their fields.

dataclasses, TypedDict, NamedTuple, pydantic models, attrs classes and msgspec structs are read
through their own metadata; none of those packages is imported here.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fasttool.schema.forms import ABSENT, UnsupportedTypeError

LEFT_TO_TYPE: Any = type("LeftToType", (), {"__slots__": ()})()
"""The type has a default of its own, which it fills in where nothing is given."""


class Field(NamedTuple):
    """A field of a class.

    Args:
        name: how the class takes it.
        annotation: its type; resolved.
        wire_name: its name in JSON; None for the same.
        default: its default; ABSENT for none, LEFT_TO_TYPE where the class fills it in.
        factory: makes its default.
        description: what the class says of it.
        required: False for what may stay absent without a default.
        extras: constraints beside those of the annotation.
    """

    name: str
    annotation: Any
    wire_name: str | None = None
    default: Any = ABSENT
    factory: Callable[[], Any] | None = None
    description: str | None = None
    required: bool = True
    extras: tuple[Any, ...] = ()


class Structure(NamedTuple):
    """What is known of a class with fields.

    Args:
        fields: in the order in which it takes them.
        construct: makes the value; None for a dictionary.
        keyword_only: fields are given by keyword.
        allows_extra: further fields are kept.
    """

    fields: list[Field]
    construct: Callable[..., Any] | None
    keyword_only: bool = False
    allows_extra: bool = False


_QUALIFIERS = ("Required", "NotRequired", "ReadOnly")

Hints = Callable[[type], dict[str, Any]]


def read_structure(kind: Any, hints: Hints) -> Structure | None:
    """Return what is known of a class, None where it has no named fields.

    Args:
        kind: a class.
        hints: returns the resolved annotations of a class.
    """
    if not isinstance(kind, type):
        return None
    if dataclasses.is_dataclass(kind) and "__pydantic_validator__" not in vars(kind):
        return _dataclass(kind, hints(kind))
    # typing_extensions has a TypedDict of its own, the one that pydantic wants before Python 3.12.
    if typing.is_typeddict(kind) or (issubclass(kind, dict) and hasattr(kind, "__required_keys__")):
        return _typed_dict(kind, hints(kind))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _named_tuple(kind, hints(kind))
    if hasattr(kind, "model_fields") and hasattr(kind, "model_validate"):
        return _pydantic(kind)
    if dataclasses.is_dataclass(kind):
        return _pydantic(kind)
    if hasattr(kind, "__attrs_attrs__"):
        return _attrs(kind, hints(kind))
    if hasattr(kind, "__struct_fields__"):
        return _struct(kind, hints(kind))
    return None


def _dataclass(kind: Any, hints: Mapping[str, Any]) -> Structure:
    entries = [entry for entry in dataclasses.fields(kind) if entry.init]
    fields = [
        Field(
            entry.name,
            hints.get(entry.name, Any),
            default=ABSENT if entry.default is dataclasses.MISSING else entry.default,
            factory=None if entry.default_factory is dataclasses.MISSING else entry.default_factory,
        )
        for entry in entries
    ]
    # An __init__ of the author's own may take them in another order.
    taken = list(inspect.signature(kind).parameters)
    if sorted(taken) != sorted(entry.name for entry in entries):
        raise UnsupportedTypeError(f"{kind.__name__}, whose __init__ takes other values than its fields")
    keyword_only = any(entry.kw_only for entry in entries) or taken != [entry.name for entry in entries]
    return Structure(fields, kind, keyword_only)


def _typed_dict(kind: Any, hints: Mapping[str, Any]) -> Structure:
    fields: list[Field] = []
    for name, annotation in hints.items():
        # With postponed annotations the class itself has not seen its qualifiers.
        required = name in kind.__required_keys__
        while (qualifier := getattr(typing.get_origin(annotation), "_name", None)) in _QUALIFIERS:
            required = {"Required": True, "NotRequired": False}.get(qualifier, required)
            annotation = typing.get_args(annotation)[0]
        fields.append(Field(name, annotation, required=required))
    return Structure(fields, None)


def _named_tuple(kind: Any, hints: Mapping[str, Any]) -> Structure:
    defaults = kind._field_defaults
    return Structure(
        [Field(name, hints.get(name, Any), default=defaults.get(name, ABSENT)) for name in kind._fields], kind
    )


def _pydantic(kind: Any) -> Structure:
    fields: list[Field] = []
    if getattr(kind, "__pydantic_root_model__", False):
        raise UnsupportedTypeError(f"{kind.__name__}, a RootModel: use the type of its root")
    is_model = hasattr(kind, "model_fields")
    config = kind.model_config if is_model else kind.__pydantic_config__
    for name, info in (kind.model_fields if is_model else kind.__pydantic_fields__).items():
        if info.init is False:
            continue
        alias = info.validation_alias or info.alias
        # AliasChoices: any of them will do. An AliasPath has no name of its own.
        choices = getattr(alias, "choices", (alias,))
        alias = next((choice for choice in choices if isinstance(choice, str)), None)
        if config.get("validate_by_alias") is False:
            alias = None
        fields.append(
            Field(
                alias or name,
                info.annotation,
                default=ABSENT if info.is_required() else LEFT_TO_TYPE,
                description=info.description,
                extras=(
                    *info.metadata,
                    *((_Discriminator(info.discriminator),) if info.discriminator else ()),
                ),
            )
        )
    extra = config.get("extra")

    def construct(**values: Any) -> Any:
        return kind.model_validate(values) if is_model else kind(**values)

    return Structure(fields, construct, True, extra == "allow")


class _Discriminator(NamedTuple):
    discriminator: Any


def _attrs(kind: Any, hints: Mapping[str, Any]) -> Structure:
    fields: list[Field] = []
    for entry in kind.__attrs_attrs__:
        if not entry.init:
            continue
        has_default = repr(entry.default) != "NOTHING"
        alias = getattr(entry, "alias", None) or entry.name.lstrip("_")
        annotation = hints.get(entry.name, entry.type if entry.type is not None else Any)
        fields.append(Field(alias, annotation, default=LEFT_TO_TYPE if has_default else ABSENT))
    return Structure(fields, kind, True)


def _struct(kind: Any, hints: Mapping[str, Any]) -> Structure:
    names = kind.__struct_fields__
    encoded = getattr(kind, "__struct_encode_fields__", names)
    # Defaults belong to the last fields; a field may still have none.
    defaults = kind.__struct_defaults__
    first = len(names) - len(defaults)
    fields: list[Field] = []
    for index, (name, wire_name) in enumerate(zip(names, encoded, strict=True)):
        has_default = index >= first and repr(defaults[index - first]) != "NODEFAULT"
        fields.append(Field(name, hints.get(name, Any), wire_name, LEFT_TO_TYPE if has_default else ABSENT))
    tag, tag_field = kind.__struct_config__.tag, kind.__struct_config__.tag_field
    if tag is None:
        return Structure(fields, kind, True)
    # The tag tells the members of a union apart; the class takes no value for it.
    fields.insert(0, Field(tag_field, typing.Literal[tag]))

    def construct(**values: Any) -> Any:
        del values[tag_field]
        return kind(**values)

    return Structure(fields, construct, True)
