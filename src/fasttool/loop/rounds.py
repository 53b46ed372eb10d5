"""The rules of one round: the calls of one answer, from the limits to their results."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fasttool.errors import (
    RunLimitError,
    TimeExceededError,
    TokensExceededError,
    ToolArgumentsError,
    ToolAttemptsExceededError,
    ToolCallsExceededError,
    ToolExecutionError,
    ToolRoundsExceededError,
    UnknownToolError,
)
from fasttool.loop.effects import (
    STARTED,
    Aborted,
    AddToMemory,
    Effect,
    Outcome,
    ReadMemory,
    RunTools,
    ToolInvocation,
)
from fasttool.loop.failures import UnknownTool
from fasttool.loop.returns import returns_immediately
from fasttool.loop.state import RunState
from fasttool.messages import AiMessage, Message, ToolCall, ToolResultMessage
from fasttool.specification import ReturnBehavior
from fasttool.tools.executor import ToolExecution, ToolExecutionResult
from fasttool.tools.service_tool import ServiceTool

if TYPE_CHECKING:
    from fasttool.loop.compensation import Step

CUT_OFF = "This call was not executed: the answer was cut off at the output limit before it was complete."
NOT_REACHED = "This call was not executed: the run ended at an earlier call."
ENDED_HERE = "The run ended with an error at this call."
INTERRUPTED = "This call was interrupted; whether it took effect is not known."
NO_MORE_ROUNDS = "This call was not executed: the limit of rounds with tool calls is reached."
LIMIT_REACHED = "This call was not executed: a limit of the run is reached."

FOUND_TOOLS = "found_tools"
"""The attribute of a result that names tools to show from then on; stored with the conversation."""

# In Python 3.11, finding a member of an enum takes longer than all else in a comparison with it.
_TO_LLM = ReturnBehavior.TO_LLM


def run_round(
    state: RunState, message: AiMessage, *, cut: bool = False, rejected: Mapping[int, str] | None = None
) -> Generator[Effect, Any, bool]:
    """Run the calls of one answer; return whether the run ends with them.

    Args:
        state: of the run.
        message: has the calls.
        cut: the last call may not be complete.
        rejected: texts for calls that must not run, by place; None where nobody was asked yet.

    Raises:
        RunLimitError: the round would break a limit, or a tool has failed too often.
        FastToolError: a call failed, and the policy is to raise.
    """
    calls = message.tool_calls
    round_ = _Round(state, calls)
    if rejected is None and not round_.is_plain:
        waiting = round_.waiting(cut)
        if waiting:
            state.result.paused = state.paused(message, waiting)
            return True
    if state.has_memory:
        yield AddToMemory((message,))
    state.result.messages.append(message)
    limit = None
    if state.is_limited or state.rounds == state.options.max_rounds:
        limit = _limit(state, len(calls))
    if limit is None:
        state.rounds += 1
        if cut or rejected or not round_.is_plain:
            round_.refuse(cut, rejected)
        else:
            state.calls += len(calls)
        undoes = state.options.compensate is not None
        if undoes:
            round_.record()
        try:
            if None in round_.outcomes:
                yield RunTools(round_.invocations, round_.outcomes, round_.settle)
        except BaseException:
            # The calls that finished keep their results, and the conversation stays well-formed.
            results = round_.results()
            if undoes:
                state.steps += round_.steps(len(state.result.messages))
            state.result.messages += results
            if state.has_memory:
                yield AddToMemory(results)
            raise
    else:
        text = NO_MORE_ROUNDS if isinstance(limit, ToolRoundsExceededError) else LIMIT_REACHED
        round_.refuse_all(text)
    results = round_.results()
    if limit is None and undoes:
        yield from _undo_round(state, round_, results)
    state.result.messages += results
    if state.has_memory:
        yield AddToMemory(results)
        state.view = yield ReadMemory()
    if limit is not None:
        raise limit
    return round_.ends_run()


def undo_run(state: RunState) -> Generator[Effect, Any, None]:
    """Undo all that a run has done which ends with an error."""
    from fasttool.loop.compensation import rewrite, undo

    steps, state.steps = state.steps, []
    texts = yield from undo(state, steps, state.failed_tool)
    yield from rewrite(state, texts)


def _undo_round(state: RunState, round_: _Round, results: list[Message]) -> Generator[Effect, Any, None]:
    """Take note of what a round did; where a call failed and the run goes on, undo it.

    Args:
        state: of the run; its conversation does not have the results yet.
        round_: the round.
        results: of the round; those of what is undone are changed.
    """
    from fasttool.loop.compensation import CompensateWhen, CompensationScope, rewrite, rewritten_results, undo

    first = len(state.result.messages)
    steps = round_.steps(first)
    options = state.options
    goes_on = round_.failed_tool is not None and not round_.is_aborted
    if not goes_on or options.compensate is not CompensateWhen.TOOL_ERROR:
        state.steps += steps
        return
    if options.compensation_scope is not CompensationScope.ROUND:
        steps, state.steps = [*state.steps, *steps], []
    texts = yield from undo(state, steps, round_.failed_tool)
    rewritten_results(results, texts, first)
    yield from rewrite(state, texts, open_messages=1)


def early_call(state: RunState, call: ToolCall) -> RunTools | None:
    """Return how a call is run before its answer is complete; None where it has to wait."""
    tool = state.tools.shown.get(call.name)
    if tool is None or not tool.is_plain or state.is_limited or state.rounds == state.options.max_rounds:
        return None
    round_ = _Round(state, (call,))
    return RunTools(round_.invocations, round_.outcomes, round_.settle)


def _limit(state: RunState, count: int) -> RunLimitError | None:
    """Return the error for a limit that a round of ``count`` calls would break."""
    options = state.options
    if state.rounds == options.max_rounds:
        return ToolRoundsExceededError(options.max_rounds)
    if options.max_tool_calls is not None and state.calls + count > options.max_tool_calls:
        return ToolCallsExceededError(options.max_tool_calls)
    if options.max_tokens is not None and state.tokens > options.max_tokens:
        return TokensExceededError(options.max_tokens, state.tokens)
    if state.time_is_up:
        return TimeExceededError(options.max_seconds or 0.0)
    return None


class _Round:
    """The calls of one answer, what runs them, and what came of them.

    Attributes:
        invocations: what runs each call.
        tools: the tool of each call; None for one that was not shown.
        outcomes: what came of each call.
        is_plain: no tool needs a decision or is counted.
        failed_tool: the first tool that failed, in call order; None for none.
    """

    __slots__ = (
        "_aborted",
        "_calls",
        "_failed",
        "_recorders",
        "_refused",
        "_state",
        "failed_tool",
        "invocations",
        "is_plain",
        "outcomes",
        "tools",
    )

    def __init__(self, state: RunState, calls: Sequence[ToolCall]) -> None:
        self._state = state
        self._calls = calls
        self._refused: set[int] | None = None
        self._failed = False
        self._aborted: Aborted | None = None
        self._recorders: Sequence[Any] = ()
        self.failed_tool: str | None = None
        self.outcomes: list[Outcome] = [None] * len(calls)
        self.invocations: list[ToolInvocation] = []
        self.tools: list[ServiceTool | None] = []
        shown = state.tools.shown
        plain = True
        for call in calls:
            tool = shown.get(call.name)
            self.tools.append(tool)
            if tool is None:
                self.invocations.append(ToolInvocation(call, UnknownTool(tuple(shown))))
            else:
                plain = plain and tool.is_plain
                self.invocations.append(ToolInvocation(call, tool.executor, tool.timeout))
        self.is_plain = plain

    def waiting(self, cut: bool) -> tuple[ToolCall, ...]:
        """Return the calls that need a decision before they may run."""
        found = []
        for place, (call, tool) in enumerate(zip(self._calls, self.tools, strict=True)):
            if tool is None or (cut and place == len(self._calls) - 1):
                continue
            needs = tool.requires_approval
            if needs is True or (needs is not False and needs(call, self._state.context)):
                found.append(call)
        return tuple(found)

    def refuse(self, cut: bool, rejected: Mapping[int, str] | None) -> None:
        """Answer the calls that must not run, and count those that may."""
        if cut:
            self._refuse(len(self._calls) - 1, CUT_OFF)
        if rejected:
            for place, reason in rejected.items():
                self._refuse(place, reason)
        if not self.is_plain:
            self._refuse_uses()
        self._state.calls += len(self._calls) - len(self._refused or ())

    def refuse_all(self, text: str) -> None:
        """Answer all calls with one text."""
        for place in range(len(self._calls)):
            self._refuse(place, text)

    def _refuse(self, place: int, text: str) -> None:
        self.outcomes[place] = ToolExecutionResult(text, is_error=True)
        if self._refused is None:
            self._refused = set()
        self._refused.add(place)

    def _refuse_uses(self) -> None:
        """Refuse the calls of tools that have been used as often as they may."""
        uses = self._state.uses
        for place, tool in enumerate(self.tools):
            if tool is None or tool.max_uses is None or self.outcomes[place] is not None:
                continue
            used = uses.get(tool.name, 0)
            if used < tool.max_uses:
                uses[tool.name] = used + 1
                continue
            self._refuse(
                place,
                f"This call was not executed: tool {tool.name} may be used {tool.max_uses} time(s) here, "
                "and was.",
            )

    def settle(self, call: ToolCall, error: Exception) -> ToolExecutionResult:
        """Return the result that tells the model of an error, or raise to end the run."""
        return self._state.options.failures.settle(call, error, self._state.context)

    def record(self) -> None:
        """Let the calls that can be undone keep what that will need."""
        from fasttool.loop.compensation import recorded

        self._recorders = recorded(self._state, self.invocations, self.tools)

    @property
    def is_aborted(self) -> bool:
        """Whether a call ended the run."""
        return self._aborted is not None

    def steps(self, first: int) -> list[Step]:
        """Return what the calls did that can be undone.

        Args:
            first: the position that the first result has in the conversation of the run.
        """
        from fasttool.loop.compensation import Step

        found: list[Step] = []
        for place, recorded in enumerate(self._recorders):
            if recorded is None:
                continue
            recorder, compensation = recorded
            outcome = self.outcomes[place]
            result = outcome.result if isinstance(outcome, Aborted) else outcome
            succeeded = isinstance(result, ToolExecutionResult) and not result.is_error
            tool = self.tools[place]
            if tool is None or not (succeeded or (recorder.has_begun and not recorder.has_ended)):
                continue
            if not isinstance(result, ToolExecutionResult):
                result = ToolExecutionResult(INTERRUPTED, is_error=True)
            execution = ToolExecution(self.invocations[place].call, result)
            found.append(
                Step(tool, compensation, execution, recorder.bound, recorder.key, succeeded, first + place)
            )
        return found

    def results(self) -> list[Message]:
        """Return one result per call, and take note of what they say."""
        results: list[Message] = []
        executions = self._state.result.executions
        refused = self._refused
        for place, call in enumerate(self._calls):
            outcome = self.outcomes[place]
            if type(outcome) is Aborted:
                if self._aborted is None:
                    self._aborted = outcome
                    self._state.failed_tool = call.name
                self.failed_tool = self.failed_tool or call.name
                found = outcome.result or _ended_by(outcome.error)
                ran = outcome.result is not None
            elif isinstance(outcome, ToolExecutionResult):
                found, ran = outcome, refused is None or place not in refused
                if ran and found.is_error:
                    self.failed_tool = self.failed_tool or call.name
                if found.attributes:
                    self._show_found(found.attributes.get(FOUND_TOOLS))
            else:
                text = INTERRUPTED if outcome is STARTED else NOT_REACHED
                found, ran = ToolExecutionResult(text, is_error=True), False
            if ran:
                executions.append(ToolExecution(self.invocations[place].call, found))
            if found.is_error:
                self._failed = True
            results.append(
                ToolResultMessage(
                    call.id, call.name, found.text, found.is_error, found.contents, found.attributes
                )
            )
        return results

    def _show_found(self, names: Any) -> None:
        """Show the tools that a search has found."""
        if isinstance(names, (list, tuple)):
            state = self._state
            state.tools = state.tools.showing(name for name in names if isinstance(name, str))

    def ends_run(self) -> bool:
        """Say whether the run ends with the results.

        Raises:
            Exception: what a call was aborted by.
            ToolAttemptsExceededError: a tool has failed in as many rounds as it may.
        """
        if self._aborted is not None:
            raise self._aborted.error
        if not self.is_plain:
            self._count_failures()
        if self._failed:
            return False
        tool, outcome = self.tools[-1], self.outcomes[-1]
        if _behavior(tool, outcome) is _TO_LLM:
            return False  # the last one decides so alone, as it does most of the time
        behaviors = [_behavior(*pair) for pair in zip(self.tools, self.outcomes, strict=True)]
        return returns_immediately(behaviors, failed=False)

    def _count_failures(self) -> None:
        """Count the round for each tool that failed in it, once, however many of its calls did."""
        failed: dict[str, tuple[int, str]] = {}
        for tool, outcome in zip(self.tools, self.outcomes, strict=True):
            if tool is None or tool.max_attempts is None or not isinstance(outcome, ToolExecutionResult):
                continue
            if outcome.is_error:
                failed[tool.name] = (tool.max_attempts, outcome.text)
        failures = self._state.failures
        for name, (limit, reason) in failed.items():
            failures[name] = failures.get(name, 0) + 1
            if failures[name] >= limit:
                raise ToolAttemptsExceededError(name, limit, reason)


def _behavior(tool: ServiceTool | None, outcome: Outcome) -> ReturnBehavior:
    own = outcome.return_behavior if isinstance(outcome, ToolExecutionResult) else None
    if own is not None:
        return own
    return _TO_LLM if tool is None else tool.return_behavior


def _ended_by(error: Exception) -> ToolExecutionResult:
    """Return the result of a call whose error ended the run."""
    # What a hook or a handler of the application says is not for the model.
    known = isinstance(error, (ToolArgumentsError, ToolExecutionError, UnknownToolError))
    return ToolExecutionResult(str(error) if known else ENDED_HERE, is_error=True)
