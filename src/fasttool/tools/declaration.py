"""``@tool``: what an author says of a tool beside its signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args, overload

from fasttool.errors import ConfigurationError
from fasttool.specification import ReturnBehavior, SearchBehavior
from fasttool.tools.service_tool import Approval, check_settings

DECLARATION = "__fasttool_declaration__"
Extra = Literal["ignore", "forbid"]

Callable_ = TypeVar("Callable_", bound=Callable[..., Any])


@dataclass(slots=True, frozen=True)
class ToolDeclaration:
    """What ``@tool`` was given; None means that the signature or the docstring decides."""

    name: str | None = None
    description: str | None = None
    return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM
    search_behavior: SearchBehavior = SearchBehavior.SEARCHABLE
    metadata: Mapping[str, Any] = field(default_factory=dict)
    strict: bool | None = None
    inline: bool = False
    extra: Extra = "ignore"
    repair_json: bool = False
    timeout: float | None = None
    requires_approval: Approval = False
    max_uses: int | None = None
    max_attempts: int | None = None
    compensate_with: str | None = None
    compensate_unknown: bool = False


@overload
def tool(function: Callable_, /) -> Callable_: ...
@overload
def tool(
    *description: str,
    name: str | None = None,
    return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM,
    search_behavior: SearchBehavior = SearchBehavior.SEARCHABLE,
    metadata: Mapping[str, Any] | None = None,
    strict: bool | None = None,
    inline: bool = False,
    extra: Extra = "ignore",
    repair_json: bool = False,
    timeout: float | None = None,
    requires_approval: Approval = False,
    max_uses: int | None = None,
    max_attempts: int | None = None,
    compensate_with: str | None = None,
    compensate_unknown: bool = False,
) -> Callable[[Callable_], Callable_]: ...
def tool(
    *description: Any,
    name: str | None = None,
    return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM,
    search_behavior: SearchBehavior = SearchBehavior.SEARCHABLE,
    metadata: Mapping[str, Any] | None = None,
    strict: bool | None = None,
    inline: bool = False,
    extra: Extra = "ignore",
    repair_json: bool = False,
    timeout: float | None = None,
    requires_approval: Approval = False,
    max_uses: int | None = None,
    max_attempts: int | None = None,
    compensate_with: str | None = None,
    compensate_unknown: bool = False,
) -> Any:
    """Declare a function, method or callable object as a tool; bare or with arguments.

    Args:
        description: what the model is told of it; several lines may be given. Left out, the
            docstring tells it.
        name: what the model calls it; left out, the name of the function.
        return_behavior: whether its result goes to the model or to the caller.
        search_behavior: whether it is shown before a tool search has found it.
        metadata: JSON values for the application; never sent.
        strict: ask the provider to hold the model to the schema; None leaves it to the provider.
        inline: a sync function that never blocks, so that an event loop may call it directly.
        extra: what happens with arguments that are no parameters: they are passed over, or an error.
        repair_json: argument text that stays broken after the exact repairs is guessed at by the
            ``json-repair`` library (extra ``repair``); a text that was cut off is completed so.
        timeout: see ``ServiceTool``, as for the next three.
        requires_approval: a run stops before a call until somebody decided.
        max_uses: calls that one run may make.
        max_attempts: rounds of one run in which it may fail.
        compensate_with: the name of the tool that undoes it; see also ``compensate_for``.
        compensate_unknown: it may be undone also where nobody knows whether it took effect.

    Raises:
        ConfigurationError: an option has the wrong type.
    """
    if len(description) == 1 and not isinstance(description[0], str):
        return _declare(description[0], ToolDeclaration())
    if not all(isinstance(line, str) for line in description):
        raise ConfigurationError(f"@tool takes its description as text, got {description!r}.")
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise ConfigurationError(f"The name in @tool must be text that is not empty, got {name!r}.")
    if not isinstance(return_behavior, ReturnBehavior):
        raise ConfigurationError(
            f"return_behavior in @tool must be a ReturnBehavior, got {return_behavior!r}."
        )
    if not isinstance(search_behavior, SearchBehavior):
        raise ConfigurationError(
            f"search_behavior in @tool must be a SearchBehavior, got {search_behavior!r}."
        )
    if extra not in get_args(Extra):
        raise ConfigurationError(f'extra in @tool must be "ignore" or "forbid", got {extra!r}.')
    check_settings(name or "@tool", timeout, requires_approval, max_uses, max_attempts)
    declaration = ToolDeclaration(
        name,
        "\n".join(description) or None,
        return_behavior,
        search_behavior,
        dict(metadata or {}),
        strict,
        inline,
        extra,
        repair_json,
        timeout,
        requires_approval,
        max_uses,
        max_attempts,
        compensate_with,
        compensate_unknown,
    )
    return lambda function: _declare(function, declaration)


def _declare(function: Any, declaration: ToolDeclaration) -> Any:
    if isinstance(function, type):
        raise ConfigurationError(f"@tool marks functions and methods, not the class {function.__name__}.")
    if not callable(function) and not isinstance(function, (staticmethod, classmethod)):
        raise ConfigurationError(f"@tool marks functions and methods, got {type(function).__name__}.")
    try:
        setattr(function, DECLARATION, declaration)
        if isinstance(function, (staticmethod, classmethod)):
            # A look-up through the class gives the function inside.
            setattr(function.__func__, DECLARATION, declaration)
    except (AttributeError, TypeError):
        raise ConfigurationError(
            f"@tool cannot mark a {type(function).__name__}: wrap it in a function of your own."
        ) from None
    return function


def declaration_of(function: Any) -> ToolDeclaration | None:
    """Return what ``@tool`` said of a function, None where it was not used."""
    found = getattr(function, DECLARATION, None)
    return found if isinstance(found, ToolDeclaration) else None
