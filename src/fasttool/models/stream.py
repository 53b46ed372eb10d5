"""What a model says piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

from fasttool.messages import ChatResponse, ToolCall


@dataclass(slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """A piece of what the model thinks before it answers."""

    text: str


@dataclass(slots=True)
class ToolCallDelta:
    """A piece of a call.

    Args:
        index: the place of the call in the answer, from 0.
        id: the id of the call, as far as it is known.
        name: the name of the tool, as far as it is known.
        arguments: a piece of the argument text.
    """

    index: int
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class ToolCallComplete:
    """A call is whole; said once per call, in the order of the answer.

    Args:
        index: the place of the call in the answer, from 0.
        call: the call.
    """

    index: int
    call: ToolCall


@dataclass(slots=True)
class ResponseComplete:
    """The answer is whole; said once, and last."""

    response: ChatResponse


ModelEvent = TextDelta | ReasoningDelta | ToolCallDelta | ToolCallComplete | ResponseComplete
