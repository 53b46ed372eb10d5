"""What a memory and a store are: the two interfaces that your own ones meet."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol, runtime_checkable

from fasttool.messages import Message

ConversationId = str | int


@runtime_checkable
class ChatMemory(Protocol):
    """One conversation: what was said, and what of it is sent to the model.

    The twins with ``a`` in front do the same without blocking an event loop.
    """

    @property
    def id(self) -> ConversationId:
        """The name of the conversation."""
        ...

    def messages(self) -> list[Message]:
        """Return what is sent to the model, as a new list; it is well-formed at any moment."""
        ...

    def add(self, *messages: Message) -> None:
        """Take new messages, oldest first; all of them or, where an error is raised, none."""
        ...

    def replace(self, messages: Iterable[Message]) -> None:
        """Put ``messages`` in the place of those that ``messages()`` gives."""
        ...

    def clear(self) -> None:
        """Forget the conversation, in the store too."""
        ...

    def turn(self) -> AbstractContextManager[None]:
        """Keep other turns on this conversation out while the ``with`` block runs."""
        ...

    async def amessages(self) -> list[Message]: ...

    async def aadd(self, *messages: Message) -> None: ...

    async def areplace(self, messages: Iterable[Message]) -> None: ...

    async def aclear(self) -> None: ...

    def aturn(self) -> AbstractAsyncContextManager[None]: ...


@runtime_checkable
class ChatMemoryStore(Protocol):
    """Keeps conversations whole, also what a window has dropped.

    A store is used by many threads at once.  Where its methods wait for a disk or a network, it
    has the attribute ``blocking`` set to True, or no such attribute: asynchronous code then calls
    it in a worker thread.  With False it is called directly.
    """

    def load(self, memory_id: ConversationId) -> list[Message]:
        """Return all messages of a conversation, oldest first; none of one that is not known."""
        ...

    def append(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        """Put messages at the end; all of them or, where an error is raised, none."""
        ...

    def replace(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        """Put messages in the place of the whole conversation, in one step."""
        ...

    def delete(self, memory_id: ConversationId) -> None:
        """Forget a conversation; nothing happens where it is not known."""
        ...

    def ids(self) -> list[ConversationId]:
        """Return the conversations that have messages."""
        ...
