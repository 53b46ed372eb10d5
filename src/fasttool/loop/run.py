"""Run the loop without a service: a model, messages and tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from fasttool.errors import ConfigurationError
from fasttool.loop.approval import Decision, PausedRun
from fasttool.loop.drivers import Run, drive, traced
from fasttool.loop.events import Listener
from fasttool.loop.machine import resume_loop, run_loop
from fasttool.loop.options import RunOptions, read_listeners, read_options
from fasttool.loop.result import Result
from fasttool.messages import AiMessage, Message, SystemMessage, ToolChoice, ToolResultMessage, UserMessage
from fasttool.models.protocol import ChatModel
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.service import Tools, ToolService

if TYPE_CHECKING:
    from fasttool.loop.streaming import TokenStream

Messages = str | Message | Sequence[Message]

_KINDS = (SystemMessage, UserMessage, AiMessage, ToolResultMessage)


def run_tools(
    model: ChatModel,
    messages: Messages,
    tools: Tools | ToolService = (),
    **options: Unpack[RunOptions],
) -> Result[str]:
    """Let a model call tools until it answers, and return the answer with all that led to it.

    Args:
        model: answers the requests.
        messages: the conversation so far, oldest first; text is one message of the user. It is not
            changed. With a memory, what is new in the conversation.
        tools: what the model may call: functions, objects with ``@tool`` methods, mappings of
            ToolSpecification to executor; or a ToolService, which is worth making once for many runs.
        options: see ``RunOptions``.

    Raises:
        ConfigurationError: an argument is wrong.
        UnknownToolError, ToolArgumentsError, ToolExecutionError: a call failed, and the policy is to raise.
        RunLimitError: the run has used up what it was allowed, for example ``max_rounds``.
        ModelError: the model gave no usable answer.
            The ``result`` of each of these is the partial result.
    """
    return drive(_start(model, messages, tools, options))


async def arun_tools(
    model: ChatModel,
    messages: Messages,
    tools: Tools | ToolService = (),
    **options: Unpack[RunOptions],
) -> Result[str]:
    """Do what ``run_tools`` does, without blocking the event loop.

    Tools that are not async run in worker threads, unless they are declared ``inline``.
    """
    from fasttool.loop.async_drivers import adrive  # brings asyncio along

    return await adrive(_start(model, messages, tools, options))


def stream_tools(
    model: ChatModel,
    messages: Messages,
    tools: Tools | ToolService = (),
    **options: Unpack[RunOptions],
) -> TokenStream:
    """Do what ``run_tools`` does, and give the events of the run as they come.

    What is returned is iterated over with ``for`` or ``async for``; leaving early ends the run cleanly.
    """
    from fasttool.loop.streaming import TokenStream

    def start(told: Listener) -> Run:
        listeners = read_listeners(options.get("listeners") or ())
        return _start(model, messages, tools, {**options, "listeners": (*listeners, told)})

    return TokenStream(start)


def resume_tools(
    model: ChatModel,
    paused: PausedRun,
    decisions: Mapping[str, Decision],
    tools: Tools | ToolService = (),
    **options: Unpack[RunOptions],
) -> Result[str]:
    """Go on with a run that waits for decisions, in this process or another.

    Args:
        model: answers the requests.
        paused: ``result.paused`` of the run that waits, or what ``PausedRun.from_json`` read.
        decisions: a decision for the id of each call in ``paused.waiting``.
        tools: those of the run that waits.
        options: see ``RunOptions``; with the memory that the run had, if it had one.

    Raises:
        ConfigurationError: the decisions are not those that are waited for.
        FastToolError: see ``run_tools``.
    """
    return drive(_resume(model, paused, decisions, tools, options))


async def aresume_tools(
    model: ChatModel,
    paused: PausedRun,
    decisions: Mapping[str, Decision],
    tools: Tools | ToolService = (),
    **options: Unpack[RunOptions],
) -> Result[str]:
    """Do what ``resume_tools`` does, without blocking the event loop."""
    from fasttool.loop.async_drivers import adrive

    return await adrive(_resume(model, paused, decisions, tools, options))


def _start(
    model: ChatModel, messages: Messages, tools: Tools | ToolService, options: Mapping[str, Any]
) -> Run:
    service = tools if isinstance(tools, ToolService) else ToolService(tools)
    loop, execution = read_options(options)
    context, memory = _context(options) if options else (InvocationContext(), None)
    if loop.compensate is not None:
        service.check_compensations()
    if loop.tool_choice is not None:
        check_tool_choice(loop.tool_choice, service)
    trace = None
    if options:
        loop, model, trace = traced(loop, model, options.get("telemetry"))
    machine = run_loop(conversation(messages), service, loop, context)
    return Run(machine, model, context, loop, execution, memory, trace)


def _resume(
    model: ChatModel,
    paused: PausedRun,
    decisions: Mapping[str, Decision],
    tools: Tools | ToolService,
    options: Mapping[str, Any],
) -> Run:
    if not isinstance(paused, PausedRun):
        raise ConfigurationError(f"Only a PausedRun can be resumed, got {type(paused).__name__}.")
    service = tools if isinstance(tools, ToolService) else ToolService(tools)
    loop, execution = read_options(options)
    context, memory = _context(options, paused.memory_id)
    if loop.compensate is not None:
        service.check_compensations()
    loop, model, trace = traced(loop, model, options.get("telemetry"))
    machine = resume_loop(paused, decisions, service, loop, context)
    return Run(machine, model, context, loop, execution, memory, trace)


def _context(options: Mapping[str, Any], memory_id: Any = None) -> tuple[InvocationContext, Any]:
    """Return the invocation and the memory of a run.

    Raises:
        ConfigurationError: one is none.
    """
    if not options:
        return (InvocationContext() if memory_id is None else InvocationContext(memory_id)), None
    memory, context = options.get("memory"), options.get("context")
    if memory is not None and not callable(getattr(memory, "messages", None)):
        raise ConfigurationError(f"memory must be a ChatMemory, got {type(memory).__name__}.")
    if context is None:
        if memory is not None:
            memory_id = memory.id
        context = InvocationContext() if memory_id is None else InvocationContext(memory_id)
    elif not isinstance(context, InvocationContext):
        raise ConfigurationError(f"context must be an InvocationContext, got {type(context).__name__}.")
    return context, memory


def check_tool_choice(tool_choice: ToolChoice | str, service: ToolService) -> None:
    """Refuse the choice of a tool that is not among the tools.

    Raises:
        ConfigurationError: it is not.
    """
    if isinstance(tool_choice, ToolChoice) or service.static_providers or service.dynamic_providers:
        return
    known = service.context().available
    if tool_choice not in known:
        names = ", ".join((*ToolChoice, *known))
        raise ConfigurationError(f"tool_choice must be one of {names}; got {tool_choice!r}.")


def conversation(messages: Messages) -> list[Message]:
    """Return messages as a new list; text is one message of the user.

    Raises:
        ConfigurationError: there are none, or something in them is not a message.
    """
    if isinstance(messages, str):
        return [UserMessage(messages)]
    if isinstance(messages, _KINDS):
        return [messages]
    found: list[Any] = list(messages) if isinstance(messages, Sequence) else [messages]
    for message in found:
        if not isinstance(message, _KINDS):
            raise ConfigurationError(
                "messages must be text or messages (SystemMessage, UserMessage, ...), "
                f"got {type(message).__name__}."
            )
    if not found:
        raise ConfigurationError("messages must hold at least one message.")
    return found
