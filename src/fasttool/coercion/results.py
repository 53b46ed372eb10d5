"""What a tool returns -> what the model is sent (reference: core, section 3)."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

from fasttool import json_text
from fasttool.messages import Content, TextContent
from fasttool.schema.enums import member_text

SUCCESS = "Success"
"""The text of a tool that returns nothing."""


def result_text(value: Any, *, quoted: bool = False, nothing: str = SUCCESS) -> str:
    """Return the text of a result: text as it is, None as "Success", anything else as JSON.

    Args:
        value: what the tool returned.
        quoted: text is written as JSON too (the tool is declared to return any object).
        nothing: the text for None.

    Raises:
        json_text.JsonTextError: the value has no JSON form.
    """
    if value is None:
        return nothing
    if isinstance(value, str) and not quoted and not isinstance(value, Enum):
        return json_text.replace_surrogates(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no such number; as text it is still told, not lost.
        value = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    elif isinstance(value, Decimal):
        return str(value)
    elif isinstance(value, Enum):
        value = member_text(value)
    return json_text.encode(value, _form_once()).decode()


def result_contents(value: Any) -> tuple[Content, ...] | None:
    """Return the contents of a result that is more than text, None where it is not.

    A list in which at least one element is a content becomes contents; its other elements become text.
    """
    if isinstance(value, Content):
        return (value,)
    if isinstance(value, (list, tuple)) and any(isinstance(item, Content) for item in value):
        return tuple(item if isinstance(item, Content) else TextContent(result_text(item)) for item in value)
    return None


def _form_once() -> Callable[[Any], Any]:
    """Return ``json_form`` for one result: an iterator is run once, however often the encoder asks."""
    made: dict[int, tuple[Any, list[Any], Exception | None]] = {}

    def form(value: Any) -> Any:
        if not isinstance(value, Iterator):
            return json_form(value)
        found = made.get(id(value))
        if found is None:
            items: list[Any] = []
            failure: Exception | None = None
            try:
                items.extend(value)
            except Exception as error:
                failure = error
            # The value is held, so that its id stays its own.
            found = made[id(value)] = (value, items, failure)
        if found[2] is not None:
            raise found[2]
        return found[1]

    return form


def json_form(value: Any) -> Any:
    """Return a value of a type that JSON has, for one that orjson does not know.

    Raises:
        TypeError: there is none.
    """
    if isinstance(value, Mapping):
        return dict(value)
    fields = getattr(value, "_asdict", None)
    if callable(fields):
        return fields()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, str):
        return json_text.replace_surrogates(str(value))
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, complex):
        raise TypeError("a complex number has no JSON form")
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
    if hasattr(value, "__attrs_attrs__") or hasattr(value, "__struct_fields__"):
        names = getattr(value, "__struct_fields__", None) or [entry.name for entry in value.__attrs_attrs__]
        return {name: getattr(value, name) for name in names}
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, type):
        return list(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")
