"""What one invocation of a service knows, and how a tool asks for it (reference: core, 2.2 and 8).

A tool takes any of these as a parameter; the model never sees it, the framework fills it:

* ``Annotated[str, ToolMemoryId]``: the id of the conversation
* ``Annotated[str, IdempotencyKey]``: a key for the call, the same when it is repeated or undone
* ``InvocationParameters`` or a subclass: values that the caller gave, shared by all tools of the invocation
* ``InvocationContext``: all that is known of the invocation
* ``Annotated[Pool, Managed]``, or a subclass of ``Managed``: an object that the application gave to the
  invocation; it is handed on as it is
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fasttool.errors import ConfigurationError

if TYPE_CHECKING:
    from fasttool.messages import UserMessage

DEFAULT_MEMORY_ID = "default"
"""The id of the conversation where nobody gave one."""


class ToolMemoryId:
    """Marks a parameter that takes the id of the conversation: ``Annotated[str, ToolMemoryId]``."""

    __slots__ = ()


class IdempotencyKey:
    """Marks a parameter that takes the key of the call: ``Annotated[str, IdempotencyKey]``.

    A call that is repeated after a crash, or undone, has the key that it had.
    """

    __slots__ = ()


_KEY: contextvars.ContextVar[str | None] = contextvars.ContextVar("fasttool_idempotency_key", default=None)


@contextlib.contextmanager
def using_key(key: str) -> Iterator[None]:
    """Let the tools of this context have an idempotency key."""
    token = _KEY.set(key)
    try:
        yield
    finally:
        _KEY.reset(token)


def current_key() -> str:
    """Return the idempotency key of the call; a new one where nobody keeps any."""
    key = _KEY.get()
    if key is None:
        import uuid

        key = uuid.uuid4().hex
    return key


class InvocationParameters(dict[str, Any]):
    """Values of the caller for the tools of one invocation; every tool gets the same object.

    A subclass may have attributes of its own; a tool that asks for the subclass gets it as it was given.
    """

    __slots__ = ()


class Managed:
    """Marks a parameter that takes an object of the caller's by its type: ``Annotated[Pool, Managed]``.

    A parameter whose type derives from it needs no mark.
    """

    __slots__ = ()


class InvocationContext:
    """What is known of one invocation of a service or of ``run_tools``.

    Args:
        memory_id: the id of the conversation.
        parameters: values of the caller, shared by the tools.
        managed: objects that tools may ask for by their type, or a mapping of type to object.
        user_message: what the user said.
        interface: name of the service's interface; None outside of a service.
        method: name of the service's method; None outside of a service.
        arguments: what the method was called with, by name.

    Attributes:
        started: seconds since the epoch.

    Raises:
        ConfigurationError: parameters is no mapping, or something managed is not of its type.
    """

    __slots__ = (
        "__weakref__",
        "_id",
        "_managed",
        "arguments",
        "interface",
        "memory_id",
        "method",
        "parameters",
        "started",
        "user_message",
    )

    def __init__(
        self,
        memory_id: Any = DEFAULT_MEMORY_ID,
        parameters: InvocationParameters | None = None,
        managed: Iterable[Any] | Mapping[type, Any] = (),
        *,
        user_message: UserMessage | None = None,
        interface: str | None = None,
        method: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        if parameters is None:
            parameters = InvocationParameters()
        elif not isinstance(parameters, InvocationParameters):
            if not isinstance(parameters, Mapping):
                raise ConfigurationError(
                    f"Invocation parameters must be InvocationParameters or a mapping, "
                    f"got {type(parameters).__name__}."
                )
            parameters = InvocationParameters(parameters)
        self.memory_id = memory_id
        self.parameters = parameters
        self._managed = _by_type(managed) if managed else {}
        self.user_message = user_message
        self.interface = interface
        self.method = method
        self.arguments: Mapping[str, Any] = {} if arguments is None else arguments
        self.started = time.time()
        self._id: str | None = None

    @property
    def id(self) -> str:
        """A name for this invocation that no other has."""
        if self._id is None:
            import uuid  # most invocations are never asked for it

            self._id = uuid.uuid4().hex
        return self._id

    @property
    def managed(self) -> Mapping[type, Any]:
        """The managed objects by type."""
        return self._managed

    def managed_of(self, kind: type) -> Any:
        """Return the managed object of a type, or else the first one of a subclass; None for none."""
        found = self._managed.get(kind)
        if found is None:
            found = next((value for value in self._managed.values() if isinstance(value, kind)), None)
        return found

    def __repr__(self) -> str:
        return f"InvocationContext(memory_id={self.memory_id!r}, parameters={self.parameters!r})"


def _by_type(managed: Iterable[Any] | Mapping[type, Any]) -> dict[type, Any]:
    entries = managed.items() if isinstance(managed, Mapping) else ((type(value), value) for value in managed)
    found: dict[type, Any] = {}
    for kind, value in entries:
        if not isinstance(kind, type) or not isinstance(value, kind):
            raise ConfigurationError(
                f"managed maps a type to an object of it, got {kind!r} with a {type(value).__name__}."
            )
        found[kind] = value
    return found
