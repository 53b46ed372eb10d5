"""A Protocol of yours -> an object that talks to a model with tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

from fasttool.errors import ConfigurationError
from fasttool.loop.drivers import adrive, drive
from fasttool.loop.failures import ErrorHandler, ErrorPolicy
from fasttool.loop.machine import run_loop
from fasttool.loop.result import Result
from fasttool.loop.run import loop_options
from fasttool.messages import AiMessage, Content, Message, SystemMessage, ToolChoice, UserMessage
from fasttool.models.protocol import ChatModel
from fasttool.schema.forms import UnsupportedTypeError
from fasttool.schema.python_types import resolved_hints, type_name
from fasttool.tools.service import Tools, ToolService

Service = TypeVar("Service")

_ACCEPTED_RETURNS = "str, Result[str], AiMessage or None"


def ai_service(
    interface: Callable[..., Service],  # a class; type[...] would refuse a Protocol to type checkers
    *,
    chat_model: ChatModel,
    tools: Tools | ToolService = (),
    system_message: str | None = None,
    max_rounds: int = 100,
    tool_choice: ToolChoice | str | None = None,
    parameters: Mapping[str, Any] | None = None,
    unknown_tool: ErrorPolicy | ErrorHandler = ErrorPolicy.RAISE,
    arguments_error: ErrorPolicy | ErrorHandler = ErrorPolicy.RAISE,
    execution_error: ErrorPolicy | ErrorHandler = ErrorPolicy.TELL_MODEL,
) -> Service:
    """Return an object with the methods of ``interface``, each of which asks the model.

    A method takes the user's message as its one argument: text, contents, or a UserMessage.  It
    returns str, ``Result[str]``, AiMessage or None, and may be ``async def``.  Calls share nothing:
    each starts a conversation of its own.

    Args:
        interface: a Protocol or another class whose public methods have no body of their own.
        chat_model: answers.
        tools: what the model may call; see ``run_tools``.
        system_message: what the model should be and do.
        max_rounds: rounds with tool calls that one call of a method allows.
        tool_choice: for the first request of each call; see ``run_tools``.
        parameters: further parameters of each request, in the provider's words.
        unknown_tool: see ``run_tools``.
        arguments_error: see ``run_tools``.
        execution_error: see ``run_tools``.

    Raises:
        ConfigurationError: a method cannot be served, or an option is wrong; the text says which.
    """
    if not isinstance(interface, type):
        raise ConfigurationError(f"ai_service needs a class, your Protocol, got {type(interface).__name__}.")
    if not isinstance(chat_model, ChatModel):
        raise ConfigurationError(
            f"chat_model must have the methods chat and achat, got {type(chat_model).__name__}."
        )
    if system_message is not None and not isinstance(system_message, str):
        raise ConfigurationError(f"system_message must be text, got {type(system_message).__name__}.")
    service = tools if isinstance(tools, ToolService) else ToolService(tools)
    options = loop_options(
        service.context(), max_rounds, tool_choice, parameters, unknown_tool, arguments_error, execution_error
    )
    opening = [SystemMessage(system_message)] if system_message else []

    def start(message: Any) -> Any:
        messages: list[Message] = [*opening, _user_message(message)]
        return run_loop(messages, service.context(), options)

    members: dict[str, Any] = {
        "__slots__": (),
        "__doc__": interface.__doc__,
        "__module__": interface.__module__,
    }
    for name, method in _methods(interface).items():
        members[name] = _served(interface, name, method, start, chat_model)
    if not any(not name.startswith("__") for name in members):
        raise ConfigurationError(f"{interface.__name__} has no public method for the service to serve.")
    bases: tuple[type, ...] = () if getattr(interface, "_is_protocol", False) else (interface,)
    made: Service = type(interface.__name__, bases, members)()
    return made


def _methods(interface: type) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for base in reversed(interface.__mro__):
        if base is object:
            continue
        for name, member in vars(base).items():
            if not name.startswith("_") and inspect.isfunction(member):
                found[name] = member
    return found


def _served(
    interface: type, name: str, method: Callable[..., Any], start: Callable[[Any], Any], model: ChatModel
) -> Callable[..., Any]:
    """Return the method that stands in for one of the interface."""
    where = f"Method {name} of {interface.__name__}"
    parameters = list(inspect.signature(method).parameters.values())[1:]
    if len(parameters) != 1 or parameters[0].kind in (
        parameters[0].VAR_POSITIONAL,
        parameters[0].VAR_KEYWORD,
    ):
        raise ConfigurationError(f"{where} must take one argument besides self, the user's message.")
    try:
        returns = resolved_hints(method, {}).get("return", str)
    except UnsupportedTypeError as error:
        raise ConfigurationError(f"{where} uses {error} in an annotation.") from None
    convert = _converter(returns)
    if convert is None:
        raise ConfigurationError(f"{where} returns {type_name(returns)}; accepted: {_ACCEPTED_RETURNS}.")
    signature = inspect.signature(method)
    parameter = parameters[0].name

    by_position = parameters[0].kind is not parameters[0].KEYWORD_ONLY

    def message_of(self: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if by_position and len(arguments) == 1 and not keywords:
            return arguments[0]  # most calls; bind takes a third as long as a round
        bound = signature.bind(self, *arguments, **keywords)
        bound.apply_defaults()
        return bound.arguments[parameter]

    if inspect.iscoroutinefunction(method):

        async def served_async(self: Any, *arguments: Any, **keywords: Any) -> Any:
            return convert(await adrive(start(message_of(self, arguments, keywords)), model))

        served: Callable[..., Any] = served_async
    else:

        def served_blocking(self: Any, *arguments: Any, **keywords: Any) -> Any:
            return convert(drive(start(message_of(self, arguments, keywords)), model))

        served = served_blocking
    served.__name__, served.__qualname__ = name, f"{interface.__qualname__}.{name}"
    served.__doc__ = method.__doc__
    served.__signature__ = signature  # type: ignore[attr-defined]
    return served


def _converter(returns: Any) -> Callable[[Result[str]], Any] | None:
    """Return what makes the declared result of a run's result; None where nothing does."""
    if returns is str or returns is Any:
        return _text
    if returns is None or returns is type(None):
        return lambda result: None
    if returns is AiMessage:
        return lambda result: result.responses[-1].message
    if returns is Result or (get_origin(returns) is Result and get_args(returns) in ((str,), (Any,))):
        return lambda result: result
    return None


def _text(result: Result[str]) -> Any:
    """Return the answer; for results that go to the caller immediately, their one value that is text."""
    last = result.messages[-1]
    if isinstance(last, AiMessage):
        return result.content if result.content is not None else ""
    calls = result.responses[-1].message.tool_calls
    values = [execution.result.value for execution in result.executions[-len(calls) :]]
    found = [value for value in values if value is not None]
    if not found:
        return None
    if len(found) == 1 and isinstance(found[0], str):
        return found[0]
    raise ConfigurationError(
        "The result of a tool was returned immediately, and it is not one text: "
        "declare the method to return Result[str]."
    )


def _user_message(message: Any) -> UserMessage:
    if isinstance(message, UserMessage):
        return message
    if isinstance(message, (str, Content, Sequence)):
        return UserMessage(message)
    raise ConfigurationError(
        f"The user's message must be text, contents or a UserMessage, got {type(message).__name__}."
    )
