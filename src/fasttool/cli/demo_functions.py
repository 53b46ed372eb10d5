"""The demo's second part: real Python functions, called by the model through an AI service."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Protocol

from fasttool.errors import FastToolError, ModelError, ModelResponseError, ModelServerError
from fasttool.loop import Result
from fasttool.messages import AiMessage, Message, ToolResultMessage
from fasttool.models import ChatModel
from fasttool.schema.parameter import P
from fasttool.service import ai_service
from fasttool.tools import tool

FILES = {
    "notes.txt": "The meeting is on Tuesday at ten, in the small room.\n",
    "todo.txt": "Buy milk.\n",
}

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Assistant(Protocol):
    """What the demo asks."""

    def ask(self, question: str) -> Result[str]:
        """Answer a question."""
        ...


@tool
def multiply(first: float, second: float) -> float:
    """Multiplies two numbers."""
    return first * second


@tool
def divide(first: float, second: float) -> float:
    """Divides two numbers."""
    return first / second


DAY = P("a date as YYYY-MM-DD")


@tool
def days_between(start: Annotated[date, DAY], end: Annotated[date, DAY]) -> int:
    """Counts the days between two dates."""
    return (end - start).days


@tool
def weekday(day: Annotated[date, DAY]) -> str:
    """Tells on which day of the week a date falls."""
    return WEEKDAYS[day.weekday()]


class Folder:
    """Tools for the files of one folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @tool
    def list_files(self) -> str:
        """Lists the names of all files."""
        return ", ".join(self._names())

    @tool
    def read_file(self, file_name: str) -> str:
        """Returns the text in a file."""
        return self._file(file_name).read_text(encoding="utf-8").strip()

    @tool
    def count_words(self, file_name: str) -> int:
        """Counts the words in a file."""
        return len(self._file(file_name).read_text(encoding="utf-8").split())

    def _names(self) -> list[str]:
        return sorted(path.name for path in self._path.iterdir())

    def _file(self, name: str) -> Path:
        # Only what is listed: a name with a path in it leads out of the folder.
        if name not in self._names():
            raise ValueError(f"There is no file {name}; there are {', '.join(self._names())}.")
        return self._path / name


@dataclass(slots=True)
class OwnQuestion:
    """A question, what may be called to answer it, and what a right answer holds."""

    text: str
    tools: list[Any]
    holds: str


@dataclass(slots=True)
class OwnResult:
    """What became of one question.

    Args:
        question: what was asked.
        expected: what a right answer holds.
        right: whether the answer holds it.
        answer: what the model said, or the error that ended the run.
        calls: the calls that were made: name, arguments as the model wrote them, result.
    """

    question: str
    expected: str
    right: bool
    answer: str
    calls: list[dict[str, str]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON has."""
        return asdict(self)


@contextmanager
def own_questions() -> Iterator[list[OwnQuestion]]:
    """Give the questions, with a folder of files that lasts as long as the context."""
    with tempfile.TemporaryDirectory() as name:
        for file, text in FILES.items():
            Path(name, file).write_text(text, encoding="utf-8")
        folder = Folder(Path(name))
        yield [
            OwnQuestion("What is 17 times 23?", [multiply, divide], "391"),
            OwnQuestion("What is 144 divided by 6?", [multiply, divide], "24"),
            OwnQuestion(
                "How many days are there between 2024-01-01 and 2024-03-01?", [days_between, weekday], "60"
            ),
            OwnQuestion("What day of the week was 1969-07-20?", [days_between, weekday], "Sunday"),
            OwnQuestion("Which files are there?", [folder], "notes.txt"),
            OwnQuestion("How many words are in notes.txt?", [folder], "11"),
            OwnQuestion("Read the file todo.txt.", [folder], "milk"),
        ]


def ask(question: OwnQuestion, model: ChatModel) -> OwnResult:
    """Ask one question through an AI service.

    Raises:
        ModelError: the model cannot be reached or refuses.
    """
    assistant = ai_service(
        Assistant,
        chat_model=model,
        tools=question.tools,
        max_rounds=5,
    )
    try:
        result = assistant.ask(question.text)
    except FastToolError as error:
        if isinstance(error, ModelError) and not isinstance(error, (ModelResponseError, ModelServerError)):
            raise
        # The call that failed is part of the picture.
        calls = _calls(error.result.messages) if error.result is not None else []
        return OwnResult(question.text, question.holds, False, str(error), calls)
    answer = result.content or ""
    return OwnResult(question.text, question.holds, question.holds in answer, answer, _calls(result.messages))


def _calls(messages: list[Message]) -> list[dict[str, str]]:
    # Each call has its one result, in the same order.
    calls = [call for message in messages if isinstance(message, AiMessage) for call in message.tool_calls]
    results = [message for message in messages if isinstance(message, ToolResultMessage)]
    return [
        {"name": call.name, "arguments": call.arguments, "result": result.text}
        for call, result in zip(calls, results, strict=True)
    ]
