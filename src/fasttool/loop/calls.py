"""Run the calls of a round, blocking: one after the other, or in threads at the same time."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from fasttool.errors import ConfigurationError, RefuseTool, RetryTool, ToolTimeoutError
from fasttool.loop.effects import STARTED, Aborted, RunTools, ToolInvocation
from fasttool.loop.events import ToolExecuted, ToolStarted, tell
from fasttool.loop.options import Execution
from fasttool.messages import ToolCall
from fasttool.tools.executor import ToolExecution, ToolExecutionResult, execution_result
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.threads import submit, using

_PATIENCE = 0.05
"""Seconds to wait for a thread to begin a call before the waiting one runs it itself."""


def run_calls(
    effect: RunTools, context: InvocationContext, execution: Execution, listeners: Sequence[Any]
) -> None:
    """Do what ``RunTools`` asks for.

    Hooks and listeners are called in the thread of the run, one at a time.

    Args:
        effect: the calls, and the slots for their outcomes.
        context: the invocation.
        execution: how calls are run.
        listeners: are told of each call.
    """
    if execution.is_plain and not listeners:
        outcomes = effect.outcomes
        for place, invocation in enumerate(effect.invocations):
            if outcomes[place] is not None:
                continue
            outcomes[place] = STARTED
            run = _execute if invocation.timeout is None else _in_time
            result = outcomes[place] = run(effect, invocation, context)
            if type(result) is Aborted:
                return
        return
    for _ in call_steps(effect, context, execution, listeners):
        pass


def call_steps(
    effect: RunTools, context: InvocationContext, execution: Execution, listeners: Sequence[Any]
) -> Iterator[None]:
    """Do what ``run_calls`` does, and stop after each step for one who looks on."""
    kind = _InThreads if execution.is_concurrent and effect.outcomes.count(None) > 1 else _Watched
    calls = kind(effect, context, execution, listeners)
    if execution.executor is None:
        yield from calls.steps()
    else:
        with using(execution.executor):
            yield from calls.steps()


def settled(effect: RunTools, invocation: ToolInvocation, error: Exception) -> ToolExecutionResult | Aborted:
    """Return the outcome of a call that failed."""
    try:
        return effect.settle(invocation.call, error)
    except Exception as abort:
        return Aborted(abort)


def changed(invocation: ToolInvocation, said: Any) -> ToolExecutionResult | None:
    """Return the result that a ``before_tool`` hook gave instead of the tool; None where the tool runs."""
    if said is None:
        return None
    if isinstance(said, ToolCall):
        invocation.call = ToolCall(invocation.call.id, invocation.call.name, said.arguments)
        return None
    return execution_result(invocation.call.name, said)


def _execute(
    effect: RunTools, invocation: ToolInvocation, context: InvocationContext
) -> ToolExecutionResult | Aborted:
    try:
        result: Any = invocation.executor.execute(invocation.call, context)
        # The executors of users may give any value.
        return (
            result if type(result) is ToolExecutionResult else execution_result(invocation.call.name, result)
        )
    except Exception as error:
        return settled(effect, invocation, error)


def _in_time(
    effect: RunTools, invocation: ToolInvocation, context: InvocationContext
) -> ToolExecutionResult | Aborted:
    """Run one call in a thread, and no longer than it may take."""
    timeout = invocation.timeout
    if timeout is None:
        return _execute(effect, invocation, context)
    future = submit(_execute, effect, invocation, context)
    if not wait((future,), timeout).done:
        future.cancel()
        return settled(effect, invocation, ToolTimeoutError(invocation.call.name, timeout))
    outcome: ToolExecutionResult | Aborted = future.result()
    return outcome


class _Watched:
    """The calls of one round, one after the other, with hooks and listeners."""

    def __init__(
        self, effect: RunTools, context: InvocationContext, execution: Execution, listeners: Sequence[Any]
    ) -> None:
        self.effect = effect
        self.context = context
        self.execution = execution
        self.listeners = listeners
        self.aborted = False

    def steps(self) -> Iterator[None]:
        for place, outcome in enumerate(self.effect.outcomes):
            if outcome is None and not self.aborted:
                invocation = self.effect.invocations[place]
                tell(self.listeners, ToolStarted(invocation.call))
                yield
                found = self.begin(place)
                if found is None:
                    found = _in_time(self.effect, invocation, self.context)
                self.finish(place, found)
                yield

    def begin(self, place: int) -> ToolExecutionResult | Aborted | None:
        """Begin a call; return its outcome where it is known without running the tool."""
        self.effect.outcomes[place] = STARTED
        invocation = self.effect.invocations[place]
        before = self.execution.before_tool
        if before is None:
            return None
        try:
            return changed(invocation, _said(before(invocation.call, self.context), "before_tool"))
        except Exception as error:
            return settled_hook(self.effect, invocation, error)

    def finish(self, place: int, outcome: ToolExecutionResult | Aborted) -> None:
        """Take the outcome of a call."""
        self.effect.outcomes[place] = outcome
        self.aborted = self.aborted or isinstance(outcome, Aborted)
        if not isinstance(outcome, ToolExecutionResult):
            return
        done = ToolExecution(self.effect.invocations[place].call, outcome)
        after = self.execution.after_tool
        if after is not None:
            try:
                _said(after(done, self.context), "after_tool")
            except Exception as error:
                self.effect.outcomes[place] = Aborted(error, outcome)
                self.aborted = True
        tell(self.listeners, ToolExecuted(done))


def settled_hook(
    effect: RunTools, invocation: ToolInvocation, error: Exception
) -> ToolExecutionResult | Aborted:
    """Return the outcome of a call whose ``before_tool`` hook raised: a refusal, or the end of the run."""
    if isinstance(error, (RefuseTool, RetryTool)):
        return settled(effect, invocation, error)
    return Aborted(error)


def _said(value: Any, hook: str) -> Any:
    if inspect.iscoroutine(value):
        value.close()
        raise ConfigurationError(f"{hook} is async, and the run blocks: use the async way of running it.")
    return value


class _InThreads(_Watched):
    """The calls of one round in threads.

    The thread that waits runs a call itself that no other one begins: so runs inside of tools cannot wait for
    each other's threads for ever.
    """

    def steps(self) -> Iterator[None]:
        outcomes = self.effect.outcomes
        waiting = [place for place, outcome in enumerate(outcomes) if outcome is None]
        waiting.reverse()
        limit = self.execution.max_concurrency or len(waiting)
        running: dict[Future[Any], tuple[int, float | None]] = {}
        begun = time.monotonic()
        try:
            while True:
                while waiting and len(running) < limit and not self.aborted:
                    self._start(waiting.pop(), running, begun)
                yield
                if not running:
                    return
                self._collect(running)
        finally:
            for future, (place, _) in running.items():  # left early: what has not begun never does
                if future.cancel():
                    outcomes[place] = None

    def _start(self, place: int, running: dict[Future[Any], tuple[int, float | None]], begun: float) -> None:
        invocation = self.effect.invocations[place]
        tell(self.listeners, ToolStarted(invocation.call))
        found = self.begin(place)
        if found is not None:
            self.finish(place, found)
            return
        # The wait for a place among the running ones counts.
        deadline = None if invocation.timeout is None else begun + invocation.timeout
        future = submit(_execute, self.effect, invocation, self.context)
        running[future] = (place, deadline)

    def _collect(self, running: dict[Future[Any], tuple[int, float | None]]) -> None:
        """Take what has ended or has no time left; where there is nothing, run what no thread begins."""
        deadlines = [deadline for _, deadline in running.values() if deadline is not None]
        patience = _PATIENCE if any(not future.running() for future in running) else None
        if deadlines:
            left = max(0.0, min(deadlines) - time.monotonic())
            patience = left if patience is None else min(left, patience)
        done = wait(running, patience, FIRST_COMPLETED).done
        for future in done:
            place, _ = running.pop(future)
            self.finish(place, future.result())
        if done:
            return
        now = time.monotonic()
        for future, (place, deadline) in list(running.items()):
            invocation = self.effect.invocations[place]
            if deadline is not None and deadline <= now:
                del running[future]
                future.cancel()
                late = ToolTimeoutError(invocation.call.name, invocation.timeout or 0.0)
                self.finish(place, settled(self.effect, invocation, late))
            elif deadline is None and future.cancel():
                del running[future]
                self.finish(place, _execute(self.effect, invocation, self.context))
                return
