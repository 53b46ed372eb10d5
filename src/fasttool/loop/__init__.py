"""The loop: the model calls tools until it answers."""

from fasttool.loop.failures import ErrorPolicy
from fasttool.loop.result import Result, ToolExecution
from fasttool.loop.run import arun_tools, run_tools

__all__ = ["ErrorPolicy", "Result", "ToolExecution", "arun_tools", "run_tools"]
