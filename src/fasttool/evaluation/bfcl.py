"""Questions of the Berkeley Function Calling Leaderboard, from the installed package bfcl-eval."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fasttool import json_text
from fasttool.errors import ConfigurationError
from fasttool.evaluation.matching import BoundCall, ExpectedCall, Verdict, match_calls
from fasttool.messages import AiMessage, Message, SystemMessage, UserMessage
from fasttool.schema import normalise
from fasttool.schema.tool_names import ToolNames
from fasttool.specification import ToolSpecification

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "irrelevance",
    "live_irrelevance",
)
"""The single-turn categories with Python functions whose answers can be checked."""

INSTALL = "pip install --no-deps bfcl-eval"

_NOTHING_EXPECTED = ("irrelevance", "live_irrelevance")
_RULES = "openai"  # no provider takes fewer characters


@dataclass(slots=True, frozen=True)
class Question:
    """A question, the functions that may be called, and the calls that are right.

    Args:
        id: the dataset's own label, for example ``simple_python_0``.
        category: one of CATEGORIES.
        messages: what the user says.
        tools: the functions, with schemas in normal form and names that providers accept.
        expected: the right calls, in any order, under the dataset's names.
        names: the dataset's name of each tool.
        warnings: what was repaired in the functions' schemas.
    """

    id: str
    category: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpecification, ...]
    expected: tuple[ExpectedCall, ...]
    names: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What the user asked last."""
        return self.messages[-1].text or ""

    def bound_call(self, tool_name: str, arguments: Mapping[str, Any]) -> BoundCall:
        """Return a call of one of the tools, under the dataset's name for it."""
        return BoundCall(self.names.get(tool_name, tool_name), arguments)

    def check(self, calls: Sequence[BoundCall]) -> Verdict:
        """Say whether calls are the right ones."""
        return match_calls(calls, self.expected)


def read_questions(category: str, limit: int | None = None) -> Iterator[Question]:
    """Read the questions of a category, in the dataset's order.

    Args:
        category: one of CATEGORIES.
        limit: how many to read; None for all.

    Raises:
        ConfigurationError: the category is unknown, or the package is missing or has other contents.
    """
    if category not in CATEGORIES:
        raise ConfigurationError(f"There is no category {category!r}; there are {', '.join(CATEGORIES)}.")
    folder = _data_folder()
    answers: dict[str, Any] = {}
    if category not in _NOTHING_EXPECTED:
        lines = _read_lines(folder / "possible_answer" / f"BFCL_v4_{category}.json")
        answers = {line["id"]: line["ground_truth"] for line in lines}
    for index, line in enumerate(_read_lines(folder / f"BFCL_v4_{category}.json")):
        if limit is not None and index >= limit:
            return
        yield _question(category, line, answers.get(line["id"], []))


def _data_folder() -> Path:
    # The package itself needs a dozen others; only its files are read.
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(f"The BFCL questions need the package bfcl-eval: {INSTALL}")
    return Path(spec.submodule_search_locations[0]) / "data"


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise ConfigurationError(f"{path.name} of bfcl-eval cannot be read ({reason}): {INSTALL}") from None
    for line in text.splitlines():
        if line.strip():
            yield json_text.decode(line)


def _question(category: str, line: dict[str, Any], answers: list[dict[str, Any]]) -> Question:
    functions: list[dict[str, Any]] = line["function"]
    names = ToolNames([function["name"] for function in functions], _RULES)
    originals = {}
    tools = []
    warnings: list[str] = []
    required = {}
    for function in functions:
        schema, repaired = normalise(function["parameters"])
        warnings += repaired
        name = function["name"]
        originals[names.wire(name)] = name
        tools.append(ToolSpecification(names.wire(name), function.get("description"), schema))
        # Some functions require a parameter that they do not have.
        required[name] = frozenset(schema.get("required", ())) & schema.get("properties", {}).keys()
    return Question(
        id=line["id"],
        category=category,
        messages=tuple(_message(message) for message in line["question"][0]),
        tools=tuple(tools),
        expected=tuple(
            ExpectedCall(name, accepted, required.get(name, frozenset()))
            for answer in answers
            for name, accepted in answer.items()
        ),
        names=MappingProxyType(originals),
        warnings=tuple(warnings),
    )


def _message(message: dict[str, Any]) -> Message:
    text = message["content"]
    match message["role"]:
        case "system":
            return SystemMessage(text)
        case "assistant":
            return AiMessage(text)
        case _:
            return UserMessage(text)
