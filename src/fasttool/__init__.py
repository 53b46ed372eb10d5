"""fasttool lets a language model call Python functions, at the speed of the functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fasttool import errors, messages
    from fasttool.loop import ErrorPolicy, Result, ToolExecution, arun_tools, run_tools
    from fasttool.messages import ToolCall, ToolChoice
    from fasttool.service import ai_service
    from fasttool.specification import ReturnBehavior, SearchBehavior, ToolSpecification
    from fasttool.tools import (
        InvocationContext,
        InvocationParameters,
        Managed,
        P,
        ToolExecutionResult,
        ToolMemoryId,
        ToolPlan,
        ToolResult,
        ToolService,
        find_tools,
        tool,
        tool_plan,
    )

__version__ = "0.1.0"

__all__ = [
    "ErrorPolicy",
    "InvocationContext",
    "InvocationParameters",
    "Managed",
    "P",
    "Result",
    "ReturnBehavior",
    "SearchBehavior",
    "ToolCall",
    "ToolChoice",
    "ToolExecution",
    "ToolExecutionResult",
    "ToolMemoryId",
    "ToolPlan",
    "ToolResult",
    "ToolService",
    "ToolSpecification",
    "ai_service",
    "arun_tools",
    "errors",
    "find_tools",
    "messages",
    "run_tools",
    "tool",
    "tool_plan",
]

_MODULES = {
    "ErrorPolicy": "loop",
    "InvocationContext": "tools",
    "InvocationParameters": "tools",
    "Managed": "tools",
    "P": "tools",
    "Result": "loop",
    "ReturnBehavior": "specification",
    "SearchBehavior": "specification",
    "ToolCall": "messages",
    "ToolChoice": "messages",
    "ToolExecution": "loop",
    "ToolExecutionResult": "tools",
    "ToolMemoryId": "tools",
    "ToolPlan": "tools",
    "ToolResult": "tools",
    "ToolService": "tools",
    "ToolSpecification": "specification",
    "ai_service": "service",
    "arun_tools": "loop",
    "find_tools": "tools",
    "run_tools": "loop",
    "tool": "tools",
    "tool_plan": "tools",
}
_SUBMODULES = (
    "cli",
    "coercion",
    "errors",
    "evaluation",
    "loop",
    "message_format",
    "messages",
    "models",
    "schema",
    "service",
    "tools",
)


def __getattr__(name: str) -> Any:
    # Names load on first use, so that importing fasttool costs next to nothing.
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
