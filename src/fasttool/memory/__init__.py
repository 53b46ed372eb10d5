"""Memory: what was said in a conversation, what of it is sent to the model, and where it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fasttool.memory.protocol import ChatMemory, ChatMemoryStore, ConversationId
    from fasttool.memory.registry import ChatMemories
    from fasttool.memory.sqlite_store import SqliteStore
    from fasttool.memory.stores import InMemoryStore
    from fasttool.memory.tokens import estimate_tokens
    from fasttool.memory.turns import TurnLock
    from fasttool.memory.units import INTERRUPTED, interrupted, repaired
    from fasttool.memory.windows import MessageWindow, TokenWindow, UnboundedMemory

__all__ = [
    "INTERRUPTED",
    "ChatMemories",
    "ChatMemory",
    "ChatMemoryStore",
    "ConversationId",
    "InMemoryStore",
    "MessageWindow",
    "SqliteStore",
    "TokenWindow",
    "TurnLock",
    "UnboundedMemory",
    "estimate_tokens",
    "interrupted",
    "repaired",
]

_MODULES = {
    "INTERRUPTED": "units",
    "ChatMemories": "registry",
    "ChatMemory": "protocol",
    "ChatMemoryStore": "protocol",
    "InMemoryStore": "stores",
    "ConversationId": "protocol",
    "MessageWindow": "windows",
    "SqliteStore": "sqlite_store",
    "TokenWindow": "windows",
    "TurnLock": "turns",
    "UnboundedMemory": "windows",
    "estimate_tokens": "tokens",
    "interrupted": "units",
    "repaired": "units",
}


def __getattr__(name: str) -> Any:
    # Each part loads on first use: a run without a memory needs none of them, few need sqlite3.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
