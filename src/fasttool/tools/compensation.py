"""Compensations: what undoes a tool (reference: core, section 7)."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from fasttool.errors import ConfigurationError
from fasttool.messages import ToolCall
from fasttool.tools.executor import (
    ToolExecution,
    ToolExecutionResult,
    execution_error,
    execution_result,
    run_to_end,
)
from fasttool.tools.invocation import InvocationContext, using_key
from fasttool.tools.plan import ToolPlan
from fasttool.tools.signature import annotated_target, is_async_callable
from fasttool.tools.threads import in_thread

if TYPE_CHECKING:
    from fasttool.tools.service_tool import ServiceTool

COMPENSATES = "__fasttool_compensates__"

Marked = TypeVar("Marked", bound=Callable[..., Any])
Bound = tuple[tuple[Any, ...], dict[str, Any]]
"""The arguments that a tool was called with, by position and by keyword."""


def compensate_for(tool: str) -> Callable[[Marked], Marked]:
    """Declare a function or method as what undoes a tool; a model never sees it.

    It takes the parameters of the tool, those that the framework fills included, and gets the very values
    that the tool got; or one ``ToolExecution``.

    Args:
        tool: the name of the tool, as a model sees it.

    Raises:
        ConfigurationError: the name is none.
    """
    if not isinstance(tool, str) or not tool.strip():
        raise ConfigurationError(f"@compensate_for needs the name of a tool, got {tool!r}.")

    def mark(function: Marked) -> Marked:
        target: Any = function
        setattr(target, COMPENSATES, tool)
        if isinstance(function, (staticmethod, classmethod)):
            setattr(function.__func__, COMPENSATES, tool)
        return function

    return mark


def find_compensations(source: Any) -> list[tuple[str, Callable[..., Any]]]:
    """Return the compensations of a function or of an object, each with the name of its tool."""
    own = getattr(source, COMPENSATES, None)
    if inspect.isroutine(source) or isinstance(source, functools.partial):
        return [(own, source)] if isinstance(own, str) else []
    if isinstance(source, type):
        return []
    found: dict[str, str] = {}
    for base in reversed(type(source).__mro__):
        for name, member in vars(base).items():
            tool = getattr(member, COMPENSATES, None)
            if isinstance(tool, str):
                found[name] = tool
            else:
                found.pop(name, None)  # an override decides
    return [(tool, getattr(source, name)) for name, tool in found.items()]


@dataclass(slots=True, frozen=True)
class Compensation:
    """What undoes a tool.

    Args:
        executor: another tool, run with the arguments of the call; None for a function.
        function: takes the tool's arguments or one ToolExecution; None for a tool.
        takes_execution: the function takes one ToolExecution.
    """

    executor: Any = None
    function: Callable[..., Any] | None = None
    takes_execution: bool = False

    def prepared(
        self, tool: ServiceTool, execution: ToolExecution, bound: Bound | None, key: str
    ) -> PreparedCompensation:
        """Return what undoes one execution.

        Args:
            tool: the tool.
            execution: what it did.
            bound: the arguments that it was called with; None where they are not known.
            key: the idempotency key of the execution.
        """
        return PreparedCompensation(self, tool, execution, bound, key)


class PreparedCompensation:
    """Undoes one execution; an executor."""

    __slots__ = ("_bound", "_compensation", "_execution", "_key", "_tool")

    def __init__(
        self,
        compensation: Compensation,
        tool: ServiceTool,
        execution: ToolExecution,
        bound: Bound | None,
        key: str,
    ) -> None:
        self._compensation = compensation
        self._tool = tool
        self._execution = execution
        self._bound = bound
        self._key = key

    def execute(self, call: ToolCall, context: InvocationContext) -> ToolExecutionResult:
        """Undo, blocking; what the compensation raises comes out as an execution error."""
        with using_key(self._key):
            if self._compensation.function is None:
                result: ToolExecutionResult = self._compensation.executor.execute(call, context)
                return result
            try:
                value = self._compensation.function(*self._arguments(context))
            except Exception as error:
                raise execution_error(self._tool.name, error) from error
            if inspect.isawaitable(value):
                value = run_to_end(value, self._tool.name)
            return execution_result(self._tool.name, value)

    async def aexecute(self, call: ToolCall, context: InvocationContext) -> ToolExecutionResult:
        """Undo, without blocking the event loop."""
        with using_key(self._key):
            function = self._compensation.function
            if function is None:
                result: ToolExecutionResult = await self._compensation.executor.aexecute(call, context)
                return result
            try:
                arguments = self._arguments(context)
                if is_async_callable(function):
                    value = await function(*arguments)
                else:
                    value = await in_thread(function, *arguments)
                    if inspect.isawaitable(value):
                        value = await value
            except Exception as error:
                raise execution_error(self._tool.name, error) from error
            return execution_result(self._tool.name, value)

    def _arguments(self, context: InvocationContext) -> tuple[Any, ...]:
        if self._compensation.takes_execution:
            execution = self._execution
            return (ToolExecution(execution.call, execution.result, context),)
        plan = self._tool.executor
        assert isinstance(plan, ToolPlan)  # the check has seen to it
        if self._bound is None:
            return plan.positional_arguments(*plan.bound_arguments(self._execution.call.arguments, context))
        return plan.positional_arguments(*self._bound)


def compensation_problem(tool: ServiceTool, function: Callable[..., Any]) -> tuple[bool, str | None]:
    """Return whether a function takes one ToolExecution, and what is wrong with it; None for nothing.

    Args:
        tool: what it undoes.
        function: the compensation.
    """
    name = getattr(function, "__name__", type(function).__name__)
    kinds = _parameter_types(function)
    if kinds == [ToolExecution]:
        return True, None
    if isinstance(tool.executor, ToolPlan):
        if kinds is not None and kinds == _parameter_types(tool.executor.function):
            return False, None
        return False, (
            f"{name}, the compensation of tool {tool.name}, must have the same parameter types as the tool, "
            "or a single ToolExecution parameter"
        )
    return False, (
        f"{name}, the compensation of tool {tool.name}, must have a single ToolExecution parameter: "
        "that tool has no Python parameters"
    )


def _parameter_types(function: Callable[..., Any]) -> list[Any] | None:
    """Return the types of a callable's parameters in order; None where they cannot be read."""
    try:
        parameters = inspect.signature(function).parameters
        hints = typing.get_type_hints(annotated_target(function))
    except (TypeError, ValueError, NameError):
        return None
    return [hints.get(name, Any) for name in parameters]
