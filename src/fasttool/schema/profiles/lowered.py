"""What lowering gives: the schema, what was changed, and whether strict can be honoured."""

from __future__ import annotations

from typing import Any, NamedTuple

from fasttool import json_text

_MAX_NOTES = 100
_MAX_NOTE = 240


class Lowered(NamedTuple):
    """A schema in a provider's dialect.

    Attributes:
        schema: an object schema; it shares nothing with the one that was given.
        notes: what was changed or left out, a sentence each, with the place before the colon.
        strict: the provider may be asked to hold the model to the schema.
    """

    schema: dict[str, Any]
    notes: tuple[str, ...] = ()
    strict: bool = False


class Notes:
    """The notes of one run, each once; a bounded number of them."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._left_out = 0

    def add(self, path: str, what: str) -> None:
        """Note what happened at a place; the path is empty for the arguments as a whole."""
        text = json_text.replace_surrogates(f"{path or 'arguments'}: {what}")
        if len(text) > _MAX_NOTE:
            text = text[: _MAX_NOTE - 1] + "…"
        if text in self._texts:
            return
        if len(self._texts) < _MAX_NOTES:
            self._texts[text] = None
        else:
            self._left_out += 1

    def texts(self) -> tuple[str, ...]:
        """Return the notes, in the order in which they were made."""
        more = [f"arguments: {self._left_out} more changes are not listed."] if self._left_out else []
        return (*self._texts, *more)
