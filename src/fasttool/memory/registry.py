"""Many conversations, each found by its id."""

from __future__ import annotations

import threading
from collections.abc import Callable
from weakref import WeakValueDictionary

from fasttool.errors import ConfigurationError
from fasttool.memory.conversation import Conversation, checked_id
from fasttool.memory.protocol import ChatMemory, ChatMemoryStore, ConversationId
from fasttool.memory.stores import InMemoryStore
from fasttool.memory.windows import UnboundedMemory

MemoryMaker = Callable[[ConversationId, ChatMemoryStore], ChatMemory]


class ChatMemories:
    """Gives each conversation its memory.

    While someone holds the memory of a conversation, all get the same object, and so the same turn
    lock.  After that only the store holds the conversation, and the next ``get`` reads it there.

    Args:
        window: a memory whose settings all take, for example ``MessageWindow(20)``, or a function
            of a memory id and a store that returns a memory; by default all is sent.
        store: keeps the conversations; by default they live as long as this object.

    Raises:
        ConfigurationError: an argument is wrong.

    >>> from fasttool.messages import UserMessage
    >>> memories = ChatMemories()
    >>> memories.get("Ann").add(UserMessage("hi"))
    >>> memories.get("Ann").messages()[0].text, memories.get("Bob").messages()
    ('hi', [])
    """

    def __init__(
        self,
        window: Conversation | MemoryMaker | None = None,
        *,
        store: ChatMemoryStore | None = None,
    ) -> None:
        if window is None:
            window = UnboundedMemory()
        if isinstance(window, Conversation):
            window = window.copy_for
        elif not callable(window):
            raise ConfigurationError(
                "window must be a memory such as MessageWindow(20), or a function of a memory id and a "
                f"store that returns one; got {type(window).__name__}."
            )
        if store is None:
            store = InMemoryStore()
        elif not isinstance(store, ChatMemoryStore):
            raise ConfigurationError(
                f"store must have the methods of a ChatMemoryStore, got {type(store).__name__}."
            )
        self._make = window
        self._store = store
        self._lock = threading.RLock()  # a function of yours may ask for another conversation
        self._in_use: WeakValueDictionary[ConversationId, ChatMemory] = WeakValueDictionary()

    @property
    def store(self) -> ChatMemoryStore:
        """What keeps the conversations."""
        return self._store

    def get(self, memory_id: ConversationId) -> ChatMemory:
        """Return the memory of a conversation; nothing is read before it is used.

        Raises:
            ConfigurationError: the id is neither text nor a whole number.
        """
        memory = self._in_use.get(checked_id(memory_id))
        if memory is None:
            with self._lock:
                memory = self._in_use.get(memory_id)
                if memory is None:
                    memory = self._in_use[memory_id] = self._make(memory_id, self._store)
        return memory

    def __repr__(self) -> str:
        return f"<ChatMemories, {len(self._in_use)} in use>"
