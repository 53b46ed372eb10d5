"""Errors: what they say, and that they survive pickling."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from fasttool import errors
from fasttool.errors import (
    ArgumentProblem,
    ConfigurationError,
    FastToolError,
    MissingExtraError,
    ModelError,
    ModelRateLimitError,
    ProblemKind,
    ToolArgumentsError,
    ToolExecutionError,
    ToolRoundsExceededError,
    UnknownToolError,
)

PROBLEMS = [
    ArgumentProblem(ProblemKind.MISSING, "a", "is missing"),
    ArgumentProblem(ProblemKind.INVALID_JSON, "", "the text is cut off"),
]
SAMPLES: list[tuple[FastToolError, str]] = [
    (ToolArgumentsError("t", PROBLEMS), 'Wrong arguments for tool t: "a" is missing; the text is cut off.'),
    (ToolExecutionError("t", "boom"), "boom"),
    (UnknownToolError("x", ["a", "b"]), 'There is no tool named "x"; available: a, b.'),
    (UnknownToolError("x", []), 'There is no tool named "x"; available: none.'),
    (ToolRoundsExceededError(3), "The model still called tools after 3 rounds, the limit (max_rounds)."),
    (ModelError("no answer"), "no answer"),
    (ConfigurationError("wrong"), "wrong"),
]


@pytest.mark.parametrize(("error", "text"), SAMPLES, ids=lambda value: type(value).__name__)
def test_text_and_pickling(error: FastToolError, text: str) -> None:
    assert str(error) == text
    assert error.result is None
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == text
    for name in ("tool", "available", "max_rounds", "status"):
        assert getattr(copy, name, None) == getattr(error, name, None)


def test_problems() -> None:
    error = ToolArgumentsError("t", PROBLEMS)
    assert error.problems == tuple(PROBLEMS)
    assert repr(PROBLEMS[0]) == "ArgumentProblem('missing', 'a', 'is missing')"


def test_model_errors() -> None:
    assert ModelRateLimitError("slow", status=429, retry_after=2.5).retry_after == 2.5
    assert ModelError("x").status is None
    assert ModelError("x", status=500).status == 500


def test_missing_extra() -> None:
    error = MissingExtraError("The demo", extra="cli", package="rich")
    assert str(error) == "The demo needs the package rich: pip install 'fasttool[cli]'"
    assert error.extra == "cli"
    assert "more packages" in str(MissingExtraError("The demo", extra="cli"))
    assert isinstance(error, ImportError)
    assert isinstance(error, ValueError)


def test_one_root() -> None:
    kinds: list[Any] = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = [kind for kind in kinds if issubclass(kind, Exception) and kind.__module__ == errors.__name__]
    assert len(raised) > 10
    assert all(issubclass(kind, FastToolError) for kind in raised)
