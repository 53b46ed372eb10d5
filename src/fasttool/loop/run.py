"""Run the loop without a service: a model, messages and tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fasttool.errors import ConfigurationError
from fasttool.loop.drivers import adrive, drive
from fasttool.loop.failures import ErrorHandler, ErrorPolicy, FailurePolicies
from fasttool.loop.machine import LoopOptions, run_loop
from fasttool.loop.result import Result
from fasttool.messages import AiMessage, Message, SystemMessage, ToolChoice, ToolResultMessage, UserMessage
from fasttool.models.protocol import ChatModel
from fasttool.tools.service import Tools, ToolService, ToolServiceContext

Messages = str | Message | Sequence[Message]

_KINDS = (SystemMessage, UserMessage, AiMessage, ToolResultMessage)
_DEFAULTS = LoopOptions()


def run_tools(
    model: ChatModel,
    messages: Messages,
    tools: Tools | ToolService = (),
    *,
    max_rounds: int = 100,
    tool_choice: ToolChoice | str | None = None,
    parameters: Mapping[str, Any] | None = None,
    unknown_tool: ErrorPolicy | ErrorHandler = ErrorPolicy.RAISE,
    arguments_error: ErrorPolicy | ErrorHandler = ErrorPolicy.RAISE,
    execution_error: ErrorPolicy | ErrorHandler = ErrorPolicy.TELL_MODEL,
) -> Result[str]:
    """Let a model call tools until it answers, and return the answer with all that led to it.

    Args:
        model: answers the requests.
        messages: the conversation so far, oldest first; text is one message of the user. It is not
            changed.
        tools: what the model may call: functions, objects with ``@tool`` methods, mappings of
            ToolSpecification to executor; or a ToolService, which is worth making once for many runs.
        max_rounds: rounds with tool calls that are allowed.
        tool_choice: whether the model may, must or must not call tools, or the name of the one tool
            that it must call; for the first request.
        parameters: further parameters of each request, in the provider's words.
        unknown_tool: what happens when the model names a tool that it was not shown.
        arguments_error: what happens when its arguments do not fit the tool.
        execution_error: what happens when a tool fails.

    Raises:
        ConfigurationError: an argument is wrong.
        UnknownToolError, ToolArgumentsError, ToolExecutionError: a call failed, and the policy is to raise.
        ToolRoundsExceededError: the model kept calling tools.
        ModelError: the model gave no usable answer.
            The ``result`` of each of these is the partial result.
    """
    snapshot = snapshot_of(tools)
    options = loop_options(
        snapshot, max_rounds, tool_choice, parameters, unknown_tool, arguments_error, execution_error
    )
    return drive(run_loop(conversation(messages), snapshot, options), model)


async def arun_tools(
    model: ChatModel,
    messages: Messages,
    tools: Tools | ToolService = (),
    *,
    max_rounds: int = 100,
    tool_choice: ToolChoice | str | None = None,
    parameters: Mapping[str, Any] | None = None,
    unknown_tool: ErrorPolicy | ErrorHandler = ErrorPolicy.RAISE,
    arguments_error: ErrorPolicy | ErrorHandler = ErrorPolicy.RAISE,
    execution_error: ErrorPolicy | ErrorHandler = ErrorPolicy.TELL_MODEL,
) -> Result[str]:
    """Do what ``run_tools`` does, without blocking the event loop.

    Tools that are not async run in worker threads, unless they are declared ``inline``.
    """
    snapshot = snapshot_of(tools)
    options = loop_options(
        snapshot, max_rounds, tool_choice, parameters, unknown_tool, arguments_error, execution_error
    )
    return await adrive(run_loop(conversation(messages), snapshot, options), model)


def snapshot_of(tools: Tools | ToolService) -> ToolServiceContext:
    """Return the tools of one invocation."""
    return (tools if isinstance(tools, ToolService) else ToolService(tools)).context()


def loop_options(
    tools: ToolServiceContext,
    max_rounds: int,
    tool_choice: ToolChoice | str | None,
    parameters: Mapping[str, Any] | None,
    unknown_tool: ErrorPolicy | ErrorHandler,
    arguments_error: ErrorPolicy | ErrorHandler,
    execution_error: ErrorPolicy | ErrorHandler,
) -> LoopOptions:
    """Return checked options; see ``run_tools`` for what they are.

    Raises:
        ConfigurationError: one is wrong, or the chosen tool is not among the tools.
    """
    usual = _DEFAULTS.failures
    if (
        unknown_tool is usual.unknown_tool
        and arguments_error is usual.arguments_error
        and execution_error is usual.execution_error
    ):
        if max_rounds is _DEFAULTS.max_rounds and tool_choice is None and parameters is None:
            return _DEFAULTS  # nothing to check: most runs, and the checks cost as much as a round
        failures = usual
    else:
        failures = FailurePolicies(unknown_tool, arguments_error, execution_error)
    if tool_choice is not None and not isinstance(tool_choice, ToolChoice):
        if tool_choice in tuple(ToolChoice):
            tool_choice = ToolChoice(tool_choice)
        elif tool_choice not in tools.executors:
            known = ", ".join((*ToolChoice, *tools.executors))
            raise ConfigurationError(f"tool_choice must be one of {known}; got {tool_choice!r}.")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ConfigurationError(f"parameters must be a mapping, got {type(parameters).__name__}.")
    return LoopOptions(max_rounds, tool_choice, dict(parameters or {}), failures)


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
