"""fasttool lets a language model call Python functions, at the speed of the functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fasttool import errors, messages
    from fasttool.errors import RefuseTool, Reprompt, RetryTool
    from fasttool.loop import (
        Approve,
        CompensateWhen,
        CompensationScope,
        ErrorPolicy,
        PausedRun,
        Reject,
        Result,
        ToolExecution,
        aresume_tools,
        arun_tools,
        resume_tools,
        run_tools,
        stream_tools,
    )
    from fasttool.messages import ToolCall, ToolChoice
    from fasttool.service import (
        MemoryId,
        RequestParameters,
        RetrievedContent,
        UserName,
        UserText,
        ai_service,
        system_message,
        user_message,
    )
    from fasttool.specification import ReturnBehavior, SearchBehavior, ToolSpecification
    from fasttool.tools import (
        IdempotencyKey,
        InvocationContext,
        InvocationParameters,
        Managed,
        P,
        ServiceTool,
        ToolExecutionResult,
        ToolMemoryId,
        ToolPlan,
        ToolProvider,
        ToolResult,
        ToolService,
        compensate_for,
        find_tools,
        tool,
        tool_plan,
    )

__version__ = "0.1.0"

__all__ = [
    "Approve",
    "CompensateWhen",
    "CompensationScope",
    "ErrorPolicy",
    "IdempotencyKey",
    "InvocationContext",
    "InvocationParameters",
    "Managed",
    "MemoryId",
    "P",
    "PausedRun",
    "RefuseTool",
    "Reject",
    "Reprompt",
    "RequestParameters",
    "Result",
    "RetrievedContent",
    "RetryTool",
    "ReturnBehavior",
    "SearchBehavior",
    "ServiceTool",
    "ToolCall",
    "ToolChoice",
    "ToolExecution",
    "ToolExecutionResult",
    "ToolMemoryId",
    "ToolPlan",
    "ToolProvider",
    "ToolResult",
    "ToolService",
    "ToolSpecification",
    "UserName",
    "UserText",
    "ai_service",
    "aresume_tools",
    "arun_tools",
    "compensate_for",
    "errors",
    "find_tools",
    "messages",
    "resume_tools",
    "run_tools",
    "stream_tools",
    "system_message",
    "tool",
    "tool_plan",
    "user_message",
]

_MODULES = {
    "Approve": "loop",
    "CompensateWhen": "loop",
    "CompensationScope": "loop",
    "ErrorPolicy": "loop",
    "IdempotencyKey": "tools",
    "InvocationContext": "tools",
    "InvocationParameters": "tools",
    "Managed": "tools",
    "MemoryId": "service",
    "P": "tools",
    "PausedRun": "loop",
    "RefuseTool": "errors",
    "Reject": "loop",
    "Reprompt": "errors",
    "RequestParameters": "service",
    "Result": "loop",
    "RetrievedContent": "service",
    "RetryTool": "errors",
    "ReturnBehavior": "specification",
    "SearchBehavior": "specification",
    "ServiceTool": "tools",
    "ToolCall": "messages",
    "ToolChoice": "messages",
    "ToolExecution": "loop",
    "ToolExecutionResult": "tools",
    "ToolMemoryId": "tools",
    "ToolPlan": "tools",
    "ToolProvider": "tools",
    "ToolResult": "tools",
    "ToolService": "tools",
    "ToolSpecification": "specification",
    "UserName": "service",
    "UserText": "service",
    "ai_service": "service",
    "aresume_tools": "loop",
    "arun_tools": "loop",
    "compensate_for": "tools",
    "find_tools": "tools",
    "resume_tools": "loop",
    "run_tools": "loop",
    "stream_tools": "loop",
    "system_message": "service",
    "tool": "tools",
    "tool_plan": "tools",
    "user_message": "service",
}
_SUBMODULES = (
    "cli",
    "coercion",
    "errors",
    "evaluation",
    "loop",
    "memory",
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
