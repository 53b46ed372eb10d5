"""Dialects that take JSON Schema, but for some keywords at the top and some slips below it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fasttool.schema.keywords import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS
from fasttool.schema.profiles.combinations import Combinations
from fasttool.schema.profiles.lowered import Lowered, Notes
from fasttool.schema.profiles.wording import described, sentence


class PlainRules(NamedTuple):
    """What a provider refuses.

    Attributes:
        at_top: keywords beside the properties of the arguments, apart from combinations.
        items: a list without ``items`` is refused.
        names: what the names of the arguments must be; None for anything.
    """

    at_top: tuple[str, ...]
    items: bool
    names: re.Pattern[str] | None = None


# What OpenAI answers: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/
# 'not' at the top level"; "array schema missing items".
OPENAI = PlainRules(at_top=("enum", "const", "not"), items=True)

# What Anthropic answers: "input_schema does not support oneOf, allOf, or anyOf at the top level";
# "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
ANTHROPIC = PlainRules(at_top=(), items=False, names=re.compile(r"[a-zA-Z0-9_.-]{1,64}"))


def plain_schema(schema: Mapping[str, Any], rules: PlainRules) -> Lowered:
    """Return a schema that the provider takes, changed as little as possible.

    Args:
        schema: in normal form.
        rules: the provider's.
    """
    notes = Notes()
    top = dict(schema)
    if not top.keys().isdisjoint(("allOf", "anyOf", "oneOf")):
        definitions = {key: top.pop(key) for key in ("$defs",) if key in top}
        top = {**Combinations(schema, notes).flat(top, ""), **definitions}
    texts = []
    for keyword in rules.at_top:
        if keyword in top:
            notes.add("", f"{keyword} is moved to the description.")
            texts.append(sentence(keyword, top.pop(keyword)))
    top = described(top, [text for text in texts if text]) if texts else top
    top["type"] = "object"
    top.setdefault("properties", {})
    return Lowered(_with_items(top, "", notes) if rules.items else _copied(top), notes.texts())


def notes_on_names(schema: Mapping[str, Any], rules: PlainRules) -> tuple[str, ...]:
    """Return a note for each argument whose name the provider refuses.

    The schema keeps it: under another name the tool would not know the argument.
    """
    notes = Notes()
    for name in schema.get("properties", {}):
        if rules.names is not None and rules.names.fullmatch(name) is None:
            notes.add(name, "the provider refuses this name of an argument; the tool needs another one.")
    return notes.texts()


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(entry) for key, entry in value.items()}
    return [_copied(entry) for entry in value] if isinstance(value, list) else value


def _with_items(schema: Any, path: str, notes: Notes) -> Any:
    """A copy where each list has ``items``."""
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in SCHEMAS:
            result[keyword] = _with_items(value, f"{path}[]" if keyword == "items" else path, notes)
        elif keyword in SCHEMA_LISTS and isinstance(value, list):
            result[keyword] = [_with_items(entry, path, notes) for entry in value]
        elif keyword in SCHEMA_MAPS and isinstance(value, dict):
            prefix = path if keyword == "properties" else f"{path}.{keyword}" if path else keyword
            result[keyword] = {
                name: _with_items(entry, f"{prefix}.{name}" if prefix else name, notes)
                for name, entry in value.items()
            }
        else:
            result[keyword] = _copied(value)
    kind = schema.get("type")
    if "items" not in schema and (kind == "array" or (isinstance(kind, list) and "array" in kind)):
        result["items"] = {}
        notes.add(path, "items is added, since a list without it is refused.")
    return result
