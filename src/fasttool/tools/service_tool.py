"""A tool as a service knows it: what a model is told, what runs it, and how the loop treats it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fasttool.errors import ConfigurationError
from fasttool.messages import ToolCall
from fasttool.specification import ReturnBehavior, ToolSpecification
from fasttool.tools.executor import Executor, ToolExecutor, as_executor
from fasttool.tools.invocation import InvocationContext

Approval = bool | Callable[[ToolCall, InvocationContext], bool]
"""Whether a person must agree to a call; a function decides call by call."""


class ServiceTool:
    """A specification with what runs it; what providers give, and what every source is turned into.

    Args:
        specification: what a model is told.
        executor: what runs it: a function of ``(call, context)`` or an object with ``execute``.
        return_behavior: whether its result goes to the model or to the caller.
        timeout: seconds that a call may take, waiting for a thread included; None for no limit.
        requires_approval: a run stops before a call, until somebody decided; or a function of
            ``(call, context)`` that says whether it does.
        max_uses: calls that one run may make; further ones are refused; None for no limit.
        max_attempts: rounds of one run in which it may fail; the last one ends the run; None for no limit.
        compensate_with: what undoes it: the name of another tool, which is run with the same arguments, or a
            function of one ToolExecution.
        compensate_unknown: it may be undone also where nobody knows whether it took effect.

    Raises:
        ConfigurationError: an option is wrong; the text names the tool.

    Attributes:
        name: what the model calls it.
        is_plain: a call needs no decision and is not counted.
    """

    __slots__ = (
        "compensate_unknown",
        "compensate_with",
        "executor",
        "is_plain",
        "max_attempts",
        "max_uses",
        "name",
        "requires_approval",
        "return_behavior",
        "specification",
        "timeout",
    )

    def __init__(
        self,
        specification: ToolSpecification,
        executor: Executor,
        *,
        return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM,
        timeout: float | None = None,
        requires_approval: Approval = False,
        max_uses: int | None = None,
        max_attempts: int | None = None,
        compensate_with: str | Callable[[Any], Any] | None = None,
        compensate_unknown: bool = False,
    ) -> None:
        if not isinstance(specification, ToolSpecification):
            raise ConfigurationError(
                f"A tool of a service has a ToolSpecification, got {type(specification).__name__}."
            )
        self.name = name = specification.name
        check_settings(name, timeout, requires_approval, max_uses, max_attempts)
        if not isinstance(return_behavior, ReturnBehavior):
            raise ConfigurationError(
                f"return_behavior of tool {name} must be a ReturnBehavior, got {return_behavior!r}."
            )
        self.specification = specification
        self.executor: ToolExecutor = as_executor(executor, name)
        self.return_behavior = return_behavior
        self.timeout = timeout
        self.requires_approval = requires_approval
        self.max_uses = max_uses
        self.max_attempts = max_attempts
        if (
            compensate_with is not None
            and not isinstance(compensate_with, str)
            and not callable(compensate_with)
        ):
            raise ConfigurationError(
                f"compensate_with of tool {name} must be the name of a tool or a function, "
                f"got {compensate_with!r}."
            )
        self.compensate_with = compensate_with
        self.compensate_unknown = compensate_unknown
        self.is_plain = requires_approval is False and max_uses is None and max_attempts is None

    def __repr__(self) -> str:
        return f"ServiceTool({self.name!r})"


def check_settings(name: str, timeout: Any, requires_approval: Any, max_uses: Any, max_attempts: Any) -> None:
    """Refuse settings that are no settings.

    Raises:
        ConfigurationError: one is wrong.
    """
    if timeout is not None and (
        isinstance(timeout, bool)
        or not isinstance(timeout, (int, float))
        or not timeout > 0
        or math.isnan(timeout)
    ):
        raise ConfigurationError(f"timeout of tool {name} must be seconds above 0, got {timeout!r}.")
    if not isinstance(requires_approval, bool) and not callable(requires_approval):
        raise ConfigurationError(
            f"requires_approval of tool {name} must be True, False or a function of (call, context), "
            f"got {requires_approval!r}."
        )
    for option, limit in (("max_uses", max_uses), ("max_attempts", max_attempts)):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise ConfigurationError(
                f"{option} of tool {name} must be a whole number above 0, got {limit!r}."
            )
