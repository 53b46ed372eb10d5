"""What a run knows of itself while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fasttool.errors import TimeExceededError
from fasttool.loop.approval import PausedRun
from fasttool.loop.options import LoopOptions
from fasttool.loop.result import Result
from fasttool.messages import AiMessage, Message, ToolCall, UserMessage
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.service import ToolService, ToolServiceContext

if TYPE_CHECKING:
    from fasttool.loop.compensation import Step


class RunState:
    """The conversation, the tools and the counts of one run.

    Args:
        messages: the conversation so far, or what is new where there is a memory.
        service: what the model may call.
        options: how the run behaves.
        context: the invocation.

    Attributes:
        result: what the run has so far.
        new: what is to be added to the memory at the beginning.
        view: what the model is sent: the conversation, or what a memory has of it.
        tools: the tools of the moment.
        user_message: what the user said in this invocation, for providers.
        rounds: rounds that were run.
        calls: calls that were run.
        uses: calls of each tool whose uses are limited.
        failures: rounds in which each tool whose attempts are limited failed.
        deadline: when the time is up, by the clock of the options; None for never.
        is_limited: something but the rounds is limited.
        steps: what was done and can be undone, in order.
        failed_tool: the tool whose failure ended the run; None where something else did, or nothing.
    """

    __slots__ = (
        "_ids",
        "calls",
        "context",
        "deadline",
        "failed_tool",
        "failures",
        "has_memory",
        "is_limited",
        "listeners",
        "new",
        "options",
        "result",
        "rounds",
        "service",
        "steps",
        "tools",
        "user_message",
        "uses",
        "view",
    )

    def __init__(
        self,
        messages: Sequence[Message],
        service: ToolService,
        options: LoopOptions,
        context: InvocationContext,
    ) -> None:
        self.view: list[Message] = list(messages)
        self.result: Result[Any] = Result(None, self.view)
        self.has_memory = options.has_memory
        self.new: Sequence[Message] = messages if options.has_memory else ()
        self.service = service
        self.tools: ToolServiceContext = service.context()
        self.options = options
        self.listeners = options.listeners
        self.context = context
        self.rounds = 0
        self.calls = 0
        self.uses: dict[str, int] = {}
        self.failures: dict[str, int] = {}
        self.user_message: UserMessage | None = None
        self.is_limited = options.has_limits
        self.deadline: float | None = None
        if options.max_seconds is not None:
            self.deadline = options.clock() + options.max_seconds
        self.steps: list[Step] = []
        self.failed_tool: str | None = None
        self._ids: set[str] | None = None

    def take_up(self, paused: PausedRun) -> None:
        """Go on counting where a run has stopped."""
        self.rounds, self.calls = paused.rounds, paused.calls
        self.uses, self.failures = dict(paused.uses), dict(paused.failures)
        self.result.usage = paused.usage

    def paused(self, message: AiMessage, waiting: tuple[ToolCall, ...]) -> PausedRun:
        """Return what another process needs to go on.

        Args:
            message: has the calls of the round that waits.
            waiting: those of them that need a decision.
        """
        return PausedRun(
            list(self.result.messages),
            message,
            waiting,
            self.context.memory_id,
            self.rounds,
            self.calls,
            self.result.usage,
            dict(self.uses),
            dict(self.failures),
        )

    @property
    def tokens(self) -> int:
        """The tokens that all answers took."""
        usage = self.result.usage
        if usage is None:
            return 0
        if usage.total_tokens is not None:
            return usage.total_tokens
        return (usage.input_tokens or 0) + (usage.output_tokens or 0)

    @property
    def time_is_up(self) -> bool:
        """Whether the run has used up its time."""
        return self.deadline is not None and self.options.clock() > self.deadline

    def check_time(self) -> None:
        """Raise TimeExceededError where the time is up."""
        if self.time_is_up:
            raise TimeExceededError(self.options.max_seconds or 0.0)

    def with_unique_ids(self, message: AiMessage) -> AiMessage:
        """Give each call an id that no other call of the conversation has; good ids stay."""
        calls = message.tool_calls
        taken = self._ids
        if taken is None:
            taken = self._ids = {
                call.id
                for known in self.result.messages
                if isinstance(known, AiMessage)
                for call in known.tool_calls
            }
        given = {call.id for call in calls}
        if len(given) == len(calls) and "" not in given and None not in given and given.isdisjoint(taken):
            taken |= given
            return message
        renamed: list[ToolCall] = []
        for call in calls:
            if not call.id or call.id in taken:
                number = len(taken)
                while (label := f"call_{number}") in taken or label in given:
                    number += 1
                call = ToolCall(label, call.name, call.arguments)
            taken.add(call.id)
            renamed.append(call)
        return AiMessage(message.text, tuple(renamed), message.contents, message.attributes)
