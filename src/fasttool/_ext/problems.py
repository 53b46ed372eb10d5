"""What is wrong with a value, and how an error text says it; not compiled: nothing here is hot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from fasttool.errors import ProblemKind
from fasttool.json_text import encode


class Mismatch(Exception):
    """Values that do not fit; never leaves the core.

    Args:
        problems: of each, its kind, the parts of its path from the inside out, and the reason.
    """

    def __init__(self, problems: list[tuple[ProblemKind, list[Any], str]]) -> None:
        super().__init__(problems)
        self.problems = problems


class Failure(Exception):
    """Code of the application failed while a value was made; never leaves the core."""


class LostDigits(Exception):
    """The fast JSON reader turned a long integer into a float; never leaves the core."""


def misfit(kind: ProblemKind, reason: str) -> Mismatch:
    """Return the mismatch of one value."""
    return Mismatch([(kind, [], reason)])


def unlike(kind: ProblemKind, accepts: str, value: Any) -> Mismatch:
    """Return the mismatch of a value that is not what is accepted."""
    return misfit(kind, f"must be {accepts}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return a value as an error text shows it: short, and in the words of JSON."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        text = value if len(value) <= 60 else value[:57] + "..."
        return encode(text).decode()
    if isinstance(value, int):
        return str(value) if value.bit_length() < 200 else "a very long integer"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "a number beyond all limits"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    return f"a Python {type(value).__name__}"


def listed(names: Iterable[str], limit: int = 20) -> str:
    """Return names as an error text lists them; of many, the first ones and how many there are."""
    known = list(names)
    if len(known) <= limit:
        return ", ".join(known) or "none"
    return f"{', '.join(known[:limit])} and {len(known) - limit} more"


def words(error: Exception) -> str:
    """Return what a type says of a value that it refuses, on one line."""
    details = getattr(error, "errors", None)
    if callable(details):  # pydantic
        parts = [f"{'.'.join(map(str, part['loc']))}: {part['msg']}".removeprefix(": ") for part in details()]
        return "; ".join(parts)
    return " ".join(str(error).split()) or type(error).__name__


def path(parts: list[Any]) -> str:
    """Return ``items[2].price`` for the parts of a path, which come innermost first."""
    text = ""
    for part in reversed(parts):
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text
