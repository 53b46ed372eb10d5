"""Finds the tools of an object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from fasttool.errors import ConfigurationError
from fasttool.tools.declaration import declaration_of
from fasttool.tools.plan import ToolPlan, tool_plan


def find_tools(source: Any, *, marked_only: bool = False) -> list[ToolPlan]:
    """Return the tools of a function, a callable object, or an object with ``@tool`` methods.

    Methods come in order of definition, those of base classes first.  An override decides: without
    ``@tool`` it is no tool (reference: core, 1.1).

    Args:
        source: what was given as a tool.
        marked_only: what is not marked with ``@tool`` is no tool; there may be none.

    Raises:
        ConfigurationError: nothing in it is a tool; the text says what was given.
    """
    if isinstance(source, ToolPlan) or inspect.isroutine(source) or isinstance(source, functools.partial):
        return [] if marked_only and declaration_of(source) is None else [tool_plan(source)]
    if isinstance(source, type):
        raise ConfigurationError(
            f"Tools must be an object, not the class {source.__name__}: give {source.__name__}()."
        )
    names = _tool_methods(type(source))
    # The object itself is what a marked __call__ makes a tool.
    plans = [tool_plan(source if name == "__call__" else getattr(source, name)) for name in names]
    if plans or marked_only:
        return plans
    if callable(source):
        return [tool_plan(source)]
    if isinstance(source, (Iterable, Mapping)) and not isinstance(source, (str, bytes)):
        raise ConfigurationError(
            f"A tool is a function or an object, got a {type(source).__name__}: "
            "is a collection nested in the list of tools?"
        )
    raise ConfigurationError(
        f"A {type(source).__name__} object has no method marked with @tool, and it is not callable."
    )


def _tool_methods(kind: type) -> list[str]:
    found: dict[str, bool] = {}
    for base in reversed(kind.__mro__):
        for name, member in vars(base).items():
            if isinstance(member, (staticmethod, classmethod)):
                marked = declaration_of(member) or declaration_of(member.__func__)
            elif callable(member):
                # Not only functions: functools.lru_cache and other decorators give objects of their own.
                marked = declaration_of(member)
            else:
                marked = None
            if marked is not None or name in found:
                found[name] = marked is not None
    return [name for name, is_tool in found.items() if is_tool]
