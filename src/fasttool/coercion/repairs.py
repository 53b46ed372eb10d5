"""Exact repairs of argument text that is not strict JSON (reference: core, 2.1).

Each undoes one thing that models are known to do, outside of strings only, and changes no value.
What remains broken stays an error: text is never guessed, completed, or replaced by ``{}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fasttool.json_text import JsonTextError, decode, decode_exactly

# Both read their text once, whatever it is: nothing in them is tried again from another place.
_FENCE = re.compile(r"\A\s*+```[A-Za-z0-9_-]*+[ \t]*+\r?\n(?P<inside>.*)```\s*\Z", re.DOTALL)
# A string, which the text may end inside of, or one character outside of strings.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|.', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def repaired(text: str) -> Any:
    """Return the value of a text after the first repair that makes it strict JSON.

    Raises:
        JsonTextError: no repair helps; the text of the error is about the text as it came.
    """
    try:
        return decode(text)
    except JsonTextError as error:
        problem = error
    for candidate in _candidates(text):
        try:
            return decode(candidate)
        except JsonTextError:
            continue
    repeated = _repeated_object(text)
    if repeated is not None:
        return repeated
    raise problem


def _candidates(text: str) -> Iterator[str]:
    """Yield the text with one more kind of slip undone each time, where there is such a slip."""
    fence = _FENCE.match(text)
    if fence is not None:
        text = fence["inside"]
        yield text
    stripped = text.strip()
    if (
        len(stripped) > 2
        and stripped[0] == '"'
        and stripped[-1] == '"'
        and stripped[1:-1].lstrip()[:1] == "{"
    ):
        # Quoted once more, without escapes.
        text = stripped[1:-1]
        yield text
    if text.lstrip().startswith('{\\"'):
        # Escaped as if it stood inside a string.
        try:
            unescaped = decode_exactly(f'"{text.strip()}"')
        except JsonTextError:
            unescaped = None
        if isinstance(unescaped, str):
            text = unescaped
            yield text
    tidy = _without_slips(text)
    if tidy != text:
        yield tidy


def _without_slips(text: str) -> str:
    """Escape raw control characters inside strings, and drop commas before a closing bracket."""
    parts: list[str] = []
    comma = -1  # where in parts a comma stands that only white space has followed
    for match in _TOKEN.finditer(text):
        token = match[0]
        if len(token) > 1:
            parts.append(_CONTROL.sub(_escape, token))
            comma = -1
            continue
        if token in "}]" and comma >= 0:
            parts[comma] = ""
        if token == ",":
            comma = len(parts) if _follows_value(parts) else -1
        elif not token.isspace():
            comma = -1
        parts.append(token)
    return "".join(parts)


def _follows_value(parts: list[str]) -> bool:
    """Say whether the last thing written is the end of a value, so that one comma may be dropped after it."""
    for part in reversed(parts):
        if part and not part.isspace():
            return part not in "{[,:"
    return False


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _repeated_object(text: str) -> Any:
    """Return the object that a text consists of several times over; None if it is anything else."""
    import json

    reader = json.JSONDecoder()
    first: Any = None
    position, count, end = 0, 0, 0
    try:
        while position < len(text):
            value, position = reader.raw_decode(text, position)
            if not isinstance(value, dict) or (count and value != first):
                return None
            first, count = value, count + 1
            end = end or position
            while position < len(text) and text[position].isspace():
                position += 1
    except (ValueError, RecursionError):
        return None
    # Read once more: this reader takes what is not JSON (NaN) or cannot be sent again (surrogates).
    return decode_exactly(text[:end]) if count > 1 else None
