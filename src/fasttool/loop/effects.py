"""What the loop asks its driver to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fasttool.messages import ChatRequest, ToolCall
from fasttool.tools.executor import ToolExecutionResult, ToolExecutor


@dataclass(slots=True)
class CallModel:
    """Send the request; answer with the ChatResponse, or throw what kept it from coming."""

    request: ChatRequest


@dataclass(slots=True)
class ToolInvocation:
    """One call and what runs it."""

    call: ToolCall
    executor: ToolExecutor


@dataclass(slots=True)
class RunTools:
    """Run the calls in order and append one outcome each to ``outcomes``.

    The driver stops after an ``Aborted``.  It appends as it goes, so that the loop knows what was
    done when the driver is interrupted.

    Args:
        invocations: what to run, in call order.
        settle: turns what an executor raised into a result for the model, or raises to abort.
        outcomes: one per finished invocation, in call order; filled by the driver.
    """

    invocations: list[ToolInvocation]
    settle: Callable[[ToolCall, Exception], ToolExecutionResult]
    outcomes: list[ToolExecutionResult | Aborted] = field(default_factory=list)


@dataclass(slots=True)
class Aborted:
    """The error of a call ends the run."""

    error: Exception


Effect = CallModel | RunTools
