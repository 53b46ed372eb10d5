"""One call of a service as steps for a driver: what comes before the loop, the loop, and what comes after.

Hooks of the application are called by the driver, so that they may block or await.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fasttool.errors import (
    ConfigurationError,
    FastToolError,
    GuardrailError,
    OutputFormatError,
    Reprompt,
)
from fasttool.loop.effects import CallFunction, Effect
from fasttool.loop.machine import bounded, run_loop
from fasttool.loop.options import LoopOptions, RetrievedMessage
from fasttool.loop.result import Result
from fasttool.messages import Message, SystemMessage, TextContent, UserMessage
from fasttool.service.markers import RetrievedContent
from fasttool.service.method import Returns, user_message_of
from fasttool.service.output import fits
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.service import ToolService

Retriever = Callable[[UserMessage, InvocationContext], Any]
"""Returns what was found for a message: text that is added to it, a UserMessage in its place, or None."""

InputGuardrail = Callable[[UserMessage, InvocationContext], Any]
"""Looks at what the user says: returns None to let it pass, text or a UserMessage in its place, or raises
GuardrailError."""

OutputGuardrail = Callable[[Result[Any], InvocationContext], Any]
"""Looks at an answer: returns None to let it pass or text in its place, raises Reprompt to have the model
answer again, or GuardrailError."""


@dataclass(slots=True, frozen=True)
class Hooks:
    """What the application does before and after the loop.

    Args:
        retriever: finds content for the user's message.
        retrieved_content: what becomes of that content.
        input_guardrails: look at what the user says, in order.
        output_guardrails: look at the answer, in order.
        max_reprompts: how often the model is asked again for an answer that was not accepted.
    """

    retriever: Retriever | None = None
    retrieved_content: RetrievedContent = RetrievedContent.STORED
    input_guardrails: tuple[InputGuardrail, ...] = ()
    output_guardrails: tuple[OutputGuardrail, ...] = ()
    max_reprompts: int = 1


def turn_steps(
    system: str | None,
    message: UserMessage,
    service: ToolService,
    options: LoopOptions,
    context: InvocationContext,
    hooks: Hooks,
    returns: Returns,
    instruction: str,
) -> Generator[Effect, Any, Result[Any]]:
    """Yield effects until there is an answer that is accepted, and return the result.

    Args:
        system: the system message; None for none.
        message: what the user says.
        service: what the model may call.
        options: how the run behaves.
        context: the invocation.
        hooks: what comes before and after.
        returns: what the answer is read as.
        instruction: is added to the user's message; empty for nothing.

    Raises:
        GuardrailError: a guardrail refused the message or the answer.
        OutputFormatError: the answer is not of the type that was asked for.
        FastToolError: the run failed.
    """
    steps = _steps(system, message, service, options, context, hooks, returns, instruction)
    return bounded(steps, options, context)


def _steps(
    system: str | None,
    message: UserMessage,
    service: ToolService,
    options: LoopOptions,
    context: InvocationContext,
    hooks: Hooks,
    returns: Returns,
    instruction: str,
) -> Generator[Effect, Any, Result[Any]]:
    kept = message
    if hooks.retriever is not None:
        found = yield CallFunction(hooks.retriever, (message, context))
        message = _augmented(message, found)
    for guardrail in hooks.input_guardrails:
        said = yield CallFunction(guardrail, (message, context))
        if said is not None:
            message = kept = user_message_of(said)
    if instruction:
        message = UserMessage(
            (*message.contents, TextContent(instruction)), name=message.name, attributes=message.attributes
        )
    if kept is message or hooks.retrieved_content is RetrievedContent.STORED:
        kept = message
    else:
        every = hooks.retrieved_content is RetrievedContent.EVERY_CALL
        options = replace(options, retrieved=RetrievedMessage(kept, message, every))
    context.user_message = message
    messages: list[Message] = [SystemMessage(system), kept] if system else [kept]
    result = yield from run_loop(messages, service, options, context, is_part=True)
    for attempt in range(hooks.max_reprompts + 1):
        try:
            yield from _accept(result, context, hooks, returns)
        except (Reprompt, OutputFormatError) as error:
            if attempt == hooks.max_reprompts or (isinstance(error, Reprompt) and not str(error)):
                raise _final(error, result) from None
            again = UserMessage(str(error))
            before = result
            new: Sequence[Message] = [again] if options.has_memory else [*before.messages, again]
            result = yield from run_loop(
                new, service, replace(options, tool_choice=None), context, is_part=True
            )
            result = _together(before, result)
        except FastToolError as error:
            error.result = result
            raise
        else:
            break
    return result


def _augmented(message: UserMessage, found: Any) -> UserMessage:
    if found is None:
        return message
    if isinstance(found, UserMessage):
        return found
    if isinstance(found, str):
        return UserMessage(
            (*message.contents, TextContent(found)), name=message.name, attributes=message.attributes
        )
    raise ConfigurationError(f"A retriever returns text, a UserMessage or None, got {type(found).__name__}.")


def _accept(
    result: Result[Any], context: InvocationContext, hooks: Hooks, returns: Returns
) -> Generator[Effect, Any, None]:
    """Look at the answer of a run; put what it is read as in its place."""
    if result.paused is not None:
        return
    if result.messages[-1].role != "assistant":
        result.content = _given(result, returns)
        return
    for guardrail in hooks.output_guardrails:
        said = yield CallFunction(guardrail, (result, context))
        if said is not None:
            if not isinstance(said, str):
                raise ConfigurationError(
                    f"An output guardrail returns text or None, got {type(said).__name__}."
                )
            result.content = said
    if returns.reader is not None:
        result.content = returns.reader.read(result.content)


def _given(result: Result[Any], returns: Returns) -> Any:
    """Return what a method returns for results that go to the caller (reference: core, section 6).

    Raises:
        ConfigurationError: they are not the one value that the method returns.
    """
    if returns.is_result or returns.is_stream or returns.is_message or returns.kind is None:
        return None
    calls = result.responses[-1].message.tool_calls
    values = [execution.result.value for execution in result.executions[-len(calls) :]]
    found = [value for value in values if value is not None]
    if not found:
        return None
    if len(found) == 1 and fits(found[0], returns.kind):
        return found[0]
    raise ConfigurationError(
        "The results of tools were returned immediately, and they are not the one value that the method is "
        "declared to return: declare it to return Result."
    )


def _final(error: Reprompt | OutputFormatError, result: Result[Any]) -> Exception:
    final: Any = error
    if isinstance(error, Reprompt):
        final = GuardrailError(f"The answer was not accepted: {error}")
    final.result = result
    return final  # type: ignore[no-any-return]


def _together(first: Result[Any], second: Result[Any]) -> Result[Any]:
    """Return the result of two runs one after the other: nothing of the first is lost."""
    second.executions[:0] = first.executions
    second.responses[:0] = first.responses
    second.compensations[:0] = first.compensations
    if first.usage is not None:
        second.usage = first.usage + second.usage
    return second
