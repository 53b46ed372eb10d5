"""What runs a tool, and what a run gives."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from fasttool import json_text
from fasttool.coercion.results import SUCCESS, result_contents, result_text
from fasttool.errors import (
    ConfigurationError,
    FastToolError,
    RefuseTool,
    RetryTool,
    ToolArgumentsError,
    ToolExecutionError,
)
from fasttool.messages import Content, ToolCall, joined_text
from fasttool.specification import ReturnBehavior
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.signature import is_async_callable
from fasttool.tools.threads import in_thread


@dataclass(slots=True)
class ToolExecutionResult:
    """What one run of a tool gave.

    Args:
        text: what the model is sent; where ``contents`` is not empty, its text parts.
        contents: sent instead of the text where a result is more than text.
        value: what the tool returned; never sent.
        is_error: the text says what went wrong.
        attributes: JSON values that are stored with the result message and never sent.
        return_behavior: overrides the tool's own for this run; None keeps it.
    """

    text: str
    contents: tuple[Content, ...] = ()
    value: Any = None
    is_error: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)
    return_behavior: ReturnBehavior | None = None


@dataclass(slots=True)
class ToolExecution:
    """One call and its result.

    Args:
        call: what was run; with the arguments of a ``before_tool`` hook where one changed them.
        result: what it gave.
        context: the invocation, where a compensation is given the execution; None elsewhere.
    """

    call: ToolCall
    result: ToolExecutionResult
    context: InvocationContext | None = field(default=None, repr=False, compare=False)


class ToolResult:
    """What a tool may return to say more than a value.

    Args:
        value: the result proper.
        return_behavior: overrides the tool's own for this run.
        attributes: JSON values to store with the result message.
        is_error: the value says what went wrong.
    """

    __slots__ = ("attributes", "is_error", "return_behavior", "value")

    def __init__(
        self,
        value: Any = None,
        *,
        return_behavior: ReturnBehavior | None = None,
        attributes: Mapping[str, Any] | None = None,
        is_error: bool = False,
    ) -> None:
        self.value = value
        self.return_behavior = return_behavior
        self.attributes = dict(attributes or {})
        self.is_error = is_error


@runtime_checkable
class ToolExecutor(Protocol):
    """Runs a tool for a call."""

    def execute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Run, blocking.

        Raises:
            ToolArgumentsError: the arguments do not fit.
            ToolExecutionError: the tool failed.
        """
        ...

    async def aexecute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Run, without blocking the event loop; raises what ``execute`` raises."""
        ...


Executor = ToolExecutor | Callable[[ToolCall, Any], Any]


def execution_result(
    tool: str, value: Any, quoted: bool = False, nothing: str = SUCCESS
) -> ToolExecutionResult:
    """Return what a model is sent for a value that a tool returned.

    Raises:
        ToolExecutionError: the value cannot be written as text.
    """
    if type(value) is str and not quoted and value.isascii():
        return ToolExecutionResult(value, (), value)
    if isinstance(value, ToolExecutionResult):
        return value
    if isinstance(value, ToolResult):
        result = execution_result(tool, value.value, quoted, nothing)
        result.is_error = value.is_error
        result.attributes = value.attributes
        result.return_behavior = value.return_behavior
        return result
    try:
        contents = result_contents(value)
        if contents is not None:
            return ToolExecutionResult(joined_text(contents), contents, value)
        return ToolExecutionResult(result_text(value, quoted=quoted, nothing=nothing), value=value)
    except (json_text.JsonTextError, TypeError, ValueError, RecursionError) as error:
        raise ToolExecutionError(
            tool,
            f"Tool {tool} ran, but its result, a {type(value).__name__}, cannot be written as JSON: {error}.",
        ) from error
    except Exception as error:  # of a generator's own code
        raise execution_error(tool, error) from error


def execution_error(tool: str, error: Exception) -> FastToolError:
    """Return the error for what a tool raised; the text is the tool's own."""
    if isinstance(error, (ToolExecutionError, RetryTool, RefuseTool)):
        return error
    wrapped = ToolExecutionError(tool, str(error).strip() or type(error).__name__)
    wrapped.__cause__ = error
    return wrapped


def run_to_end(awaitable: Awaitable[Any], tool: str) -> Any:
    """Return the result of an awaitable that a tool gave, from code that is not async.

    Raises:
        ConfigurationError: an event loop runs in this thread already.
        ToolExecutionError: the awaitable failed.
    """

    import asyncio  # only async tools need it

    async def wait() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        try:
            return asyncio.run(wait())
        except Exception as error:
            raise execution_error(tool, error) from error
    if inspect.iscoroutine(awaitable):
        awaitable.close()
    raise ConfigurationError(
        f"Tool {tool} is async and an event loop is running here: use the async way of calling it."
    )


class FunctionExecutor:
    """Runs ``function(call, context)``, which returns text or any result; it may be async."""

    __slots__ = ("_function", "is_async")

    def __init__(self, function: Callable[[ToolCall, Any], Any]) -> None:
        self._function = function
        self.is_async = is_async_callable(function)

    def execute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Run, blocking; what the function raises, other than errors of fasttool, is an execution error."""
        try:
            value = self._function(call, context)
        except (ConfigurationError, ToolArgumentsError):
            raise
        except Exception as error:
            raise execution_error(call.name, error) from error
        if inspect.isawaitable(value):
            value = run_to_end(value, call.name)
        return execution_result(call.name, value)

    async def aexecute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Run; a function that is not async runs in a worker thread."""
        try:
            if self.is_async:
                value = await self._function(call, context)
            else:
                value = await in_thread(self._function, call, context)
                if inspect.isawaitable(value):
                    value = await value
        except (ConfigurationError, ToolArgumentsError):
            raise
        except Exception as error:
            raise execution_error(call.name, error) from error
        return execution_result(call.name, value)


def as_executor(executor: Any, tool: str) -> ToolExecutor:
    """Return an executor for what was registered with a specification.

    Raises:
        ConfigurationError: it is neither an executor nor callable.
    """
    if hasattr(executor, "execute") and hasattr(executor, "aexecute"):
        return executor  # type: ignore[no-any-return]
    if hasattr(executor, "execute"):
        return FunctionExecutor(executor.execute)
    if callable(executor):
        return FunctionExecutor(executor)
    raise ConfigurationError(
        f"The executor of tool {tool} must be a function of (call, context) or an object with execute, "
        f"got {type(executor).__name__}."
    )
