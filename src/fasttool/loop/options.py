"""How a run behaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor as ThreadExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from fasttool.errors import ConfigurationError
from fasttool.loop.events import Listener
from fasttool.loop.failures import ErrorHandler, ErrorPolicy, FailurePolicies
from fasttool.memory.protocol import ChatMemory
from fasttool.messages import ChatRequest, ResponseFormat, ToolCall, ToolChoice, UserMessage
from fasttool.tools.executor import ToolExecution
from fasttool.tools.invocation import InvocationContext

if TYPE_CHECKING:
    from fasttool.loop.compensation import CompensateWhen, CompensationScope
    from fasttool.loop.telemetry import OpenTelemetry

BeforeTool = Callable[[ToolCall, InvocationContext], Any]
"""Is called before a tool runs.  It returns None to go on, a ToolCall to run with other arguments, or
anything else as the result, without running the tool; it may raise RefuseTool.  In an async run it may be
async."""

AfterTool = Callable[[ToolExecution, InvocationContext], Any]
"""Is called after a tool has run.  In an async run it may be async."""

RequestTransformer = Callable[[ChatRequest, InvocationContext], ChatRequest]
"""Returns the request that is sent instead; called for each request of a run."""


class RunOptions(TypedDict, total=False):
    """Options of a run; all may be left out.

    Keys:
        memory: the conversation to go on with; ``messages`` are added to it, and so is all that follows.
        context: the invocation, for tools that ask for its values; a new one where there is none.
        max_rounds: rounds with tool calls that are allowed (100).
        max_tool_calls: calls of tools that are allowed.
        max_tokens: tokens that the model may take before the run must be done.
        max_seconds: seconds that the run may take.
        tool_choice: whether the model may, must or must not call tools, or the name of the one tool
            that it must call; for the first request.
        parameters: further parameters of each request, in the provider's words.
        response_format: the form of the answer.
        unknown_tool: what happens when the model names a tool that it was not shown.
        arguments_error: what happens when its arguments do not fit the tool.
        execution_error: what happens when a tool fails.
        errors: one policy for all three of them.
        concurrent: the calls of a round run at the same time.
        max_concurrency: how many of them; None for no limit but that of the threads.
        eager: a call of a stream that is iterated over with ``async for`` begins once the next one is
            complete, before the model has said all; not with ``before_tool``. Implies ``concurrent``.
        executor: threads to run blocking tools in instead of fasttool's own; implies ``concurrent``.
        listeners: functions that are told of each event.
        before_tool: see BeforeTool.
        after_tool: see AfterTool.
        transform_request: see RequestTransformer.
        telemetry: what makes spans of the run.
        compensate: when what was done is undone; None for never.
        compensation_scope: what is undone when a call failed and the run goes on.
        compensation_attempts: how often a compensation is tried (1).
    """

    memory: ChatMemory | None
    context: InvocationContext | None
    max_rounds: int
    max_tool_calls: int | None
    max_tokens: int | None
    max_seconds: float | None
    tool_choice: ToolChoice | str | None
    parameters: Mapping[str, Any] | None
    response_format: ResponseFormat | None
    unknown_tool: ErrorPolicy | ErrorHandler
    arguments_error: ErrorPolicy | ErrorHandler
    execution_error: ErrorPolicy | ErrorHandler
    errors: ErrorPolicy | ErrorHandler
    concurrent: bool
    max_concurrency: int | None
    eager: bool
    executor: ThreadExecutor | None
    listeners: Sequence[Listener]
    before_tool: BeforeTool | None
    after_tool: AfterTool | None
    transform_request: RequestTransformer | None
    telemetry: OpenTelemetry | None
    compensate: CompensateWhen | None
    compensation_scope: CompensationScope
    compensation_attempts: int


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@dataclass(slots=True, frozen=True)
class RetrievedMessage:
    """A user's message with retrieved content, that stands in for the one in the conversation.

    Args:
        original: the message that the conversation keeps.
        augmented: what the model is sent in its place.
        every_call: in every request of the run; otherwise in the first one.
    """

    original: UserMessage
    augmented: UserMessage
    every_call: bool


@dataclass(slots=True, frozen=True)
class LoopOptions:
    """What the rules of the loop depend on; see RunOptions."""

    max_rounds: int = 100
    tool_choice: ToolChoice | str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    failures: FailurePolicies = field(default_factory=FailurePolicies)
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    response_format: ResponseFormat | None = None
    listeners: tuple[Listener, ...] = ()
    transform_request: RequestTransformer | None = None
    has_memory: bool = False
    eager: bool = False
    retrieved: RetrievedMessage | None = None
    compensate: CompensateWhen | None = None
    compensation_scope: CompensationScope | None = None
    compensation_attempts: int = 1
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if not _is_count(self.max_rounds):
            raise ConfigurationError(
                f"max_rounds must be a whole number of 0 or more, got {self.max_rounds!r}."
            )
        for name in ("max_tool_calls", "max_tokens"):
            limit = getattr(self, name)
            if limit is not None and not _is_count(limit):
                raise ConfigurationError(
                    f"{name} must be a whole number of 0 or more, or None, got {limit!r}."
                )
        if not _is_count(self.compensation_attempts) or self.compensation_attempts < 1:
            raise ConfigurationError(
                f"compensation_attempts must be a whole number above 0, got {self.compensation_attempts!r}."
            )
        seconds = self.max_seconds
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0
        ):
            raise ConfigurationError(f"max_seconds must be seconds above 0, or None, got {seconds!r}.")

    @property
    def has_limits(self) -> bool:
        """Whether anything but the rounds is limited."""
        return not (self.max_tool_calls is None and self.max_tokens is None and self.max_seconds is None)


@dataclass(slots=True, frozen=True)
class Execution:
    """How calls are run; what a driver depends on.

    Args:
        concurrent: the calls of a round run at the same time.
        max_concurrency: how many of them; None for no limit.
        eager: calls of a stream begin before the answer is complete; implies ``concurrent``.
        executor: threads for blocking tools, implies ``concurrent``; None for fasttool's own.
        before_tool: called before each tool.
        after_tool: called after each tool.

    Attributes:
        is_concurrent: calls run at the same time.
        is_plain: calls run one after the other, and nothing goes with them.
    """

    concurrent: bool = False
    max_concurrency: int | None = None
    executor: ThreadExecutor | None = None
    before_tool: BeforeTool | None = None
    after_tool: AfterTool | None = None
    eager: bool = False
    is_concurrent: bool = field(init=False, default=False)
    is_plain: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        limit = self.max_concurrency
        if limit is not None and (not _is_count(limit) or limit < 1):
            raise ConfigurationError(
                f"max_concurrency must be a whole number above 0, or None, got {limit!r}."
            )
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise ConfigurationError(
                f"executor must be a concurrent.futures.Executor, got {type(self.executor).__name__}."
            )
        for name in ("before_tool", "after_tool"):
            hook = getattr(self, name)
            if hook is not None and not callable(hook):
                raise ConfigurationError(f"{name} must be a function, got {type(hook).__name__}.")
        if self.eager and self.before_tool is not None:
            raise ConfigurationError("eager and before_tool exclude each other: the hook must come first.")
        put = object.__setattr__
        put(self, "is_concurrent", self.concurrent or self.eager or self.executor is not None)
        put(
            self,
            "is_plain",
            not self.is_concurrent and self.before_tool is None and self.after_tool is None,
        )


_LOOP = LoopOptions()
_EXECUTION = Execution()
_EXECUTION_KEYS = frozenset(
    ("concurrent", "max_concurrency", "eager", "executor", "before_tool", "after_tool")
)
_RUN_KEYS = ("memory", "context", "errors", "telemetry")
_FAILURE_KEYS = ("unknown_tool", "arguments_error", "execution_error")


def read_options(options: Mapping[str, Any]) -> tuple[LoopOptions, Execution]:
    """Return checked options.

    Args:
        options: those of RunOptions.

    Raises:
        ConfigurationError: one is unknown or wrong.
    """
    if not options:
        return _LOOP, _EXECUTION  # nothing to check: most runs, and the checks cost as much as a round
    unknown = options.keys() - RunOptions.__annotations__.keys()
    if unknown:
        raise ConfigurationError(
            f"A run has no option {', '.join(sorted(unknown))}; "
            f"it has {', '.join(RunOptions.__annotations__)}."
        )
    given = {
        name: value
        for name, value in options.items()
        if name not in _EXECUTION_KEYS and name not in (*_RUN_KEYS, *_FAILURE_KEYS)
    }
    policies = dict.fromkeys(_FAILURE_KEYS, options["errors"]) if "errors" in options else {}
    policies |= {name: options[name] for name in _FAILURE_KEYS if name in options}
    failures = FailurePolicies(**policies)
    parameters = given.get("parameters")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ConfigurationError(f"parameters must be a mapping, got {type(parameters).__name__}.")
    given["parameters"] = dict(parameters or {})
    given["listeners"] = read_listeners(given.get("listeners") or ())
    choice = given.get("tool_choice")
    if choice is not None and not isinstance(choice, ToolChoice) and choice in tuple(ToolChoice):
        given["tool_choice"] = ToolChoice(choice)
    if given.get("compensate") is not None or "compensation_scope" in given:
        _check_compensation(given.get("compensate"), given.get("compensation_scope"))
    given["eager"] = bool(options.get("eager"))
    if given["eager"] and given.get("compensate") is not None:
        raise ConfigurationError(
            "eager and compensate exclude each other: what begins early is not recorded."
        )
    given["has_memory"] = options.get("memory") is not None
    transform = given.get("transform_request")
    if transform is not None and not callable(transform):
        raise ConfigurationError(f"transform_request must be a function, got {type(transform).__name__}.")
    execution = {name: options[name] for name in _EXECUTION_KEYS if name in options}
    return LoopOptions(failures=failures, **given), Execution(**execution) if execution else _EXECUTION


def _check_compensation(when: Any, scope: Any) -> None:
    from fasttool.loop.compensation import CompensateWhen, CompensationScope

    for name, value, kind in (
        ("compensate", when, CompensateWhen),
        ("compensation_scope", scope, CompensationScope),
    ):
        if value is not None and not isinstance(value, kind):
            raise ConfigurationError(f"{name} must be a {kind.__name__}, got {value!r}.")


def read_listeners(listeners: Any) -> tuple[Listener, ...]:
    """Return listeners as a tuple; one alone may be given as it is.

    Raises:
        ConfigurationError: one is no function.
    """
    found = (listeners,) if callable(listeners) else tuple(listeners)
    for listener in found:
        if not callable(listener):
            raise ConfigurationError(f"A listener is a function of one event, got {type(listener).__name__}.")
    return found
