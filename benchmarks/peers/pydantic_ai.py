"""pydantic-ai as a worker of ``bench_overhead``, in the environment that ``make peers`` makes.

The blocking round is ``run_sync``; as pydantic-ai runs functions that are not async in a worker
thread, the two blocking figures hold the way there and back, which a user of it pays as well.
"""

from __future__ import annotations

import asyncio
from typing import Any

import floor
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.capabilities import CombinedCapability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage
from timing import async_block, block, serve, versions_of


def model_for(tool: str) -> FunctionModel:
    """Return a model that answers at once: one call, then the answer."""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse(parts=[TextPart(floor.ANSWER)])
        return ModelResponse(parts=[ToolCallPart(tool, floor.ROUND_ARGUMENTS, tool_call_id="call_1")])

    return FunctionModel(answer)


async def manager_of(function: Any) -> ToolManager[None]:
    """Return what runs the calls of a run, with one tool."""
    manager = ToolManager(
        toolset=FunctionToolset([Tool(function, takes_ctx=False)]), root_capability=CombinedCapability([])
    )
    return await manager.for_run_step(RunContext(deps=None, model=model_for("describe"), usage=RunUsage()))


def main() -> None:
    """Check each operation once, then serve."""
    manager, async_manager = (
        asyncio.run(manager_of(function)) for function in (floor.describe, floor.describe_async)
    )
    agent = Agent(model_for("get_temperature"), tools=[floor.get_temperature])
    async_agent = Agent(model_for("get_temperature_async"), tools=[floor.get_temperature_async])

    async def call() -> Any:
        return await manager.handle_call(ToolCallPart("describe", floor.FLAT_ARGUMENTS, tool_call_id="c"))

    async def acall() -> Any:
        return await async_manager.handle_call(
            ToolCallPart("describe_async", floor.FLAT_ARGUMENTS, tool_call_id="c")
        )

    def run() -> str:
        return agent.run_sync(floor.QUESTION).output

    async def arun() -> str:
        return (await async_agent.run(floor.QUESTION)).output

    floor.check("flat call", asyncio.run(call()))
    floor.check("flat call, async", asyncio.run(acall()))
    floor.check("one round", run())
    floor.check("one round, async", asyncio.run(arun()))
    blocks = {
        "flat call": async_block(call),
        "flat call, async": async_block(acall),
        "one round": block(run),
        "one round, async": async_block(arun),
    }
    serve(floor.with_floors(blocks), versions_of(["pydantic-ai-slim", "pydantic", "orjson"]))


if __name__ == "__main__":
    main()
