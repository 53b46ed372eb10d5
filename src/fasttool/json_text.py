"""Strict JSON in and out: orjson where it can, the standard library where orjson cannot.

orjson refuses integers beyond 64 bits and text with lone surrogates on the way out, and turns
long integers into floats on the way in.  Models and tools produce all three, so each falls back
to a slower, exact way here and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum
from typing import Any

import orjson

_SURROGATES = re.compile("[\ud800-\udfff]")
_LONG_DIGITS = re.compile(r"\d{18}", re.ASCII)
_LONG_DIGITS_BYTES = re.compile(rb"\d{18}", re.ASCII)


class JsonTextError(ValueError):
    """A text is not strict JSON, or a value has no JSON form."""


def replace_surrogates(text: str) -> str:
    """Return ``text`` with U+FFFD in place of each surrogate that UTF-8 cannot carry."""
    return _SURROGATES.sub("\ufffd", text)


def encode(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """Return ``value`` as compact UTF-8 JSON, keys in the order of insertion.

    Args:
        value: anything that orjson takes, with integers of any size and any text.
        default: called for values of other types; returns one that has a JSON form.

    Raises:
        JsonTextError: the value has no JSON form, or is nested too deep.
    """
    try:
        return orjson.dumps(value, default, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError as error:
        try:
            return _encode_exactly(value, default)
        except (TypeError, ValueError, RecursionError):
            raise JsonTextError(str(error) or "the value has no JSON form") from error


def _encode_exactly(value: Any, default: Callable[[Any], Any] | None) -> bytes:
    def plain(item: Any) -> Any:
        """Hand everything but containers, text and long integers to orjson."""
        if isinstance(item, Enum):
            return plain(item.value)
        if isinstance(item, str):
            return replace_surrogates(str(item))
        if item is None or isinstance(item, (bool, int)):
            return item
        if isinstance(item, dict):
            return {_key(key): plain(entry) for key, entry in item.items()}
        if isinstance(item, list) or type(item) is tuple:  # a named tuple is for ``default``, as for orjson
            return [plain(entry) for entry in item]
        try:
            return orjson.loads(orjson.dumps(item, option=orjson.OPT_NON_STR_KEYS))
        except orjson.JSONEncodeError:
            if default is None:
                raise
            return plain(default(item))

    def _key(key: Any) -> str:
        if isinstance(key, str):
            return replace_surrogates(key)
        name: str = next(iter(orjson.loads(orjson.dumps({key: 0}, option=orjson.OPT_NON_STR_KEYS))))
        return name

    text = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def decode(text: str | bytes) -> Any:
    """Return the value of a strict JSON text; integers are exact at any size up to 4,300 digits.

    Raises:
        JsonTextError: the text is not strict JSON.  The text of the error says where.

    >>> decode("[12345678901234567890123]")
    [12345678901234567890123]
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return decode_exactly(text)
    # orjson reads an integer beyond 64 bits as a float, and has lost its digits.
    long = _LONG_DIGITS_BYTES.search(text) if isinstance(text, bytes) else _LONG_DIGITS.search(text)
    return value if long is None else decode_exactly(text)


def _refuse_constant(name: str) -> Any:
    raise JsonTextError(f"{name} is not JSON")


class FloatLiteral(float):
    """A float that remembers the digits it was written with."""

    __slots__ = ("literal",)

    literal: str

    def __new__(cls, text: str) -> FloatLiteral:
        number = super().__new__(cls, text)
        number.literal = text
        return number


def decode_exactly(text: str | bytes, *, literals: bool = False) -> Any:
    """Do what ``decode`` does, in the slower way that loses no digit and takes any escape.

    Lone surrogates (``\\ud800``) become U+FFFD, so that the value can be sent again.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode()
        reader = FloatLiteral if literals else None
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=reader)
        if "\\u" in text or not text.isascii():
            return _without_surrogates(value)
        return value
    except json.JSONDecodeError as error:
        raise JsonTextError(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except JsonTextError:
        raise
    except UnicodeDecodeError:
        raise JsonTextError("the text is not UTF-8") from None
    except RecursionError:
        raise JsonTextError("the text is nested too deep") from None
    except ValueError:
        raise JsonTextError("the text holds a number with too many digits") from None


def _without_surrogates(value: Any) -> Any:
    if type(value) is str:
        return replace_surrogates(value)
    if type(value) is list:
        return [_without_surrogates(item) for item in value]
    if type(value) is dict:
        return {replace_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
