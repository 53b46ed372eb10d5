"""Tools: declared in Python or by a schema, found, planned, run and put together."""

from fasttool.schema.parameter import P
from fasttool.tools.compensation import compensate_for
from fasttool.tools.declaration import tool
from fasttool.tools.executor import ToolExecutionResult, ToolExecutor, ToolResult
from fasttool.tools.foreign import bind_schema
from fasttool.tools.invocation import (
    IdempotencyKey,
    InvocationContext,
    InvocationParameters,
    Managed,
    ToolMemoryId,
)
from fasttool.tools.plan import ToolPlan, tool_plan
from fasttool.tools.provider import ToolProvider, ToolProviderRequest
from fasttool.tools.scanning import find_tools
from fasttool.tools.service import ToolService, ToolServiceContext
from fasttool.tools.service_tool import ServiceTool

__all__ = [
    "IdempotencyKey",
    "InvocationContext",
    "InvocationParameters",
    "Managed",
    "P",
    "ServiceTool",
    "ToolExecutionResult",
    "ToolExecutor",
    "ToolMemoryId",
    "ToolPlan",
    "ToolProvider",
    "ToolProviderRequest",
    "ToolResult",
    "ToolService",
    "ToolServiceContext",
    "bind_schema",
    "compensate_for",
    "find_tools",
    "tool",
    "tool_plan",
]
