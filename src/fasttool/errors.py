"""Every exception that fasttool raises on purpose.

* FastToolError
  * ConfigurationError: your code is wrong; raised when an object is built
    * MissingExtraError: an optional package is not installed
  * MessageFormatError: stored messages cannot be read
  * ToolArgumentsError: the model's arguments do not fit the tool
  * ToolExecutionError: the tool itself failed
  * UnknownToolError: the model named a tool that it was not shown
  * ToolRoundsExceededError: the model kept calling tools
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


class ToolRoundsExceededError(FastToolError):
    """The model asked for one more round of tool calls than the limit allows.

    Attributes:
        max_rounds: the limit.
    """

    def __init__(self, max_rounds: int) -> None:
        super().__init__(f"The model still called tools after {max_rounds} rounds, the limit (max_rounds).")
        self.max_rounds = max_rounds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_rounds,)


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
