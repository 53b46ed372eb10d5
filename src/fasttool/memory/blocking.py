"""Work that waits for a disk or a network, done from asynchronous code."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def in_worker(work: Callable[[], T]) -> T:
    """Do the work in a worker thread; a task that is cancelled leaves when the work is done.

    Otherwise what the task does next, with the same memory, could overtake the work.
    """
    import asyncio  # only here: code that is not asynchronous never loads it

    thread: Coroutine[Any, Any, T] = asyncio.to_thread(work)
    running = asyncio.ensure_future(thread)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            try:
                await asyncio.wait([running])
            except asyncio.CancelledError:
                continue  # the first one is passed on below
        if not running.cancelled():
            running.exception()  # seen: the cancellation is what counts
        raise
