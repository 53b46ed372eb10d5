"""One turn at a time on one conversation, whoever asks: threads, tasks, or both."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable

import pytest

from fasttool.errors import ConfigurationError
from fasttool.memory import ChatMemories, TurnLock, UnboundedMemory

WAIT = 20  # seconds until a test that hangs fails


def started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def until(lock: TurnLock, waiting: int) -> None:
    """Wait until so many wait for the lock."""
    pause = threading.Event()
    for _ in range(WAIT * 1000):
        if len(lock._waiting or ()) == waiting:
            return
        pause.wait(0.001)
    raise AssertionError("nobody waits")


def test_threads_take_turns_in_the_order_in_which_they_asked() -> None:
    lock = TurnLock()
    order: list[int] = []

    def work(number: int) -> None:
        with lock.turn():
            order.append(number)

    with lock.turn():
        threads = []
        for number in range(5):
            threads.append(started(lambda number=number: work(number)))  # type: ignore[misc]
            until(lock, number + 1)
        assert order == []
    for thread in threads:
        thread.join(WAIT)
    assert order == [0, 1, 2, 3, 4]
    assert lock._owner is None


def test_tasks_take_turns_in_the_order_in_which_they_asked() -> None:
    lock = TurnLock()
    order: list[str] = []

    async def work(number: int) -> None:
        async with lock.aturn():
            order.append(f"{number} in")
            await asyncio.sleep(0)
            order.append(f"{number} out")

    async def main() -> None:
        await asyncio.gather(*(work(number) for number in range(4)))

    asyncio.run(main())
    assert order == [f"{number} {step}" for number in range(4) for step in ("in", "out")]
    assert lock._owner is None


def test_turns_of_threads_and_tasks_exclude_each_other() -> None:
    lock = TurnLock()
    inside = 0
    seen: list[int] = []

    def enter() -> None:
        nonlocal inside
        inside += 1
        seen.append(inside)

    def leave() -> None:
        nonlocal inside
        inside -= 1

    def thread() -> None:
        for _ in range(200):
            with lock.turn():
                enter()
                leave()

    async def task() -> None:
        for _ in range(200):
            async with lock.aturn():
                enter()
                await asyncio.sleep(0)
                leave()

    async def main() -> None:
        await asyncio.wait_for(asyncio.gather(task(), task(), asyncio.to_thread(thread)), WAIT)

    threads = [started(thread), started(lambda: asyncio.run(main()))]
    asyncio.run(main())
    for one in threads:
        one.join(WAIT)
    assert seen == [1] * 1400
    assert lock._owner is None


def test_a_task_waits_for_a_thread_without_stopping_its_event_loop() -> None:
    lock = TurnLock()
    entered, done = threading.Event(), threading.Event()

    def thread() -> None:
        with lock.turn():
            entered.set()
            done.wait(WAIT)

    async def main() -> list[str]:
        steps: list[str] = []

        async def turn() -> None:
            async with lock.aturn():
                steps.append("turn")

        waiting = asyncio.create_task(turn())
        await asyncio.sleep(0)
        steps.append("the loop runs")
        done.set()
        await waiting
        return steps

    other = started(thread)
    assert entered.wait(WAIT)
    assert asyncio.run(main()) == ["the loop runs", "turn"]
    other.join(WAIT)


def test_a_waiting_task_that_is_cancelled_gives_up_its_place() -> None:
    lock = TurnLock()

    async def turn() -> str:
        async with lock.aturn():
            return "done"

    async def main() -> None:
        async with lock.aturn():
            first, second = asyncio.create_task(turn()), asyncio.create_task(turn())
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait([first])
            assert first.cancelled()
            assert len(lock._waiting or ()) == 1
        assert await second == "done"

    asyncio.run(main())
    assert lock._owner is None


def test_a_task_that_is_cancelled_in_the_moment_of_its_turn_hands_it_on() -> None:
    lock = TurnLock()

    async def turn() -> str:
        async with lock.aturn():
            return "done"

    async def main() -> None:
        async with lock.aturn():
            first, second = asyncio.create_task(turn()), asyncio.create_task(turn())
            await asyncio.sleep(0)
        first.cancel()  # it has the lock, and does not know it yet
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second == "done"

    asyncio.run(main())
    assert lock._owner is None


def test_a_turn_that_fails_ends() -> None:
    lock = TurnLock()
    with pytest.raises(ZeroDivisionError), lock.turn():
        raise ZeroDivisionError
    with lock.turn():
        assert lock._owner is not None

    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            async with lock.aturn():
                raise ZeroDivisionError

    asyncio.run(main())
    assert lock._owner is None


def test_ctrl_c_ends_the_wait_of_a_thread() -> None:
    lock = TurnLock()
    entered, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.turn():
            entered.set()
            until(lock, 1)
            os.kill(os.getpid(), signal.SIGINT)
            done.wait(WAIT)

    holder = started(hold)
    assert entered.wait(WAIT)
    with pytest.raises(KeyboardInterrupt):
        lock.turn().__enter__()
    assert not lock._waiting
    done.set()
    holder.join(WAIT)
    assert lock._owner is None


def test_a_waiter_whose_event_loop_is_gone_is_passed_over() -> None:
    lock = TurnLock()

    async def turn() -> None:
        async with lock.aturn():
            raise AssertionError("it never gets its turn")

    waiting = turn()

    def leave_behind() -> None:
        async def first_step() -> None:
            waiting.send(None)  # not a task: that would be cancelled at the end of its event loop

        asyncio.run(first_step())

    with lock.turn():
        started(leave_behind).join(WAIT)
        until(lock, 1)
    assert lock._owner is None
    with lock.turn():
        waiting.close()
        assert lock._owner is not None


def test_a_turn_within_a_turn_is_an_error_and_not_a_deadlock() -> None:
    memory = UnboundedMemory()
    with memory.turn(), pytest.raises(ConfigurationError, match="already running in this task or thread"):
        memory.turn().__enter__()

    async def main() -> None:
        async with memory.aturn():
            with pytest.raises(ConfigurationError, match="already running"):
                await memory.aturn().__aenter__()
            with pytest.raises(ConfigurationError, match="already running"):
                memory.turn().__enter__()
        with memory.turn(), pytest.raises(ConfigurationError, match="already running"):
            await memory.aturn().__aenter__()

    asyncio.run(main())
    with memory.turn(), UnboundedMemory().turn():  # another conversation
        pass
    assert memory._turns._owner is None


def test_a_wait_that_would_stop_the_event_loop_is_an_error() -> None:
    memory = UnboundedMemory()

    async def blocking() -> None:
        with pytest.raises(ConfigurationError, match="would stop the event loop: use aturn"):
            memory.turn().__enter__()

    async def main() -> None:
        async with memory.aturn():
            await asyncio.create_task(blocking())

    asyncio.run(main())
    assert memory._turns._owner is None


def test_a_turn_keeps_its_memory_alive() -> None:
    memories = ChatMemories()
    with memories.get("a").turn(), pytest.raises(ConfigurationError):
        memories.get("a").turn().__enter__()
    assert repr(memories) == "<ChatMemories, 0 in use>"
