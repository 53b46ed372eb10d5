"""A callable -> its parameters, its result type and how it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from fasttool.errors import ConfigurationError
from fasttool.schema.forms import ABSENT, FieldForm, Form, UnsupportedTypeError
from fasttool.schema.parameter import P
from fasttool.schema.python_types import (
    ACCEPTED_TYPES,
    TypeReader,
    check_wire_names,
    parameter_marker,
    read_field,
    resolved_hints,
)
from fasttool.tools.docstrings import Docstring
from fasttool.tools.injection import InjectedParameter, injection

_Kind = inspect.Parameter


@dataclass(slots=True, frozen=True)
class Signature:
    """What is known of a callable after one look.

    Args:
        fields: the parameters that a model fills, in order.
        extra: what further arguments may be; None where there is no ``**`` parameter.
        injected: the parameters that the framework fills, in order.
        positional: how many of the fields are passed by position; the others by keyword.
        returns: the declared result type; ``inspect.Parameter.empty`` where there is none.
        is_async: calling it gives an awaitable.
    """

    fields: tuple[FieldForm, ...]
    extra: Form | None
    injected: tuple[InjectedParameter, ...]
    positional: int
    returns: Any
    is_async: bool


def read_signature(
    function: Callable[..., Any], tool: str, docstring: Docstring, *, bound: bool
) -> Signature:
    """Read the signature of a callable.

    Args:
        function: a function, ``functools.partial``, or an object with ``__call__``.
        tool: name of the tool, for messages.
        docstring: describes parameters that say nothing of themselves.
        bound: the first parameter is filled by a method's own object.

    Raises:
        ConfigurationError: a parameter cannot be shown to a model; the text names it and the way out.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"Tool {tool} has no signature that Python can read: wrap it in a function with annotations."
        ) from None
    if bound:
        if not parameters or parameters[0].kind not in (_Kind.POSITIONAL_ONLY, _Kind.POSITIONAL_OR_KEYWORD):
            raise ConfigurationError(f"Tool {tool} is a method without a first parameter for its object.")
        del parameters[0]
    target = annotated_target(function)
    names = _local_names(target)
    reader = TypeReader(names)
    try:
        hints = resolved_hints(target, names)
    except UnsupportedTypeError as error:
        raise ConfigurationError(f"Tool {tool} uses {error} in an annotation.") from None
    hidden = function.keywords if isinstance(function, functools.partial) else {}
    positional: list[FieldForm] = []
    by_keyword: list[FieldForm] = []
    injected: list[InjectedParameter] = []
    extra: Form | None = None
    fillers = {
        parameter.name: injection(hints[parameter.name], parameter.name, tool)
        for parameter in parameters
        if parameter.name in hints and parameter.name not in hidden
    }
    # Beside injected parameters, what can be passed by keyword is: no place has to be counted.
    keywords_only = any(fillers.values())
    place = 0
    for parameter in parameters:
        if parameter.name in hidden:
            continue
        if parameter.kind is _Kind.VAR_POSITIONAL:
            raise ConfigurationError(
                f"Tool {tool} takes *{parameter.name}, which has no name for a model: use a list parameter."
            )
        by_position = parameter.kind is _Kind.POSITIONAL_ONLY or (
            parameter.kind is _Kind.POSITIONAL_OR_KEYWORD and not keywords_only
        )
        filler = fillers.get(parameter.name)
        if filler is not None and parameter.kind is not _Kind.VAR_KEYWORD:
            _refuse_default(parameter, hints[parameter.name], tool)
            injected.append(InjectedParameter(parameter.name, place if by_position else None, filler))
            place += by_position
            continue
        form = _field(reader, parameter, hints.get(parameter.name, Any), tool, docstring)
        if parameter.kind is _Kind.VAR_KEYWORD:
            extra = form.form
        elif by_position:
            positional.append(form)
            place += 1
        else:
            by_keyword.append(form)
    fields = (*positional, *by_keyword)
    try:
        check_wire_names(fields, f"Tool {tool}")
    except ValueError as error:
        raise ConfigurationError(f"{error}: give one of them another name in P.") from None
    returns = hints.get("return", _Kind.empty)
    return Signature(fields, extra, tuple(injected), len(positional), returns, is_async_callable(function))


def _refuse_default(parameter: inspect.Parameter, annotation: Any, tool: str) -> None:
    """Raise where a parameter that the framework fills has a default: nothing would ever use it.

    None stays possible where the type says so: the function is then easy to call in a test.
    """
    marker = parameter_marker(annotation)
    in_p = marker is not None and marker.has_default
    if in_p or not (parameter.default is _Kind.empty or parameter.default is None):
        raise ConfigurationError(
            f"Parameter {parameter.name} of tool {tool} is filled by the framework: it cannot have a default."
        )


def _field(
    reader: TypeReader, parameter: inspect.Parameter, annotation: Any, tool: str, docstring: Docstring
) -> FieldForm:
    default, factory = parameter.default, None
    description = docstring.parameters.get(parameter.name)
    if default is _Kind.empty:
        default = ABSENT
    elif isinstance(default, P):
        raise ConfigurationError(
            f"Parameter {parameter.name} of tool {tool} has P(...) as its default: write it into the type, "
            f"Annotated[..., P(...)]."
        )
    elif type(default).__name__ == "FieldInfo":
        # pydantic's Field(...) as a default: known by its shape, so that pydantic is not imported.
        description = getattr(default, "description", None) or description
        factory = getattr(default, "default_factory", None)
        default = getattr(default, "default", ABSENT)
        if factory is not None or repr(default) in ("PydanticUndefined", "Ellipsis"):
            default = ABSENT
    try:
        return read_field(
            reader,
            parameter.name,
            annotation,
            default=default,
            default_factory=factory,
            description=description,
        )
    except UnsupportedTypeError as error:
        raise ConfigurationError(
            f"Parameter {parameter.name} of tool {tool} has the type {error}; accepted: {ACCEPTED_TYPES}."
        ) from None
    except ValueError as error:
        raise ConfigurationError(f"Parameter {parameter.name} of tool {tool} {error}.") from None


def annotated_target(function: Any) -> Any:
    """Return the function whose annotations count: through ``partial``, ``__wrapped__`` and ``__call__``."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.ismethod(function):
            function = function.__func__
        elif inspect.isroutine(function) or isinstance(function, type):
            return function
        else:
            function = type(function).__call__


def is_async_callable(function: Any) -> bool:
    """Say whether calling it gives a coroutine."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _local_names(function: Any) -> dict[str, Any]:
    """Return the names of enclosing scopes, for postponed annotations.

    They are those that the function itself uses, and all of the enclosing function as long as that runs.
    """
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    found: dict[str, Any] = {}
    scope = getattr(function, "__qualname__", "").rpartition(".<locals>.")[0]
    frame = inspect.currentframe() if scope else None
    while frame is not None and code is not None:
        if frame.f_code.co_qualname == scope and frame.f_code.co_filename == code.co_filename:
            found |= frame.f_locals
            break
        frame = frame.f_back
    for name, cell in zip(getattr(code, "co_freevars", ()), cells or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def says_nothing(returns: Any) -> bool:
    """Say whether a declared result type leaves None as the only result, or is not there."""
    return (
        returns is _Kind.empty
        or returns is None
        or returns is type(None)
        or get_args(returns) == (type(None),)
    )
