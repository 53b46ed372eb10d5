"""What the demo shows: a live table in a terminal, lines in a pipe, nothing beside JSON."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fasttool.cli.demo_functions import OwnResult
from fasttool.cli.demo_questions import QuestionResult
from fasttool.cli.demo_totals import Totals
from fasttool.errors import MissingExtraError

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 80
QUESTION_LIMIT = 84  # characters
VALUE_LIMIT = 60


class SilentDisplay:
    """Shows nothing; the face of every display."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def start(self, model: str, number: int) -> None:
        """Show which model will be asked how many questions."""

    def asking(self, question: str) -> None:
        """Show that the model works on a question."""

    def answered(self, result: QuestionResult, totals: Totals) -> None:
        """Show what became of a question, and the sums so far."""

    def show_totals(self, totals: Totals) -> None:
        """Show the sums at the end of the first part."""

    def start_functions(self, number: int) -> None:
        """Show that the second part begins."""

    def answered_function(self, result: OwnResult) -> None:
        """Show what became of a question of the second part."""

    def end(self, other_endpoint: str) -> None:
        """Show how to point the demo at another endpoint."""


class PlainDisplay(SilentDisplay):
    """Prints lines as they come."""

    def __init__(self) -> None:
        self._number = 0

    def start(self, model: str, number: int) -> None:
        _print(f"Part 1: {number} BFCL questions to {model}")

    def answered(self, result: QuestionResult, totals: Totals) -> None:
        self._number += 1
        _print(f"{self._number:>3}. {_shortened(result.question, QUESTION_LIMIT)}")
        for call in _bound_calls(result):
            _print(f"     {call}")
        judgement = "right" if result.right else f"wrong: {result.reason}"
        _print(f"     {judgement} ({result.model_ms:,.0f} ms model, {result.fasttool_us:,.0f} µs fasttool)")

    def show_totals(self, totals: Totals) -> None:
        _print("", *totals.lines())

    def start_functions(self, number: int) -> None:
        _print("", f"Part 2: {number} questions, real Python functions")

    def answered_function(self, result: OwnResult) -> None:
        _print(f"  Q: {result.question}")
        for call in result.calls:
            _print(f"     {_made_call(call)}")
        judgement = "right" if result.right else f"wrong, expected {result.expected}"
        _print(f"  A: {_one_line(result.answer)}", f"     {judgement}")

    def end(self, other_endpoint: str) -> None:
        _print("", "Another endpoint (its key from --api-key or OPENAI_API_KEY):", f"  {other_endpoint}")


class LiveDisplay(SilentDisplay):
    """Shows a table that grows while the model works.

    Finished rows are printed once and scroll away; only the last lines, the question at work and
    the sums, are drawn again and again.  So a long table is whole on a small screen.

    Raises:
        MissingExtraError: rich is not installed.
    """

    def __init__(self) -> None:
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError:
            raise MissingExtraError("The demo in a terminal", extra="cli", package="rich") from None
        console = Console(highlight=False)
        console.width = min(console.width, WIDTH)
        self._console = console
        self._live = Live(console=console, transient=True, refresh_per_second=8)
        self._number = 0
        self._of = 0
        self._sums = ""

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def start(self, model: str, number: int) -> None:
        self._number, self._of = 0, number
        self._heading(f"Part 1: {number} BFCL questions to {model}")
        header = self._row_table(header=True)
        self._console.print(header)

    def asking(self, question: str) -> None:
        from rich.console import Group
        from rich.spinner import Spinner
        from rich.text import Text

        line = Text(f"{self._number + 1} of {self._of}  {_one_line(question)}", style="cyan")
        line.truncate(self._console.width - 3, overflow="ellipsis")
        parts: list[Any] = [Spinner("dots", line)]
        if self._sums:
            parts.append(Text(self._sums, style="dim"))
        self._live.update(Group(*parts), refresh=True)

    def answered(self, result: QuestionResult, totals: Totals) -> None:
        from rich.text import Text

        self._number += 1
        call = Text("\n".join(_bound_calls(result)))
        if not result.right:
            call.append(f"\n{_one_line(result.reason)}", style="red")
        table = self._row_table()
        table.add_row(
            str(self._number),
            Text(_shortened(result.question, QUESTION_LIMIT)),
            call,
            Text("✓", style="bold green") if result.right else Text("✗", style="bold red"),
            f"{result.model_ms:,.0f}",
            f"{result.fasttool_us:,.0f}",
        )
        self._console.print(table)
        self._sums = (
            f"{totals.right} of {totals.number} right, {totals.model_seconds:.1f} s in the model, "
            f"{totals.median_fasttool_us:,.0f} µs in fasttool (median)"
        )

    def show_totals(self, totals: Totals) -> None:
        self._rest()
        self._console.print()
        for line in totals.lines():
            self._console.print(line, style="bold")

    def start_functions(self, number: int) -> None:
        self._number, self._of = 0, number
        self._console.print()
        self._heading(f"Part 2: {number} questions, real Python functions")

    def answered_function(self, result: OwnResult) -> None:
        from rich.padding import Padding
        from rich.text import Text

        self._number += 1
        self._console.print(Text(result.question, style="bold"))
        for call in result.calls:
            self._console.print(Padding(Text(_made_call(call), style="dim"), (0, 0, 0, 2)))
        mark = Text("✓ ", style="bold green") if result.right else Text("✗ ", style="bold red")
        answer = mark + Text(_one_line(result.answer) or "(no answer)", style="default")
        if not result.right:
            answer.append(f"  expected: {result.expected}", style="red")
        self._console.print(Padding(answer, (0, 0, 0, 2)))

    def end(self, other_endpoint: str) -> None:
        self._rest()
        self._console.print("\nAnother endpoint (its key from --api-key or OPENAI_API_KEY):")
        self._console.print(f"  {other_endpoint}", style="cyan", soft_wrap=True)

    def _heading(self, text: str) -> None:
        from rich.rule import Rule
        from rich.text import Text

        self._console.print(Rule(Text(text, style="bold"), align="left"))

    def _rest(self) -> None:
        from rich.text import Text

        self._sums = ""
        self._live.update(Text(""), refresh=True)

    def _row_table(self, *, header: bool = False) -> Table:
        from rich.table import Table

        # One table per row, all of the same widths: a row is printed as soon as it is known.
        table = Table(box=None, padding=(0, 1, 0, 0), show_header=header, width=self._console.width)
        table.add_column("#", justify="right", width=3, style="dim")
        table.add_column("question", ratio=4)
        table.add_column("call with its bound values", ratio=5, overflow="fold")
        table.add_column("", width=1)
        table.add_column("model\nms", justify="right", width=6)
        table.add_column("fasttool\nµs", justify="right", width=8)
        return table


def _bound_calls(result: QuestionResult) -> list[str]:
    """Return the calls with their values; arguments that could not be bound as the model wrote them."""
    lines = [
        f"{call['name']}({', '.join(f'{name}={_value(value)}' for name, value in call['arguments'].items())})"
        for call in result.bound
    ]
    lines += [f"{call['name']} {_one_line(call['arguments'])}" for call in result.calls[len(result.bound) :]]
    return lines or ["no call"]


def _made_call(call: dict[str, str]) -> str:
    return f"{call['name']} {_one_line(call['arguments'])} → {_one_line(call['result'])}"


def _value(value: Any) -> str:
    return _shortened(repr(value), VALUE_LIMIT)


def _one_line(text: str) -> str:
    return _shortened(" ".join(text.split()), 4 * VALUE_LIMIT)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _print(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)
