"""The rules of the loop live here and only here.

The machine is a generator: it yields effects and is sent their outcomes.  It does no I/O and does
not know who drives it.

* A request holds the conversation so far and the tools of the invocation.
* A response without calls ends the run.
* Calls get unique ids on entry; after that a call is a slot, and ids are only labels.
* Each call gets exactly one result, in call order, whatever happens; so the conversation is
  well-formed at every point where the run can end.
* N rounds of calls are allowed; the response that asks for one more is answered with refusals.
* A response that was cut off (``length``) does not run its last call; one that was withheld
  (``content_filter``) runs none and is not kept.
* The results of a round end the run if they are for the caller (``returns``).
* A tool choice of the caller holds for the first request only: repeated, it would never end.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fasttool.errors import (
    ConfigurationError,
    FastToolError,
    ModelResponseError,
    ToolRoundsExceededError,
)
from fasttool.loop.effects import Aborted, CallModel, Effect, RunTools, ToolInvocation
from fasttool.loop.failures import FailurePolicies, UnknownTool
from fasttool.loop.result import Result, ToolExecution
from fasttool.loop.returns import returns_immediately
from fasttool.messages import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    Message,
    ToolCall,
    ToolChoice,
    ToolResultMessage,
)
from fasttool.specification import ReturnBehavior
from fasttool.tools.executor import ToolExecutionResult, ToolExecutor
from fasttool.tools.service import ToolServiceContext

CUT_OFF = "This call was not executed: the answer was cut off at the output limit before it was complete."
NOT_REACHED = "This call was not executed: the run ended at an earlier call."
INTERRUPTED = "This call was interrupted; whether it took effect is not known."
NO_MORE_ROUNDS = "This call was not executed: the limit of rounds with tool calls is reached."

# In Python 3.11, finding a member of an enum takes longer than all else in a comparison with it.
_TO_LLM = ReturnBehavior.TO_LLM
_CUT_OFF_AT_LIMIT = FinishReason.LENGTH
_WITHHELD = FinishReason.CONTENT_FILTER


@dataclass(slots=True, frozen=True)
class LoopOptions:
    """How a run behaves.

    Args:
        max_rounds: rounds with tool calls that are allowed.
        tool_choice: for the first request; see ChatRequest.
        parameters: for every request; see ChatRequest.
        failures: what happens when a call fails.

    Raises:
        ConfigurationError: max_rounds is not a whole number of 0 or more.
    """

    max_rounds: int = 100
    tool_choice: ToolChoice | str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    failures: FailurePolicies = field(default_factory=FailurePolicies)

    def __post_init__(self) -> None:
        if not isinstance(self.max_rounds, int) or isinstance(self.max_rounds, bool) or self.max_rounds < 0:
            raise ConfigurationError(
                f"max_rounds must be a whole number of 0 or more, got {self.max_rounds!r}."
            )


def run_loop(
    messages: Sequence[Message], tools: ToolServiceContext, options: LoopOptions
) -> Generator[Effect, Any, Result[str]]:
    """Yield effects until the model answers, and return the result.

    Args:
        messages: the conversation so far; not changed.
        tools: what the model may call.
        options: how the run behaves.

    Raises:
        FastToolError: the run failed; ``result`` of the error is the partial result.
    """
    return _Run(messages, tools, options).steps()


class _Run:
    __slots__ = ("_ids", "_options", "_tools", "result")

    def __init__(self, messages: Sequence[Message], tools: ToolServiceContext, options: LoopOptions) -> None:
        self.result: Result[str] = Result(None, list(messages))
        self._tools = tools
        self._options = options
        self._ids: set[str] | None = None

    def steps(self) -> Generator[Effect, Any, Result[str]]:
        result, options = self.result, self._options
        tool_choice = options.tool_choice
        rounds = 0
        try:
            while True:
                response: ChatResponse = yield CallModel(
                    ChatRequest(
                        tuple(result.messages), self._tools.effective_tools, tool_choice, options.parameters
                    )
                )
                if tool_choice is not None and tool_choice is not ToolChoice.NONE:
                    tool_choice = None
                self._note(response)
                message = response.message
                if response.finish_reason is _WITHHELD and not message.tool_calls and not message.text:
                    raise ModelResponseError("The model's answer was withheld by a content filter.")
                if not message.tool_calls:
                    result.messages.append(message)
                    result.content = message.text
                    return result
                if response.finish_reason is _WITHHELD:
                    raise ModelResponseError(
                        "The model's answer was withheld by a content filter; "
                        "its tool calls were not executed."
                    )
                message = self._with_unique_ids(message)
                calls = message.tool_calls
                result.messages.append(message)
                if rounds == options.max_rounds:
                    self._answer(calls, [], [NO_MORE_ROUNDS] * len(calls))
                    raise ToolRoundsExceededError(options.max_rounds)
                rounds += 1
                cut = response.finish_reason is _CUT_OFF_AT_LIMIT
                if (yield from self._round(calls, cut=cut)):
                    return result
        except FastToolError as error:
            error.result = result
            raise

    def _round(self, calls: tuple[ToolCall, ...], *, cut: bool) -> Generator[Effect, Any, bool]:
        """Run the calls of one response; return whether their results end the run."""
        running = calls[:-1] if cut else calls
        effect = RunTools(
            [ToolInvocation(call, self._executor(call)) for call in running], self._options.failures.settle
        )
        try:
            if running:
                yield effect
        except BaseException:
            # The calls that finished keep their results, and the conversation stays well-formed.
            self._answer(calls, effect.outcomes, [INTERRUPTED])
            raise
        complete = len(effect.outcomes) == len(running)
        failed = self._answer(calls, effect.outcomes, [CUT_OFF] if cut and complete else [])
        for outcome in effect.outcomes:
            if isinstance(outcome, Aborted):
                raise outcome.error
        return not failed and returns_immediately(self._behaviors(calls), failed=False)

    def _executor(self, call: ToolCall) -> ToolExecutor:
        executor = self._tools.executors.get(call.name)
        if executor is None:
            return UnknownTool([specification.name for specification in self._tools.effective_tools])
        return executor

    def _answer(
        self,
        calls: Sequence[ToolCall],
        outcomes: Sequence[ToolExecutionResult | Aborted],
        missing: Sequence[str],
    ) -> bool:
        """Write one result per call; return whether any is an error.

        Args:
            calls: the calls of the round.
            outcomes: what the first of them gave.
            missing: texts for the next ones; those that remain were not reached.
        """
        failed = False
        done = len(outcomes)
        executions, messages = self.result.executions, self.result.messages
        for index, call in enumerate(calls):
            outcome = outcomes[index] if index < done else None
            if isinstance(outcome, ToolExecutionResult):
                executions.append(ToolExecution(call, outcome))
                found = outcome
            elif outcome is None:
                place = index - done
                found = ToolExecutionResult(
                    missing[place] if place < len(missing) else NOT_REACHED, is_error=True
                )
            else:
                found = ToolExecutionResult(str(outcome.error), is_error=True)
            failed = failed or found.is_error
            messages.append(
                ToolResultMessage(
                    call.id, call.name, found.text, found.is_error, found.contents, found.attributes
                )
            )
        return failed

    def _behaviors(self, calls: Sequence[ToolCall]) -> list[ReturnBehavior]:
        own = self._tools.return_behaviors
        return [
            execution.result.return_behavior or own.get(execution.call.name, _TO_LLM)
            for execution in self.result.executions[-len(calls) :]
        ]

    def _note(self, response: ChatResponse) -> None:
        result = self.result
        result.responses.append(response)
        if response.usage is not None:
            result.usage = response.usage + result.usage
        result.finish_reason = response.finish_reason

    def _with_unique_ids(self, message: AiMessage) -> AiMessage:
        """Give each call an id that no other call of the conversation has; good ids stay."""
        if self._ids is None:
            self._ids = set()
            for known in self.result.messages:
                if isinstance(known, AiMessage):
                    self._ids.update(call.id for call in known.tool_calls)
        taken = self._ids
        given = {call.id for call in message.tool_calls}
        if len(given) == len(message.tool_calls) and all(given) and given.isdisjoint(taken):
            taken |= given
            return message
        calls: list[ToolCall] = []
        for call in message.tool_calls:
            if not call.id or call.id in taken:
                number = len(taken)
                while (label := f"call_{number}") in taken or label in given:
                    number += 1
                call = ToolCall(label, call.name, call.arguments)
            taken.add(call.id)
            calls.append(call)
        return AiMessage(message.text, tuple(calls), message.contents, message.attributes)
