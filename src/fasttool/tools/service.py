"""Puts tools from all sources together, and takes the snapshot that one invocation works with."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from fasttool.errors import ConfigurationError
from fasttool.specification import ReturnBehavior, ToolArray, ToolSpecification
from fasttool.tools.executor import Executor, ToolExecutor, as_executor
from fasttool.tools.scanning import find_tools

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
    """The tools of one invocation.

    Attributes:
        effective_tools: what is sent to the model now, in order.
        available_tools: all that may be used.
        executors: what runs each tool, by name.
        return_behaviors: where the result of each tool goes, by name.
    """

    __slots__ = ("available_tools", "effective_tools", "executors", "return_behaviors")

    def __init__(
        self,
        effective_tools: tuple[ToolSpecification, ...],
        available_tools: tuple[ToolSpecification, ...],
        executors: Mapping[str, ToolExecutor],
        return_behaviors: Mapping[str, ReturnBehavior],
    ) -> None:
        self.effective_tools = effective_tools
        self.available_tools = available_tools
        self.executors = executors
        self.return_behaviors = return_behaviors


class ToolService:
    """The tools of a service, built once and used by any number of invocations.

    Args:
        tools: functions, callable objects, objects with ``@tool`` methods, plans; mappings of
            ToolSpecification to executor; or one such mapping.
        require_descriptions: refuse a tool that does not tell the model what it is for; otherwise
            the log has a warning.

    Raises:
        ConfigurationError: something in it is no tool, or two tools have one name.
    """

    def __init__(self, tools: Tools = (), *, require_descriptions: bool = False) -> None:
        self._require_descriptions = require_descriptions
        self._specifications: dict[str, ToolSpecification] = {}
        self._executors: dict[str, ToolExecutor] = {}
        self._return_behaviors: dict[str, ReturnBehavior] = {}
        self._context: ToolServiceContext | None = None
        if isinstance(tools, Mapping):
            tools = [tools]
        if isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
            raise ConfigurationError(
                f"tools must be a list of tools or a mapping of ToolSpecification to executor, "
                f"got {type(tools).__name__}."
            )
        for source in tools:
            self.add(source)

    def add(self, source: Any) -> None:
        """Add what one source holds; see the class for what a source may be.

        Raises:
            ConfigurationError: it holds no tool, or a name is taken.
        """
        if isinstance(source, Mapping):
            for specification, executor in source.items():
                if not isinstance(specification, ToolSpecification):
                    raise ConfigurationError(
                        f"A mapping of tools has ToolSpecification keys, got {type(specification).__name__}."
                    )
                self._put(specification, as_executor(executor, specification.name), ReturnBehavior.TO_LLM)
            return
        for plan in find_tools(source):
            self._put(plan.specification, plan, plan.return_behavior)

    def _put(
        self, specification: ToolSpecification, executor: ToolExecutor, behavior: ReturnBehavior
    ) -> None:
        name = specification.name
        if name in self._specifications:
            raise ConfigurationError(
                f"Two tools are named {name}: give one of them another name with @tool(name=...)."
            )
        problem = missing_description(specification)
        if problem is not None:
            if self._require_descriptions:
                raise ConfigurationError(problem)
            logger.warning(problem)
        self._specifications[name] = specification
        self._executors[name] = executor
        self._return_behaviors[name] = behavior
        self._context = None

    def context(self) -> ToolServiceContext:
        """Return the snapshot for one invocation; the same one as long as no tool is added."""
        if self._context is None:
            specifications = ToolArray(self._specifications.values())
            self._context = ToolServiceContext(
                specifications, specifications, dict(self._executors), dict(self._return_behaviors)
            )
        return self._context
