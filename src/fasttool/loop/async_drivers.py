"""Drive the loop without blocking the event loop: do what it asks for."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable
from typing import Any

from fasttool.errors import TimeExceededError
from fasttool.loop.async_calls import arun_calls
from fasttool.loop.drivers import Run
from fasttool.loop.effects import (
    AddToMemory,
    AskProvider,
    CallFunction,
    CallModel,
    Compensate,
    Effect,
    ReadMemory,
    ReplaceMemory,
    RunTools,
)
from fasttool.loop.result import Result
from fasttool.tools.signature import is_async_callable
from fasttool.tools.threads import in_thread


class Clock:
    """Ends a run that takes too long.

    Args:
        timer: is running; None where there is no limit.
        seconds: the limit.
    """

    __slots__ = ("_seconds", "_timer")

    def __init__(self, timer: asyncio.Timeout | None = None, seconds: float = 0.0) -> None:
        self._timer = timer
        self._seconds = seconds

    def cause(self, error: BaseException) -> BaseException:
        """Return what an error is for the run: the cancellation by the timer is the end of its time."""
        if isinstance(error, asyncio.CancelledError) and self._timer is not None and self._timer.expired():
            return TimeExceededError(self._seconds)
        return error


_ENDLESS = Clock()


async def adrive(run: Run) -> Result[Any]:
    """Run a loop to its end; see ``drivers.drive``."""
    if run.memory is None and run.options.max_seconds is None:
        return await _adrive(run, _ENDLESS)
    async with turn(run) as clock:
        return await _adrive(run, clock)


@contextlib.asynccontextmanager
async def turn(run: Run) -> AsyncIterator[Clock]:
    """Keep other turns on the conversation out, and the time of the run."""
    seconds = run.options.max_seconds
    async with contextlib.AsyncExitStack() as stack:
        clock = _ENDLESS
        if seconds is not None:
            try:
                clock = Clock(await stack.enter_async_context(asyncio.timeout(seconds)), seconds)
                if run.memory is not None:
                    await stack.enter_async_context(run.memory.aturn())
            except asyncio.CancelledError as error:
                raise clock.cause(error) from None
        elif run.memory is not None:
            await stack.enter_async_context(run.memory.aturn())
        yield clock


async def _adrive(run: Run, clock: Clock) -> Result[Any]:
    machine, model = run.machine, run.model
    try:
        effect = next(machine)
        while True:
            try:
                outcome: Any
                if type(effect) is CallModel:
                    outcome = await model.achat(effect.request)
                else:
                    outcome = await aperform(run, effect)
            except BaseException as error:
                effect = machine.throw(clock.cause(error))
            else:
                effect = machine.send(outcome)
    except StopIteration as end:
        result: Result[Any] = end.value
        return result


async def aperform(run: Run, effect: Effect) -> Any:
    """Do anything but call the model."""
    if type(effect) is RunTools:
        if run.trace is not None:
            run.trace.trace_calls(effect)
        return await arun_calls(effect, run.context, run.execution, run.options.listeners)
    if isinstance(effect, AskProvider):
        provide = getattr(effect.provider, "aprovide_tools", None)
        if provide is not None:
            return await provide(effect.request)
        return effect.provider.provide_tools(effect.request)
    if isinstance(effect, Compensate):
        return await _to_its_end(effect.executor.aexecute(effect.call, run.context))
    if isinstance(effect, CallFunction):
        if is_async_callable(effect.function):
            return await effect.function(*effect.arguments)
        said = await in_thread(effect.function, *effect.arguments)
        return await said if inspect.isawaitable(said) else said
    memory = run.memory
    assert memory is not None  # the machine was told that there is one
    if isinstance(effect, AddToMemory):
        return await memory.aadd(*effect.messages)
    if isinstance(effect, ReadMemory):
        return await memory.amessages()
    if isinstance(effect, ReplaceMemory):
        return await memory.areplace(effect.messages)
    raise TypeError(f"{type(effect).__name__} is no effect that this driver knows")


async def _to_its_end(awaitable: Awaitable[Any]) -> Any:
    """Await something that must not be left half done; a cancellation meanwhile is kept for afterwards."""
    task = asyncio.ensure_future(awaitable)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            cancelled = True
    current = asyncio.current_task()
    if cancelled and current is not None:
        current.cancel()
    return task.result()
