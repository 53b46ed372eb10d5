"""A method of an interface -> what its arguments are, and what it returns."""

from __future__ import annotations

import collections.abc
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from fasttool.errors import ConfigurationError
from fasttool.loop.result import Result
from fasttool.loop.streaming import TokenStream
from fasttool.messages import AiMessage, Content, UserMessage
from fasttool.schema.forms import UnsupportedTypeError
from fasttool.schema.python_types import resolved_hints, type_name
from fasttool.service.markers import (
    SYSTEM_TEMPLATE,
    USER_TEMPLATE,
    MemoryId,
    RequestParameters,
    UserName,
    UserText,
)
from fasttool.service.output import OutputReader
from fasttool.service.templates import Template
from fasttool.tools.invocation import InvocationParameters, ToolMemoryId

ACCEPTED_RETURNS = (
    "str, AiMessage, None, TokenStream or an iterator of events, a type that JSON can be read as "
    "(numbers, bool, enums, lists, dataclasses, TypedDict, models), and Result of one of them"
)
_STREAMS = (
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncGenerator,
)


@dataclass(slots=True, frozen=True)
class Returns:
    """What a method returns.

    Args:
        kind: the type of its content; ``str`` for text, None for nothing.
        is_result: it is a Result of that.
        is_stream: it is a stream of events.
        is_message: it is the model's message.
        reader: reads the content; None where it is text, or not looked at.
    """

    kind: Any
    is_result: bool = False
    is_stream: bool = False
    is_message: bool = False
    reader: OutputReader | None = None


@dataclass(slots=True)
class Call:
    """One call of a method.

    Args:
        message: what the user says.
        values: the arguments by name.
        memory_id: names the conversation; None where no argument does.
        invocation_parameters: values for the tools; None where no argument has any.
        request_parameters: parameters for the requests; None where no argument has any.
    """

    message: UserMessage
    values: Mapping[str, Any]
    memory_id: Any = None
    invocation_parameters: InvocationParameters | None = None
    request_parameters: RequestParameters | None = None


class MethodPlan:
    """A method of an interface, inspected once.

    Args:
        interface: has the method.
        name: of the method.
        method: the function that was written.

    Raises:
        ConfigurationError: it cannot be served; the text says why.
    """

    def __init__(self, interface: type, name: str, method: Callable[..., Any]) -> None:
        self.name = name
        self.where = f"Method {name} of {interface.__name__}"
        self.signature = inspect.signature(method)
        self.is_async = inspect.iscoroutinefunction(method)
        try:
            hints = resolved_hints(method, {})
        except UnsupportedTypeError as error:
            raise ConfigurationError(f"{self.where} uses {error} in an annotation.") from None
        self.returns = self._returns(hints.get("return", str))
        self._roles: dict[str, str] = {}
        self._variables: list[str] = []
        parameters = list(self.signature.parameters.values())[1:]
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise ConfigurationError(f"{self.where} takes {parameter}, which has no name in a template.")
            role = _role(hints.get(parameter.name, str))
            if role == "":
                self._variables.append(parameter.name)
            elif role in self._roles and role != "contents":
                raise ConfigurationError(f"{self.where} has two arguments for the same: {role}.")
            else:
                self._roles[role] = parameter.name
        system = getattr(method, SYSTEM_TEMPLATE, None) or getattr(interface, SYSTEM_TEMPLATE, None)
        self.system = None if system is None else Template(system, self.where)
        if self.system is not None:
            self.system.check(self._variables)
        self._user = self._user_template(getattr(method, USER_TEMPLATE, None))
        # Most methods: one argument, which is the message, given by position.
        self._only = (
            len(parameters) == 1
            and self._user is None
            and parameters[0].kind is not parameters[0].KEYWORD_ONLY
        )

    @property
    def names_conversation(self) -> bool:
        """Whether an argument names the conversation."""
        return "the id of the conversation" in self._roles

    def call(self, service: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Call:
        """Return what one call asks for.

        Raises:
            ConfigurationError: an argument is wrong, or one for a template is missing.
        """
        if self._only and len(arguments) == 1 and not keywords:
            return Call(user_message_of(arguments[0]), {self._message: arguments[0]})
        bound = self.signature.bind(service, *arguments, **keywords)
        bound.apply_defaults()
        values = dict(bound.arguments)
        values.pop(next(iter(self.signature.parameters)))
        return Call(
            self._user_message(values),
            values,
            self._memory_id(values),
            values.get(self._roles.get("invocation parameters", "")),
            values.get(self._roles.get("request parameters", "")),
        )

    def _memory_id(self, values: Mapping[str, Any]) -> Any:
        name = self._roles.get("the id of the conversation")
        if name is None:
            return None
        if values[name] is None:
            raise ConfigurationError(
                f"{self.where} was called without an id for the conversation: {name} is None."
            )
        return values[name]

    def _user_message(self, values: Mapping[str, Any]) -> UserMessage:
        contents = values.get(self._roles.get("contents", ""))
        if self._user is not None:
            text: Any = self._user.filled({name: values[name] for name in self._variables})
            message = user_message_of(text) if contents is None else _joined(text, contents)
        elif self._message:
            text = values[self._message]
            message = user_message_of(text) if contents is None else _joined(text, contents)
        else:
            message = user_message_of(contents)
        speaker = values.get(self._roles.get("the name of the user", ""))
        if speaker is not None:
            message = UserMessage(message.contents, name=str(speaker), attributes=message.attributes)
        return message

    def _user_template(self, text: str | None) -> Template | None:
        """Return the template of the user's message; None where an argument is the message."""
        marked = self._roles.get("the user's message")
        self._message = marked or ""
        if text is not None:
            if marked is not None:
                raise ConfigurationError(f"{self.where} has a template and an argument marked UserText.")
            template = Template(text, self.where)
            template.check(self._variables)
            return template
        if marked is not None:
            return None
        # What the system message uses is not what the user says, as long as there is something else.
        system_names = self.system.names if self.system is not None else ()
        candidates = [name for name in self._variables if name not in system_names] or self._variables
        if len(candidates) == 1:
            self._message = candidates[0]
        elif candidates or "contents" not in self._roles:
            raise ConfigurationError(
                f"{self.where} must take one argument besides self, the user's message; with others, mark it "
                "Annotated[str, UserText] or give the method a template with @user_message(...)."
            )
        return None

    def _returns(self, returns: Any) -> Returns:
        is_result = returns is Result or get_origin(returns) is Result
        if is_result:
            returns = (get_args(returns) or (str,))[0]
        if not is_result:
            if returns is TokenStream or get_origin(returns) in _STREAMS or returns in _STREAMS:
                if self.is_async:
                    raise ConfigurationError(
                        f"{self.where} returns a stream: declare it with def, not async def; "
                        "what it returns is iterated over with async for."
                    )
                return Returns(str, is_stream=True)
            if returns is AiMessage:
                return Returns(AiMessage, is_message=True)
        if returns is None or returns is type(None):
            return Returns(None, is_result)
        if returns is str or returns is Any:
            return Returns(str, is_result)
        try:
            return Returns(returns, is_result, reader=OutputReader(returns, self.name))
        except UnsupportedTypeError as error:
            raise ConfigurationError(
                f"{self.where} returns {type_name(returns)}, with {error}; accepted: {ACCEPTED_RETURNS}."
            ) from None


def user_message_of(message: Any) -> UserMessage:
    """Return what a caller gave as the user's message.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(message, UserMessage):
        return message
    if isinstance(message, (str, Content, list, tuple)):
        return UserMessage(message)
    raise ConfigurationError(
        f"The user's message must be text, contents or a UserMessage, got {type(message).__name__}."
    )


def _joined(text: Any, contents: Any) -> UserMessage:
    first, second = user_message_of(text), user_message_of(contents)
    return UserMessage((*first.contents, *second.contents))


def _role(annotation: Any) -> str:
    """Return what an argument is for; empty for a value of a template or the message."""
    extras: tuple[Any, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *rest = get_args(annotation)
        extras = tuple(rest)
    for extra in extras:
        for marker, role in _MARKERS.items():
            if extra is marker or isinstance(extra, marker):
                return role
    if get_origin(annotation) in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        annotation = members[0] if len(members) == 1 else annotation
    if isinstance(annotation, type):
        if issubclass(annotation, InvocationParameters):
            return "invocation parameters"
        if issubclass(annotation, RequestParameters):
            return "request parameters"
        if issubclass(annotation, Content):
            return "contents"
    if get_origin(annotation) in (list, tuple, collections.abc.Sequence):
        kind = (get_args(annotation) or (None,))[0]
        if kind is not None and (kind == Content or (isinstance(kind, type) and issubclass(kind, Content))):
            return "contents"
    return "contents" if annotation == Content else ""


_MARKERS: dict[type, str] = {
    MemoryId: "the id of the conversation",
    ToolMemoryId: "the id of the conversation",
    UserName: "the name of the user",
    UserText: "the user's message",
}
