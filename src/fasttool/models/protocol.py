"""What the loop needs of a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Protocol, runtime_checkable

from fasttool.messages import ChatRequest, ChatResponse
from fasttool.models.stream import ModelEvent, ResponseComplete, TextDelta, complete_calls


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers a conversation.

    An implementation may refuse one of the two ways with a ConfigurationError.  It raises a
    ModelError for anything that keeps it from an answer, and never hangs: every wait has a limit.
    """

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Answer, blocking.

        Raises:
            ModelError: there is no usable answer.
        """
        ...

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Answer, without blocking the event loop.

        Raises:
            ModelError: there is no usable answer.
        """
        ...


@runtime_checkable
class StreamingChatModel(ChatModel, Protocol):
    """A model that also gives its answer piece by piece.

    The last event of an answer is ``ResponseComplete``.  The request is sent with the first step, and an
    iterator that is closed before its end closes the connection.
    """

    def stream(self, request: ChatRequest) -> Iterator[ModelEvent]:
        """Answer piece by piece, blocking.

        Raises:
            ModelError: there is no usable answer, or it ended before it was complete.
        """
        ...

    def astream(self, request: ChatRequest) -> AsyncIterator[ModelEvent]:
        """Answer piece by piece, without blocking the event loop; an asynchronous generator.

        Raises:
            ModelError: there is no usable answer, or it ended before it was complete.
        """
        ...


def stream_of(model: ChatModel, request: ChatRequest) -> Iterator[ModelEvent]:
    """Return the answer of a model piece by piece; of one that cannot stream, all of it at once."""
    stream = getattr(model, "stream", None)
    if stream is not None:
        return stream(request)  # type: ignore[no-any-return]
    return _at_once(model.chat(request))


async def astream_of(model: ChatModel, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
    """Give the answer of a model piece by piece, without blocking the event loop; see ``stream_of``."""
    stream = getattr(model, "astream", None)
    if stream is None:
        for event in _at_once(await model.achat(request)):
            yield event
        return
    async with aclosing(stream(request)) as events:
        async for event in events:
            yield event


def _at_once(response: ChatResponse) -> Iterator[ModelEvent]:
    if response.message.text:
        yield TextDelta(response.message.text)
    yield from complete_calls(response)
    yield ResponseComplete(response)
