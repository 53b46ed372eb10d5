"""Puts tools from all sources together, and takes the snapshot that one invocation works with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from fasttool.errors import ConfigurationError
from fasttool.messages import Message
from fasttool.specification import ToolArray, ToolSpecification
from fasttool.tools.compensation import Compensation, compensation_problem, find_compensations
from fasttool.tools.executor import Executor
from fasttool.tools.plan import ToolPlan
from fasttool.tools.provider import ToolProvider
from fasttool.tools.scanning import find_tools
from fasttool.tools.service_tool import ServiceTool

logger = logging.getLogger("fasttool")
logger.addHandler(logging.NullHandler())  # an application that sets up no logging is not written to

Tools = Iterable[Any] | Mapping[ToolSpecification, Executor]


def missing_description(specification: ToolSpecification) -> str | None:
    """Return what to do about a tool that does not tell a model what it is for, None where it does."""
    if specification.description is not None:
        return None
    name = specification.name
    return f'Tool {name} has no description: give it a docstring, or @tool("what it is for").'


class ToolServiceContext:
    """The tools of one invocation at one moment; a value, never changed.

    Attributes:
        effective_tools: what is sent to the model now, in order; new ones come last.
        available_tools: all that may be used, those that a search has yet to find among them.
        shown: the effective tools by name; what is not in it does not run.
        available: the available tools by name.
    """

    __slots__ = ("available", "available_tools", "effective_tools", "shown")

    def __init__(self, available: Mapping[str, ServiceTool], shown: Mapping[str, ServiceTool]) -> None:
        self.available = available
        self.shown = shown
        self.effective_tools = ToolArray(entry.specification for entry in shown.values())
        self.available_tools = (
            self.effective_tools
            if shown is available
            else ToolArray(entry.specification for entry in available.values())
        )

    def with_tools(self, tools: Iterable[ServiceTool]) -> ToolServiceContext:
        """Return the snapshot with further tools, shown at once; itself where all names are known."""
        new = {entry.name: entry for entry in tools if entry.name not in self.available}
        if not new:
            return self
        available = {**self.available, **new}
        return ToolServiceContext(
            available, available if self.shown is self.available else {**self.shown, **new}
        )

    def showing(self, names: Iterable[str]) -> ToolServiceContext:
        """Return the snapshot with some more of its available tools shown; itself where nothing changes."""
        found = {
            name: self.available[name] for name in names if name in self.available and name not in self.shown
        }
        return ToolServiceContext(self.available, {**self.shown, **found}) if found else self


class ToolVisibility(Protocol):
    """Decides which tools an invocation starts with; a tool search is one."""

    def adjust(self, snapshot: ToolServiceContext, messages: Sequence[Message]) -> ToolServiceContext:
        """Return the snapshot that the model sees at first.

        Args:
            snapshot: all tools, all of them shown.
            messages: the conversation so far.
        """
        ...


class ToolService:
    """The tools of a service, built once and used by any number of invocations.

    Args:
        tools: functions, callable objects, objects with ``@tool`` methods, plans, ServiceTools;
            mappings of ToolSpecification to executor; or one such mapping.
        providers: sources that are asked in each invocation; the same one twice is asked once.
        visibility: which tools an invocation starts with; None shows all.
        require_descriptions: refuse a tool that does not tell the model what it is for; otherwise
            the log has a warning.

    Raises:
        ConfigurationError: something in it is no tool, or two tools have one name.
    """

    def __init__(
        self,
        tools: Tools = (),
        *,
        providers: Iterable[ToolProvider] = (),
        visibility: ToolVisibility | None = None,
        require_descriptions: bool = False,
    ) -> None:
        self._require_descriptions = require_descriptions
        self._tools: dict[str, ServiceTool] = {}
        self._compensations: dict[str, list[Callable[..., Any]]] = {}
        self._context: ToolServiceContext | None = None
        self.visibility = visibility
        self.static_providers: list[ToolProvider] = []
        self.dynamic_providers: list[ToolProvider] = []
        for entry in sources(tools):
            self.add(entry)
        for provider in providers:
            self.add_provider(provider)

    def add(self, source: Any) -> None:
        """Add what one source holds; see the class for what a source may be.

        Raises:
            ConfigurationError: it holds no tool, or a name is taken.
        """
        compensations = find_compensations(source)
        for tool, function in compensations:
            self._compensations.setdefault(tool, []).append(function)
        for entry in service_tools(source, optional=bool(compensations)):
            if entry.name in self._tools:
                raise taken(entry.name)
            problem = missing_description(entry.specification)
            if problem is not None:
                if self._require_descriptions:
                    raise ConfigurationError(problem)
                logger.warning(problem)
            self._tools[entry.name] = entry
            self._context = None

    def add_provider(self, provider: ToolProvider) -> None:
        """Add a source that is asked in each invocation.

        Raises:
            ConfigurationError: it is none.
        """
        if not isinstance(provider, ToolProvider):
            raise ConfigurationError(
                f"A tool provider has is_dynamic and provide_tools, got {type(provider).__name__}."
            )
        known = self.dynamic_providers if provider.is_dynamic else self.static_providers
        if not any(provider is other for other in known):
            known.append(provider)

    def compensation_of(self, tool: ServiceTool, available: Mapping[str, ServiceTool]) -> Compensation | None:
        """Return what undoes a tool, None where nothing does.

        Args:
            tool: the tool.
            available: the tools of the moment, for one that is undone by another.

        Raises:
            ConfigurationError: what is declared cannot undo it.
        """
        found, problem = self._compensation(tool, available)
        if problem is not None:
            raise ConfigurationError(f"{problem}.")
        return found

    def check_compensations(self) -> None:
        """Refuse compensations that cannot undo their tools.

        Raises:
            ConfigurationError: there are some; the text lists all of them.
        """
        problems = [self._compensation(tool, self._tools)[1] for tool in self._tools.values()]
        if not self.static_providers and not self.dynamic_providers:
            problems += [
                f"{getattr(functions[0], '__name__', 'a function')} is the compensation of tool {name}, "
                "which does not exist"
                for name, functions in self._compensations.items()
                if name not in self._tools
            ]
        found = [problem for problem in problems if problem is not None]
        if found:
            raise ConfigurationError(f"Compensations cannot be used: {'; '.join(found)}.")

    def _compensation(
        self, tool: ServiceTool, available: Mapping[str, ServiceTool]
    ) -> tuple[Compensation | None, str | None]:
        functions: list[Any] = list(self._compensations.get(tool.name, ()))
        if tool.compensate_with is not None:
            functions.append(tool.compensate_with)
        if len(functions) > 1:
            return None, f"tool {tool.name} has {len(functions)} compensations"
        if not functions:
            return None, None
        function = functions[0]
        if isinstance(function, str):
            other = available.get(function)
            if other is None:
                return None, f"tool {tool.name} is undone by tool {function}, which does not exist"
            return Compensation(executor=other.executor), None
        takes_execution, problem = compensation_problem(tool, function)
        if problem is not None:
            return None, problem
        return Compensation(function=function, takes_execution=takes_execution), None

    @property
    def is_fixed(self) -> bool:
        """Whether every invocation starts and ends with the same tools."""
        return not (self.static_providers or self.dynamic_providers or self.visibility)

    def context(self) -> ToolServiceContext:
        """Return the snapshot of the tools that need no provider; the same one as long as none is added."""
        if self._context is None:
            tools = dict(self._tools)
            self._context = ToolServiceContext(tools, tools)
        return self._context


def sources(tools: Tools) -> Iterable[Any]:
    """Return the single sources of what a caller gave as tools.

    Raises:
        ConfigurationError: it is neither a collection nor a mapping.
    """
    if isinstance(tools, Mapping):
        return (tools,)
    if isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
        raise ConfigurationError(
            f"tools must be a list of tools or a mapping of ToolSpecification to executor, "
            f"got {type(tools).__name__}."
        )
    return tools


def service_tools(source: Any, *, optional: bool = False) -> list[ServiceTool]:
    """Return the tools of one source.

    Args:
        source: see ``ToolService``.
        optional: what is marked as no tool may hold none; it holds compensations.

    Raises:
        ConfigurationError: it holds none.
    """
    if isinstance(source, ServiceTool):
        return [source]
    if isinstance(source, Mapping):
        found = []
        for specification, executor in source.items():
            if not isinstance(specification, ToolSpecification):
                raise ConfigurationError(
                    f"A mapping of tools has ToolSpecification keys, got {type(specification).__name__}."
                )
            found.append(ServiceTool(specification, executor))
        return found
    return [_of_plan(plan) for plan in find_tools(source, marked_only=optional)]


def provided_tools(given: Any) -> list[ServiceTool]:
    """Return the tools that a provider gave.

    Raises:
        ConfigurationError: something in it is no tool, or two of them have one name.
    """
    if given is None:
        return []
    found: dict[str, ServiceTool] = {}
    for source in sources(given):
        for entry in service_tools(source):
            if entry.name in found:
                raise taken(entry.name)
            found[entry.name] = entry
    return list(found.values())


def taken(name: str) -> ConfigurationError:
    """Return the error for a second tool of one name."""
    return ConfigurationError(
        f"Two tools are named {name}: give one of them another name with @tool(name=...)."
    )


def _of_plan(plan: ToolPlan) -> ServiceTool:
    declaration = plan.declaration
    return ServiceTool(
        plan.specification,
        plan,
        return_behavior=plan.return_behavior,
        timeout=declaration.timeout,
        requires_approval=declaration.requires_approval,
        max_uses=declaration.max_uses,
        max_attempts=declaration.max_attempts,
        compensate_with=declaration.compensate_with,
        compensate_unknown=declaration.compensate_unknown,
    )
