"""One plan per callable: it is inspected once, and everything after that is a look-up."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fasttool._ext.coerce import ArgumentBinder
from fasttool.coercion.binder import argument_binder
from fasttool.errors import ConfigurationError, MissingExtraError
from fasttool.messages import ToolCall
from fasttool.schema.json_schema import parameters_schema
from fasttool.specification import ReturnBehavior, SearchBehavior, ToolSpecification
from fasttool.tools.declaration import ToolDeclaration, declaration_of
from fasttool.tools.docstrings import read_docstring
from fasttool.tools.executor import (
    ToolExecutionResult,
    execution_error,
    execution_result,
    run_to_end,
)
from fasttool.tools.invocation import InvocationContext
from fasttool.tools.signature import read_signature, says_nothing
from fasttool.tools.threads import in_thread

_PLANS = "__fasttool_plans__"
_PLAIN = ToolDeclaration()
_MAKING = threading.RLock()


class ToolPlan:
    """A callable as a tool: its specification, its argument binder and its result writer.

    Made by ``tool_plan``; it is an executor.

    Attributes:
        name: what the model calls it.
        specification: what a model is told.
        function: what is called.
        is_async: calling it gives an awaitable.
        declaration: what ``@tool`` was given.
        inline: it never blocks, so that an event loop may call it directly.
        return_behavior: whether its result goes to the model or to the caller.
        search_behavior: whether it is shown before a tool search has found it.
    """

    __slots__ = (
        "__weakref__",
        "_binder",
        "_by_keyword",
        "_extra",
        "_injected",
        "_nothing",
        "_plain",
        "_positional",
        "_quoted",
        "_reserved",
        "declaration",
        "function",
        "inline",
        "is_async",
        "name",
        "return_behavior",
        "search_behavior",
        "specification",
    )

    def __init__(
        self, function: Callable[..., Any], declaration: ToolDeclaration, *, bound: bool = False
    ) -> None:
        self.name = name = declaration.name or _name_of(function)
        docstring = read_docstring(_docstring_of(function))
        signature = read_signature(function, name, docstring, bound=bound)
        closed = declaration.extra == "forbid"
        if closed and signature.extra is not None:
            raise ConfigurationError(
                f'Tool {name} takes further arguments with ** and has extra="forbid": remove one of them.'
            )
        try:
            self.specification = ToolSpecification(
                name,
                declaration.description if declaration.description is not None else docstring.description,
                parameters_schema(signature.fields, extra=signature.extra, closed=closed),
                metadata=_metadata(declaration),
                strict=declaration.strict,
            )
        except ConfigurationError as error:
            raise ConfigurationError(f"Tool {name} cannot be described: {error}") from None
        self.function = function
        self.is_async = signature.is_async
        self.inline = declaration.inline
        self.return_behavior: ReturnBehavior = declaration.return_behavior
        self.search_behavior: SearchBehavior = declaration.search_behavior
        self.declaration = declaration
        try:
            self._binder: ArgumentBinder = argument_binder(
                name,
                signature.fields,
                extra=signature.extra,
                closed=closed,
                repair_json=declaration.repair_json,
            )
        except MissingExtraError:
            raise
        except ConfigurationError as error:
            raise ConfigurationError(f"Tool {name} cannot be made: {error}") from None
        self._positional = signature.positional
        self._by_keyword = tuple(entry.name for entry in signature.fields[signature.positional :])
        self._extra = signature.extra is not None
        self._injected = signature.injected
        self._plain = not self._by_keyword and not self._extra and not self._injected
        # Names that a further argument must not take: of parameters, and what a partial has bound.
        self._reserved = _bound_by_partial(function).union(
            (entry.name for entry in signature.fields), (entry.name for entry in signature.injected)
        )
        self._quoted = signature.returns is object
        self._nothing = "Success" if says_nothing(signature.returns) else "null"

    def bind(self, arguments: Any) -> dict[str, Any]:
        """Return the values of the parameters by their names in Python, defaults filled.

        Args:
            arguments: JSON text, UTF-8 bytes, a mapping, or None for nothing.

        Raises:
            ToolArgumentsError: the text is not a JSON object, a value is missing, or one does not fit.
        """
        bound = self._binder.bind(arguments)
        for name in _bound_by_partial(self.function):
            bound.pop(name, None)
        return bound

    def call(self, arguments: Any, context: Any = None) -> ToolExecutionResult:
        """Bind the arguments, call the function, and return what a model is sent.

        Args:
            arguments: JSON text, UTF-8 bytes, a mapping, or None for nothing.
            context: the invocation that the call belongs to; None stands for one without values.

        Raises:
            ToolArgumentsError: the arguments do not fit; the function was not called.
            ConfigurationError: the invocation lacks a value that the function asks for.
            ToolExecutionError: the function failed, or its result cannot be written; ``__cause__`` says why.
        """
        values = self._binder.values(arguments)
        injected = self._injected and self._fill(context)
        try:
            value = self.function(*values) if self._plain else self._invoke(values, injected)
        except Exception as error:
            raise execution_error(self.name, error) from error
        if type(value) is str:
            if value.isascii() and not self._quoted:
                return ToolExecutionResult(value, (), value)  # as execution_result does, without the call
        elif hasattr(value, "__await__"):
            value = run_to_end(value, self.name)
        return execution_result(self.name, value, self._quoted, self._nothing)

    async def acall(self, arguments: Any, context: Any = None) -> ToolExecutionResult:
        """Do what ``call`` does; what is neither async nor inline runs in a worker thread."""
        values = self._binder.values(arguments)
        injected = self._injected and self._fill(context)
        try:
            if self.is_async or self.inline:
                value = self.function(*values) if self._plain else self._invoke(values, injected)
            else:
                value = await in_thread(self._invoke, values, injected)
            if type(value) is not str and hasattr(value, "__await__"):
                value = await value
        except Exception as error:
            raise execution_error(self.name, error) from error
        if type(value) is str and value.isascii() and not self._quoted:
            return ToolExecutionResult(value, (), value)
        return execution_result(self.name, value, self._quoted, self._nothing)

    def execute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Run for a call; see ``call``."""
        return self.call(call.arguments, context)

    def aexecute(self, call: ToolCall, context: Any) -> Coroutine[Any, Any, ToolExecutionResult]:
        """Run for a call; see ``acall``, whose coroutine this is."""
        return self.acall(call.arguments, context)

    def recording(self, record: Callable[[tuple[Any, ...], dict[str, Any]], None]) -> ToolPlan:
        """Return the plan with a function that first tells ``record`` of the arguments that it gets."""
        function = self.function

        def recorded(*arguments: Any, **keywords: Any) -> Any:
            record(arguments, keywords)
            return function(*arguments, **keywords)

        plan = self._copy()
        plan.function = recorded
        return plan

    def bound_arguments(
        self, arguments: Any, context: InvocationContext | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what the function would be called with, by position and by keyword; see ``call``."""
        found: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        plan = self._copy()
        plan.function = lambda *given, **named: found.append((given, named))
        values = self._binder.values(arguments)
        plan._invoke(values, self._injected and self._fill(context))
        return found[0]

    def positional_arguments(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of one call in the order of the function's parameters, defaults filled."""
        bound = inspect.signature(self.function).bind(*arguments, **keywords)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def bound_to(self, owner: Any) -> ToolPlan:
        """Return the plan of a method for one object; everything but the function is shared."""
        plan = self._copy()
        bind = getattr(type(self.function), "__get__", None)
        plan.function = (
            functools.partial(self.function, owner) if bind is None else bind(self.function, owner)
        )
        return plan

    def _copy(self) -> ToolPlan:
        plan = object.__new__(ToolPlan)
        for slot in self.__slots__:
            if slot != "__weakref__":
                setattr(plan, slot, getattr(self, slot))
        return plan

    def _fill(self, context: InvocationContext | None) -> list[Any]:
        """Return what the framework fills, in the order of ``_injected``."""
        if context is None:
            context = InvocationContext()
        return [parameter.value(context) for parameter in self._injected]

    def _invoke(self, values: list[Any], injected: Sequence[Any]) -> Any:
        if self._plain:
            return self.function(*values)
        further = values.pop() if self._extra else {}
        if further and not self._reserved.isdisjoint(further):
            further = {name: value for name, value in further.items() if name not in self._reserved}
        keywords = dict(zip(self._by_keyword, values[self._positional :], strict=True))
        positional = values[: self._positional]
        for parameter, value in zip(self._injected, injected, strict=True):
            if parameter.position is None:
                keywords[parameter.name] = value
            else:
                positional.insert(parameter.position, value)
        return self.function(*positional, **keywords, **further)

    def __repr__(self) -> str:
        return f"ToolPlan({self.name!r})"


def tool_plan(function: Any) -> ToolPlan:
    """Return the plan of a callable; the same callable gives the same plan.

    Args:
        function: a function, a bound method, a ``functools.partial``, an object with ``__call__``,
            or a plan.

    Raises:
        ConfigurationError: it cannot be a tool; the text says why and names the way out.

    >>> def add(a: int, b: int = 1) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> plan = tool_plan(add)
    >>> plan.specification.parameters["required"]
    ['a']
    >>> plan.call('{"a": "2"}').text
    '3'
    """
    if isinstance(function, ToolPlan):
        return function
    if isinstance(function, type):
        raise ConfigurationError(
            f"A tool is a function or an object, not the class {function.__name__}: make an object of it."
        )
    if isinstance(function, (staticmethod, classmethod)):
        raise ConfigurationError(
            "A static or class method becomes a tool through its class or an object: use Class.method."
        )
    if not callable(function):
        raise ConfigurationError(f"A tool is a function or a callable object, got {type(function).__name__}.")
    if inspect.ismethod(function):
        return _cached_plan(function.__func__, bound=True).bound_to(function.__self__)
    return _cached_plan(function, bound=False)


def _cached_plan(function: Any, *, bound: bool) -> ToolPlan:
    """Return the plan of a function, which is kept with the function and goes when that goes."""
    plan = _known_plan(function, bound)
    if plan is None:
        with _MAKING:  # another thread may have been faster
            plan = _known_plan(function, bound) or _new_plan(function, bound)
    return plan


def _known_plan(function: Any, bound: bool) -> ToolPlan | None:
    plans = getattr(function, "__dict__", {}).get(_PLANS)
    plan = plans.get(bound) if isinstance(plans, dict) else None
    # A wrapper made with functools.wraps has its original's plans: they are another function's.
    return plan if isinstance(plan, ToolPlan) and plan.function is function else None


def _new_plan(function: Any, bound: bool) -> ToolPlan:
    # What marks an object's __call__ marks the object.
    declaration = declaration_of(function) or declaration_of(type(function).__call__) or _PLAIN
    plan = ToolPlan(function, declaration, bound=bound)
    other = _known_plan(function, not bound)
    try:
        setattr(function, _PLANS, {bound: plan} if other is None else {bound: plan, not bound: other})
    except (AttributeError, TypeError):  # it has no room for more: the plan is made anew each time
        return plan
    return plan


def _bound_by_partial(function: Any) -> frozenset[str]:
    return frozenset(function.keywords) if isinstance(function, functools.partial) else frozenset()


def _metadata(declaration: ToolDeclaration) -> dict[str, Any]:
    metadata = dict(declaration.metadata)
    if declaration.search_behavior is not SearchBehavior.SEARCHABLE:
        metadata["searchBehavior"] = declaration.search_behavior.name
    return metadata


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name: str = getattr(function, "__name__", None) or type(function).__name__
    if name == "<lambda>":
        raise ConfigurationError(
            'A lambda has no name for a model: define a function, or use @tool(name="...").'
        )
    return name


def _docstring_of(function: Any) -> str | None:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return inspect.getdoc(function)
    # Not getdoc of __call__: where that says nothing, it finds what object says of its own.
    text = type(function).__call__.__doc__
    return text if text and text.strip() else inspect.getdoc(type(function))
