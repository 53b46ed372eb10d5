"""Measuring: calibrated blocks that take turns, medians, and workers in processes of their own.

A *block* runs an operation a number of times and returns the seconds that took.  Blocks that are
compared take turns, one repeat each, so that a disturbance of the machine hits all of them.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import platform
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

Block = Callable[[int], float]
WARM_UP = 5
ANSWER_LIMIT = 120.0  # seconds that a worker may take for one block


def block(operation: Callable[[], Any]) -> Block:
    """Return the block of an operation that blocks."""

    def run(count: int) -> float:
        for _ in range(min(WARM_UP, count)):
            operation()
        gc.collect()
        start = time.perf_counter()
        for _ in range(count):
            operation()
        return time.perf_counter() - start

    return run


def async_block(operation: Callable[[], Awaitable[Any]]) -> Block:
    """Return the block of an async operation; starting the event loop is not in its time."""

    async def run(count: int) -> float:
        for _ in range(min(WARM_UP, count)):
            await operation()
        gc.collect()
        start = time.perf_counter()
        for _ in range(count):
            await operation()
        return time.perf_counter() - start

    return lambda count: asyncio.run(run(count))


def calibrated(run: Block, seconds: float) -> int:
    """Return how many operations take about so many seconds."""
    count = 1
    while True:
        taken = run(count)
        if taken >= seconds / 10:
            return max(1, round(count * seconds / taken))
        count *= 4


@dataclass(slots=True)
class Figure:
    """Times of one contender, in seconds per operation, one per repeat."""

    times: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median, in seconds."""
        return statistics.median(self.times)

    @property
    def spread(self) -> float:
        """How far the repeats lie apart, as a share of the median."""
        return (max(self.times) - min(self.times)) / self.median

    def ratio_to(self, floor: Figure) -> float:
        """The median of the ratios, each taken between two repeats that ran one after the other."""
        return statistics.median(own / low for own, low in zip(self.times, floor.times, strict=True))


def in_turns(blocks: Mapping[str, Block], *, repeats: int, seconds: float) -> dict[str, Figure]:
    """Measure blocks in turns.

    Args:
        blocks: what to measure, by name.
        repeats: how often each has its turn.
        seconds: how long one turn takes, about.
    """
    counts = {name: calibrated(run, seconds) for name, run in blocks.items()}
    figures = {name: Figure() for name in blocks}
    for _ in range(repeats):
        for name, run in blocks.items():
            figures[name].times.append(run(counts[name]) / counts[name])
    return figures


def import_block(statement: str, *, python: str = sys.executable) -> Block:
    """Return the block of an import statement, each time in a new process; its start is not in the time."""
    code = (
        "import time; start = time.perf_counter()\n"
        f"{statement}\nprint(time.perf_counter() - start, flush=True)"
    )

    # What a package manager compiled is not compiled again; neither must be what lies in a checkout.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(count: int) -> float:
        total = 0.0
        for _ in range(count):
            done = subprocess.run(
                [python, "-c", code],
                check=True,
                capture_output=True,
                text=True,
                timeout=ANSWER_LIMIT,
                env=environment,
            )
            total += float(done.stdout.split()[-1])
        return total

    return run


# -------------------------------------------------------------------- workers and their protocol
class WorkerError(RuntimeError):
    """A worker did not start, or did not answer."""


class Worker:
    """A process that measures for us, with a Python and packages of its own.

    One JSON line each way: it starts with ``{"versions": {...}, "blocks": [...]}``; a request
    ``{"block": NAME, "count": N}`` is answered by ``{"seconds": S}`` or ``{"error": TEXT}``.

    Args:
        python: the interpreter.
        module: what it runs; its main part calls ``serve``.
        folder: where the module is found.
        environment: variables beside those of this process.

    Raises:
        WorkerError: it did not start.
    """

    def __init__(
        self, python: str, module: str, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            [python, "-m", module],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        about = self._answer()
        self.versions: dict[str, str] = about["versions"]
        self.blocks: list[str] = about["blocks"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")  # the end

    def _answer(self) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=ANSWER_LIMIT)
        except queue.Empty:
            line = ""
        if not line:
            self.close()
            raise WorkerError(f"the process {' '.join(map(str, self._process.args))} gave no answer")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def block(self, name: str) -> Block:
        """Return a block that runs in the worker."""

        def run(count: int) -> float:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"block": name, "count": count}) + "\n")
            self._process.stdin.flush()
            return float(self._answer()["seconds"])

        return run

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()


def serve(blocks: Mapping[str, Block], versions: Mapping[str, str]) -> None:
    """Be a worker: answer requests until standard input ends; see ``Worker``."""
    out, sys.stdout = sys.stdout, sys.stderr  # what a library prints must not look like an answer
    print(json.dumps({"versions": dict(versions), "blocks": list(blocks)}), file=out, flush=True)
    for line in sys.stdin:
        try:
            request = json.loads(line)
            answer: dict[str, Any] = {"seconds": blocks[request["block"]](request["count"])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)


# ------------------------------------------------------------------------------- what is printed
def versions_of(distributions: Sequence[str]) -> dict[str, str]:
    """Return the versions of those distributions that are installed."""
    found: dict[str, str] = {}
    for name in distributions:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return what a reader needs to place a figure: Python, processor, load, date."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "date": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # there is no such file but on Linux
    return platform.processor() or platform.machine()


def machine_lines(about: Mapping[str, Any], versions: Mapping[str, str]) -> list[str]:
    """Return ``machine()`` and versions as lines of text."""
    shown = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [
        f"{about['date']}, {about['python']}, {about['processor']},",
        f"{about['cores']} cores, load average {about['load']}",
        shown,
    ]


def duration(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    value, unit = (seconds * 1e6, "µs") if seconds < 1e-3 else (seconds * 1e3, "ms")
    return f"{_three_digits(value)} {unit}"


def times(ratio: float) -> str:
    """Return a ratio as text: ``1.49x``."""
    return f"{_three_digits(ratio)}x"


def _three_digits(value: float) -> str:
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"
