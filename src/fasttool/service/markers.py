"""What an interface says of its methods and their arguments beside their types."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from fasttool.errors import ConfigurationError

SYSTEM_TEMPLATE = "__fasttool_system_message__"
USER_TEMPLATE = "__fasttool_user_message__"

Marked = TypeVar("Marked", bound=Callable[..., Any])


class MemoryId:
    """Marks the argument that names the conversation: ``Annotated[str, MemoryId]``."""

    __slots__ = ()


class UserName:
    """Marks the argument that says who speaks: ``Annotated[str, UserName]``."""

    __slots__ = ()


class UserText:
    """Marks the argument that is the user's message, among several: ``Annotated[str, UserText]``."""

    __slots__ = ()


class RequestParameters(dict[str, Any]):
    """An argument of this type holds parameters for the requests of one call; they win over the service's."""

    __slots__ = ()


class RetrievedContent(StrEnum):
    """What becomes of retrieved content.

    STORED: it becomes part of the conversation.
    FIRST_CALL: the first request of a call has it; the conversation keeps what the user said.
    EVERY_CALL: every request of a call has it; the conversation keeps what the user said.
    """

    STORED = "stored"
    FIRST_CALL = "first_call"
    EVERY_CALL = "every_call"


def system_message(text: str) -> Callable[[Marked], Marked]:
    """Give a method, or a whole interface, its system message; ``{{name}}`` stands for an argument."""
    return _marking(SYSTEM_TEMPLATE, text)


def user_message(text: str) -> Callable[[Marked], Marked]:
    """Give a method the template of its user message; ``{{name}}`` stands for an argument."""
    return _marking(USER_TEMPLATE, text)


def _marking(attribute: str, text: str) -> Callable[[Marked], Marked]:
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f"The template of a message must be text that is not empty, got {text!r}.")

    def mark(marked: Marked) -> Marked:
        setattr(marked, attribute, text)
        return marked

    return mark
