"""What happens with the three kinds of failure (reference: core, section 4).

| failure | default |
|---|---|
| the model names a tool that it was not shown | raise UnknownToolError |
| the arguments do not fit | raise ToolArgumentsError |
| the tool fails | tell the model |
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fasttool.errors import (
    ConfigurationError,
    FastToolError,
    ToolArgumentsError,
    ToolExecutionError,
    UnknownToolError,
)
from fasttool.messages import ToolCall
from fasttool.tools.executor import ToolExecutionResult, execution_error
from fasttool.tools.service import logger


class ErrorPolicy(Enum):
    """What happens with a failure.

    RAISE: the run ends with the error; the error's ``result`` holds what was done so far.
    TELL_MODEL: the model gets the error's text as the result of its call, and goes on.
    """

    RAISE = "raise"
    TELL_MODEL = "tell_model"


ErrorHandler = Callable[[ToolCall, FastToolError], str]
"""Returns the text for the model, or raises to end the run."""


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
                    f"{name} must be ErrorPolicy.RAISE, ErrorPolicy.TELL_MODEL or a function of "
                    f"(call, error) that returns text, got {policy!r}."
                )

    def settle(self, call: ToolCall, error: Exception) -> ToolExecutionResult:
        """Return the result that tells the model of an error.

        Raises:
            FastToolError: the policy is to raise; whatever a handler raises comes out as well.
        """
        if isinstance(error, ConfigurationError):
            raise error
        if not isinstance(error, (ToolArgumentsError, UnknownToolError, ToolExecutionError)):
            error = execution_error(call.name, error)
        if isinstance(error, ToolArgumentsError):
            policy = self.arguments_error
        elif isinstance(error, UnknownToolError):
            policy = self.unknown_tool
        else:
            policy = self.execution_error
            if policy is ErrorPolicy.TELL_MODEL:
                logger.warning("Tool %s failed: %s", call.name, error, exc_info=error.__cause__)
        if policy is ErrorPolicy.RAISE:
            raise error
        if policy is ErrorPolicy.TELL_MODEL:
            return ToolExecutionResult(_text(error), is_error=True)
        text = policy(call, error)
        if not isinstance(text, str):
            raise ConfigurationError(
                f"The handler for a failure of tool {call.name} must return text for the model, "
                f"got {type(text).__name__}."
            )
        return ToolExecutionResult(text, is_error=True)


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


def _text(error: FastToolError) -> str:
    if isinstance(error, UnknownToolError):
        near = difflib.get_close_matches(error.tool, error.available, n=3)
        if near:
            return f"{error} Did you mean {' or '.join(near)}?"
    return str(error)
