"""What the loop asks its driver to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fasttool.messages import ChatRequest, Message, ToolCall
from fasttool.tools.executor import ToolExecutionResult, ToolExecutor
from fasttool.tools.provider import ToolProvider, ToolProviderRequest


@dataclass(slots=True)
class ToolInvocation:
    """One call and what runs it.

    Args:
        call: what the model asked for.
        executor: what runs it.
        timeout: seconds that it may take; None for no limit.
    """

    call: ToolCall
    executor: ToolExecutor
    timeout: float | None = None


@dataclass(slots=True)
class Aborted:
    """The error of a call ends the run.

    Args:
        error: what is raised.
        result: what the call gave all the same; None for nothing.
    """

    error: Exception
    result: ToolExecutionResult | None = None


class Started:
    """The outcome of a call that has begun and has not ended."""

    __slots__ = ()


STARTED = Started()

Outcome = ToolExecutionResult | Aborted | Started | None


@dataclass(slots=True)
class RunTools:
    """Run the calls that have no outcome yet, and write the outcome of each into its slot.

    The driver puts ``STARTED`` into a slot before it begins, so that the loop knows what was done when
    the driver is interrupted.  After an ``Aborted`` it begins no further call.

    Args:
        invocations: one per call, in call order.
        outcomes: one slot per invocation.
        settle: turns what a call raised into a result for the model, or raises to abort.
    """

    invocations: list[ToolInvocation]
    outcomes: list[Outcome]
    settle: Callable[[ToolCall, Exception], ToolExecutionResult]


@dataclass(slots=True)
class CallModel:
    """Send the request; answer with the ChatResponse, or throw what kept it from coming.

    Args:
        request: what the model is asked.
        early: returns how a call is run that is complete before the answer is; None for one that has to wait.
    """

    request: ChatRequest
    early: Callable[[ToolCall], RunTools | None] | None = None


@dataclass(slots=True)
class ReadMemory:
    """Answer with the messages that the memory has for the model."""


@dataclass(slots=True)
class AddToMemory:
    """Add messages to the memory, all of them or none."""

    messages: Sequence[Message]


@dataclass(slots=True)
class ReplaceMemory:
    """Put messages in the place of those that the memory has for the model."""

    messages: Sequence[Message]


@dataclass(slots=True)
class Compensate:
    """Undo one execution, to its end also where the run is cancelled; answer with the result."""

    executor: ToolExecutor
    call: ToolCall


@dataclass(slots=True)
class AskProvider:
    """Answer with what a provider of tools gives."""

    provider: ToolProvider
    request: ToolProviderRequest


@dataclass(slots=True)
class CallFunction:
    """Answer with what a function of the application returns; it may block, or be async in an async run."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


Effect = (
    CallModel | RunTools | Compensate | ReadMemory | AddToMemory | ReplaceMemory | AskProvider | CallFunction
)

Answer = Any
"""What a driver sends back: a response, messages, tools or nothing."""
