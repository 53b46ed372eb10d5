"""What a library adds to a tool call and to a round with a model, beside the floor and a peer.

Usage: python benchmarks/bench_overhead.py [--quick] [--json] [--repeats 9] [--peer-python PATH]

The floor is the same work written by hand (floor.py). fasttool and the peer run in a process
each, which measures the floor too; a figure in brackets is the median of the ratios to it,
repeat by repeat. The processes take turns. The model is scripted and takes no time, so what is
left is what the libraries do themselves.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import floor
from timing import (
    Block,
    Figure,
    Worker,
    WorkerError,
    duration,
    import_block,
    in_turns,
    machine,
    machine_lines,
    times,
)

FOLDER = Path(__file__).parent
PEER_PYTHON = FOLDER.parent / ".venv-peers/bin/python"
OURS, PEER = "fasttool", "pydantic-ai"
# All that the figures below need, loaded: the names of fasttool load on first use.
IMPORTS = {
    OURS: "from fasttool import ToolService, arun_tools, run_tools, tool, tool_plan",
    PEER: "from pydantic_ai import Agent, RunContext, Tool",
}


def peer_worker(python: Path) -> tuple[Worker | None, str | None]:
    """Return the worker of the peer, or None and a sentence that says what is missing."""
    if not python.exists():
        return None, f"{PEER} is not measured: there is no {python}, which `make peers` makes."
    try:
        return Worker(str(python), "peers.pydantic_ai", FOLDER), None
    except (WorkerError, OSError) as error:
        return None, f"{PEER} is not measured: {error}; `make peers` makes its environment."


def measure(workers: dict[str, Worker], pythons: dict[str, str], repeats: int, seconds: float) -> list[dict]:
    """Return a row for each scenario."""
    rows = [_import_row(workers, pythons, repeats)]
    for scenario in floor.FLOORS:
        blocks: dict[str, Block] = {}
        for name, worker in workers.items():
            blocks[f"floor: {name}"] = worker.block(f"floor: {scenario}")
            blocks[name] = worker.block(scenario)
        rows.append(_row(scenario, list(workers), in_turns(blocks, repeats=repeats, seconds=seconds)))
    return rows


def _import_row(workers: dict[str, Worker], pythons: dict[str, str], repeats: int) -> dict[str, Any]:
    blocks: dict[str, Block] = {}
    for name in workers:
        blocks[f"floor: {name}"] = import_block(floor.IMPORT, python=pythons[name])
        blocks[name] = import_block(IMPORTS[name], python=pythons[name])
    for run in blocks.values():
        run(1)  # writes the .pyc files
    return _row("import", list(workers), in_turns(blocks, repeats=repeats, seconds=0.001))


def _row(scenario: str, names: list[str], figures: dict[str, Figure]) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "floor": {"microseconds": _microseconds(figures[f"floor: {names[0]}"])},
    } | {
        name: {
            "microseconds": _microseconds(figures[name]),
            "ratio": round(figures[name].ratio_to(figures[f"floor: {name}"]), 2),
            "spread": round(figures[name].spread, 2),
        }
        for name in names
    }


def _microseconds(figure: Figure) -> float:
    return round(figure.median * 1e6, 3)


def table(rows: list[dict[str, Any]], names: list[str]) -> str:
    """Return the rows as text."""
    lines = [f"{'per operation':17} {'floor':>9}" + "".join(f"  {name:>22}" for name in names)]
    for row in rows:
        line = f"{row['scenario']:17} {duration(row['floor']['microseconds'] / 1e6):>9}"
        for name in names:
            figure = row[name]
            line += f"  {duration(figure['microseconds'] / 1e6):>12} ({times(figure['ratio']):>6}) "
        lines.append(line.rstrip())
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="a few seconds, rough figures")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--peer-python", type=Path, default=PEER_PYTHON, help="Python that has the peer")
    options = parser.parse_args()
    about = machine()
    workers = {OURS: Worker(sys.executable, "peers.fasttool", FOLDER)}
    pythons = {OURS: sys.executable, PEER: str(options.peer_python)}
    peer, missing = peer_worker(options.peer_python)
    if peer is not None:
        workers[PEER] = peer
    try:
        repeats, seconds = (3, 0.03) if options.quick else (options.repeats, 0.2)
        rows = measure(workers, pythons, repeats, seconds)
    finally:
        for worker in workers.values():
            worker.close()
    about["load_after"] = machine()["load"]
    versions = {name: version for worker in workers.values() for name, version in worker.versions.items()}
    if options.json:
        report = {"machine": about, "versions": versions, "repeats": repeats, "rows": rows}
        print(json.dumps(report | ({"missing": missing} if missing else {}), indent=1, ensure_ascii=False))
        return
    print("\n".join(machine_lines(about, versions)))
    print(f"medians of {repeats} repeats in turns; in brackets: times the floor\n")
    print(table(rows, list(workers)))
    worst = statistics.median(row[name]["spread"] for row in rows for name in workers)
    print(f"\nthe repeats lie {worst:.0%} apart in the median")
    if missing:
        print(missing)


if __name__ == "__main__":
    main()
