"""Drive the loop in code that blocks: do what it asks for."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fasttool.errors import ConfigurationError
from fasttool.loop.calls import run_calls
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
from fasttool.loop.options import Execution, LoopOptions
from fasttool.loop.result import Result
from fasttool.memory.protocol import ChatMemory
from fasttool.models.protocol import ChatModel
from fasttool.tools.invocation import InvocationContext

if TYPE_CHECKING:
    from fasttool.loop.telemetry import OpenTelemetry, RunTrace

Machine = Generator[Effect, Any, Result[Any]]


class Run:
    """What a driver works with.

    Args:
        machine: what ``run_loop`` returned.
        model: answers the requests.
        context: the invocation; handed to every executor.
        options: how the run behaves.
        execution: how calls are run.
        memory: the conversation; None where there is none.
        trace: the spans of the run; None where nobody wants them.
    """

    __slots__ = ("context", "execution", "machine", "memory", "model", "options", "trace")

    def __init__(
        self,
        machine: Machine,
        model: ChatModel,
        context: InvocationContext,
        options: LoopOptions,
        execution: Execution,
        memory: ChatMemory | None = None,
        trace: RunTrace | None = None,
    ) -> None:
        self.machine = machine
        self.model = model
        self.context = context
        self.options = options
        self.execution = execution
        self.memory = memory
        self.trace = trace


def traced(
    options: LoopOptions, model: ChatModel, telemetry: OpenTelemetry | None
) -> tuple[LoopOptions, ChatModel, RunTrace | None]:
    """Return what a run works with where spans are made of it.

    Raises:
        ConfigurationError: telemetry is something else.
    """
    if telemetry is None:
        return options, model, None
    if not callable(getattr(telemetry, "run", None)):
        raise ConfigurationError(f"telemetry must be an OpenTelemetry, got {type(telemetry).__name__}.")
    trace = telemetry.run(model)
    return replace(options, listeners=(*options.listeners, trace)), trace.model, trace


def drive(run: Run) -> Result[Any]:
    """Run a loop to its end, blocking."""
    if run.memory is None:
        return _drive(run)
    with run.memory.turn():
        return _drive(run)


def _drive(run: Run) -> Result[Any]:
    machine, model = run.machine, run.model
    try:
        effect = next(machine)
        while True:
            try:
                outcome = model.chat(effect.request) if type(effect) is CallModel else perform(run, effect)
            except BaseException as error:
                effect = machine.throw(error)
            else:
                effect = machine.send(outcome)
    except StopIteration as end:
        result: Result[Any] = end.value
        return result


def perform(run: Run, effect: Effect) -> Any:
    """Do anything but call the model."""
    if type(effect) is RunTools:
        if run.trace is not None:
            run.trace.trace_calls(effect)
        return run_calls(effect, run.context, run.execution, run.options.listeners)
    if isinstance(effect, AskProvider):
        return effect.provider.provide_tools(effect.request)
    if isinstance(effect, Compensate):
        return effect.executor.execute(effect.call, run.context)
    if isinstance(effect, CallFunction):
        said = effect.function(*effect.arguments)
        if inspect.isawaitable(said):
            if inspect.iscoroutine(said):
                said.close()
            name = getattr(effect.function, "__name__", "A hook")
            raise ConfigurationError(f"{name} is async, and the run blocks: use the async way of running it.")
        return said
    memory = run.memory
    assert memory is not None  # the machine was told that there is one
    if isinstance(effect, AddToMemory):
        return memory.add(*effect.messages)
    if isinstance(effect, ReadMemory):
        return memory.messages()
    if isinstance(effect, ReplaceMemory):
        return memory.replace(effect.messages)
    raise TypeError(f"{type(effect).__name__} is no effect that this driver knows")
