"""The threads that functions which may block run in."""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

MAX_THREADS = max(32, 4 * (os.cpu_count() or 1))
"""How many blocking calls run at once; further ones wait."""

_CHOSEN: contextvars.ContextVar[Executor | None] = contextvars.ContextVar("fasttool_threads", default=None)
_LOCK = threading.Lock()
_POOL: tuple[int, ThreadPoolExecutor] | None = None


def thread_pool() -> ThreadPoolExecutor:
    """Return the pool that all runs share, made on first use.

    It is not the one of the event loop, which also looks up host names: tools that hang must not stop those.
    """
    global _POOL
    found = _POOL
    if found is not None and found[0] == os.getpid():
        return found[1]
    with _LOCK:
        if _POOL is None or _POOL[0] != os.getpid():  # a forked process has none of the threads
            _POOL = (os.getpid(), ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="fasttool"))
        return _POOL[1]


@contextlib.contextmanager
def using(executor: Executor) -> Iterator[None]:
    """Let blocking calls of this context run in threads of another's."""
    token = _CHOSEN.set(executor)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def submit(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Run a function in a thread, with the context variables of the caller."""
    pool = _CHOSEN.get() or thread_pool()
    return pool.submit(contextvars.copy_context().run, _without_stop, function, arguments)


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that may block in a worker thread, with the context variables of the caller."""
    import asyncio  # loaded by whoever runs an event loop

    return await asyncio.wrap_future(submit(function, *arguments))


def _without_stop(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        return function(*arguments)
    except StopIteration as error:  # no future of asyncio carries it: its caller would wait for ever
        raise RuntimeError(str(error) or "StopIteration") from error
