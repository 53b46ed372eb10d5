"""Text of a format -> value: dates, times, identifiers, bytes, paths, addresses.

Each reader takes the ISO or canonical form alone, whatever more the standard library would take.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = r"\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|z|[+-]\d\d(?::?\d\d)?)?"
_CLOCK = re.compile(_TIME, re.ASCII)
_MOMENT = re.compile(rf"\d{{4}}-\d\d-\d\d[Tt ]{_TIME}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:[.,]\d+)?)S)?)?",
    re.ASCII,
)


class Format(NamedTuple):
    """How values of one type are written as text.

    Args:
        schema: keywords of its JSON Schema.
        accepts: what is accepted, as an error text says it.
        read: returns the value of a text, or raises ValueError.
    """

    schema: dict[str, Any]
    accepts: str
    read: Callable[[str], Any]


def _checked(pattern: re.Pattern[str], text: str) -> str:
    text = text.strip()
    if pattern.fullmatch(text) is None:
        raise ValueError(text)
    return text.replace(",", ".")


def read_date(text: str) -> datetime.date:
    """Return a date written as 2026-01-31."""
    return datetime.date.fromisoformat(_checked(_DATE, text))


def read_time(text: str) -> datetime.time:
    """Return a time of day written as 17:05, 17:05:09.5 or 17:05:09Z."""
    return datetime.time.fromisoformat(_in_microseconds(_checked(_CLOCK, text)))


def read_datetime(text: str) -> datetime.datetime:
    """Return a moment written as 2026-01-31T17:05:09Z, offset optional; a date alone is midnight."""
    text = text.strip()
    if _DATE.fullmatch(text):
        return datetime.datetime.fromisoformat(text)
    return datetime.datetime.fromisoformat(_in_microseconds(_checked(_MOMENT, text)))


def _in_microseconds(text: str) -> str:
    """Python keeps six digits of a second; more are cut."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text).replace("z", "Z").replace("t", "T")


def read_duration(text: str) -> datetime.timedelta:
    """Return a duration written as P1DT2H30M (ISO 8601; weeks to seconds)."""
    text = text.strip()
    match = _DURATION.fullmatch(text)
    if match is None or text[-1:] in ("P", "T"):
        raise ValueError(text)
    parts = {
        name: float(value.replace(",", ".")) if name == "seconds" else int(value)
        for name, value in match.groupdict().items()
        if value and name != "sign"
    }
    try:
        duration = datetime.timedelta(**parts)
    except OverflowError:
        raise ValueError(text) from None
    return -duration if match["sign"] == "-" else duration


def write_duration(duration: datetime.timedelta) -> str:
    """Return a duration as ISO 8601 writes it; ``read_duration`` reads it back."""
    sign = "-" if duration < datetime.timedelta(0) else ""
    duration = abs(duration)
    hours, rest = divmod(duration.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if duration.microseconds:
        clock += f"{seconds}.{duration.microseconds:06d}".rstrip("0") + "S"
    elif seconds:
        clock += f"{seconds}S"
    days = f"{duration.days}D" if duration.days else ""
    return f"{sign}P{days}{'T' + clock if clock else ''}" if days or clock else "PT0S"


def written(value: Any) -> Any:
    """Return the text of a value of one of these types."""
    if isinstance(value, datetime.timedelta):
        return write_duration(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def read_uuid(text: str) -> uuid.UUID:
    """Return a UUID written with four hyphens; braces, prefixes and bare digits are refused."""
    return uuid.UUID(_checked(_UUID, text))


def read_bytes(text: str) -> bytes:
    """Return bytes written as base64, padded, with or without line breaks."""
    compact = "".join(text.split())
    try:
        return base64.b64decode(compact, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def read_path(text: str) -> str:
    """Return the text of a path that a system may take."""
    if not text.strip() or "\0" in text:
        raise ValueError(text)
    return text


def _path(kind: type[PurePath]) -> Format:
    return Format({"type": "string", "format": "path"}, "a path", lambda text: kind(read_path(text)))


def _iso(name: str, accepts: str, read: Callable[[str], Any]) -> Format:
    return Format({"type": "string", "format": name}, accepts, read)


FORMATS: dict[Any, Format] = {
    datetime.date: _iso("date", "a date in ISO 8601 form, such as 2026-01-31", read_date),
    datetime.time: _iso("time", "a time in ISO 8601 form, such as 17:05:09", read_time),
    datetime.datetime: _iso(
        "date-time", "a date and time in ISO 8601 form, such as 2026-01-31T17:05:09Z", read_datetime
    ),
    datetime.timedelta: _iso("duration", "a duration in ISO 8601 form, such as PT1H30M", read_duration),
    uuid.UUID: Format(
        {"type": "string", "description": "String in a UUID format"},
        "a UUID, such as 123e4567-e89b-12d3-a456-426614174000",
        read_uuid,
    ),
    bytes: Format(
        {"type": "string", "contentEncoding": "base64", "format": "byte"}, "bytes in base64", read_bytes
    ),
    ipaddress.IPv4Address: _iso("ipv4", "an IPv4 address", lambda text: ipaddress.IPv4Address(text.strip())),
    ipaddress.IPv6Address: _iso("ipv6", "an IPv6 address", lambda text: ipaddress.IPv6Address(text.strip())),
    Path: _path(Path),
    PurePath: _path(PurePath),
    PurePosixPath: _path(PurePosixPath),
    PureWindowsPath: _path(PureWindowsPath),
}
