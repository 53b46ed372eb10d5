"""A run that gives its events as they come, without blocking the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from fasttool.errors import ModelResponseError
from fasttool.loop.async_calls import EarlyCalls, arun_calls
from fasttool.loop.async_drivers import aperform, turn
from fasttool.loop.drivers import Run
from fasttool.loop.effects import CallModel, Effect, RunTools
from fasttool.loop.events import RunEvent
from fasttool.messages import ChatResponse
from fasttool.models.protocol import astream_of
from fasttool.models.stream import ResponseComplete, TextDelta, ToolCallComplete

if TYPE_CHECKING:
    from fasttool.loop.streaming import StreamEvent, TokenStream


async def astream(stream: TokenStream, run: Run, told: deque[RunEvent]) -> AsyncGenerator[StreamEvent, None]:
    """Give the events of a run.

    Args:
        stream: gets the result.
        run: what is driven.
        told: events that the run has told of.
    """
    machine = run.machine
    async with turn(run) as clock:
        looking_on = _LookingOn(stream, run, told)
        try:
            effect = next(machine)
            while True:
                try:
                    while told:
                        yield told.popleft()
                    async with aclosing(looking_on.events(effect)) as events:
                        async for event in events:
                            yield event
                    outcome = looking_on.outcome
                except GeneratorExit as error:
                    await _end(run, error)
                except BaseException as error:
                    effect = machine.throw(clock.cause(error))
                else:
                    effect = machine.send(outcome)
        except StopIteration as end:
            stream.result = end.value
        except Exception:
            while told:
                yield told.popleft()
            raise
        finally:
            looking_on.drop()
        while told:
            yield told.popleft()


class _LookingOn:
    """Does what the machine asks for, and gives the events of that.

    Attributes:
        outcome: what the machine is answered.
    """

    def __init__(self, stream: TokenStream, run: Run, told: deque[RunEvent]) -> None:
        self._stream = stream
        self._run = run
        self._told = told
        self._early: EarlyCalls | None = None
        if run.execution.eager:
            self._early = EarlyCalls(run.context, run.options.listeners, run.trace)
        self.outcome: object = None

    async def events(self, effect: Effect) -> AsyncGenerator[StreamEvent, None]:
        self.outcome = None
        if type(effect) is CallModel:
            inner = self._answer(effect)
        elif type(effect) is RunTools:
            inner = self._calls(effect)
        else:
            self.outcome = await aperform(self._run, effect)
            return
        async with aclosing(inner):
            async for event in inner:
                yield event
                while self._told:
                    yield self._told.popleft()

    def drop(self) -> None:
        """Cancel what has begun early and belongs to no round."""
        if self._early is not None:
            self._early.drop()

    async def _answer(self, effect: CallModel) -> AsyncGenerator[StreamEvent, None]:
        response: ChatResponse | None = None
        async with aclosing(astream_of(self._run.model, effect.request)) as events:
            async for event in events:
                if isinstance(event, ResponseComplete):
                    response = event.response
                    continue
                if self._early is not None and isinstance(event, ToolCallComplete):
                    self._early.complete(event.index, event.call, effect)
                if not (self._stream.hold_text and isinstance(event, TextDelta)):
                    yield event
        if response is None:
            raise ModelResponseError("The model's stream ended without an answer.")
        self.outcome = response

    async def _calls(self, effect: RunTools) -> AsyncGenerator[StreamEvent, None]:
        run, told = self._run, self._told
        if run.trace is not None:
            run.trace.trace_calls(effect)
        calls = asyncio.ensure_future(
            arun_calls(effect, run.context, run.execution, run.options.listeners, self._early)
        )
        try:
            while not calls.done():
                changed = asyncio.Event()
                self._stream.on_event(changed.set)
                if not told:
                    waker = asyncio.ensure_future(changed.wait())
                    try:
                        await asyncio.wait((calls, waker), return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        waker.cancel()
                while told:
                    yield told.popleft()
        finally:
            if not calls.done():
                calls.cancel()
                await asyncio.wait((calls,))
        calls.result()


async def _end(run: Run, error: BaseException) -> None:
    """Throw an error into the machine and do what it still asks for; its error comes out."""
    effect = run.machine.throw(error)
    while True:
        effect = run.machine.send(await aperform(run, effect))
