"""Regular expressions of foreign schemas: what Python's ``re`` says of them without a doubt, in bounded time.

JSON Schema means those of ECMA-262.  They come from a server and the texts from a model, so neither may
make the other cost more than it is worth.  Where the two languages differ, or where a match could take
long, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MAX_PATTERN = 1000
_MAX_NESTING = 10
_MAX_REPEAT = 1000
_MAX_COPIES = 5
_STEPS = 2_000_000
"""Steps that one match may take; the longest text that is looked at follows from it."""

_SHORTHANDS = "dDwWsS"
_CONTROLS = "nrtfv"
_HEXADECIMAL = {"x": 2, "u": 4}
_BOUNDS = re.compile(r"\{(\d{1,6})(?:(,)(\d{1,6})?)?\}", re.ASCII)
_SPECIAL = frozenset("*+?{")


class _Unclear(Exception):
    """The pattern is not one that can be enforced."""


def pattern_refusal(pattern: str) -> Callable[[str], bool] | None:
    """Return a function that says whether a text surely does not match; None where that is never sure.

    Args:
        pattern: a regular expression; it may match anywhere in the text.
    """
    reader = _Reader(pattern)
    try:
        longest = reader.read()
        compiled = re.compile("".join(reader.written))
    except (_Unclear, re.error, OverflowError):
        return None
    search = compiled.search
    varies = reader.varies

    def refuses(text: str) -> bool:
        if len(text) > longest or (varies and not (text.isascii() and text.isprintable())):
            return False
        return search(text) is None

    return refuses


class _Reader:
    """One pass over a pattern that writes it for Python and counts the ways in which it can match.

    A part has ``ways`` times (length of the text to the power of ``power``) of them.

    Attributes:
        written: the pattern in the words of Python, in pieces.
        varies: the two languages differ about texts that are not plain ASCII.
    """

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._place = 0
        self.written: list[str] = []
        self.varies = False

    def read(self) -> int:
        """Return the length of the longest text that can be looked at."""
        if len(self._text) > _MAX_PATTERN:
            raise _Unclear
        ways, power, choices = self._alternatives(0)
        if self._place < len(self._text):  # a ")" without its "("
            raise _Unclear
        if choices > 1 or not self._text.startswith("^"):
            power += 1  # it is tried from each place
        if power == 0:
            return _STEPS
        return int((_STEPS / ways) ** (1 / power))

    def _peek(self) -> str:
        return self._text[self._place : self._place + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise _Unclear
        self._place += 1
        return char

    def _alternatives(self, nesting: int) -> tuple[int, int, int]:
        if nesting > _MAX_NESTING:
            raise _Unclear
        ways, power = self._sequence(nesting)
        choices = 1
        while self._peek() == "|":
            self.written.append(self._take())
            more, higher = self._sequence(nesting)
            ways, power, choices = ways + more, max(power, higher), choices + 1
        return ways, power, choices

    def _sequence(self, nesting: int) -> tuple[int, int]:
        ways, power = 1, 0
        while self._peek() not in ("", "|", ")"):
            more, higher = self._repeated(nesting)
            ways, power = ways * more, power + higher
            if ways > _STEPS:
                raise _Unclear
        return ways, power

    def _repeated(self, nesting: int) -> tuple[int, int]:
        ways, power, repeats = self._atom(nesting)
        if self._peek() not in _SPECIAL or not self._peek():
            return ways, power
        if not repeats:
            raise _Unclear
        start = self._place
        low, high = self._quantifier()
        if self._peek() == "?":  # as few as possible
            self._place += 1
        if self._peek() in _SPECIAL and self._peek():
            raise _Unclear
        self.written.append(self._text[start : self._place])
        if ways == 1 and power == 0:
            return (1, 1) if high is None or high > _MAX_REPEAT else (high - low + 1, 0)
        # Repetitions inside of repetitions are where a match can take for ever.
        if high == 1:
            return ways + 1, power
        if high is None or high != low or high > _MAX_COPIES:
            raise _Unclear
        return ways**high, power * high

    def _quantifier(self) -> tuple[int, int | None]:
        char = self._peek()
        if char == "{":
            found = _BOUNDS.match(self._text, self._place)
            if found is None:
                raise _Unclear
            self._place = found.end()
            low = int(found[1])
            high = low if found[2] is None else (int(found[3]) if found[3] is not None else None)
            if high is not None and high < low:
                raise _Unclear
            return low, high
        self._place += 1
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]

    def _atom(self, nesting: int) -> tuple[int, int, bool]:
        """Read one part, and say whether it can be repeated."""
        char = self._take()
        if char == "(":
            return self._group(nesting)
        if char == "[":
            self._class()
        elif char == "\\":
            if self._peek() in ("b", "B"):
                self.varies = True
                self.written.append("\\" + self._take())
                return 1, 0, False
            self.written.append(self._escape())
        elif char in "^$":
            self.written.append(char)
            return 1, 0, False
        elif char in _SPECIAL:
            raise _Unclear
        else:
            self.written.append("." if char == "." else re.escape(char))
        return 1, 0, True

    def _group(self, nesting: int) -> tuple[int, int, bool]:
        opening = "("
        if self._peek() == "?":
            opening = self._text[self._place - 1 : self._place + 2]
            if opening not in ("(?:", "(?="):
                raise _Unclear
            self._place += 2
        self.written.append(opening)
        ways, power, _ = self._alternatives(nesting + 1)
        if self._take() != ")":
            raise _Unclear
        self.written.append(")")
        return ways, power, opening != "(?="

    def _class(self) -> None:
        self.written.append("[")
        if self._peek() == "^":
            self.written.append(self._take())
        if self._peek() == "]":  # nothing or everything there, the character itself here
            raise _Unclear
        while (char := self._take()) != "]":
            if char == "-":
                if self._peek() == "-":
                    raise _Unclear
                self.written.append("-")
            elif char == "\\":
                self.written.append("\\b" if self._peek() == "b" else self._escape())
                if self.written[-1] == "\\b":
                    self._place += 1
            else:
                self.written.append(re.escape(char))
        self.written.append("]")

    def _escape(self) -> str:
        char = self._take()
        if char in _SHORTHANDS:
            self.varies = True
            return "\\" + char
        if char in _CONTROLS:
            return "\\" + char
        if char in _HEXADECIMAL:
            digits = self._text[self._place : self._place + _HEXADECIMAL[char]]
            self._place += len(digits)
            if len(digits) < _HEXADECIMAL[char] or not re.fullmatch("[0-9A-Fa-f]+", digits):
                raise _Unclear
            if 0xD800 <= int(digits, 16) <= 0xDFFF:  # half of a character
                raise _Unclear
            return f"\\{char}{digits}"
        if char.isalnum() or not char.isascii() or char == "_":
            raise _Unclear
        return re.escape(char)
