"""Run the calls of a round without blocking the event loop: one after the other, or as tasks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fasttool.errors import ToolExecutionError, ToolTimeoutError
from fasttool.loop.calls import changed, settled, settled_hook
from fasttool.loop.effects import STARTED, Aborted, CallModel, RunTools, ToolInvocation
from fasttool.loop.events import ToolExecuted, ToolStarted, tell
from fasttool.loop.options import Execution
from fasttool.messages import ToolCall
from fasttool.tools.executor import ToolExecution, ToolExecutionResult, execution_result
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.threads import using

if TYPE_CHECKING:
    from fasttool.loop.telemetry import RunTrace

GRACE = 0.5
"""Seconds that cancelled calls have to clean up before the run goes on without them."""

_LEFT_BEHIND: set[asyncio.Future[Any]] = set()
"""Tasks that still clean up: held, so that they are not collected before they are done."""


async def arun_calls(
    effect: RunTools,
    context: InvocationContext,
    execution: Execution,
    listeners: Sequence[Any],
    early: EarlyCalls | None = None,
) -> None:
    """Do what ``RunTools`` asks for; see ``calls.run_calls``.

    Hooks may be async here; they are called in the task of the run, one at a time.

    Args:
        effect: the calls, and the slots for their outcomes.
        context: the invocation.
        execution: how calls are run.
        listeners: are told of each call.
        early: calls that have begun already.
    """
    if execution.is_plain and not listeners:
        outcomes = effect.outcomes
        for place, invocation in enumerate(effect.invocations):
            if outcomes[place] is not None:
                continue
            outcomes[place] = STARTED
            result = outcomes[place] = await _execute(effect, invocation, context, invocation.timeout)
            if type(result) is Aborted:
                return
        return
    calls: _Watched
    if early is not None or (execution.is_concurrent and effect.outcomes.count(None) > 1):
        calls = _AsTasks(effect, context, execution, listeners, early)
    else:
        calls = _Watched(effect, context, execution, listeners)
    if execution.executor is None:
        await calls.run()
    else:
        with using(execution.executor):
            await calls.run()


async def _execute(
    effect: RunTools, invocation: ToolInvocation, context: InvocationContext, timeout: float | None
) -> ToolExecutionResult | Aborted:
    """Run one call.

    Args:
        effect: the round that it belongs to.
        invocation: the call.
        context: the invocation of the service.
        timeout: seconds that are left for it; None for no limit.
    """
    call = invocation.call
    try:
        if timeout is None:
            result: Any = await invocation.executor.aexecute(call, context)
        else:
            if timeout <= 0 or not (task := await _waited(invocation, context, timeout)).done():
                raise ToolTimeoutError(call.name, invocation.timeout or 0.0)
            result = task.result()
        return result if type(result) is ToolExecutionResult else execution_result(call.name, result)
    except asyncio.CancelledError as error:
        task_of_run = asyncio.current_task()
        if task_of_run is not None and task_of_run.cancelling():
            raise
        failure = ToolExecutionError(call.name, f"Tool {call.name} cancelled itself.")
        failure.__cause__ = error
        return settled(effect, invocation, failure)
    except Exception as error:
        return settled(effect, invocation, error)


async def _waited(
    invocation: ToolInvocation, context: InvocationContext, timeout: float
) -> asyncio.Future[Any]:
    """Return the task of a call after the time that it may take; one that is not done is cancelled."""
    running: Awaitable[Any] = invocation.executor.aexecute(invocation.call, context)
    task = asyncio.ensure_future(running)
    try:
        await asyncio.wait((task,), timeout=timeout)
    finally:
        if not task.done():
            _leave_behind((task,))
    return task


def _leave_behind(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks and let them clean up on their own: what they do then may take for ever."""
    for task in tasks:
        task.cancel()
        _LEFT_BEHIND.add(task)
        task.add_done_callback(_forget)


def _forget(task: asyncio.Future[Any]) -> None:
    _LEFT_BEHIND.discard(task)
    if not task.cancelled():
        task.exception()  # looked at, so that asyncio does not report it as never retrieved


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

    async def run(self) -> None:
        for place, outcome in enumerate(self.effect.outcomes):
            if outcome is None and not self.aborted:
                invocation = self.effect.invocations[place]
                found = await self.begin(place)
                if found is None:
                    found = await _execute(self.effect, invocation, self.context, invocation.timeout)
                await self.finish(place, found)

    async def begin(self, place: int) -> ToolExecutionResult | Aborted | None:
        """Begin a call; return its outcome where it is known without running the tool."""
        self.effect.outcomes[place] = STARTED
        invocation = self.effect.invocations[place]
        tell(self.listeners, ToolStarted(invocation.call))
        before = self.execution.before_tool
        if before is None:
            return None
        try:
            said = before(invocation.call, self.context)
            return changed(invocation, await said if inspect.isawaitable(said) else said)
        except Exception as error:
            return settled_hook(self.effect, invocation, error)

    async def finish(self, place: int, outcome: ToolExecutionResult | Aborted) -> None:
        """Take the outcome of a call."""
        self.effect.outcomes[place] = outcome
        self.aborted = self.aborted or isinstance(outcome, Aborted)
        if not isinstance(outcome, ToolExecutionResult):
            return
        done = ToolExecution(self.effect.invocations[place].call, outcome)
        after = self.execution.after_tool
        if after is not None:
            try:
                said = after(done, self.context)
                if inspect.isawaitable(said):
                    await said
            except Exception as error:
                self.effect.outcomes[place] = Aborted(error, outcome)
                self.aborted = True
        tell(self.listeners, ToolExecuted(done))


class EarlyCalls:
    """Calls that begin while the model still speaks, each once the next one is complete.

    The last call of an answer does not begin early: whether the answer was cut off is known only at its end.

    Args:
        context: the invocation.
        listeners: are told of each call.
        trace: gives each call a span; None for none.
    """

    def __init__(
        self, context: InvocationContext, listeners: Sequence[Any], trace: RunTrace | None = None
    ) -> None:
        self._trace = trace
        self._context = context
        self._listeners = listeners
        self._held: tuple[int, ToolCall] | None = None
        self._running: dict[int, tuple[ToolCall, asyncio.Task[Any]]] = {}

    def complete(self, place: int, call: ToolCall, effect: CallModel) -> None:
        """Take a call that is complete, and begin the one before it."""
        if self._held is not None:
            held_place, held = self._held
            round_of_one = effect.early(held) if effect.early is not None else None
            if round_of_one is not None:
                if self._trace is not None:
                    self._trace.trace_calls(round_of_one)
                invocation = round_of_one.invocations[0]
                tell(self._listeners, ToolStarted(held))
                task = asyncio.create_task(
                    _execute(round_of_one, invocation, self._context, invocation.timeout)
                )
                self._running[held_place] = (held, task)
        self._held = (place, call)

    def take(self, place: int, call: ToolCall) -> asyncio.Task[Any] | None:
        """Return the task of a call that has begun; None for one that has not."""
        begun, task = self._running.get(place, (None, None))
        if begun is None or begun.name != call.name or begun.arguments != call.arguments:
            return None
        del self._running[place]
        return task

    def drop(self) -> None:
        """Cancel what has begun and was not taken."""
        _leave_behind(task for _, task in self._running.values() if not task.done())
        self._running.clear()
        self._held = None


class _AsTasks(_Watched):
    """The calls of one round as tasks, at the same time."""

    def __init__(
        self,
        effect: RunTools,
        context: InvocationContext,
        execution: Execution,
        listeners: Sequence[Any],
        early: EarlyCalls | None = None,
    ) -> None:
        super().__init__(effect, context, execution, listeners)
        self._early = early

    async def run(self) -> None:
        waiting = [place for place, outcome in enumerate(self.effect.outcomes) if outcome is None]
        waiting.reverse()
        limit = self.execution.max_concurrency or len(waiting)
        begun = asyncio.get_running_loop().time()
        running: dict[asyncio.Task[Any], int] = {}
        if self._early is not None:
            for place in list(waiting):
                task = self._early.take(place, self.effect.invocations[place].call)
                if task is not None:
                    self.effect.outcomes[place] = STARTED
                    running[task] = place
                    waiting.remove(place)
            self._early.drop()
        try:
            while True:
                while waiting and len(running) < limit and not self.aborted:
                    await self._start(waiting.pop(), running, begun)
                if self.aborted or not running:
                    return
                await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in [task for task in running if task.done()]:
                    await self.finish(running.pop(task), task.result())
        finally:
            if running:
                await self._stop(running)

    async def _start(self, place: int, running: dict[asyncio.Task[Any], int], begun: float) -> None:
        found = await self.begin(place)
        if found is not None:
            await self.finish(place, found)
            return
        invocation = self.effect.invocations[place]
        left = invocation.timeout
        if left is not None:  # the wait for a place among the running ones counts
            left -= asyncio.get_running_loop().time() - begun
        task = asyncio.create_task(_execute(self.effect, invocation, self.context, left))
        running[task] = place

    async def _stop(self, running: dict[asyncio.Task[Any], int]) -> None:
        """Cancel the calls that still run, and take what they give before they end."""
        for task in running:
            task.cancel()
        try:
            await asyncio.wait(running, timeout=GRACE)
        finally:
            for task, place in running.items():
                if not task.done():
                    _leave_behind((task,))
                elif not task.cancelled() and task.exception() is None:
                    self.effect.outcomes[place] = task.result()
