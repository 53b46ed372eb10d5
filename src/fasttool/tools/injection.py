"""Parameters of a tool that the framework fills (reference: core, 1.3, 1.9 and 2.2)."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from fasttool.errors import ConfigurationError
from fasttool.tools.invocation import (
    IdempotencyKey,
    InvocationContext,
    InvocationParameters,
    Managed,
    ToolMemoryId,
    current_key,
)


@dataclass(slots=True, frozen=True)
class InjectedParameter:
    """A parameter that a model neither sees nor fills.

    Args:
        name: its name in Python.
        position: where it is passed by position; None for by keyword.
        value: returns what it gets in an invocation, or raises ConfigurationError.
    """

    name: str
    position: int | None
    value: Callable[[InvocationContext], Any]


def injection(annotation: Any, parameter: str, tool: str) -> Callable[[InvocationContext], Any] | None:
    """Return what fills a parameter of an annotated type, None where the model does.

    Args:
        annotation: its resolved type.
        parameter: its name, for messages.
        tool: the name of the tool, for messages.
    """
    if get_origin(annotation) is Annotated:
        kind, *extras = get_args(annotation)
        if any(extra is ToolMemoryId or isinstance(extra, ToolMemoryId) for extra in extras):
            return _memory_id(_class_of(kind), parameter, tool)
        if any(extra is IdempotencyKey or isinstance(extra, IdempotencyKey) for extra in extras):
            return _key
        if any(extra is Managed or isinstance(extra, Managed) for extra in extras):
            return _managed(_class_of(kind), parameter, tool, optional=_is_optional(kind))
        annotation = kind
    kind = _class_of(annotation)
    if kind is InvocationContext:
        return _itself
    if kind is ToolMemoryId:
        raise ConfigurationError(
            f"Parameter {parameter} of tool {tool} has the type ToolMemoryId: "
            "write Annotated[str, ToolMemoryId], with the type of your ids."
        )
    if kind is not None and issubclass(kind, InvocationParameters):
        return _parameters(kind, parameter, tool)
    if kind is not None and issubclass(kind, Managed):
        return _managed(kind, parameter, tool, optional=_is_optional(annotation))
    return None


def _class_of(annotation: Any) -> type | None:
    """Return the class that an annotation is, ``None`` beside it set aside; None where it is no class."""
    if get_origin(annotation) in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        annotation = members[0] if len(members) == 1 else None
    return annotation if isinstance(annotation, type) and not get_args(annotation) else None


def _is_optional(annotation: Any) -> bool:
    return type(None) in get_args(annotation)


def _key(context: InvocationContext) -> str:
    return current_key()


def _itself(context: InvocationContext) -> InvocationContext:
    return context


def _memory_id(kind: type | None, parameter: str, tool: str) -> Callable[[InvocationContext], Any]:
    def value(context: InvocationContext) -> Any:
        found = context.memory_id
        if kind is not None and not isinstance(found, kind):
            raise ConfigurationError(
                f"Parameter {parameter} of tool {tool} takes the memory id as {kind.__name__}, "
                f"but the invocation has {found!r}."
            )
        return found

    return value


def _parameters(kind: type, parameter: str, tool: str) -> Callable[[InvocationContext], Any]:
    def value(context: InvocationContext) -> Any:
        if not isinstance(context.parameters, kind):
            raise ConfigurationError(
                f"Parameter {parameter} of tool {tool} takes {kind.__name__}, "
                f"but the invocation was given {type(context.parameters).__name__}."
            )
        return context.parameters

    return value


def _managed(
    kind: type | None, parameter: str, tool: str, *, optional: bool
) -> Callable[[InvocationContext], Any]:
    if kind is None:
        raise ConfigurationError(
            f"Parameter {parameter} of tool {tool} is marked Managed: its type must be one class."
        )

    def value(context: InvocationContext) -> Any:
        found = context.managed_of(kind)
        if found is None and not optional:
            raise ConfigurationError(
                f"Parameter {parameter} of tool {tool} takes a {kind.__name__}, "
                "but the invocation was given none."
            )
        return found

    return value
