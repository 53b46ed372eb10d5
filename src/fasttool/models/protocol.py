"""What the loop needs of a model."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fasttool.messages import ChatRequest, ChatResponse


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
