"""The answer of the local model's server without what stands before it."""

from __future__ import annotations

import pytest

from fasttool.messages import AiMessage, ChatResponse, ToolCall
from fasttool.models.local_answer import AnswerAlone, answer_alone
from fasttool.models.stream import ModelEvent, ResponseComplete, TextDelta, ToolCallComplete

HEAD = "<|im_end|>\n<|im_start|>user\nWhat is it?<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (HEAD + "It is  Paris.", "It is  Paris."),
        (HEAD + " \n It is \n Paris. \n", "It is \n Paris."),
        (HEAD + "<|im_start|>assistant\nx", "x"),
        (HEAD, None),
        (" It is Paris. ", " It is Paris. "),
        ("<|im_e", "<|im_e"),
        ("<|im_end|>\n and no more", "<|im_end|>\n and no more"),
    ],
)
def test_the_text(text: str, answer: str | None) -> None:
    response = ChatResponse(AiMessage(text))
    assert answer_alone(response).message.text == answer
    # The server gives the head in one piece, and what follows cut anywhere.
    head = max(text.rfind("assistant\n") + len("assistant\n"), 1) if HEAD in text else 0
    for size in (1, 2, 3, 1000):
        pieces = [text[:head]] if head else []
        pieces += [text[place : place + size] for place in range(head, len(text), size)]
        alone = AnswerAlone()
        events: list[ModelEvent] = []
        for piece in pieces:
            events += alone.take(TextDelta(piece))
        events += alone.take(ResponseComplete(response))
        assert events.pop() == ResponseComplete(answer_alone(response))
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == (answer or "")


def test_other_events_pass() -> None:
    event = ToolCallComplete(0, ToolCall("a", "f"))
    assert AnswerAlone().take(event) == [event]
