"""Drive the loop: do what it asks for, one way for code that blocks, one for async code."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from fasttool.loop.effects import Aborted, CallModel, Effect, RunTools
from fasttool.loop.result import Result
from fasttool.messages import ToolCall
from fasttool.models.protocol import ChatModel
from fasttool.tools.executor import ToolExecutionResult, execution_result


def drive(machine: Generator[Effect, Any, Result[str]], model: ChatModel, context: Any = None) -> Result[str]:
    """Run a loop to its end, blocking.

    Args:
        machine: what ``run_loop`` returned.
        model: answers the requests.
        context: handed to every executor.
    """
    try:
        effect = next(machine)
        while True:
            try:
                outcome: Any = None
                if isinstance(effect, CallModel):
                    outcome = model.chat(effect.request)
                else:
                    _run_tools(effect, context)
            except BaseException as error:
                effect = machine.throw(error)
            else:
                effect = machine.send(outcome)
    except StopIteration as end:
        result: Result[str] = end.value
        return result


async def adrive(
    machine: Generator[Effect, Any, Result[str]], model: ChatModel, context: Any = None
) -> Result[str]:
    """Run a loop to its end, without blocking the event loop; see ``drive``."""
    try:
        effect = next(machine)
        while True:
            try:
                outcome: Any = None
                if isinstance(effect, CallModel):
                    outcome = await model.achat(effect.request)
                else:
                    await _arun_tools(effect, context)
            except BaseException as error:
                effect = machine.throw(error)
            else:
                effect = machine.send(outcome)
    except StopIteration as end:
        result: Result[str] = end.value
        return result


def _run_tools(effect: RunTools, context: Any) -> None:
    for invocation in effect.invocations:
        try:
            result: Any = invocation.executor.execute(invocation.call, context)
            if type(result) is not ToolExecutionResult:  # executors of users may give any value
                result = execution_result(invocation.call.name, result)
            effect.outcomes.append(result)
        except Exception as error:
            if not _settled(effect, invocation.call, error):
                return


async def _arun_tools(effect: RunTools, context: Any) -> None:
    for invocation in effect.invocations:
        try:
            result: Any = await invocation.executor.aexecute(invocation.call, context)
            if type(result) is not ToolExecutionResult:
                result = execution_result(invocation.call.name, result)
            effect.outcomes.append(result)
        except Exception as error:
            if not _settled(effect, invocation.call, error):
                return


def _settled(effect: RunTools, call: ToolCall, error: Exception) -> bool:
    """Write the outcome of a call that failed; return whether the round goes on."""
    try:
        effect.outcomes.append(effect.settle(call, error))
    except Exception as abort:
        effect.outcomes.append(Aborted(abort))
        return False
    return True
