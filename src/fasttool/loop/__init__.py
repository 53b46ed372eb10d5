"""The loop: the model calls tools until it answers."""

from fasttool.loop.approval import Approve, PausedRun, Reject
from fasttool.loop.compensation import Compensated, CompensateWhen, CompensationScope, CompensationState
from fasttool.loop.failures import ErrorPolicy
from fasttool.loop.options import RunOptions
from fasttool.loop.result import Result
from fasttool.loop.run import aresume_tools, arun_tools, resume_tools, run_tools, stream_tools
from fasttool.tools.executor import ToolExecution

__all__ = [
    "Approve",
    "CompensateWhen",
    "Compensated",
    "CompensationScope",
    "CompensationState",
    "ErrorPolicy",
    "PausedRun",
    "Reject",
    "Result",
    "RunOptions",
    "ToolExecution",
    "aresume_tools",
    "arun_tools",
    "resume_tools",
    "run_tools",
    "stream_tools",
]
