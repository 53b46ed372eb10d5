"""Every exception that fasttool raises on purpose.

* FastToolError
  * ConfigurationError: your code is wrong; raised when an object is built
    * MissingExtraError: an optional package is not installed
  * MessageFormatError: stored messages cannot be read
  * ToolArgumentsError: the model's arguments do not fit the tool
  * ToolExecutionError: the tool itself failed
    * ToolTimeoutError: it did not finish in time
  * RetryTool, RefuseTool: raised by your code; their text is told to the model
  * UnknownToolError: the model named a tool that it was not shown
  * RunLimitError: a run has used up what it was allowed
    * ToolRoundsExceededError, ToolCallsExceededError, TokensExceededError, TimeExceededError,
      ToolAttemptsExceededError
  * ApprovalRequiredError: a run waits for a decision, and its caller has no place for it
  * GuardrailError: a guardrail refused what the user or the model said
  * Reprompt: raised by an output guardrail of yours; its text is told to the model
  * OutputFormatError: the answer is not of the type that was asked for
  * ModelError: the model gave no usable answer
    * ModelConnectionError, ModelTimeoutError: no answer arrived
    * ModelAuthenticationError, ModelRateLimitError, ModelRequestError, ModelServerError: refused
    * ModelResponseError: the answer cannot be used

Each text is one sentence for a reader who is a model or a tired person: what was wrong, and
what is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any


class FastToolError(Exception):
    """Base of every error that fasttool raises on purpose.

    Attributes:
        result: the partial ``Result`` of the run that this error ended, None outside a run. Its
            messages are well-formed: each call has its one result.
    """

    result: Any = None


class ConfigurationError(FastToolError, ValueError):
    """A declaration or an option is wrong; raised when the object is built, not when it runs."""


class MissingExtraError(ConfigurationError, ImportError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, feature: str, *, extra: str, package: str | None = None) -> None:
        need = f"the package {package}" if package else "more packages"
        super().__init__(f"{feature} needs {need}: pip install 'fasttool[{extra}]'")
        self.extra = extra


class MessageFormatError(FastToolError, ValueError):
    """Stored messages are not in a form that this version can read."""


class ProblemKind(StrEnum):
    """What is wrong with one argument."""

    INVALID_JSON = "invalid_json"
    MISSING = "missing"
    WRONG_TYPE = "wrong_type"
    NOT_INTEGRAL = "not_integral"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"
    NOT_ALLOWED = "not_allowed"
    UNKNOWN_NAME = "unknown_name"
    TOO_DEEP = "too_deep"


class ArgumentProblem:
    """One thing that is wrong with the arguments of a call.

    Args:
        kind: what is wrong.
        path: where, for example ``items[2].price``; empty for the whole text.
        reason: what was wrong and what is accepted, without the path.
    """

    __slots__ = ("kind", "path", "reason")

    def __init__(self, kind: ProblemKind, path: str, reason: str) -> None:
        self.kind = kind
        self.path = path
        self.reason = reason

    def __repr__(self) -> str:
        return f"ArgumentProblem({self.kind.value!r}, {self.path!r}, {self.reason!r})"

    def __str__(self) -> str:
        return f'"{self.path}" {self.reason}' if self.path else self.reason


class ToolArgumentsError(FastToolError, ValueError):
    """The arguments that a model sent cannot be bound to the tool's parameters.

    Attributes:
        tool: name of the tool.
        problems: every problem of the call, in the order of the parameters.
    """

    def __init__(self, tool: str, problems: Sequence[ArgumentProblem]) -> None:
        super().__init__(f"Wrong arguments for tool {tool}: {'; '.join(map(str, problems))}.")
        self.tool = tool
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tool, self.problems)


class ToolExecutionError(FastToolError):
    """A tool failed while it ran; ``__cause__`` is the error that it raised.

    Attributes:
        tool: name of the tool.
    """

    def __init__(self, tool: str, message: str) -> None:
        super().__init__(message)
        self.tool = tool

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tool, str(self))


class ToolTimeoutError(ToolExecutionError):
    """A tool did not finish in time; whether it took effect is not known.

    Attributes:
        seconds: the time that it had.
    """

    def __init__(self, tool: str, seconds: float) -> None:
        super().__init__(
            tool, f"Tool {tool} did not finish within {seconds:g} s; whether it took effect is not known."
        )
        self.seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tool, self.seconds)


class RetryTool(FastToolError):
    """Raised by a tool: the model should call it again, otherwise; the text says what to change."""


class RefuseTool(FastToolError):
    """Raised by a tool or by a ``before_tool`` hook: the call is refused; the text tells the model why."""


class UnknownToolError(FastToolError):
    """The model called a tool that it was not shown.

    Attributes:
        tool: the name that the model used.
        available: the names that it could have used.
    """

    def __init__(self, tool: str, available: Sequence[str]) -> None:
        names = ", ".join(available) if available else "none"
        super().__init__(f'There is no tool named "{tool}"; available: {names}.')
        self.tool = tool
        self.available = tuple(available)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tool, self.available)


class RunLimitError(FastToolError):
    """A run has used up what it was allowed; its partial result is in ``result``."""


class ToolRoundsExceededError(RunLimitError):
    """The model asked for one more round of tool calls than the limit allows.

    Attributes:
        max_rounds: the limit.
    """

    def __init__(self, max_rounds: int) -> None:
        super().__init__(f"The model still called tools after {max_rounds} rounds, the limit (max_rounds).")
        self.max_rounds = max_rounds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_rounds,)


class ToolCallsExceededError(RunLimitError):
    """The model asked for more calls of tools than one run may make.

    Attributes:
        max_tool_calls: the limit.
    """

    def __init__(self, max_tool_calls: int) -> None:
        super().__init__(
            f"The model asked for more than {max_tool_calls} tool calls, the limit (max_tool_calls)."
        )
        self.max_tool_calls = max_tool_calls

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_tool_calls,)


class TokensExceededError(RunLimitError):
    """The calls of the model took more tokens than one run may take.

    Attributes:
        max_tokens: the limit.
        used: the tokens that were taken.
    """

    def __init__(self, max_tokens: int, used: int) -> None:
        super().__init__(
            f"The run took {used} tokens and was not done; the limit (max_tokens) is {max_tokens}."
        )
        self.max_tokens = max_tokens
        self.used = used

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_tokens, self.used)


class TimeExceededError(RunLimitError):
    """A run was not done in the time that it had.

    Attributes:
        max_seconds: the limit.
    """

    def __init__(self, max_seconds: float) -> None:
        super().__init__(f"The run was not done after {max_seconds:g} s, the limit (max_seconds).")
        self.max_seconds = max_seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_seconds,)


class ToolAttemptsExceededError(RunLimitError):
    """A tool failed in as many rounds as it may.

    Attributes:
        tool: name of the tool.
        max_attempts: the limit.
    """

    def __init__(self, tool: str, max_attempts: int, reason: str) -> None:
        super().__init__(
            f"Tool {tool} failed in {max_attempts} rounds, its limit (max_attempts); the last time: {reason}"
        )
        self.tool = tool
        self.max_attempts = max_attempts
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tool, self.max_attempts, self.reason)


class ApprovalRequiredError(FastToolError):
    """A run waits for decisions on its calls, and its caller's declared result has no place to say so.

    Attributes:
        paused: the run, to be resumed.
    """

    def __init__(self, paused: Any) -> None:
        names = ", ".join(call.name for call in paused.waiting)
        super().__init__(
            f"The run waits for a decision on {names}: resume it, or declare the method to return Result."
        )
        self.paused = paused

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.paused,)


class GuardrailError(FastToolError):
    """A guardrail refused what the user or the model said."""


class Reprompt(FastToolError):
    """Raised by an output guardrail: the model should answer again; the text tells it what to change."""


class OutputFormatError(FastToolError):
    """The model's answer is not a value of the type that was asked for.

    Attributes:
        text: the answer.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.text)


class ModelError(FastToolError):
    """A model gave no answer that can be used.

    Attributes:
        status: HTTP status of the answer, None where there was none.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ModelConnectionError(ModelError):
    """The endpoint could not be reached, or it cut the connection."""


class ModelTimeoutError(ModelError):
    """The endpoint did not answer in time."""


class ModelAuthenticationError(ModelError):
    """The endpoint refused the credentials (401, 403)."""


class ModelRateLimitError(ModelError):
    """The endpoint asks to slow down (429).

    Attributes:
        retry_after: seconds that the endpoint asked to wait, None if it did not say.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after


class ModelRequestError(ModelError):
    """The endpoint refused the request (another 4xx)."""


class ModelServerError(ModelError):
    """The endpoint failed (5xx)."""


class ModelResponseError(ModelError):
    """The endpoint's answer is not one that can be understood, or was withheld."""
