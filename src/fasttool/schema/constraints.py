"""Constraints beside a type (annotated-types, pydantic, msgspec) -> keywords, and keywords -> checks.

They are known by their attributes, so that none of those packages is imported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fasttool.schema.forms import (
    DecimalForm,
    Form,
    FormattedForm,
    IntegerForm,
    ListForm,
    MapForm,
    NumberForm,
    OptionalForm,
    StringForm,
    TupleForm,
)
from fasttool.schema.patterns import pattern_refusal

Check = Callable[[Any], str | None]
"""Returns what is wrong with a value, None where nothing is."""

_NUMBERS = (IntegerForm, NumberForm, DecimalForm)
_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_SIZES: dict[type[Form], tuple[str, str]] = {
    StringForm: ("minLength", "maxLength"),
    ListForm: ("minItems", "maxItems"),
    TupleForm: ("minItems", "maxItems"),
    MapForm: ("minProperties", "maxProperties"),
}


def constraint_keywords(form: Form, extras: Iterable[Any]) -> dict[str, Any]:
    """Return the JSON Schema keywords of the constraints among the extras of ``Annotated``.

    Args:
        form: what they constrain; those that say nothing of it are passed over.
        extras: objects with attributes such as ``ge``, ``max_length`` or ``pattern``.

    Raises:
        ValueError: a constraint cannot be shown and enforced for this form.
    """
    while isinstance(form, OptionalForm):
        form = form.inner
    found: dict[str, Any] = {}
    for extra in _single(extras):
        if isinstance(form, FormattedForm):
            for name in (*_BOUNDS, "min_length", "max_length", "pattern"):
                if getattr(extra, name, None) not in (None, 0):
                    raise ValueError(f"has a constraint ({name}) that cannot be shown: check it in the tool")
        if isinstance(form, _NUMBERS):
            for name, keyword in _BOUNDS.items():
                value = getattr(extra, name, None)
                if isinstance(value, Decimal) and value.is_finite():
                    value = int(value) if value == value.to_integral_value() else float(value)
                if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
                    found[keyword] = value
        sizes = _SIZES.get(type(form))
        if sizes is not None:
            for name, keyword in zip(("min_length", "max_length"), sizes, strict=True):
                value = getattr(extra, name, None)
                # annotated-types says "at least 0" of what has no lower bound.
                if isinstance(value, int) and (value or name == "max_length"):
                    found[keyword] = value
        pattern = getattr(extra, "pattern", None) if isinstance(form, StringForm) else None
        if isinstance(pattern, re.Pattern):
            pattern = pattern.pattern
        if isinstance(pattern, str):
            found["pattern"] = pattern
    return found


def _single(extras: Iterable[Any]) -> Iterator[Any]:
    """Yield constraints, those that stand inside of others (pydantic's Field, grouped metadata) too."""
    for extra in extras:
        yield extra
        inner = getattr(extra, "metadata", None)
        if isinstance(inner, (list, tuple)):
            yield from _single(inner)


_KEYWORDS: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength"),
    "integer": tuple(_BOUNDS.values()),
    "number": tuple(_BOUNDS.values()),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


def limit_checks(kind: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, Check]]:
    """Yield, for each limit that a foreign schema sets to values of a JSON type, its words and its check.

    Args:
        kind: name of the JSON type.
        schema: may say anything; limits that make no sense are passed over.
    """
    for keyword in _KEYWORDS.get(kind, ()):
        limit = schema.get(keyword)
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not math.isfinite(limit):
            continue
        if keyword == "multipleOf" and limit <= 0:
            continue
        if isinstance(limit, float) and limit.is_integer():
            limit = int(limit)
        yield f"{keyword} {limit}", _MAKERS[keyword](limit)
    pattern = schema.get("pattern") if kind == "string" else None
    if isinstance(pattern, str):
        refuses = pattern_refusal(pattern)
        if refuses is not None:
            yield f"pattern {pattern}", _foreign_pattern(pattern, refuses)


def _foreign_pattern(pattern: str, refuses: Callable[[str], bool]) -> Check:
    return lambda value: f"must match the pattern {pattern}" if refuses(value) else None


def checks(keywords: Mapping[str, Any]) -> list[Check]:
    """Return a check for each keyword that is enforced.

    Raises:
        ValueError: a pattern is not a regular expression.
    """
    return [_MAKERS[keyword](limit) for keyword, limit in keywords.items() if keyword in _MAKERS]


def _bound(words: str, fits: Callable[[Any, Any], bool]) -> Callable[[Any], Check]:
    def make(limit: Any) -> Check:
        written = Decimal(repr(limit)) if isinstance(limit, float) else limit

        def check(value: Any) -> str | None:
            # A decimal is compared with the digits of the limit: Decimal("0.1") >= 0.1 is false.
            bound = written if isinstance(value, Decimal) else limit
            return None if fits(value, bound) else f"must be {words} {limit}"

        return check

    return make


def _size(words: str, fits: Callable[[int, int], bool], unit: str) -> Callable[[Any], Check]:
    def make(limit: int) -> Check:
        units = unit if limit != 1 else unit.removesuffix("s")
        return lambda value: None if fits(len(value), limit) else f"must have {words} {limit} {units}"

    return make


def _multiple(limit: Any) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, int) and isinstance(limit, int):
            whole = value % limit == 0
        else:
            try:
                quotient = float(value / (limit if isinstance(value, int) else type(value)(limit)))
                whole = abs(quotient - round(quotient)) < 1e-9
            except ArithmeticError:  # the quotient is beyond all limits of floats
                whole = isinstance(value, int) and Fraction(value) % Fraction(str(limit)) == 0
        return None if whole else f"must be a multiple of {limit}"

    return check


def _pattern(text: str) -> Check:
    try:
        compiled = re.compile(text)
    except re.error as error:
        raise ValueError(f"has the pattern {text!r}, which is not a regular expression ({error})") from None
    return lambda value: None if compiled.search(value) else f"must match the pattern {text}"


_MAKERS: dict[str, Callable[[Any], Check]] = {
    "minimum": _bound("at least", lambda value, limit: value >= limit),
    "exclusiveMinimum": _bound("more than", lambda value, limit: value > limit),
    "maximum": _bound("at most", lambda value, limit: value <= limit),
    "exclusiveMaximum": _bound("less than", lambda value, limit: value < limit),
    "multipleOf": _multiple,
    "minLength": _size("at least", lambda size, limit: size >= limit, "characters"),
    "maxLength": _size("at most", lambda size, limit: size <= limit, "characters"),
    "minItems": _size("at least", lambda size, limit: size >= limit, "elements"),
    "maxItems": _size("at most", lambda size, limit: size <= limit, "elements"),
    "minProperties": _size("at least", lambda size, limit: size >= limit, "entries"),
    "maxProperties": _size("at most", lambda size, limit: size <= limit, "entries"),
    "pattern": _pattern,
}
