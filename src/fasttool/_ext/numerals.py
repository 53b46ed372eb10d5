"""Text of numbers -> numbers, exact, and bounded before anything is expanded."""

from __future__ import annotations

import re
from decimal import Decimal

from fasttool._ext.problems import misfit, shown, unlike
from fasttool.errors import ProblemKind

MAX_DIGITS = 4300
"""Digits of a number at most, written out."""

# \d takes the decimal digits of every script, as int() does.
_NUMERAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?")


def _numeral(text: str) -> str | None:
    """Return the text of a number without white space at its ends, None where it is no number."""
    text = text.strip()
    return text if len(text) <= MAX_DIGITS and _NUMERAL.fullmatch(text) else None


def integer_from_text(accepts: str, value: str) -> int:
    """Return the whole number that a text says.

    Raises:
        Mismatch: it says none, or one with too many digits.
    """
    text = _numeral(value)
    if text is None:
        raise unlike(ProblemKind.WRONG_TYPE, accepts, value)
    try:
        return int(text)
    except ValueError:
        pass  # it has a fraction or an exponent
    number = Decimal(text)
    if number.adjusted() > MAX_DIGITS:  # looked at before it is expanded
        raise misfit(ProblemKind.OUT_OF_RANGE, f"has too many digits, got {shown(value)}")
    whole = int(number)
    if number != whole:
        raise unlike(ProblemKind.NOT_INTEGRAL, accepts, value)
    return whole


def number_from_text(accepts: str, value: str) -> float:
    """Return the float that a text says, which may be infinite.

    Raises:
        Mismatch: it says none.
    """
    text = _numeral(value)
    if text is not None:
        return float(text)
    if value.strip().lstrip("+-").casefold() in ("nan", "inf", "infinity"):
        raise unlike(ProblemKind.NOT_FINITE, "a finite number", value)
    raise unlike(ProblemKind.WRONG_TYPE, accepts, value)


def decimal_from_text(accepts: str, value: str) -> Decimal:
    """Return the decimal number that a text says, with its digits.

    Raises:
        Mismatch: it says none.
    """
    text = _numeral(value)
    if text is None:
        raise unlike(ProblemKind.WRONG_TYPE, accepts, value)
    return Decimal(text)
