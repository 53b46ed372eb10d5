"""What happens with the three kinds of failure (reference: core, section 4).

| failure | default |
|---|---|
| the model names a tool that it was not shown | raise UnknownToolError |
| the arguments do not fit | raise ToolArgumentsError |
| the tool fails | tell the model |
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fasttool.errors import (
    ConfigurationError,
    FastToolError,
    RefuseTool,
    RetryTool,
    ToolArgumentsError,
    ToolExecutionError,
    UnknownToolError,
)
from fasttool.messages import ToolCall
from fasttool.tools.executor import ToolExecutionResult, ToolResult, execution_error, execution_result
from fasttool.tools.service import logger

_SAID_NOTHING = {RetryTool: "Call this tool again, in another way.", RefuseTool: "This call was refused."}


class ErrorPolicy(Enum):
    """What happens with a failure.

    RAISE: the run ends with the error; the error's ``result`` holds what was done so far.
    TELL_MODEL: the model gets the error's text as the result of its call, and goes on.
    TELL_MODEL_BRIEFLY: the same, but what a tool itself said stays in the log: it may hold what is not for
        the model.
    """

    RAISE = "raise"
    TELL_MODEL = "tell_model"
    TELL_MODEL_BRIEFLY = "tell_model_briefly"


ErrorHandler = Callable[[ToolCall, FastToolError], Any] | Callable[[ToolCall, FastToolError, Any], Any]
"""Gets the call, the error (its ``__cause__`` is what a tool raised) and, if it takes three arguments, the
InvocationContext.  It returns the text for the model or a ToolResult, or raises to end the run."""


@dataclass(slots=True, frozen=True)
class FailurePolicies:
    """One policy, or function of yours, for each kind of failure.

    Raises:
        ConfigurationError: one is neither an ErrorPolicy nor callable.
    """

    unknown_tool: ErrorPolicy | ErrorHandler = ErrorPolicy.RAISE
    arguments_error: ErrorPolicy | ErrorHandler = ErrorPolicy.RAISE
    execution_error: ErrorPolicy | ErrorHandler = ErrorPolicy.TELL_MODEL

    def __post_init__(self) -> None:
        for name in self.__slots__:
            policy = getattr(self, name)
            if not isinstance(policy, ErrorPolicy) and not callable(policy):
                raise ConfigurationError(
                    f"{name} must be an ErrorPolicy (RAISE, TELL_MODEL, TELL_MODEL_BRIEFLY) or a function of "
                    f"(call, error) that returns text, got {policy!r}."
                )

    def settle(self, call: ToolCall, raised: Exception, context: Any = None) -> ToolExecutionResult:
        """Return the result that tells the model of an error.

        Args:
            call: the call that failed.
            raised: what it raised.
            context: the invocation, for handlers.

        Raises:
            FastToolError: the policy is to raise; whatever a handler raises comes out as well.
        """
        if isinstance(raised, ConfigurationError):
            raise raised
        if isinstance(raised, (RetryTool, RefuseTool)):  # said to be told, whatever the policy
            return ToolExecutionResult(str(raised) or _SAID_NOTHING[type(raised)], is_error=True)
        if isinstance(raised, (ToolArgumentsError, UnknownToolError, ToolExecutionError)):
            error: FastToolError = raised
        else:
            error = execution_error(call.name, raised)
        if isinstance(error, ToolArgumentsError):
            policy = self.arguments_error
        elif isinstance(error, UnknownToolError):
            policy = self.unknown_tool
        else:
            policy = self.execution_error
            if policy is ErrorPolicy.TELL_MODEL or policy is ErrorPolicy.TELL_MODEL_BRIEFLY:
                logger.warning("Tool %s failed: %s", call.name, error, exc_info=error.__cause__)
        if policy is ErrorPolicy.RAISE:
            raise error
        if policy is ErrorPolicy.TELL_MODEL:
            return ToolExecutionResult(_text(error), is_error=True)
        if policy is ErrorPolicy.TELL_MODEL_BRIEFLY:
            text = f"Tool {call.name} failed." if type(error) is ToolExecutionError else _text(error)
            return ToolExecutionResult(text, is_error=True)
        return _handled(policy, call, error, context)


class UnknownTool:
    """Stands in for the executor of a tool that the model was not shown.

    Args:
        available: the names that it was shown.
    """

    __slots__ = ("_available",)

    def __init__(self, available: Sequence[str]) -> None:
        self._available = available

    def execute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Raise UnknownToolError."""
        raise UnknownToolError(call.name, self._available)

    async def aexecute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Raise UnknownToolError."""
        raise UnknownToolError(call.name, self._available)


def _handled(policy: Any, call: ToolCall, error: FastToolError, context: Any) -> ToolExecutionResult:
    said = policy(call, error, context) if _takes_context(policy) else policy(call, error)
    if not isinstance(said, (str, ToolResult)):
        raise ConfigurationError(
            f"The handler for a failure of tool {call.name} must return text for the model, "
            f"got {type(said).__name__}."
        )
    result = execution_result(call.name, said)
    result.is_error = True
    return result


def _takes_context(handler: Callable[..., Any]) -> bool:
    try:
        inspect.signature(handler).bind(None, None, None)
    except (TypeError, ValueError):
        return False
    return True


def _text(error: FastToolError) -> str:
    if isinstance(error, UnknownToolError):
        near = difflib.get_close_matches(error.tool, error.available, n=3)
        if near:
            return f"{error} Did you mean {' or '.join(near)}?"
    return str(error)
