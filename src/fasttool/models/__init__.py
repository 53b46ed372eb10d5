"""Models: what the loop needs of one, and the ones that come with fasttool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fasttool.models.protocol import ChatModel, StreamingChatModel
from fasttool.models.scripted import ScriptedChatModel, ScriptedStream

if TYPE_CHECKING:
    from fasttool.models.local import LocalChatModel
    from fasttool.models.openai import OpenAIChatModel

__all__ = [
    "ChatModel",
    "LocalChatModel",
    "OpenAIChatModel",
    "ScriptedChatModel",
    "ScriptedStream",
    "StreamingChatModel",
]

_MODULES = {"OpenAIChatModel": "openai", "LocalChatModel": "local"}


def __getattr__(name: str) -> Any:
    # Wire codecs and transports load on first use.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
