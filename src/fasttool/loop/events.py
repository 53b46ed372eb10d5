"""What a run tells those who listen, and what a stream of a run consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fasttool.loop.result import Result
from fasttool.messages import ChatRequest, ChatResponse, ToolCall
from fasttool.tools.executor import ToolExecution
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.service import logger

if TYPE_CHECKING:
    from fasttool.loop.compensation import Compensated


@dataclass(slots=True, frozen=True)
class RunStarted:
    """A run begins."""

    context: InvocationContext


@dataclass(slots=True, frozen=True)
class RequestIssued:
    """The model is about to be asked."""

    request: ChatRequest


@dataclass(slots=True, frozen=True)
class ResponseReceived:
    """The model answered; with calls of tools it is an intermediate answer."""

    response: ChatResponse


@dataclass(slots=True, frozen=True)
class ToolStarted:
    """A call begins."""

    call: ToolCall


@dataclass(slots=True, frozen=True)
class ToolExecuted:
    """A call has its result, an error among them."""

    execution: ToolExecution


@dataclass(slots=True, frozen=True)
class ToolCompensated:
    """What a call did was undone, or could not be."""

    compensated: Compensated


@dataclass(slots=True, frozen=True)
class RunPaused:
    """The run waits for decisions; ``result.paused`` is what to resume."""

    result: Result[Any]


@dataclass(slots=True, frozen=True)
class RunCompleted:
    """The run has ended with a result."""

    result: Result[Any]


@dataclass(slots=True, frozen=True)
class RunFailed:
    """The run has ended with an error; the partial result, if there is one, is in ``error.result``."""

    error: BaseException


RunEvent = (
    RunStarted
    | RequestIssued
    | ResponseReceived
    | ToolStarted
    | ToolExecuted
    | ToolCompensated
    | RunPaused
    | RunCompleted
    | RunFailed
)

Listener = Callable[[RunEvent], None]
"""Is told of each event, in the thread of the run; what it raises is logged and hurts nothing."""


def tell(listeners: Sequence[Listener], event: RunEvent) -> None:
    """Tell listeners of an event."""
    for listener in listeners:
        try:
            listener(event)
        except Exception:
            logger.exception("A listener failed on %s", type(event).__name__)
