"""Docstrings -> the description of a tool and of its parameters (Google, NumPy and Sphinx style)."""

from __future__ import annotations

import inspect
from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class Docstring:
    """What a docstring says.

    Args:
        description: its text before the sections; None for none.
        parameters: what it says of each parameter, by name.
    """

    description: str | None
    parameters: dict[str, str]


EMPTY = Docstring(None, {})


def read_docstring(text: str | None) -> Docstring:
    """Return what a docstring says; one that no style fits is a description as it stands."""
    if not text or not text.strip():
        return EMPTY
    text = inspect.cleandoc(text)
    if "\n" not in text:
        return Docstring(text, {})
    # Imported here: only tools with longer docstrings need it.
    import docstring_parser

    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return Docstring(text, {})
    parts = [part for part in (parsed.short_description, parsed.long_description) if part and part.strip()]
    parameters = {
        # "name (type, optional)" and "*names" are ways of writing the name.
        entry.arg_name.strip("* "): " ".join(entry.description.split())
        for entry in parsed.params
        if entry.description and entry.description.strip()
    }
    return Docstring("\n\n".join(part.strip() for part in parts) or None, parameters)
