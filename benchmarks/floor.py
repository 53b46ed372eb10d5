"""The floor: what the same work takes when it is written by hand, with orjson and nothing around it.

It validates nothing, it knows its tools by heart, and it cannot fail.  No framework can be faster;
how close one comes is what the benchmarks say.  The tools are here too, so that all call the same.
"""

from __future__ import annotations

import enum
from typing import Any

import orjson
from timing import Block, async_block, block

IMPORT = "import asyncio, orjson, inspect, typing"
QUESTION = "How warm is it in Shanghai tomorrow?"
ANSWER = "It will be 27 °C."


class Color(enum.StrEnum):
    """A colour; every library calls its members by their values."""

    RED = "red"
    GREEN = "green"
    BLUE = "blue"


def describe(name: str, count: int, ratio: float, active: bool, color: Color) -> str:
    """Describe one thing.

    Args:
        name: The name of the thing.
        count: How many of them there are.
        ratio: The share of the whole.
        active: Whether it is in use.
        color: The colour of the thing.
    """
    return name


async def describe_async(name: str, count: int, ratio: float, active: bool, color: Color) -> str:
    """Describe one thing.

    Args:
        name: The name of the thing.
        count: How many of them there are.
        ratio: The share of the whole.
        active: Whether it is in use.
        color: The colour of the thing.
    """
    return name


FLAT_ARGUMENTS = '{"name": "widget", "count": 3, "ratio": 0.25, "active": true, "color": "green"}'
FLAT_RESULT = "widget"


def get_temperature(city: str, day: int) -> str:
    """Return the temperature of a city, in °C.

    Args:
        city: The name of the city, for example Shanghai.
        day: The day, counted from today.
    """
    return "27"


async def get_temperature_async(city: str, day: int) -> str:
    """Return the temperature of a city, in °C.

    Args:
        city: The name of the city, for example Shanghai.
        day: The day, counted from today.
    """
    return "27"


ROUND_ARGUMENTS = '{"city": "Shanghai", "day": 1}'


# ---------------------------------------------------------------------------------- by hand
def _reply(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Stand in for a model, taking no time: one call, then the answer."""
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": ANSWER}
    function = {"name": "get_temperature", "arguments": ROUND_ARGUMENTS}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


async def _reply_async(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return _reply(messages)


def _round(tools: dict[str, Any]) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    while True:
        message = _reply(messages)
        messages.append(message)
        calls = message.get("tool_calls")
        if not calls:
            content: str = message["content"]
            return content
        for call in calls:
            function = call["function"]
            result = tools[function["name"]](**orjson.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


async def _round_async(tools: dict[str, Any]) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    while True:
        message = await _reply_async(messages)
        messages.append(message)
        calls = message.get("tool_calls")
        if not calls:
            content: str = message["content"]
            return content
        for call in calls:
            function = call["function"]
            result = await tools[function["name"]](**orjson.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


def _call() -> str:
    return str(describe(**orjson.loads(FLAT_ARGUMENTS)))


async def _call_async() -> str:
    return str(await describe_async(**orjson.loads(FLAT_ARGUMENTS)))


_TOOLS = {"get_temperature": get_temperature}
_ASYNC_TOOLS = {"get_temperature": get_temperature_async}

FLOORS: dict[str, Block] = {
    "flat call": block(_call),
    "flat call, async": async_block(_call_async),
    "one round": block(lambda: _round(_TOOLS)),
    "one round, async": async_block(lambda: _round_async(_ASYNC_TOOLS)),
}


def check(scenario: str, found: object) -> None:
    """Refuse to time an operation that gives something else than the scenario's result.

    Raises:
        ValueError: it does.
    """
    expected = FLAT_RESULT if scenario.startswith("flat call") else ANSWER
    if found != expected:
        raise ValueError(f"{scenario} gave {found!r} instead of {expected!r}")


def with_floors(blocks: dict[str, Block]) -> dict[str, Block]:
    """Return blocks with those of the floor beside them, for the same process to run."""
    return {**blocks, **{f"floor: {name}": run for name, run in FLOORS.items()}}
