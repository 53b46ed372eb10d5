"""What a run gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from fasttool.messages import ChatResponse, FinishReason, Message, TokenUsage
from fasttool.tools.executor import ToolExecution

if TYPE_CHECKING:
    from fasttool.loop.approval import PausedRun
    from fasttool.loop.compensation import Compensated

T = TypeVar("T")


@dataclass(slots=True)
class Result(Generic[T]):
    """What a run of the loop gave.

    Args:
        content: the model's answer; None where a tool's result was returned immediately, and in the
            partial result of a run that failed or waits.
        messages: the whole conversation, what was given or remembered included; each call has its one result.
        usage: tokens of all model calls; None where the model did not say.
        finish_reason: why the model stopped, the last time.
        executions: every call and its result, over all rounds, in order.
        responses: what the model answered, in order; the last one ended the run.
        compensations: what was undone, and what was not and why, in the order in which it was tried.
        paused: a run that waits for decisions on its last calls; None for one that has ended.
    """

    content: T | None = None
    messages: list[Message] = field(default_factory=list)
    usage: TokenUsage | None = None
    finish_reason: FinishReason | None = None
    executions: list[ToolExecution] = field(default_factory=list)
    responses: list[ChatResponse] = field(default_factory=list)
    compensations: list[Compensated] = field(default_factory=list)
    paused: PausedRun | None = None
