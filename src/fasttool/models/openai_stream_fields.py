"""What a streamed message of OpenAI Chat Completions holds beside its calls, put together; no I/O."""

from __future__ import annotations

from typing import Any

from fasttool.models.openai_response import REPLAYED

_KNOWN = frozenset(REPLAYED)
_THOUGHTS = ("reasoning_content", "reasoning")  # some servers send both, with the same text
_SAID_ONCE = "thinking_signature"
_DETAIL_TEXTS = ("text", "summary")  # come in pieces; all else of a detail comes at once
_ENCRYPTED = "reasoning.encrypted"


class MessageFields:
    """Puts together what is shown in place of a text, and what the provider wants back.

    Attributes:
        has_text: the message has a text, be it an empty one.
        size: characters that are kept.
    """

    __slots__ = ("_details", "_merged", "_pieces", "_refusal", "_transcript", "has_text", "size")

    def __init__(self) -> None:
        self.has_text = False
        self.size = 0
        self._pieces: dict[str, list[str]] = {}
        self._merged: dict[str, Any] = {}
        self._details: list[_Detail] = []
        self._refusal: list[str] = []
        self._transcript: list[str] = []

    def add(self, delta: dict[str, Any]) -> str | None:
        """Take what the provider wants back, and return what it tells of the model's thoughts."""
        if _KNOWN.isdisjoint(delta):
            return None
        thought: str | None = None
        for key in REPLAYED:
            value = delta.get(key)
            if not value:
                continue
            if isinstance(value, str):
                pieces = self._pieces.setdefault(key, [])
                if key == _SAID_ONCE and value == "".join(pieces):
                    continue
                pieces.append(value)
                self.size += len(value)
                if key in _THOUGHTS:
                    thought = thought or value
            elif isinstance(value, dict) and isinstance(self._merged.get(key), dict):
                self._merged[key] = {**self._merged[key], **value}
            elif isinstance(value, list):
                said = "".join(map(self._add_detail, value)) if key == "reasoning_details" else ""
                thought = thought or said
            else:
                self._merged[key] = value
        return thought

    def add_substitute(self, delta: dict[str, Any]) -> str:
        """Take what the message shows where it has no text, and return it: a refusal, or what is heard."""
        refusal = delta.get("refusal")
        audio = delta.get("audio")
        heard = audio.get("transcript") if isinstance(audio, dict) else None
        said = ""
        for value, pieces in ((refusal, self._refusal), (heard, self._transcript)):
            if value and isinstance(value, str):
                pieces.append(value)
                self.size += len(value)
                said = said or value
        return said

    def message(self, texts: list[str], entries: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the message as a response has it that came in one piece.

        Args:
            texts: the pieces of its text.
            entries: its calls.
        """
        message: dict[str, Any] = dict(self._merged)
        for key, pieces in self._pieces.items():
            message[key] = "".join(pieces)
        if self._details:
            message["reasoning_details"] = [detail.whole() for detail in self._details]
        if texts:
            message["content"] = "".join(texts)
        else:
            # A round of calls begins with an empty text in streams only.
            message["content"] = "" if self.has_text and not entries else None
        if entries:
            message["tool_calls"] = entries
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        if self._transcript:
            message["audio"] = {"transcript": "".join(self._transcript)}
        return message

    def _add_detail(self, given: Any) -> str:
        """Take a part of a list of thoughts, and return its text."""
        for detail in reversed(self._details):
            if detail.takes(given):
                break
        else:
            detail = _Detail(given)
            self._details.append(detail)
        said = detail.add(given)
        self.size += len(said)
        return said


class _Detail:
    """An entry of ``reasoning_details``, as far as it has come."""

    __slots__ = ("_entry", "_pieces")

    def __init__(self, given: Any) -> None:
        self._entry: Any = {} if isinstance(given, dict) else given
        self._pieces: dict[str, list[str]] = {}

    def takes(self, given: Any) -> bool:
        """Return whether a further entry is a part of this one, or this one once more."""
        if not isinstance(given, dict) or not isinstance(self._entry, dict):
            return bool(given == self._entry)
        if given.get("type") == _ENCRYPTED:
            return bool(given == self._entry)
        return all(given.get(key) == self._entry.get(key) for key in ("type", "index"))

    def add(self, given: Any) -> str:
        """Take a part of the entry, and return its text."""
        if not isinstance(given, dict):
            return ""
        said = ""
        for key, value in given.items():
            if key in _DETAIL_TEXTS and isinstance(value, str):
                self._pieces.setdefault(key, []).append(value)
                said += value
            elif value is not None or key not in self._entry:
                self._entry[key] = value
        return said

    def whole(self) -> Any:
        """Return the entry with its texts joined."""
        if not self._pieces:
            return self._entry
        return {**self._entry, **{key: "".join(pieces) for key, pieces in self._pieces.items()}}
