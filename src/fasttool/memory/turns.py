"""A lock that threads and asyncio tasks share: one turn at a time on one conversation.

A turn that ends hands the lock to the one that has waited longest.  A task waits without blocking
its event loop, and gives up its place when it is cancelled.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from fasttool.errors import ConfigurationError

if TYPE_CHECKING:
    import asyncio

_NESTED = (
    "A turn on this conversation is already running in this task or thread: it would wait for itself; "
    "use another memory id for the inner one."
)
_BLOCKING = (
    "Another turn on this conversation is running, and waiting for it here would stop the event loop: "
    "use aturn() in asynchronous code."
)


class _Waiter:
    """Who waits, and how it is woken."""

    __slots__ = ("future", "gate", "granted", "who")

    def __init__(self, who: object, future: asyncio.Future[None] | None) -> None:
        self.who = who
        self.future = future
        self.granted = False
        self.gate = threading.Lock()
        if future is None:
            self.gate.acquire()

    def wake(self) -> bool:
        """Hand the lock over; return whether there is still someone to take it."""
        if self.future is None:
            self.gate.release()
        else:
            try:
                self.future.get_loop().call_soon_threadsafe(_resolve, self.future)
            except RuntimeError:  # its event loop is closed
                return False
        self.granted = True
        return True


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class TurnLock:
    """Admits one turn at a time, in the order in which they asked."""

    __slots__ = ("_mutex", "_owner", "_waiting")

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._owner: object = None
        self._waiting: deque[_Waiter] | None = None  # most conversations never need one

    def turn(self, keep: object = None) -> Turn:
        """Return a context manager for code that may block.

        Args:
            keep: what has to live as long as the turn: the memory that this lock belongs to.
        """
        return Turn(self, keep)

    def aturn(self, keep: object = None) -> AsyncTurn:
        """Return a context manager for asynchronous code; see ``turn``."""
        return AsyncTurn(self, keep)

    def _join(
        self, who: object, loop: asyncio.AbstractEventLoop | None, *, may_block: bool
    ) -> _Waiter | None:
        """Take the lock and return None, or return a place in the queue."""
        with self._mutex:
            if self._owner is None:
                self._owner = who
                return None
            if self._owner == who:
                raise ConfigurationError(_NESTED)
            if loop is not None and may_block:
                raise ConfigurationError(_BLOCKING)
            waiter = _Waiter(who, None if loop is None else loop.create_future())
            if self._waiting is None:
                self._waiting = deque()
            self._waiting.append(waiter)
            return waiter

    def _leave(self, waiter: _Waiter) -> None:
        """Give up a place in the queue, or the lock where it has just been handed over."""
        with self._mutex:
            if not waiter.granted:
                if self._waiting is not None and waiter in self._waiting:
                    self._waiting.remove(waiter)
                return
        self._release()

    def _release(self) -> None:
        with self._mutex:
            while self._waiting:
                waiter = self._waiting.popleft()
                if waiter.wake():
                    self._owner = waiter.who
                    return
            self._owner = None
            self._waiting = None


def _current() -> tuple[object, asyncio.AbstractEventLoop | None]:
    """Return the running task, or else the thread, and the running event loop."""
    module: Any = sys.modules.get("asyncio")  # not imported, no task can be running
    if module is not None:
        try:
            loop = module.get_running_loop()
        except (RuntimeError, AttributeError):  # no loop in this thread; another thread is importing asyncio
            return threading.get_ident(), None
        return module.current_task(loop) or threading.get_ident(), loop
    return threading.get_ident(), None


class Turn:
    """``with memory.turn():``"""

    __slots__ = ("_entered", "_keep", "_lock")

    def __init__(self, lock: TurnLock, keep: object) -> None:
        self._lock = lock
        self._keep = keep
        self._entered = False

    def __enter__(self) -> None:
        """Wait for the turn.

        Raises:
            ConfigurationError: this thread or task has the turn already, or waiting would stop an
                event loop.
        """
        who, loop = _current()
        waiter = self._lock._join(who, loop, may_block=True)
        if waiter is not None:
            try:
                waiter.gate.acquire()
            except BaseException:  # Ctrl-C while waiting
                self._lock._leave(waiter)
                raise
        self._entered = True

    def __exit__(self, *error: object) -> None:
        if self._entered:
            self._entered = False
            self._lock._release()


class AsyncTurn:
    """``async with memory.aturn():``"""

    __slots__ = ("_entered", "_keep", "_lock")

    def __init__(self, lock: TurnLock, keep: object) -> None:
        self._lock = lock
        self._keep = keep
        self._entered = False

    async def __aenter__(self) -> None:
        """Wait for the turn.

        Raises:
            ConfigurationError: this task has the turn already.
        """
        who, loop = _current()
        waiter = self._lock._join(who, loop, may_block=False)
        if waiter is not None:
            assert waiter.future is not None
            try:
                await waiter.future
            except BaseException:  # cancelled: perhaps in the moment in which it was handed over
                self._lock._leave(waiter)
                raise
        self._entered = True

    async def __aexit__(self, *error: object) -> None:
        if self._entered:
            self._entered = False
            self._lock._release()
