"""What the local model's server says, without the last message that stands before its answer."""

from __future__ import annotations

from dataclasses import replace

from fasttool.messages import ChatResponse
from fasttool.models.stream import ModelEvent, ResponseComplete, TextDelta

_HEAD = "<|im_end|>\n"  # how the text begins where the last message stands in it; see local_template.jinja
_ANSWER_BEGINS = "<|im_start|>assistant\n"


def answer_alone(response: ChatResponse) -> ChatResponse:
    """Return a response whose text is only what the model wrote."""
    text = response.message.text
    if text is None or _ANSWER_BEGINS not in text:
        return response
    text = text.rpartition(_ANSWER_BEGINS)[2].strip()
    return replace(response, message=replace(response.message, text=text or None))


class AnswerAlone:
    """Takes the same from the events of a stream, of which the last message is in the first."""

    __slots__ = ("_has_begun", "_held", "_is_cutting", "_is_head")

    def __init__(self) -> None:
        self._held = ""
        self._is_head = True
        self._is_cutting = False
        self._has_begun = False

    def take(self, event: ModelEvent) -> list[ModelEvent]:
        """Return what is to be told of an event."""
        if isinstance(event, ResponseComplete):
            told: list[ModelEvent] = []
            if self._held and not self._is_cutting:  # the beginning of a head that never came
                told.append(TextDelta(self._held))
            return [*told, ResponseComplete(answer_alone(event.response))]
        if not isinstance(event, TextDelta):
            return [event]
        text = self._held + event.text
        self._held = ""
        if self._is_head:
            if _ANSWER_BEGINS in text and text.startswith(_HEAD):
                text = text.rpartition(_ANSWER_BEGINS)[2]
                self._is_cutting = True
            elif text.startswith(_HEAD) or _HEAD.startswith(text):
                self._held = text
                return []
            self._is_head = False
        if self._is_cutting:
            # White space at both ends is cut off as well.
            if not self._has_begun:
                text = text.lstrip()
                self._has_begun = bool(text)
            shown = text.rstrip()
            self._held = text[len(shown) :]
            text = shown
        return [TextDelta(text)] if text else []
