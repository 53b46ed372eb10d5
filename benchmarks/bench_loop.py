"""The loop: rounds, many conversations at once, services, and what a conversation keeps in memory.

Usage: python benchmarks/bench_loop.py [--quick] [--json] [--repeats 9]

1, 5, 20 rounds     a question, as many rounds of one call each, the answer; the tool is async in async rows.
                    The ratio is to the same conversation written by hand, over dictionaries, without checks.
8 calls             one round with eight calls, one after the other and at the same time
1,000 at once       conversations of three rounds each, as tasks of one event loop; time is per conversation
service             an object made of an interface, with tools that are ready
idle conversation   bytes that a conversation with a memory keeps beside its messages
100,000 runs        memory blocks more than before; each run has a round

The scripted model takes no time, but making its messages does: its own row says how much.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any, Protocol

import floor
import orjson
from timing import Figure, async_block, block, duration, in_turns, machine, machine_lines, times, versions_of

import fasttool
from fasttool import ToolCall, ToolService, ai_service, arun_tools, run_tools
from fasttool.memory import ChatMemories, MessageWindow
from fasttool.messages import AiMessage, ChatRequest, ChatResponse, FinishReason, UserMessage

ROUNDS = (1, 5, 20)
AT_ONCE = 1_000
_CALLS, _STOP = FinishReason.TOOL_CALLS, FinishReason.STOP


class Model:
    """Asks for so many rounds of so many calls, then answers; it looks at nothing but the length.

    Args:
        tool: the name of the tool.
        rounds: rounds of calls before the answer.
        calls: calls of each round.
    """

    def __init__(self, tool: str, rounds: int, calls: int = 1) -> None:
        self._tool = tool
        self._calls = calls
        self._last = 1 + rounds * (1 + calls)

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Answer, blocking."""
        length = len(request.messages)
        if length >= self._last:
            return ChatResponse(AiMessage(floor.ANSWER), finish_reason=_STOP)
        calls = tuple(
            ToolCall(f"call_{length}_{number}", self._tool, floor.ROUND_ARGUMENTS)
            for number in range(self._calls)
        )
        return ChatResponse(AiMessage(tool_calls=calls), finish_reason=_CALLS)

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Answer."""
        return self.chat(request)


class Assistant(Protocol):
    """What is made into a service."""

    def chat(self, text: str) -> str: ...
    async def chat_later(self, text: str) -> str: ...


# ---------------------------------------------------------------------------------- by hand
def _reply(length: int, rounds: int, calls: int) -> dict[str, Any]:
    if length >= 1 + rounds * (1 + calls):
        return {"role": "assistant", "content": floor.ANSWER}
    entries = [
        {
            "id": f"call_{length}_{number}",
            "type": "function",
            "function": {"name": "get_temperature", "arguments": floor.ROUND_ARGUMENTS},
        }
        for number in range(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": entries}


def by_hand(rounds: int, calls: int = 1) -> str:
    """Hold the conversation with dictionaries, checking nothing."""
    tools = {"get_temperature": floor.get_temperature}
    messages: list[dict[str, Any]] = [{"role": "user", "content": floor.QUESTION}]
    while True:
        message = _reply(len(messages), rounds, calls)
        messages.append(message)
        asked = message.get("tool_calls")
        if not asked:
            content: str = message["content"]
            return content
        for call in asked:
            function = call["function"]
            result = tools[function["name"]](**orjson.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


async def by_hand_async(rounds: int, calls: int = 1) -> str:
    """Hold the conversation with dictionaries, awaiting the tool."""
    tools = {"get_temperature": floor.get_temperature_async}
    messages: list[dict[str, Any]] = [{"role": "user", "content": floor.QUESTION}]
    while True:
        message = _reply(len(messages), rounds, calls)
        messages.append(message)
        asked = message.get("tool_calls")
        if not asked:
            content: str = message["content"]
            return content
        for call in asked:
            function = call["function"]
            result = await tools[function["name"]](**orjson.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


# ---------------------------------------------------------------------------------- measured
SERVICE = ToolService([floor.get_temperature])
ASYNC_SERVICE = ToolService([floor.get_temperature_async])


def _run(rounds: int, calls: int = 1, **options: Any) -> Callable[[], str | None]:
    model = Model("get_temperature", rounds, calls)
    return lambda: run_tools(model, floor.QUESTION, SERVICE, **options).content


def _arun(rounds: int, calls: int = 1, **options: Any) -> Callable[[], Any]:
    model = Model("get_temperature_async", rounds, calls)

    async def run() -> str | None:
        return (await arun_tools(model, floor.QUESTION, ASYNC_SERVICE, **options)).content

    return run


def _at_once(one: Callable[[], Any]) -> Callable[[int], float]:
    """Return the block that runs AT_ONCE conversations as tasks; its count is of conversations."""

    async def all_of_them() -> None:
        await asyncio.gather(*(one() for _ in range(AT_ONCE)))

    run = async_block(all_of_them)
    return lambda count: run(max(1, count // AT_ONCE)) * count / (max(1, count // AT_ONCE) * AT_ONCE)


def measure_rounds(repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return rows for rounds, for several calls, and for many conversations."""
    rows = []
    cases: list[tuple[str, Any, Any]] = []
    for rounds in ROUNDS:
        label = "1 round" if rounds == 1 else f"{rounds} rounds"
        cases.append((label, block(lambda rounds=rounds: by_hand(rounds)), block(_run(rounds))))
        cases.append(
            (
                f"{label}, async",
                async_block(lambda rounds=rounds: by_hand_async(rounds)),
                async_block(_arun(rounds)),
            )
        )
    eight = block(lambda: by_hand(1, 8))
    eight_async = async_block(lambda: by_hand_async(1, 8))
    cases += [
        ("8 calls", eight, block(_run(1, 8))),
        ("8 calls at once, threads", eight, block(_run(1, 8, concurrent=True))),
        ("8 calls, async", eight_async, async_block(_arun(1, 8))),
        ("8 calls at once, tasks", eight_async, async_block(_arun(1, 8, concurrent=True))),
        (f"{AT_ONCE:,} at once", _at_once(lambda: by_hand_async(3)), _at_once(_arun(3))),
    ]
    for label, hand, ours in cases:
        figures = in_turns({"hand": hand, "ours": ours}, repeats=repeats, seconds=seconds)
        rows.append(_row(label, figures["ours"], figures["ours"].ratio_to(figures["hand"])))
    model, request = Model("get_temperature", 1), ChatRequest((UserMessage(floor.QUESTION),))
    answer = in_turns({"model": block(lambda: model.chat(request))}, repeats=repeats, seconds=seconds)
    rows.append(_row("the scripted model, each answer", answer["model"], None))
    return rows


def measure_services(repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return rows for making a service and for a call of it."""
    model = Model("get_temperature", 1)
    service = ai_service(Assistant, chat_model=model, tools=SERVICE)
    blocks = {
        "service, made": block(lambda: ai_service(Assistant, chat_model=model, tools=SERVICE)),
        "service, called, 1 round": block(lambda: service.chat(floor.QUESTION)),
    }
    figures = in_turns(blocks, repeats=repeats, seconds=seconds)
    return [_row(label, figure, None) for label, figure in figures.items()]


def measure_memory(conversations: int, runs: int) -> list[dict[str, Any]]:
    """Return rows for what conversations keep, and for what runs leave behind."""
    memories = ChatMemories(MessageWindow(50))
    model = Model("get_temperature", 1)
    service = ai_service(Assistant, chat_model=model, tools=SERVICE, memory_provider=memories.get)
    service.chat("warm up")
    message = UserMessage(floor.QUESTION)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = []
    for number in range(conversations):
        memory = memories.get(f"conversation {number}")
        memory.add(message)
        kept.append(memory)
    gc.collect()
    idle = (tracemalloc.get_traced_memory()[0] - before) / conversations
    tracemalloc.stop()
    run = _run(1)
    for _ in range(1_000):
        run()
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(runs):
        run()
    gc.collect()
    return [
        {"what": "idle conversation in use", "bytes": round(idle)},
        {"what": f"{runs:,} runs", "blocks": sys.getallocatedblocks() - blocks},
    ]


def _row(what: str, figure: Figure, ratio: float | None) -> dict[str, Any]:
    return {
        "what": what,
        "microseconds": round(figure.median * 1e6, 3),
        "ratio": None if ratio is None else round(ratio, 2),
        "spread": round(figure.spread, 2),
    }


def _shown(row: dict[str, Any]) -> str:
    if "bytes" in row:
        return f"{row['what']:34} {row['bytes']:>8,} bytes"
    if "blocks" in row:
        return f"{row['what']:34} {row['blocks']:>+8,} memory blocks"
    ratio = "" if row["ratio"] is None else times(row["ratio"])
    return f"{row['what']:34} {duration(row['microseconds'] / 1e6):>10} {ratio:>8} {row['spread']:8.2f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="a few seconds, rough figures")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    repeats, seconds = (3, 0.03) if options.quick else (options.repeats, 0.1)
    for rounds in ROUNDS:
        floor.check("rounds", _run(rounds)())
        floor.check("rounds", by_hand(rounds))
        floor.check("rounds", asyncio.run(_arun(rounds)()))
        floor.check("rounds", asyncio.run(by_hand_async(rounds)))
    about = machine()
    versions = {"fasttool": fasttool.__version__} | versions_of(["orjson"])
    rows = [
        *measure_rounds(repeats, seconds),
        *measure_services(repeats, seconds),
        *measure_memory(200 if options.quick else 2_000, 2_000 if options.quick else 100_000),
    ]
    if options.json:
        print(json.dumps({"machine": about, "versions": versions, "rows": rows}, indent=1))
        return
    print("\n".join(machine_lines(about, versions)))
    print(f"medians of {repeats} repeats in turns; ratios to the same written by hand\n")
    print("\n".join(map(_shown, rows)))
    spread = statistics.median(row["spread"] for row in rows if "spread" in row)
    print(f"\nthe repeats lie {spread:.0%} apart in the median")


if __name__ == "__main__":
    main()
