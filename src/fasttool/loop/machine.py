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
* What a failed run has done is undone where that is asked for (``compensation``), before anybody hears of it.
* Tools never go within a run; a tool that was not shown does not run.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any

from fasttool.errors import ConfigurationError, FastToolError, ModelResponseError
from fasttool.loop.approval import Decision, PausedRun, decided
from fasttool.loop.effects import AddToMemory, AskProvider, CallModel, Effect, ReadMemory
from fasttool.loop.events import (
    RequestIssued,
    ResponseReceived,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunStarted,
    tell,
)
from fasttool.loop.options import LoopOptions
from fasttool.loop.result import Result
from fasttool.loop.rounds import early_call, run_round, undo_run
from fasttool.loop.state import RunState
from fasttool.messages import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    Message,
    ToolChoice,
    UserMessage,
)
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.provider import ToolProviderRequest
from fasttool.tools.service import ToolService, provided_tools, taken

# In Python 3.11, finding a member of an enum takes longer than all else in a comparison with it.
_CUT_OFF_AT_LIMIT = FinishReason.LENGTH
_WITHHELD = FinishReason.CONTENT_FILTER
_NO_TOOLS = ToolChoice.NONE


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
    if context is None:
        context = InvocationContext()
    steps = _steps(RunState(messages, service, options, context))
    return steps if is_part else bounded(steps, options, context)


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
    state = RunState([] if options.has_memory else paused.messages, service, options, context)
    state.take_up(paused)
    return bounded(_steps(state, message, rejected), options, context)


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


def _steps(
    state: RunState, waiting: AiMessage | None = None, rejected: Mapping[int, str] | None = None
) -> Generator[Effect, Any, Result[Any]]:
    """Run to the end.

    Args:
        state: of the run.
        waiting: a message whose calls were decided on, to begin with.
        rejected: the texts for those of its calls that must not run, by place.
    """
    result, options, service = state.result, state.options, state.service
    tool_choice = options.tool_choice
    early = partial(early_call, state) if options.eager else None
    try:
        if state.has_memory:
            yield from _recall(state)
        if not service.is_fixed:
            state.user_message = _last_user_message(state)
            yield from _assemble(state)
        if waiting is not None and (yield from run_round(state, waiting, rejected=rejected or {})):
            return result
        first = True
        while True:
            if service.dynamic_providers:
                yield from _refresh(state)
            if state.deadline is not None:
                state.check_time()
            request = _request(state, tool_choice, first)
            if state.listeners:
                tell(state.listeners, RequestIssued(request))
            response: ChatResponse = yield CallModel(request, early)
            first = False
            if tool_choice is not None and tool_choice is not _NO_TOOLS:
                tool_choice = None
            _note(state, response)
            message = response.message
            if response.finish_reason is _WITHHELD:
                _refuse_withheld(message)
            if not message.tool_calls:
                if state.has_memory:
                    yield AddToMemory((message,))
                result.messages.append(message)
                result.content = message.text
                return result
            message = state.with_unique_ids(message)
            if (yield from run_round(state, message, cut=response.finish_reason is _CUT_OFF_AT_LIMIT)):
                return result
    except BaseException as error:
        if state.steps:
            yield from undo_run(state)
        if isinstance(error, FastToolError):
            error.result = result
        raise


# ---------------------------------------------------------------------------------- before a request
def _recall(state: RunState) -> Generator[Effect, Any, None]:
    """Put what is new into the memory, and take from it what was said before."""
    if state.new:
        yield AddToMemory(state.new)
    state.view = yield ReadMemory()
    state.result.messages = list(state.view)


def _assemble(state: RunState) -> Generator[Effect, Any, None]:
    """Ask the static providers, and let the first tools be chosen."""
    tools = state.tools
    for provider in state.service.static_providers:
        entries = provided_tools((yield AskProvider(provider, _provider_request(state))))
        for entry in entries:
            if entry.name in tools.available:
                raise taken(entry.name)
        tools = tools.with_tools(entries)
    visibility = state.service.visibility
    state.tools = tools if visibility is None else visibility.adjust(tools, state.view)


def _refresh(state: RunState) -> Generator[Effect, Any, None]:
    """Ask the dynamic providers; what they give is added, and nothing goes."""
    for provider in state.service.dynamic_providers:
        given = yield AskProvider(provider, _provider_request(state))
        state.tools = state.tools.with_tools(provided_tools(given))


def _provider_request(state: RunState) -> ToolProviderRequest:
    return ToolProviderRequest(state.context, state.user_message, tuple(state.view))


def _last_user_message(state: RunState) -> UserMessage | None:
    if state.context.user_message is not None:
        return state.context.user_message
    return next((m for m in reversed(state.result.messages) if isinstance(m, UserMessage)), None)


def _request(state: RunState, tool_choice: ToolChoice | str | None, first: bool) -> ChatRequest:
    options = state.options
    messages = tuple(state.view)
    retrieved = options.retrieved
    if retrieved is not None and (first or retrieved.every_call):
        messages = tuple(
            retrieved.augmented if message is retrieved.original else message for message in messages
        )
    request = ChatRequest(
        messages, state.tools.effective_tools, tool_choice, options.parameters, options.response_format
    )
    if options.transform_request is not None:
        request = options.transform_request(request, state.context)
        if not isinstance(request, ChatRequest):
            raise ConfigurationError(
                f"transform_request must return a ChatRequest, got {type(request).__name__}."
            )
    return request


# ---------------------------------------------------------------------------------- after an answer
def _note(state: RunState, response: ChatResponse) -> None:
    result = state.result
    result.responses.append(response)
    if response.usage is not None:
        result.usage = response.usage + result.usage
    result.finish_reason = response.finish_reason
    if state.listeners:
        tell(state.listeners, ResponseReceived(response))


def _refuse_withheld(message: AiMessage) -> None:
    if message.tool_calls:
        raise ModelResponseError(
            "The model's answer was withheld by a content filter; its tool calls were not executed."
        )
    if not message.text:
        raise ModelResponseError("The model's answer was withheld by a content filter.")
