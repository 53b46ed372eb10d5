"""Argument text that is guessed at, for who asks for it: the ``json-repair`` library (extra ``repair``)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from fasttool.coercion.arguments import read_arguments
from fasttool.errors import MissingExtraError, ProblemKind, ToolArgumentsError
from fasttool.json_text import JsonTextError, decode

MAX_GUESSED = 2**20
"""Longest text that is guessed at, in bytes or characters; the library takes its time."""


def guessing_reader() -> Callable[[str, Any], dict[str, Any]]:
    """Return a reader like ``read_arguments`` that guesses where that gives up.

    A guess that is no object, or an empty one, is none: the error stays, never ``{}``.

    Raises:
        MissingExtraError: ``json-repair`` is not installed.
    """
    try:
        repair: Callable[[str], str] = importlib.import_module("json_repair").repair_json
    except ImportError:
        raise MissingExtraError("repair_json", extra="repair", package="json-repair") from None

    def read(tool: str, arguments: Any) -> dict[str, Any]:
        try:
            return read_arguments(tool, arguments)
        except ToolArgumentsError as error:
            if error.problems[0].kind is not ProblemKind.INVALID_JSON or not _is_short_text(arguments):
                raise
            found = _guess(repair, arguments)
            if not found:
                raise
            return found

    return read


def _is_short_text(arguments: Any) -> bool:
    return isinstance(arguments, (str, bytes, bytearray, memoryview)) and len(arguments) <= MAX_GUESSED


def _guess(repair: Callable[[str], str], arguments: Any) -> dict[str, Any] | None:
    try:
        text = arguments if isinstance(arguments, str) else bytes(arguments).decode()
        # Written by the library and read by our reader: numbers and surrogates are treated as ever.
        value = decode(repair(text))
    except (JsonTextError, TypeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
