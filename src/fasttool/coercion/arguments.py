"""Argument text -> dictionary: strict JSON first, then exact repairs (reference: core, 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fasttool.coercion.repairs import repaired
from fasttool.errors import ArgumentProblem, ProblemKind, ToolArgumentsError
from fasttool.json_text import JsonTextError

MAX_TEXT = 64 * 2**20
"""Longest argument text, in bytes or characters, that is read."""


def read_arguments(tool: str, arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call as a dictionary.

    None, blank text and ``null`` mean no arguments; an object encoded a second time is decoded.
    Text that cannot be read is an error, never an empty dictionary.

    Args:
        tool: name of the tool, for messages.
        arguments: JSON text, UTF-8 bytes, a mapping, or None.

    Raises:
        ToolArgumentsError: it is not a JSON object.
    """
    if arguments is None:
        return {}
    if isinstance(arguments, Mapping):
        return {str(name): value for name, value in arguments.items()}
    if isinstance(arguments, (bytes, bytearray, memoryview)):
        try:
            arguments = bytes(arguments).decode()
        except UnicodeDecodeError as error:
            raise _unreadable(tool, f"the text is not UTF-8 ({error.reason} at byte {error.start})") from None
    if not isinstance(arguments, str):
        raise _unreadable(tool, f"they must be a JSON object, got a Python {type(arguments).__name__}")
    if len(arguments) > MAX_TEXT:
        raise _unreadable(tool, f"the text is longer than {MAX_TEXT} characters")
    if not arguments.strip():
        return {}
    try:
        value = repaired(arguments)
        if isinstance(value, str):
            value = _decoded_again(value)
    except JsonTextError as error:
        raise _unreadable(tool, f"the arguments are not valid JSON ({error}); send one JSON object") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = {list: "a list", str: "text", bool: "true or false"}.get(type(value), "a number")
        raise ToolArgumentsError(
            tool,
            [ArgumentProblem(ProblemKind.WRONG_TYPE, "", f"the arguments must be a JSON object, got {kind}")],
        )
    return value


def _decoded_again(text: str) -> Any:
    value = repaired(text) if text.strip() else None
    return value if not isinstance(value, str) else text


def _unreadable(tool: str, reason: str) -> ToolArgumentsError:
    return ToolArgumentsError(tool, [ArgumentProblem(ProblemKind.INVALID_JSON, "", reason)])
