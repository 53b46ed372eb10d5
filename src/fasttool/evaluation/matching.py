"""Whether calls are the ones that a BFCL question accepts, by that leaderboard's rule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Models write "April 1, 2024" in many ways; BFCL compares text without these, in lower case.
_IGNORED = re.compile(r"[ ,./\-_*^]")

ABSENT = ""
"""Among the accepted values of an argument: it may be left out."""


@dataclass(slots=True, frozen=True)
class BoundCall:
    """A call with its values.

    Args:
        name: name of the function, as the question writes it.
        arguments: values by parameter name.
    """

    name: str
    arguments: Mapping[str, Any]


@dataclass(slots=True, frozen=True)
class ExpectedCall:
    """A call that a question accepts.

    Args:
        name: name of the function, as the question writes it.
        accepted: by parameter name, the values that are right; "" among them means that the
            argument may be left out. A dictionary in them holds accepted values in its turn.
        required: parameters that must be given, whatever ``accepted`` says.
    """

    name: str
    accepted: Mapping[str, Sequence[Any]]
    required: frozenset[str] = frozenset()


@dataclass(slots=True, frozen=True)
class Verdict:
    """Right or wrong, and why: one sentence, empty where it is right."""

    right: bool
    reason: str = ""


_RIGHT = Verdict(True)


def match_calls(calls: Sequence[BoundCall], expected: Sequence[ExpectedCall]) -> Verdict:
    """Say whether calls are the expected ones, in any order.

    Args:
        calls: what the model called.
        expected: what the question accepts; none at all where nothing should be called.
    """
    if len(calls) != len(expected):
        return Verdict(False, f"{_count(len(calls))} made, {_count(len(expected))} expected.")
    left = list(calls)
    for wanted in expected:
        verdicts = [match_call(call, wanted) for call in left]
        found = next((index for index, verdict in enumerate(verdicts) if verdict.right), None)
        if found is None:
            # Where several calls are left, the one of the same name tells more.
            same_name = (
                verdict for verdict, call in zip(verdicts, left, strict=True) if call.name == wanted.name
            )
            return next(same_name, verdicts[0])
        del left[found]
    return _RIGHT


def match_call(call: BoundCall, expected: ExpectedCall) -> Verdict:
    """Say whether one call is the expected one."""
    if call.name != expected.name:
        return Verdict(False, f"{call.name} was called, {expected.name} expected.")
    for name in sorted(expected.required):
        if name not in call.arguments:
            return Verdict(False, f'The required argument "{name}" is missing.')
    return _match_arguments(call.arguments, expected.accepted, "")


def _match_arguments(given: Mapping[str, Any], accepted: Mapping[str, Any], path: str) -> Verdict:
    for name, value in given.items():
        where = f"{path}{name}"
        if name not in accepted:
            return Verdict(False, f'The argument "{where}" is not expected.')
        values = _as_list(accepted[name])
        if not any(_is_accepted(value, candidate) for candidate in values):
            return Verdict(False, f'"{where}" is {_show(value)}, accepted: {_show_accepted(values)}.')
    for name, values in accepted.items():
        if name not in given and ABSENT not in _as_list(values):
            return Verdict(False, f'The argument "{path}{name}" is missing.')
    return _RIGHT


def _is_accepted(value: Any, candidate: Any) -> bool:
    if isinstance(value, str) and isinstance(candidate, str):
        return _standardized(value) == _standardized(candidate)
    if isinstance(value, bool) or isinstance(candidate, bool):
        return value is candidate
    if isinstance(value, Mapping) and isinstance(candidate, Mapping):
        # The dataset writes most dictionaries with lists of accepted values, some with plain ones.
        return bool(value == candidate) or _match_arguments(value, candidate, "").right
    if isinstance(value, (list, tuple)) and isinstance(candidate, (list, tuple)):
        return len(value) == len(candidate) and all(map(_is_accepted, value, candidate))
    if isinstance(value, (int, float)) and isinstance(candidate, (int, float)):
        return value == candidate
    return value is None and candidate is None


def _standardized(text: str) -> str:
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _as_list(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list) else [values]


def _count(number: int) -> str:
    return "no call" if number == 0 else "1 call" if number == 1 else f"{number} calls"


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _show_accepted(values: Sequence[Any]) -> str:
    return " or ".join(_show(value) for value in values if value != ABSENT) or "nothing"
