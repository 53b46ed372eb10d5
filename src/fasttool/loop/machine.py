"""The rules of the loop live here and only here.

The machine is a generator: it yields effects and is sent their outcomes.  It does no I/O and does
not know who drives it.

* A request holds the conversation so far and the tools of the moment.
* A response without calls ends the run.
* Calls get unique ids on entry; after that a call is a slot, and ids are only labels.
* Each call gets exactly one result, in call order, whatever happens; so the conversation is
  well-formed at every point where the run can end.
* N rounds of calls are allowed; the response that asks for one more is answered with refusals.  The
  other limits are kept in the same way.
* A response that was cut off (``length``) does not run its last call; one that was withheld
  (``content_filter``) runs none and is not kept.
* A round with a call that needs a decision waits: none of its calls has run, and its message is kept
  only when the run goes on.
* The results of a round end the run if they are for the caller (``returns``).
* A tool choice of the caller holds for the first request only: repeated, it would never end.
* Tools never go within a run; a tool that was not shown does not run.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from fasttool.errors import (
    ConfigurationError,
    FastToolError,
    ModelResponseError,
    RunLimitError,
    TimeExceededError,
    TokensExceededError,
    ToolArgumentsError,
    ToolAttemptsExceededError,
    ToolCallsExceededError,
    ToolExecutionError,
    ToolRoundsExceededError,
    UnknownToolError,
)
from fasttool.loop.approval import Decision, PausedRun, decided
from fasttool.loop.effects import (
    STARTED,
    Aborted,
    AddToMemory,
    AskProvider,
    CallModel,
    Effect,
    Outcome,
    ReadMemory,
    RunTools,
    ToolInvocation,
)
from fasttool.loop.events import (
    RequestIssued,
    ResponseReceived,
    RunCompleted,
    RunEvent,
    RunFailed,
    RunPaused,
    RunStarted,
    tell,
)
from fasttool.loop.failures import UnknownTool
from fasttool.loop.options import LoopOptions
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
    UserMessage,
)
from fasttool.specification import ReturnBehavior
from fasttool.tools.executor import ToolExecutionResult
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.provider import ToolProviderRequest
from fasttool.tools.service import ToolService, ToolServiceContext, provided_tools, taken
from fasttool.tools.service_tool import ServiceTool

CUT_OFF = "This call was not executed: the answer was cut off at the output limit before it was complete."
NOT_REACHED = "This call was not executed: the run ended at an earlier call."
ENDED_HERE = "The run ended with an error at this call."
INTERRUPTED = "This call was interrupted; whether it took effect is not known."
NO_MORE_ROUNDS = "This call was not executed: the limit of rounds with tool calls is reached."
LIMIT_REACHED = "This call was not executed: a limit of the run is reached."

FOUND_TOOLS = "found_tools"
"""The attribute of a result that names tools to show from then on; stored with the conversation."""

# In Python 3.11, finding a member of an enum takes longer than all else in a comparison with it.
_TO_LLM = ReturnBehavior.TO_LLM
_CUT_OFF_AT_LIMIT = FinishReason.LENGTH
_WITHHELD = FinishReason.CONTENT_FILTER


def run_loop(
    messages: Sequence[Message],
    service: ToolService,
    options: LoopOptions,
    context: InvocationContext | None = None,
    *,
    is_part: bool = False,
) -> Generator[Effect, Any, Result[Any]]:
    """Yield effects until the model answers, and return the result.

    Args:
        messages: the conversation so far, or what is new where there is a memory; not changed.
        service: what the model may call.
        options: how the run behaves.
        context: the invocation.
        is_part: it is part of something larger, which tells of its beginning and its end.

    Raises:
        FastToolError: the run failed; ``result`` of the error is the partial result.
    """
    run = _Run(messages, service, options, context or InvocationContext())
    return run.steps() if is_part else bounded(run.steps(), options, run.context)


def resume_loop(
    paused: PausedRun,
    decisions: Mapping[str, Decision],
    service: ToolService,
    options: LoopOptions,
    context: InvocationContext,
) -> Generator[Effect, Any, Result[Any]]:
    """Do what ``run_loop`` does, from where a run waits.

    Args:
        paused: the run.
        decisions: what is decided, by the id of each call that waits.
        service: what the model may call.
        options: how the run behaves.
        context: the invocation.

    Raises:
        ConfigurationError: the decisions are not those that are waited for.
    """
    message, rejected = decided(paused, decisions)
    run = _Run([] if options.has_memory else paused.messages, service, options, context)
    run.take_up(paused)
    return bounded(run.steps(message, rejected), options, context)


def bounded(
    steps: Generator[Effect, Any, Result[Any]], options: LoopOptions, context: InvocationContext
) -> Generator[Effect, Any, Result[Any]]:
    """Return steps that tell of their beginning and their end; the steps themselves where nobody listens."""
    return _told(steps, options, context) if options.listeners else steps


def _told(
    steps: Generator[Effect, Any, Result[Any]], options: LoopOptions, context: InvocationContext
) -> Generator[Effect, Any, Result[Any]]:
    tell(options.listeners, RunStarted(context))
    try:
        result = yield from steps
    except BaseException as error:  # a cancellation ends a run as well
        tell(options.listeners, RunFailed(error))
        raise
    tell(options.listeners, RunCompleted(result) if result.paused is None else RunPaused(result))
    return result


class _Run:
    __slots__ = (
        "_calls",
        "_deadline",
        "_failures",
        "_ids",
        "_new",
        "_options",
        "_rounds",
        "_service",
        "_tools",
        "_user_message",
        "_uses",
        "_view",
        "context",
        "result",
    )

    def __init__(
        self,
        messages: Sequence[Message],
        service: ToolService,
        options: LoopOptions,
        context: InvocationContext,
    ) -> None:
        self.result: Result[Any] = Result(None, list(messages))
        self._new: Sequence[Message] = messages if options.has_memory else ()
        self._view: list[Message] = self.result.messages
        """What the model is sent: the conversation, or what a memory has of it."""
        self._service = service
        self._tools: ToolServiceContext = service.context()
        self._options = options
        self.context = context
        self._ids: set[str] | None = None
        self._rounds = 0
        self._calls = 0
        self._uses: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        self._user_message: UserMessage | None = None
        seconds = options.max_seconds
        self._deadline = None if seconds is None else options.clock() + seconds

    def take_up(self, paused: PausedRun) -> None:
        """Go on counting where a run has stopped."""
        self._rounds, self._calls = paused.rounds, paused.calls
        self._uses, self._failures = dict(paused.uses), dict(paused.failures)
        self.result.usage = paused.usage

    def steps(
        self, waiting: AiMessage | None = None, rejected: Mapping[int, str] | None = None
    ) -> Generator[Effect, Any, Result[Any]]:
        """Run to the end.

        Args:
            waiting: a message whose calls were decided on, to begin with.
            rejected: the texts for those of its calls that must not run, by place.
        """
        result, options = self.result, self._options
        tool_choice = options.tool_choice
        service = self._service
        try:
            if options.has_memory:
                yield from self._recall()
            if not service.is_fixed:
                self._user_message = self._last_user_message()
                yield from self._assemble()
            if waiting is not None and (yield from self._round(waiting, False, rejected or {})):
                return result
            first = True
            while True:
                if service.dynamic_providers:
                    yield from self._refresh()
                if self._deadline is not None:
                    self._check_time()
                request = self._request(tool_choice, first)
                if options.listeners:
                    self._tell(RequestIssued(request))
                response: ChatResponse = yield CallModel(request, self._early)
                first = False
                if tool_choice is not None and tool_choice is not ToolChoice.NONE:
                    tool_choice = None
                self._note(response)
                message = response.message
                if response.finish_reason is _WITHHELD:
                    self._refuse_withheld(message)
                if not message.tool_calls:
                    yield from self._keep(message)
                    result.content = message.text
                    return result
                message = self._with_unique_ids(message)
                cut = response.finish_reason is _CUT_OFF_AT_LIMIT
                if (yield from self._round(message, cut, None)):
                    return result
        except FastToolError as error:
            error.result = result
            raise

    # ------------------------------------------------------------------------------ before the first request
    def _recall(self) -> Generator[Effect, Any, None]:
        """Put what is new into the memory, and take from it what was said before."""
        if self._new:
            yield AddToMemory(self._new)
        self._view = yield ReadMemory()
        self.result.messages = list(self._view)

    def _assemble(self) -> Generator[Effect, Any, None]:
        """Ask the static providers, and let the first tools be chosen."""
        tools = self._tools
        for provider in self._service.static_providers:
            given = yield AskProvider(provider, self._provider_request())
            for entry in (entries := provided_tools(given)):
                if entry.name in tools.available:
                    raise taken(entry.name)
            tools = tools.with_tools(entries)
        visibility = self._service.visibility
        if visibility is not None:
            tools = visibility.adjust(tools, self._view)
        self._tools = tools

    def _refresh(self) -> Generator[Effect, Any, None]:
        """Ask the dynamic providers; what they give is added, and nothing goes."""
        for provider in self._service.dynamic_providers:
            given = yield AskProvider(provider, self._provider_request())
            self._tools = self._tools.with_tools(provided_tools(given))

    def _provider_request(self) -> ToolProviderRequest:
        return ToolProviderRequest(self.context, self._user_message, tuple(self._view))

    def _last_user_message(self) -> UserMessage | None:
        if self.context.user_message is not None:
            return self.context.user_message
        return next((m for m in reversed(self.result.messages) if isinstance(m, UserMessage)), None)

    def _request(self, tool_choice: ToolChoice | str | None, first: bool) -> ChatRequest:
        options = self._options
        messages = tuple(self._view)
        retrieved = options.retrieved
        if retrieved is not None and (first or retrieved.every_call):
            messages = tuple(
                retrieved.augmented if message is retrieved.original else message for message in messages
            )
        request = ChatRequest(
            messages, self._tools.effective_tools, tool_choice, options.parameters, options.response_format
        )
        if options.transform_request is not None:
            request = options.transform_request(request, self.context)
            if not isinstance(request, ChatRequest):
                raise ConfigurationError(
                    f"transform_request must return a ChatRequest, got {type(request).__name__}."
                )
        return request

    # ------------------------------------------------------------------------------ rounds
    def _round(
        self, message: AiMessage, cut: bool, rejected: Mapping[int, str] | None
    ) -> Generator[Effect, Any, bool]:
        """Run the calls of one response; return whether the run ends with them.

        Args:
            message: has the calls.
            cut: the last call may not be complete.
            rejected: texts for calls that must not run, by place; None where nobody was asked yet.
        """
        calls = message.tool_calls
        invocations, tools, plain = self._invocations(calls)
        if rejected is None and not plain:
            waiting = self._waiting(calls, tools, cut)
            if waiting:
                self._pause(message, waiting)
                return True
        yield from self._keep(message)
        limit, text = self._limit(calls)
        if limit is not None:
            yield from self._answer(calls, [_refusal(text)] * len(calls))
            raise limit
        self._rounds += 1
        outcomes: list[Outcome] = [None] * len(calls)
        if cut:
            outcomes[-1] = _refusal(CUT_OFF)
        if rejected:
            for place, reason in rejected.items():
                outcomes[place] = _refusal(reason)
        if not plain:
            self._refuse_uses(tools, outcomes)
        ran = [outcome is None for outcome in outcomes]
        try:
            if any(ran):
                self._calls += sum(ran)
                yield RunTools(invocations, outcomes, self._settle)
        except BaseException:
            # The calls that finished keep their results, and the conversation stays well-formed.
            yield from self._answer(calls, outcomes, invocations, ran)
            raise
        failed = yield from self._answer(calls, outcomes, invocations, ran)
        for outcome in outcomes:
            if isinstance(outcome, Aborted):
                raise outcome.error
        if not plain:
            self._count_failures(tools, outcomes)
        self._show_found(outcomes)
        return not failed and returns_immediately(self._behaviors(tools, outcomes), failed=False)

    def _early(self, call: ToolCall) -> RunTools | None:
        """Return how a call is run before its answer is complete; None where it has to wait."""
        tool = self._tools.shown.get(call.name)
        if tool is None or not tool.is_plain or self._options.has_limits:
            return None
        if self._rounds == self._options.max_rounds:
            return None
        return RunTools([ToolInvocation(call, tool.executor, tool.timeout)], [None], self._settle)

    def _keep(self, message: AiMessage) -> Generator[Effect, Any, None]:
        """Add an answer of the model to the conversation; not at all where the memory does not take it."""
        if self._options.has_memory:
            yield AddToMemory((message,))
        self.result.messages.append(message)

    def _invocations(
        self, calls: Sequence[ToolCall]
    ) -> tuple[list[ToolInvocation], list[ServiceTool | None], bool]:
        """Return what runs each call, its tool, and whether all of the tools are plain."""
        plain = True
        shown = self._tools.shown
        invocations: list[ToolInvocation] = []
        tools: list[ServiceTool | None] = []
        for call in calls:
            tool = shown.get(call.name)
            tools.append(tool)
            if tool is None:
                invocations.append(ToolInvocation(call, UnknownTool(tuple(shown))))
            else:
                plain = plain and tool.is_plain
                invocations.append(ToolInvocation(call, tool.executor, tool.timeout))
        return invocations, tools, plain

    def _waiting(
        self, calls: Sequence[ToolCall], tools: Sequence[ServiceTool | None], cut: bool
    ) -> tuple[ToolCall, ...]:
        """Return the calls that need a decision before they may run."""
        found = []
        for call, tool in zip(calls, tools, strict=True):
            if tool is None or tool.requires_approval is False or (cut and call is calls[-1]):
                continue
            needs = tool.requires_approval
            if needs is True or needs(call, self.context):
                found.append(call)
        return tuple(found)

    def _pause(self, message: AiMessage, waiting: tuple[ToolCall, ...]) -> None:
        result = self.result
        result.paused = PausedRun(
            list(result.messages),
            message,
            waiting,
            self.context.memory_id,
            self._rounds,
            self._calls,
            result.usage,
            dict(self._uses),
            dict(self._failures),
        )

    def _limit(self, calls: Sequence[ToolCall]) -> tuple[RunLimitError | None, str]:
        """Return the error for a limit that these calls would break, and the text that answers them."""
        options = self._options
        if self._rounds == options.max_rounds:
            return ToolRoundsExceededError(options.max_rounds), NO_MORE_ROUNDS
        if options.has_limits:
            if options.max_tool_calls is not None and self._calls + len(calls) > options.max_tool_calls:
                return ToolCallsExceededError(options.max_tool_calls), LIMIT_REACHED
            used = self._tokens()
            if options.max_tokens is not None and used > options.max_tokens:
                return TokensExceededError(options.max_tokens, used), LIMIT_REACHED
            if self._deadline is not None and options.clock() > self._deadline:
                return TimeExceededError(options.max_seconds or 0.0), LIMIT_REACHED
        return None, ""

    def _tokens(self) -> int:
        usage = self.result.usage
        if usage is None:
            return 0
        if usage.total_tokens is not None:
            return usage.total_tokens
        return (usage.input_tokens or 0) + (usage.output_tokens or 0)

    def _check_time(self) -> None:
        if self._deadline is not None and self._options.clock() > self._deadline:
            raise TimeExceededError(self._options.max_seconds or 0.0)

    def _refuse_uses(self, tools: Sequence[ServiceTool | None], outcomes: list[Outcome]) -> None:
        """Refuse the calls of tools that have been used as often as they may."""
        for place, tool in enumerate(tools):
            if tool is None or tool.max_uses is None or outcomes[place] is not None:
                continue
            used = self._uses.get(tool.name, 0)
            if used >= tool.max_uses:
                outcomes[place] = _refusal(
                    f"This call was not executed: tool {tool.name} may be used {tool.max_uses} time(s) here, "
                    "and was."
                )
            else:
                self._uses[tool.name] = used + 1

    def _count_failures(self, tools: Sequence[ServiceTool | None], outcomes: Sequence[Outcome]) -> None:
        """Count the round for each tool that failed in it, once, however many of its calls did.

        Raises:
            ToolAttemptsExceededError: a tool has failed in as many rounds as it may.
        """
        failed: dict[str, tuple[int, str]] = {}
        for tool, outcome in zip(tools, outcomes, strict=True):
            if tool is None or tool.max_attempts is None or not isinstance(outcome, ToolExecutionResult):
                continue
            if outcome.is_error:
                failed[tool.name] = (tool.max_attempts, outcome.text)
        for name, (limit, reason) in failed.items():
            self._failures[name] = self._failures.get(name, 0) + 1
            if self._failures[name] >= limit:
                raise ToolAttemptsExceededError(name, limit, reason)

    def _show_found(self, outcomes: Sequence[Outcome]) -> None:
        """Show the tools that a search has found."""
        for outcome in outcomes:
            if isinstance(outcome, ToolExecutionResult) and outcome.attributes:
                names = outcome.attributes.get(FOUND_TOOLS)
                if isinstance(names, (list, tuple)):
                    self._tools = self._tools.showing(name for name in names if isinstance(name, str))

    def _settle(self, call: ToolCall, error: Exception) -> ToolExecutionResult:
        return self._options.failures.settle(call, error, self.context)

    def _answer(
        self,
        calls: Sequence[ToolCall],
        outcomes: Sequence[Outcome],
        invocations: Sequence[ToolInvocation] = (),
        ran: Sequence[bool] = (),
    ) -> Generator[Effect, Any, bool]:
        """Write one result per call; return whether any is an error.

        Args:
            calls: the calls of the round.
            outcomes: what each of them gave.
            invocations: what was to be run.
            ran: whether each of them was; empty where none was.
        """
        failed = False
        results: list[Message] = []
        executions = self.result.executions
        for place, call in enumerate(calls):
            outcome = outcomes[place]
            found = outcome.result if isinstance(outcome, Aborted) else outcome
            if isinstance(found, ToolExecutionResult):
                if ran and ran[place]:
                    executions.append(ToolExecution(invocations[place].call, found))
            elif isinstance(outcome, Aborted):
                # What a hook or a handler of the application says is not for the model.
                known = isinstance(outcome.error, (ToolArgumentsError, ToolExecutionError, UnknownToolError))
                found = _refusal(str(outcome.error) if known else ENDED_HERE)
            else:
                found = _refusal(INTERRUPTED if outcome is STARTED else NOT_REACHED)
            failed = failed or found.is_error
            results.append(
                ToolResultMessage(
                    call.id, call.name, found.text, found.is_error, found.contents, found.attributes
                )
            )
        self.result.messages += results
        if self._options.has_memory:
            yield AddToMemory(results)
            self._view = yield ReadMemory()
        return failed

    def _behaviors(
        self, tools: Sequence[ServiceTool | None], outcomes: Sequence[Outcome]
    ) -> list[ReturnBehavior]:
        return [
            (outcome.return_behavior if isinstance(outcome, ToolExecutionResult) else None)
            or (_TO_LLM if tool is None else tool.return_behavior)
            for tool, outcome in zip(tools, outcomes, strict=True)
        ]

    # ------------------------------------------------------------------------------ responses
    def _note(self, response: ChatResponse) -> None:
        result = self.result
        result.responses.append(response)
        if response.usage is not None:
            result.usage = response.usage + result.usage
        result.finish_reason = response.finish_reason
        if self._options.listeners:
            self._tell(ResponseReceived(response))

    def _refuse_withheld(self, message: AiMessage) -> None:
        if message.tool_calls:
            raise ModelResponseError(
                "The model's answer was withheld by a content filter; its tool calls were not executed."
            )
        if not message.text:
            raise ModelResponseError("The model's answer was withheld by a content filter.")

    def _with_unique_ids(self, message: AiMessage) -> AiMessage:
        """Give each call an id that no other call of the conversation has; good ids stay."""
        if self._ids is None:
            self._ids = set()
            for known in self.result.messages:
                if isinstance(known, AiMessage):
                    self._ids.update(call.id for call in known.tool_calls)
        taken_ids = self._ids
        given = {call.id for call in message.tool_calls}
        if len(given) == len(message.tool_calls) and all(given) and given.isdisjoint(taken_ids):
            taken_ids |= given
            return message
        calls: list[ToolCall] = []
        for call in message.tool_calls:
            if not call.id or call.id in taken_ids:
                number = len(taken_ids)
                while (label := f"call_{number}") in taken_ids or label in given:
                    number += 1
                call = ToolCall(label, call.name, call.arguments)
            taken_ids.add(call.id)
            calls.append(call)
        return AiMessage(message.text, tuple(calls), message.contents, message.attributes)

    def _tell(self, event: RunEvent) -> None:
        tell(self._options.listeners, event)


def _refusal(text: str) -> ToolExecutionResult:
    return ToolExecutionResult(text, is_error=True)
