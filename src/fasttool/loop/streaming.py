"""A run that gives its events as they come: the same rules, driven for one who looks on."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from types import TracebackType
from typing import Any

from fasttool.errors import ConfigurationError, ModelResponseError
from fasttool.loop.calls import call_steps
from fasttool.loop.drivers import Run, perform
from fasttool.loop.effects import CallModel, Effect, RunTools
from fasttool.loop.events import RunEvent
from fasttool.loop.result import Result
from fasttool.models.protocol import stream_of
from fasttool.models.stream import ModelEvent, ResponseComplete, TextDelta

StreamEvent = RunEvent | ModelEvent
"""What a stream consists of: what the model says piece by piece, and what the run does."""


class TokenStream:
    """The events of a run, for ``for`` or ``async for``; they can be had once.

    The last event is ``RunCompleted`` or ``RunPaused``, with the result; or ``RunFailed``, after which the
    error is raised.  Leaving early ends the run: what runs is cancelled, and each call has its result.
    ``with`` and ``async with`` make sure of that at the end of a block.

    Args:
        start: returns the run, with a listener of the stream's own.
        hold_text: the model's text is not given piece by piece: it is not accepted yet.

    Attributes:
        result: the result, once the run has ended with one; None before.
    """

    def __init__(
        self, start: Callable[[Callable[[RunEvent], None]], Run], *, hold_text: bool = False
    ) -> None:
        self._events: deque[RunEvent] = deque()
        self._run = start(self._told)
        self.hold_text = hold_text
        self._woken: Callable[[], None] | None = None
        self._given: Callable[[], Any] | None = None
        self.result: Result[Any] | None = None

    def __iter__(self) -> Iterator[StreamEvent]:
        if self._run.execution.eager:
            raise ConfigurationError("A stream with eager calls is iterated over with async for.")
        events = self._stream()
        self._give(events)
        return events

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        from fasttool.loop.async_streaming import astream

        events = astream(self, self._run, self._events)
        self._give(events)
        return events

    def __enter__(self) -> TokenStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> TokenStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.aclose()

    def close(self) -> None:
        """End the run, if it has not ended."""
        events = self._given() if self._given is not None else None
        if isinstance(events, Generator):
            events.close()

    async def aclose(self) -> None:
        """End the run, if it has not ended."""
        events = self._given() if self._given is not None else None
        if isinstance(events, AsyncGenerator):
            await events.aclose()

    def on_event(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` whenever the run has told of an event."""
        self._woken = wake

    def _told(self, event: RunEvent) -> None:
        self._events.append(event)
        if self._woken is not None:
            self._woken()

    def _give(self, events: Any) -> None:
        if self._given is not None:
            raise ConfigurationError("The events of a stream can be had once: start another run.")
        # Not held: who stops looking drops the events, and the run ends with them.
        self._given = weakref.ref(events)

    def _stream(self) -> Generator[StreamEvent, None, None]:
        run = self._run
        if run.memory is None:
            yield from self._steps(run)
            return
        with run.memory.turn():
            yield from self._steps(run)

    def _steps(self, run: Run) -> Generator[StreamEvent, None, None]:
        machine = run.machine
        try:
            effect = next(machine)
            while True:
                try:
                    yield from self._flush()
                    outcome = yield from self._outcome(run, effect)
                except GeneratorExit as error:
                    _end(run, error)
                except BaseException as error:
                    effect = machine.throw(error)
                else:
                    effect = machine.send(outcome)
        except StopIteration as end:
            self.result = end.value
        except Exception:
            yield from self._flush()
            raise
        yield from self._flush()

    def _flush(self) -> Generator[RunEvent, None, None]:
        while self._events:
            yield self._events.popleft()

    def _outcome(self, run: Run, effect: Effect) -> Generator[StreamEvent, None, Any]:
        if type(effect) is CallModel:
            return (yield from _answer(run, effect, self.hold_text))
        if type(effect) is not RunTools:
            return perform(run, effect)
        if run.trace is not None:
            run.trace.trace_calls(effect)
        for _ in call_steps(effect, run.context, run.execution, run.options.listeners):
            yield from self._flush()
        return None


def _answer(run: Run, effect: CallModel, hold_text: bool) -> Generator[StreamEvent, None, Any]:
    events = stream_of(run.model, effect.request)
    response = None
    try:
        for event in events:
            if isinstance(event, ResponseComplete):
                response = event.response
            elif not (hold_text and isinstance(event, TextDelta)):
                yield event
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()
    if response is None:
        raise ModelResponseError("The model's stream ended without an answer.")
    return response


def _end(run: Run, error: BaseException) -> None:
    """Throw an error into the machine and do what it still asks for; its error comes out."""
    effect = run.machine.throw(error)
    while True:
        effect = run.machine.send(perform(run, effect))
