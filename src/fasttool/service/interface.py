"""A Protocol of yours -> an object that talks to a model with tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack
from weakref import WeakKeyDictionary

from fasttool.errors import ApprovalRequiredError, ConfigurationError
from fasttool.loop.drivers import Run, drive, traced
from fasttool.loop.events import Listener
from fasttool.loop.options import LoopOptions, RunOptions, read_options
from fasttool.loop.result import Result
from fasttool.loop.run import check_tool_choice
from fasttool.loop.streaming import TokenStream
from fasttool.memory.protocol import ChatMemory
from fasttool.models.protocol import ChatModel
from fasttool.service.markers import RetrievedContent
from fasttool.service.method import Call, MethodPlan, Returns
from fasttool.service.templates import Template
from fasttool.service.turn import Hooks, InputGuardrail, OutputGuardrail, Retriever, turn_steps
from fasttool.tools.declaration import DECLARATION
from fasttool.tools.invocation import DEFAULT_MEMORY_ID, InvocationContext
from fasttool.tools.provider import ToolProvider
from fasttool.tools.service import Tools, ToolService

Service = TypeVar("Service")

MemoryProvider = Callable[[Any], ChatMemory]
"""Returns the memory of a conversation, by its id."""


def ai_service(
    interface: Callable[..., Service],  # a class; type[...] would refuse a Protocol to type checkers
    *,
    chat_model: ChatModel,
    tools: Tools | ToolService = (),
    tool_providers: Iterable[ToolProvider] = (),
    system_message: str | Callable[[InvocationContext], str | None] | None = None,
    memory_provider: MemoryProvider | None = None,
    managed: Iterable[Any] | Mapping[type, Any] = (),
    retriever: Retriever | None = None,
    retrieved_content: RetrievedContent = RetrievedContent.STORED,
    input_guardrails: Sequence[InputGuardrail] = (),
    output_guardrails: Sequence[OutputGuardrail] = (),
    max_reprompts: int = 1,
    **options: Unpack[RunOptions],
) -> Service:
    """Return an object with the methods of ``interface``, each of which asks the model.

    An argument of a method is the user's message, a value of a template, or what its mark or type says
    (``MemoryId``, ``UserName``, contents, ``InvocationParameters``, ``RequestParameters``).  A method
    returns str, AiMessage, None, a stream of events, or a type that the answer is read as, or a Result of
    one; it may be ``async def``.  Without a memory, calls share nothing.

    Args:
        interface: a Protocol or another class whose public methods have no body of their own.
        chat_model: answers.
        tools: what the model may call; see ``run_tools``.
        tool_providers: sources of further tools; see ``ToolService``.
        system_message: what the model should be and do: a template, or a function of the invocation.
        memory_provider: gives the memory of a conversation by its id, for example ``ChatMemories(...).get``;
            for one conversation there is ``memory`` among the options.
        managed: objects that tools ask for by type.
        retriever: finds content for the user's message.
        retrieved_content: what becomes of it.
        input_guardrails: look at what the user says.
        output_guardrails: look at the answer.
        max_reprompts: how often the model is asked again for an answer that cannot be read or was not
            accepted.
        options: see ``RunOptions``.

    Raises:
        ConfigurationError: a method cannot be served, or an option is wrong; the text says which.
    """
    if not isinstance(interface, type):
        raise ConfigurationError(f"ai_service needs a class, your Protocol, got {type(interface).__name__}.")
    if not isinstance(chat_model, ChatModel):
        raise ConfigurationError(
            f"chat_model must have the methods chat and achat, got {type(chat_model).__name__}."
        )
    if not isinstance(retrieved_content, RetrievedContent):
        raise ConfigurationError(f"retrieved_content must be a RetrievedContent, got {retrieved_content!r}.")
    if isinstance(max_reprompts, bool) or not isinstance(max_reprompts, int) or max_reprompts < 0:
        raise ConfigurationError(f"max_reprompts must be a whole number of 0 or more, got {max_reprompts!r}.")
    if "context" in options:
        raise ConfigurationError(
            "A service makes the context of each call itself: use managed, or arguments."
        )
    if memory_provider is not None and options.get("memory") is not None:
        raise ConfigurationError("Give memory for one conversation or memory_provider for many, not both.")
    hooks = Hooks(
        retriever, retrieved_content, tuple(input_guardrails), tuple(output_guardrails), max_reprompts
    )
    server = _Server(
        interface,
        chat_model,
        _tool_service(tools, tool_providers),
        _system(system_message, interface),
        memory_provider,
        managed,
        hooks,
        options,
    )
    members: dict[str, Any] = {
        "__slots__": (),
        "__doc__": interface.__doc__,
        "__module__": interface.__module__,
    }
    for name, (method, plan) in _plans(interface).items():
        members[name] = _served(server, plan, method)
    if not any(not name.startswith("__") for name in members):
        raise ConfigurationError(f"{interface.__name__} has no public method for the service to serve.")
    bases: tuple[type, ...] = () if getattr(interface, "_is_protocol", False) else (interface,)
    made: Service = type(interface.__name__, bases, members)()
    return made


def _tool_service(tools: Tools | ToolService, providers: Iterable[ToolProvider]) -> ToolService:
    if isinstance(tools, ToolService):
        if tuple(providers):
            raise ConfigurationError("Give tool_providers to the ToolService that is given as tools.")
        return tools
    return ToolService(tools, providers=providers)


def _system(
    system_message: Any, interface: type
) -> Template | Callable[[InvocationContext], str | None] | None:
    if system_message is None or system_message == "":
        return None
    if isinstance(system_message, str):
        return Template(system_message, interface.__name__)
    if callable(system_message):
        return system_message  # type: ignore[no-any-return]
    raise ConfigurationError(
        f"system_message must be text or a function of the invocation, got {type(system_message).__name__}."
    )


class _Server:
    """Starts the calls of a service's methods."""

    __slots__ = (
        "_execution",
        "_hooks",
        "_interface",
        "_managed",
        "_memory",
        "_memory_provider",
        "_model",
        "_options",
        "_service",
        "_system",
        "_telemetry",
        "_told_format",
    )

    def __init__(
        self,
        interface: type,
        model: ChatModel,
        service: ToolService,
        system: Template | Callable[[InvocationContext], str | None] | None,
        memory_provider: MemoryProvider | None,
        managed: Iterable[Any] | Mapping[type, Any],
        hooks: Hooks,
        options: Mapping[str, Any],
    ) -> None:
        self._interface = interface.__name__
        self._model = model
        self._service = service
        self._system = system
        self._memory: ChatMemory | None = options.get("memory")
        self._memory_provider = memory_provider
        self._managed = managed if isinstance(managed, Mapping) else tuple(managed)
        InvocationContext(managed=self._managed)  # says what is wrong now rather than in a call
        self._hooks = hooks
        self._told_format = bool(getattr(model, "supports_response_format", False))
        self._telemetry = options.get("telemetry")
        loop, self._execution = read_options(options)
        if memory_provider is not None:
            loop = replace(loop, has_memory=True)
        self._options: LoopOptions = loop
        if loop.compensate is not None:
            service.check_compensations()
        if loop.tool_choice is not None:
            check_tool_choice(loop.tool_choice, service)

    def start(self, plan: MethodPlan, call: Call, listener: Listener | None = None) -> Run:
        """Return the run of one call."""
        memory = self._memory_of(plan, call)
        context = InvocationContext(
            DEFAULT_MEMORY_ID if call.memory_id is None else call.memory_id,
            call.invocation_parameters,
            self._managed,
            user_message=call.message,
            interface=self._interface,
            method=plan.name,
            arguments=call.values,
        )
        if memory is not None and call.memory_id is None:
            context.memory_id = memory.id
        options = self._options
        changes: dict[str, Any] = {}
        if call.request_parameters:
            changes["parameters"] = {**options.parameters, **call.request_parameters}
        if listener is not None:
            changes["listeners"] = (*options.listeners, listener)
        returns, instruction = plan.returns, ""
        if returns.reader is not None:
            if self._told_format:
                changes["response_format"] = returns.reader.response_format
            else:
                instruction = returns.reader.instruction
        if changes:
            options = replace(options, **changes)
        system = self._system_text(plan, call, context)
        options, model, trace = traced(options, self._model, self._telemetry)
        machine = turn_steps(
            system, call.message, self._service, options, context, self._hooks, returns, instruction
        )
        return Run(machine, model, context, options, self._execution, memory, trace)

    def _memory_of(self, plan: MethodPlan, call: Call) -> ChatMemory | None:
        if self._memory_provider is not None:
            memory_id = DEFAULT_MEMORY_ID if call.memory_id is None else call.memory_id
            return self._memory_provider(memory_id)
        if plan.names_conversation and self._memory is not None:
            raise ConfigurationError(
                f"{plan.where} names a conversation, but the service has one memory: give a memory_provider."
            )
        return self._memory

    def _system_text(self, plan: MethodPlan, call: Call, context: InvocationContext) -> str | None:
        system = plan.system or self._system
        if system is None:
            return None
        return system.filled(call.values) if isinstance(system, Template) else system(context)

    @property
    def holds_text(self) -> bool:
        """Whether the text of a stream is held back until the guardrails have seen it."""
        return bool(self._hooks.output_guardrails)


_PLANS: WeakKeyDictionary[type, dict[str, tuple[Callable[..., Any], MethodPlan]]] = WeakKeyDictionary()
"""The methods of interfaces, inspected once; a service may be made for each conversation."""


def _plans(interface: type) -> dict[str, tuple[Callable[..., Any], MethodPlan]]:
    methods = _methods(interface)
    known = _PLANS.get(interface)
    if known is None or {name: method for name, (method, _) in known.items()} != methods:
        known = {name: (method, MethodPlan(interface, name, method)) for name, method in methods.items()}
        _PLANS[interface] = known
    return known


def _methods(interface: type) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for base in reversed(interface.__mro__):
        if base is object:
            continue
        for name, member in vars(base).items():
            if not name.startswith("_") and inspect.isfunction(member):
                found[name] = member
    return found


def _served(server: _Server, plan: MethodPlan, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that stands in for one of the interface."""
    returns = plan.returns
    if returns.is_stream:

        def served_stream(self: Any, *arguments: Any, **keywords: Any) -> Any:
            call = plan.call(self, arguments, keywords)
            return TokenStream(lambda told: server.start(plan, call, told), hold_text=server.holds_text)

        served: Callable[..., Any] = served_stream
    elif plan.is_async:

        async def served_async(self: Any, *arguments: Any, **keywords: Any) -> Any:
            from fasttool.loop.async_drivers import adrive

            return _returned(await adrive(server.start(plan, plan.call(self, arguments, keywords))), returns)

        served = served_async
    else:

        def served_blocking(self: Any, *arguments: Any, **keywords: Any) -> Any:
            return _returned(drive(server.start(plan, plan.call(self, arguments, keywords))), returns)

        served = served_blocking
    served.__name__, served.__qualname__ = plan.name, method.__qualname__
    served.__doc__ = method.__doc__
    served.__signature__ = plan.signature  # type: ignore[attr-defined]
    served.__wrapped__ = method  # type: ignore[attr-defined]
    if hasattr(method, DECLARATION):  # a service can be a tool of another
        setattr(served, DECLARATION, getattr(method, DECLARATION))
    return served


def _returned(result: Result[Any], returns: Returns) -> Any:
    """Return what a method returns for the result of its run (reference: core, section 6)."""
    if returns.is_result:
        return result
    if result.paused is not None:
        raise ApprovalRequiredError(result.paused)
    if returns.kind is None:
        return None
    if returns.is_message:
        return result.responses[-1].message
    if result.messages[-1].role == "assistant" and result.content is None and returns.kind is str:
        return ""
    return result.content
