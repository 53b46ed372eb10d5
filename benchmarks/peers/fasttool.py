"""fasttool as a worker of ``bench_overhead``: the operations that its peers are measured by."""

from __future__ import annotations

import asyncio

import floor
from timing import async_block, block, serve, versions_of

import fasttool
from fasttool import ToolService, arun_tools, run_tools, tool_plan
from fasttool._ext import compiled_modules
from fasttool.messages import AiMessage, ChatRequest, ChatResponse, FinishReason, ToolCall, ToolResultMessage

_CALLS, _STOP = FinishReason.TOOL_CALLS, FinishReason.STOP


class Model:
    """Answers at once: one call, then the answer."""

    def __init__(self, tool: str) -> None:
        self._tool = tool

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Answer, blocking."""
        if isinstance(request.messages[-1], ToolResultMessage):
            return ChatResponse(AiMessage(floor.ANSWER), finish_reason=_STOP)
        call = ToolCall("call_1", self._tool, floor.ROUND_ARGUMENTS)
        return ChatResponse(AiMessage(tool_calls=(call,)), finish_reason=_CALLS)

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Answer."""
        return self.chat(request)


def main() -> None:
    """Check each operation once, then serve."""
    plan, async_plan = tool_plan(floor.describe), tool_plan(floor.describe_async)
    service, async_service = ToolService([floor.get_temperature]), ToolService([floor.get_temperature_async])
    model, async_model = Model("get_temperature"), Model("get_temperature_async")

    def call() -> str:
        return plan.call(floor.FLAT_ARGUMENTS).text

    async def acall() -> str:
        return (await async_plan.acall(floor.FLAT_ARGUMENTS)).text

    def run() -> str | None:
        return run_tools(model, floor.QUESTION, service).content

    async def arun() -> str | None:
        return (await arun_tools(async_model, floor.QUESTION, async_service)).content

    floor.check("flat call", call())
    floor.check("flat call, async", asyncio.run(acall()))
    floor.check("one round", run())
    floor.check("one round, async", asyncio.run(arun()))
    blocks = {
        "flat call": block(call),
        "flat call, async": async_block(acall),
        "one round": block(run),
        "one round, async": async_block(arun),
    }
    form = "compiled" if all(compiled_modules().values()) else "pure"
    versions = {"fasttool": f"{fasttool.__version__} ({form})"} | versions_of(["orjson"])
    serve(floor.with_floors(blocks), versions)


if __name__ == "__main__":
    main()
