"""The loop: the model calls tools until it answers."""

from fasttool.loop.approval import Approve, PausedRun, Reject
from fasttool.loop.failures import ErrorPolicy
from fasttool.loop.options import RunOptions
from fasttool.loop.result import Result, ToolExecution
from fasttool.loop.run import aresume_tools, arun_tools, resume_tools, run_tools, stream_tools

__all__ = [
    "Approve",
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
