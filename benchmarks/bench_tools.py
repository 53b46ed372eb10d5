"""Many tools: what a round costs beside 10 to 10,000 of them, and what it costs to have them at all.

Usage: python benchmarks/bench_tools.py [--quick] [--json] [--repeats 9]

round           one call and the answer, with a scripted model that takes no time and gets the request as an
                object: what the library does per run must not grow with the tools.
request         the same request as the bytes that an OpenAI-compatible server gets, which must hold all the
                tools: with the bytes of the tools made before (spliced), and for the first time.
                The ratio is to orjson.dumps of the same request held as dictionaries.
"""

from __future__ import annotations

import argparse
import json
import linecache
import statistics
import time
from collections.abc import Callable
from typing import Any

import floor
import orjson
from peers.fasttool import Model
from timing import Figure, block, duration, in_turns, machine, machine_lines, times, versions_of

import fasttool
from fasttool import ToolService, run_tools, tool_plan
from fasttool.messages import ChatRequest, UserMessage
from fasttool.models.openai_codec import encode_request

_PARAMETERS = (
    ("city: str, day: int", {"city": "The name of the city.", "day": "The day, from today."}),
    (
        "query: str, limit: int = 10, active: bool = True",
        {"query": "What to look for.", "limit": "How many at most.", "active": "Only active ones."},
    ),
    (
        "name: str, count: int, ratio: float, active: bool, color: Color",
        {
            "name": "The name.",
            "count": "How many.",
            "ratio": "The share.",
            "active": "In use.",
            "color": "The colour.",
        },
    ),
    (
        "order: str, items: list[str], note: str | None = None",
        {"order": "The order.", "items": "What is in it.", "note": "Free text."},
    ),
)
_made = 0


def new_functions(count: int) -> list[Callable[..., str]]:
    """Return functions that were never seen before, with four kinds of signature and a docstring each."""
    global _made
    functions = []
    for number in range(_made, _made + count):
        parameters, described = _PARAMETERS[number % len(_PARAMETERS)]
        lines = "".join(f"        {name}: {text}\n" for name, text in described.items())
        source = (
            f"def tool_{number}({parameters}) -> str:\n"
            f'    """Do task {number} for the user.\n\n    Args:\n{lines}    """\n    return "done"\n'
        )
        names: dict[str, Any] = {"Color": floor.Color, "__name__": __name__}
        file = f"<tool {number}>"
        exec(compile(source, file, "exec", dont_inherit=True), names)
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        functions.append(names[f"tool_{number}"])
    _made += count
    return functions


def measure_rounds(services: dict[int, ToolService], repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return a row for each number of tools; the services take turns."""
    model = Model("get_temperature")

    def run(service: ToolService) -> str | None:
        return run_tools(model, floor.QUESTION, service).content

    for service in services.values():
        floor.check("one round", run(service))
    blocks = {str(count): block(lambda service=service: run(service)) for count, service in services.items()}
    figures = in_turns(blocks, repeats=repeats, seconds=seconds)
    fewest = figures[str(min(services))]
    return [
        _row(f"round, {count:,} tools", figures[str(count)], figures[str(count)].ratio_to(fewest))
        for count in services
    ]


def measure_requests(services: dict[int, ToolService], repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return rows for the bytes of a request, by number of tools."""
    rows = []
    for count, service in services.items():
        tools = service.context().effective_tools
        request = ChatRequest((UserMessage(floor.QUESTION),), tools)
        form = json.loads(encode_request(request, model="m"))
        first = Figure()
        for _ in range(repeats):
            for specification in tools:
                specification.wire.clear()
            fresh = ChatRequest(request.messages, tuple(tools))  # without the bytes of the whole array
            start = time.perf_counter()
            encode_request(fresh, model="m")
            first.times.append(time.perf_counter() - start)
        figures = in_turns(
            {
                "orjson.dumps": block(lambda form=form: orjson.dumps(form)),
                "spliced": block(lambda request=request: encode_request(request, model="m")),
            },
            repeats=repeats,
            seconds=seconds,
        )
        whole = figures["orjson.dumps"]
        rows += [
            _row(
                f"request, {count:,} tools, spliced", figures["spliced"], figures["spliced"].ratio_to(whole)
            ),
            _row(f"request, {count:,} tools, first", first, first.median / whole.median),
        ]
    return rows


def measure_plans(count: int, repeats: int) -> list[dict[str, Any]]:
    """Return rows for a plan, new and kept, and for a service of kept plans; times are per tool."""
    new, kept, service = Figure(), Figure(), Figure()
    tool_plan(new_functions(1)[0])  # loads what is loaded on first use
    for _ in range(repeats):
        functions = new_functions(count)
        for figure, work in (
            (new, lambda functions=functions: [tool_plan(function) for function in functions]),
            (kept, lambda functions=functions: [tool_plan(function) for function in functions]),
            (service, lambda functions=functions: ToolService(functions)),
        ):
            start = time.perf_counter()
            work()
            figure.times.append((time.perf_counter() - start) / count)
    return [
        _row("plan of a function, new", new, None),
        _row("plan of a function, kept", kept, None),
        _row("service of kept plans, each", service, None),
    ]


def _row(what: str, figure: Figure, ratio: float | None) -> dict[str, Any]:
    return {
        "what": what,
        "microseconds": round(figure.median * 1e6, 3),
        "ratio": None if ratio is None else round(ratio, 2),
        "spread": round(figure.spread, 2),
    }


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
    about = machine()
    versions = {"fasttool": fasttool.__version__} | versions_of(["orjson"])
    functions = new_functions(9_999)
    services = {
        count: ToolService([*functions[: count - 1], floor.get_temperature])
        for count in (10, 100, 1_000, 10_000)
    }
    rows = [
        *measure_plans(200 if options.quick else 1_000, repeats),
        *measure_rounds(services, repeats, seconds),
        *measure_requests(services, repeats, seconds),
    ]
    if options.json:
        print(json.dumps({"machine": about, "versions": versions, "rows": rows}, indent=1))
        return
    print("\n".join(machine_lines(about, versions)))
    print(f"medians of {repeats} repeats; rounds: ratio to 10 tools; requests: to orjson.dumps\n")
    for row in rows:
        ratio = "" if row["ratio"] is None else times(row["ratio"])
        print(f"{row['what']:32} {duration(row['microseconds'] / 1e6):>10} {ratio:>8} {row['spread']:8.2f}")
    print(f"\nthe repeats lie {statistics.median(row['spread'] for row in rows):.0%} apart in the median")


if __name__ == "__main__":
    main()
