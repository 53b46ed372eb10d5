"""Undo what a failed run has done (reference: core, section 7).

* What succeeded is undone in strictly reverse order, over all rounds, one after the other.
* A compensation that fails is tried again as often as it may be, then reported, and the others go on.
* The conversation says what was undone, and what was not; results are found by their position.
* Nothing is undone twice.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fasttool.errors import ToolExecutionError
from fasttool.loop.effects import Compensate, Effect, ReadMemory, ReplaceMemory, ToolInvocation
from fasttool.loop.events import ToolCompensated, tell
from fasttool.messages import Message, ToolCall, ToolResultMessage
from fasttool.tools.compensation import Bound, Compensation
from fasttool.tools.executor import ToolExecution, ToolExecutionResult, ToolExecutor
from fasttool.tools.invocation import InvocationContext, using_key
from fasttool.tools.plan import ToolPlan
from fasttool.tools.service import logger
from fasttool.tools.service_tool import ServiceTool

if TYPE_CHECKING:
    from fasttool.loop.state import RunState


class CompensateWhen(enum.Enum):
    """When what was done is undone.

    TOOL_ERROR: a call of a round failed, or the run ends with an error.
    INVOCATION_FAILURE: the run ends with an error: it raises, hits a limit, is cancelled, or loses the model.
    """

    TOOL_ERROR = "tool_error"
    INVOCATION_FAILURE = "invocation_failure"


class CompensationScope(enum.Enum):
    """What is undone when a call failed and the run goes on.

    INVOCATION: all that the run has done.
    ROUND: what the round of the failed call has done.
    """

    INVOCATION = "invocation"
    ROUND = "round"


class CompensationState(enum.Enum):
    """What became of an execution that was to be undone.

    COMPENSATED: it was undone.
    FAILED: its compensation failed; it was not undone.
    UNKNOWN: whether it took effect is not known, and its tool does not allow to undo it then.
    """

    COMPENSATED = "compensated"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(slots=True, frozen=True)
class Compensated:
    """One execution that was to be undone.

    Args:
        execution: what the tool did.
        state: what became of it.
        reason: why it was to be undone, for people.
        error: why the compensation failed; None where it did not.
        key: the idempotency key that the tool and its compensation had.
    """

    execution: ToolExecution
    state: CompensationState
    reason: str
    error: Exception | None = None
    key: str = ""


@dataclass(slots=True)
class Step:
    """One execution that can be undone.

    Args:
        tool: the tool.
        compensation: what undoes it.
        execution: what it did.
        bound: the arguments that it got; None where they are not known.
        key: the idempotency key that it had.
        is_known: it is known to have taken effect.
        position: where its result is in the conversation of the run.
    """

    tool: ServiceTool
    compensation: Compensation
    execution: ToolExecution
    bound: Bound | None
    key: str
    is_known: bool
    position: int = -1


class Recorder:
    """Runs a tool, and keeps what its compensation will need; an executor.

    Args:
        executor: runs the tool.
        key: the idempotency key of the call.

    Attributes:
        bound: the arguments that the tool got; None before it was called.
        has_begun: the tool was called.
        has_ended: the tool has returned or raised.
    """

    __slots__ = ("_executor", "bound", "has_begun", "has_ended", "key")

    def __init__(self, executor: ToolExecutor, key: str) -> None:
        if isinstance(executor, ToolPlan):
            executor = executor.recording(self._record)
        self._executor = executor
        self.key = key
        self.bound: Bound | None = None
        self.has_begun = False
        self.has_ended = False

    def _record(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.bound = arguments, keywords

    def execute(self, call: ToolCall, context: InvocationContext) -> ToolExecutionResult:
        """Run, blocking."""
        self.has_begun = True
        with using_key(self.key):
            result = self._executor.execute(call, context)
        self.has_ended = True
        return result

    async def aexecute(self, call: ToolCall, context: InvocationContext) -> ToolExecutionResult:
        """Run, without blocking the event loop."""
        self.has_begun = True
        with using_key(self.key):
            result = await self._executor.aexecute(call, context)
        self.has_ended = True
        return result


def new_key() -> str:
    """Return an idempotency key that no other call has."""
    return uuid.uuid4().hex


def recorded(
    state: RunState, invocations: Sequence[ToolInvocation], tools: Sequence[ServiceTool | None]
) -> list[tuple[Recorder, Compensation] | None]:
    """Let the calls that can be undone keep what that will need.

    Args:
        state: of the run.
        invocations: the calls; those that can be undone get a recorder as their executor.
        tools: the tool of each; None for one that is not known.

    Returns:
        for each call that can be undone its recorder and its compensation, None for each other.
    """
    found: list[tuple[Recorder, Compensation] | None] = []
    for invocation, tool in zip(invocations, tools, strict=True):
        compensation = None if tool is None else state.service.compensation_of(tool, state.tools.available)
        if compensation is None:
            found.append(None)
            continue
        recorder = Recorder(invocation.executor, new_key())
        invocation.executor = recorder
        found.append((recorder, compensation))
    return found


def undo(
    state: RunState, steps: Sequence[Step], failed: str | None
) -> Generator[Effect, Any, dict[int, str]]:
    """Undo steps; return the new text of each result, by its position.

    Args:
        state: of the run.
        steps: what can be undone, in the order in which it was done.
        failed: the name of the tool that failed; None where something else did.
    """
    texts: dict[int, str] = {}
    why = f"failure of tool '{failed}'" if failed is not None else "failure of the run"
    for step in reversed(steps):
        name = step.tool.name
        if not step.is_known and not step.tool.compensate_unknown:
            done = Compensated(step.execution, CompensationState.UNKNOWN, why, None, step.key)
        else:
            error = yield from _attempts(state, step)
            if error is None:
                done = Compensated(step.execution, CompensationState.COMPENSATED, why, None, step.key)
                texts[step.position] = (
                    f"Tool '{name}' was executed successfully but was rolled back due to {why}"
                )
            else:
                logger.warning("The compensation of tool %s failed: %s", name, error, exc_info=error)
                done = Compensated(step.execution, CompensationState.FAILED, why, error, step.key)
                texts[step.position] = (
                    f"Tool '{name}' was executed successfully and was NOT rolled back after {why}: "
                    "its compensation failed"
                )
        state.result.compensations.append(done)
        if state.listeners:
            tell(state.listeners, ToolCompensated(done))
    return texts


def _attempts(state: RunState, step: Step) -> Generator[Effect, Any, Exception | None]:
    """Run the compensation of a step until it succeeds or has no attempt left; return its last error."""
    error: Exception | None = None
    for _ in range(state.options.compensation_attempts):
        prepared = step.compensation.prepared(step.tool, step.execution, step.bound, step.key)
        try:
            result = yield Compensate(prepared, step.execution.call)
            if not result.is_error:
                return None
            error = ToolExecutionError(step.tool.name, result.text)
        except Exception as failure:
            error = failure
    return error


def rewrite(
    state: RunState, texts: dict[int, str], *, open_messages: int = 0
) -> Generator[Effect, Any, None]:
    """Put new texts in the place of results, in the conversation and in the memory.

    A memory may have dropped old messages at its beginning: positions are counted from the end.

    Args:
        state: of the run.
        texts: the texts by position in the conversation of the run.
        open_messages: messages at the end of the conversation that the memory does not show yet.
    """
    messages = state.result.messages
    for position, text in texts.items():
        messages[position] = _rewritten(messages[position], text)
    if not state.has_memory or not texts:
        return
    view: list[Message] = yield ReadMemory()
    shift = len(view) - (len(messages) - open_messages)
    changed = False
    for position in texts:
        place = position + shift
        if 0 <= place < len(view) and _is_same(view[place], messages[position]):
            view[place] = messages[position]
            changed = True
    if changed:
        yield ReplaceMemory(view)
        view = yield ReadMemory()
    state.view = view


def rewritten_results(results: list[Message], texts: dict[int, str], first: int) -> None:
    """Put new texts in the place of the results of a round that are not in the conversation yet.

    Args:
        results: of the round; changed.
        texts: by position in the conversation; those of the round are taken out.
        first: the position that the first result will have.
    """
    for place in range(len(results)):
        text = texts.pop(first + place, None)
        if text is not None:
            results[place] = _rewritten(results[place], text)


def _rewritten(message: Message, text: str) -> Message:
    assert isinstance(message, ToolResultMessage)
    return ToolResultMessage(message.id, message.tool_name, text, True, (), message.attributes)


def _is_same(kept: Message, rewritten: Message) -> bool:
    """Say whether a message of the memory is the result that was rewritten; a memory of yours may differ."""
    return (
        isinstance(kept, ToolResultMessage)
        and isinstance(rewritten, ToolResultMessage)
        and (kept.id, kept.tool_name) == (rewritten.id, rewritten.tool_name)
    )
