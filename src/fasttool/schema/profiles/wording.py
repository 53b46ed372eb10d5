"""What a keyword says, as text for a description: a provider that refuses the keyword still shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fasttool import json_text

_MAX_TEXT = 300
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？")

_SENTENCES: dict[str, Callable[[str], str]] = {
    "default": "Default: {}.".format,
    "examples": "Examples: {}.".format,
    "enum": "One of: {}.".format,
    "const": "Always {}.".format,
    "format": "Format: {}.".format,
    "pattern": "Pattern: {}".format,
    "minLength": "Length: at least {}.".format,
    "maxLength": "Length: at most {}.".format,
    "minimum": "At least {}.".format,
    "maximum": "At most {}.".format,
    "exclusiveMinimum": "More than {}.".format,
    "exclusiveMaximum": "Less than {}.".format,
    "multipleOf": "A multiple of {}.".format,
    "minItems": "Number of elements: at least {}.".format,
    "maxItems": "Number of elements: at most {}.".format,
    "prefixItems": "Elements in this order: {}.".format,
    "minProperties": "Number of entries: at least {}.".format,
    "maxProperties": "Number of entries: at most {}.".format,
    "propertyNames": "Each name fits {}.".format,
    "additionalProperties": "Each further value fits {}.".format,
    "contentEncoding": "Encoding: {}.".format,
    "contentMediaType": "Media type: {}.".format,
}
# What nobody needs to read: titles repeat names, and the others say nothing of a value.
_SILENT = frozenset(["title", "readOnly", "writeOnly", "nullable", "$defs"])


def sentence(keyword: str, value: Any) -> str | None:
    """Return what a keyword says, None for one that a model need not know."""
    if keyword in _SILENT or (keyword in ("uniqueItems", "deprecated") and value is not True):
        return None
    if keyword == "uniqueItems":
        return "No element twice."
    if keyword == "deprecated":
        return "Deprecated."
    if keyword == "default" and value is None:
        return None
    text = written(value)
    if keyword in ("enum", "examples") and isinstance(value, list):
        text = ", ".join(written(entry) for entry in value[:50])
    elif keyword == "prefixItems" and isinstance(value, list):
        text = ", ".join(_kind(entry) for entry in value[:50])
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT - 1] + "…"
    write = _SENTENCES.get(keyword)
    return f"{keyword}: {text}" if write is None else write(text)


def written(value: Any) -> str:
    """Return a value as a model is shown it: text as it is, the rest as JSON."""
    return value if isinstance(value, str) and value else json_text.encode(value).decode()


def described(schema: Mapping[str, Any], sentences: Iterable[str]) -> dict[str, Any]:
    """Return a copy of a schema whose description ends with sentences that it does not hold yet."""
    result = dict(schema)
    said = result.get("description")
    text = said.rstrip() if isinstance(said, str) else ""
    for more in sentences:
        if more in text:
            continue
        if text:
            text += " " if text.endswith(_ENDS) else ". "
        text += more
    if text:
        result["description"] = text
    return result


def _kind(schema: Any) -> str:
    if not isinstance(schema, dict) or not schema:
        return "anything"
    named = schema.get("description") or schema.get("title") or schema.get("type")
    return named if isinstance(named, str) else written(schema)
