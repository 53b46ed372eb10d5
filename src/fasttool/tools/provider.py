"""Sources of tools that are asked while a service runs (reference: core, 5.2 and 5.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from fasttool.messages import Message, UserMessage
from fasttool.tools.invocation import InvocationContext


@dataclass(slots=True, frozen=True)
class ToolProviderRequest:
    """What a provider is told.

    Args:
        context: the invocation.
        user_message: what the user said in this invocation, also where the memory has dropped it.
        messages: the conversation as the model is going to see it.
    """

    context: InvocationContext
    user_message: UserMessage | None
    messages: Sequence[Message]


@runtime_checkable
class ToolProvider(Protocol):
    """Gives tools to an invocation.

    A static provider is asked once per invocation; a dynamic one before each call of the model, and what
    it gives is added to what is there: tools never go within an invocation.  A provider may have
    ``aprovide_tools`` too, which an async run awaits instead.

    Attributes:
        is_dynamic: it is asked before each call of the model.
    """

    is_dynamic: bool

    def provide_tools(self, request: ToolProviderRequest) -> Any:
        """Return what ``ToolService`` takes as tools (a list, or a mapping), or None for none."""
        ...
