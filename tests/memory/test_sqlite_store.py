"""A store in a file: whole batches, several users at once, and nothing lost."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from fasttool.errors import ConfigurationError, MessageFormatError
from fasttool.memory import (
    ChatMemories,
    ChatMemoryStore,
    InMemoryStore,
    MessageWindow,
    SqliteStore,
    UnboundedMemory,
)
from fasttool.messages import AiMessage, ImageContent, Message, SystemMessage, ToolResultMessage, UserMessage
from tests.memory.conversations import calls, flaw, result, round_of

U = UserMessage("u")
RICH: list[Message] = [
    SystemMessage("be good"),
    UserMessage([ImageContent(b"\x00", mime_type="image/png")], name="Ann", attributes={"k": 2**70}),
    *round_of("a", ""),
    ToolResultMessage("x", "t", "no\x00", is_error=True, attributes={"found_tools": ["上海"]}),
    AiMessage("ok"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, path: Path) -> Any:
    if request.param == "memory":
        yield InMemoryStore()
        return
    with SqliteStore(path) as made:
        yield made


def edit(path: Path, statement: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


# ------------------------------------------------------------------------------- what stores do
def test_what_is_stored_comes_back(store: ChatMemoryStore) -> None:
    assert isinstance(store, ChatMemoryStore)
    store.append("m", RICH[:2])
    store.append("m", iter(RICH[2:]))
    store.append("m", [])
    assert store.load("m") == RICH
    assert store.load("other") == []


def test_conversations_are_apart(store: ChatMemoryStore) -> None:
    ids = ["1", 1, -5, "it's", "a\x00b", "上海 🌧", "%", "*", " "]
    for number, memory_id in enumerate(ids):
        store.append(memory_id, [UserMessage(str(number))])
    assert set(store.ids()) == set(ids)
    for number, memory_id in enumerate(ids):
        assert store.load(memory_id) == [UserMessage(str(number))]
    store.delete("1")
    store.delete("unknown")
    assert store.load("1") == []
    assert store.load(1) == [UserMessage("1")]


def test_replacing_takes_the_place_of_the_whole_conversation(store: ChatMemoryStore) -> None:
    store.append("m", RICH)
    store.replace("m", [U])
    assert store.load("m") == [U]
    store.append("m", [AiMessage("a")])
    assert store.load("m") == [U, AiMessage("a")]
    store.replace("m", [])
    assert store.load("m") == store.ids() == []


def test_what_a_load_gives_can_be_changed(store: ChatMemoryStore) -> None:
    store.append("m", [U])
    store.load("m").clear()
    assert store.load("m") == [U]


# ------------------------------------------------------------------------------- the file
def test_a_file_outlives_its_store(path: Path) -> None:
    with SqliteStore(path) as store:
        MessageWindow(3, id="m", store=store).add(U, *round_of("a", "b"))
    with SqliteStore(str(path)) as store:
        assert store.load("m") == [U, *round_of("a", "b")]
        assert MessageWindow(3, id="m", store=store).messages() == round_of("a", "b")


@pytest.mark.parametrize("synchronous", ["normal", "full"])
def test_the_file_uses_a_log_and_the_chosen_safety(path: Path, synchronous: Any) -> None:
    with SqliteStore(path, synchronous=synchronous) as store:
        assert store._connection is not None
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        level = {"normal": 1, "full": 2}[synchronous]
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (level,)


@pytest.mark.parametrize(
    "name", ["it's %20?mode=ro#x.db", "file:chats.db", "上海 🌧.db", ";drop", "-x", "a\nb"]
)
def test_paths_may_have_odd_characters(tmp_path: Path, name: str) -> None:
    with SqliteStore(tmp_path / name) as store:
        store.append("m", [U])
    assert (tmp_path / name).is_file()
    with SqliteStore(tmp_path / name) as store:
        assert store.load("m") == [U]


def test_a_path_is_that_of_the_moment_in_which_the_store_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with SqliteStore("chats.db") as store:
        assert repr(store) == f"<SqliteStore {str(tmp_path / 'chats.db')!r}>"


@pytest.mark.parametrize(
    ("path", "options", "complaint"),
    [
        ("", {}, "takes the path of a file, got ''"),
        (":memory:", {}, "InMemoryStore keeps conversations in this process"),
        (None, {}, "takes the path of a file, got None"),
        ("a\x00b", {}, "cannot be opened: embedded null"),
        ("no/such/folder/x.db", {}, "cannot be opened"),
        (".", {}, "cannot be opened"),
        ("x.db", {"synchronous": "off"}, 'must be "normal" or "full"'),
        ("x.db", {"busy_timeout": -1}, "busy_timeout must be seconds"),
    ],
)
def test_a_wrong_setting_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Any, options: Any, complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=complaint):
        SqliteStore(path, **options)


def test_a_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("m", [U])
    edit(path, "PRAGMA user_version = 2")
    with pytest.raises(MessageFormatError, match="has version 2; this version of fasttool reads 1"):
        SqliteStore(path)
    edit(path, "PRAGMA user_version = 1")
    with SqliteStore(path) as store:
        assert store.load("m") == [U]


def test_a_file_of_something_else_is_refused(path: Path) -> None:
    edit(path, "CREATE TABLE theirs (x)")
    with pytest.raises(ConfigurationError, match="a database of something else"):
        SqliteStore(path)
    path.write_bytes(b"no database at all, but long enough to look at" * 40)
    with pytest.raises(MessageFormatError, match="cannot be read: file is not a database"):
        SqliteStore(path)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "",
        "[]",
        '{"version":1,"messages":[]}',
        '{"version":9,"messages":[{"role":"user","contents":[]}]}',
        '{"version":1,"messages":[{"role":"judge"}]}',
        b"\xff\xfe",
        7,
    ],
)
def test_a_damaged_row_is_named_and_nothing_is_lost(path: Path, text: Any) -> None:
    with SqliteStore(path) as store:
        store.append("m", [U, U, U])
        store.append("other", [U])
        edit(path, "UPDATE messages SET message = ? WHERE memory_id = 'm' AND position = 1", text)
        with pytest.raises(MessageFormatError, match=r"Message 1 of conversation 'm' in .* cannot be read"):
            store.load("m")
        memory = UnboundedMemory(id="m", store=store)
        for attempt in (memory.messages, lambda: memory.add(U)):
            with pytest.raises(MessageFormatError, match="Message 1"):
                attempt()
        assert store.load("other") == [U]
        edit(path, "DELETE FROM messages WHERE memory_id = 'm' AND position = 1")
        assert store.load("m") == [U, U]
        store.append("m", [AiMessage("on")])
        assert memory.messages() == [U, U, AiMessage("on")]


def test_a_message_without_a_json_form_is_refused_with_its_batch(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("m", [U])
        bad = UserMessage("x", attributes={"k": object()})
        for write in (store.append, store.replace):
            with pytest.raises(MessageFormatError, match="cannot be written as JSON"):
                write("m", [U, bad])
        assert store.load("m") == [U]


def test_a_write_that_fails_in_the_middle_leaves_nothing_behind(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("m", [U])
        edit(
            path,
            "CREATE TRIGGER full BEFORE INSERT ON messages WHEN new.position > 1 "
            "BEGIN SELECT raise(ABORT, 'disk full'); END",
        )
        for write in (store.append, store.replace):
            with pytest.raises(sqlite3.Error, match="disk full"):
                write("m", [U, U, U])
        edit(path, "DROP TRIGGER full")
        assert store.load("m") == [U]
        store.append("m", [AiMessage("on")])
        assert store.load("m") == [U, AiMessage("on")]


def test_a_closed_store_says_so(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    store.close()
    for attempt in (lambda: store.load("m"), lambda: store.append("m", [U]), store.ids):
        with pytest.raises(ConfigurationError, match="is closed"):
            attempt()


def test_a_file_that_stays_locked_is_an_error_and_nothing_is_stored(path: Path) -> None:
    with SqliteStore(path, busy_timeout=0.01) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        memory = UnboundedMemory(id="m", store=store)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            memory.add(U)
        with pytest.raises(ConfigurationError, match="locked"):
            SqliteStore(path, busy_timeout=0.01)
        other.execute("ROLLBACK")
        other.close()
        assert memory.messages() == []
        memory.add(U)
        assert store.load("m") == [U]


# ------------------------------------------------------------------------------- several at once
def batches(writer: int, count: int) -> list[list[Message]]:
    return [[UserMessage(f"{writer}:{number}:{part}") for part in range(3)] for number in range(count)]


def check_shared(stored: list[Message], writers: int, count: int) -> None:
    """Every batch is there once, in one piece, and in the order of its writer."""
    texts = [message.text for message in stored if isinstance(message, UserMessage)]
    pieces = [texts[start : start + 3] for start in range(0, len(texts), 3)]
    for writer in range(writers):
        own = [piece for piece in pieces if piece[0].startswith(f"{writer}:")]
        assert own == [[f"{writer}:{number}:{part}" for part in range(3)] for number in range(count)]
    assert len(pieces) == writers * count


def test_threads_share_a_store(path: Path) -> None:
    with SqliteStore(path) as store:

        def work(writer: int) -> None:
            for batch in batches(writer, 30):
                store.append("m", batch)
                store.load("m")

        threads = [threading.Thread(target=work, args=(writer,)) for writer in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        check_shared(store.load("m"), 6, 30)


def write_batches(path: str, writer: int, barrier: Any) -> None:
    barrier.wait(60)
    with SqliteStore(path, busy_timeout=60) as store:  # they also make the file at the same time
        for batch in batches(writer, 40):
            store.append("m", batch)


def test_processes_share_a_file(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    processes = [
        context.Process(target=write_batches, args=(str(path), writer, barrier)) for writer in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    with SqliteStore(path) as store:
        check_shared(store.load("m"), 3, 40)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_store_can_be_used_after_a_fork(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("m", [U])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                store.append("m", [AiMessage("from the child")])
                code = 0 if len(store.load("m")) == 2 else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        store.append("m", [AiMessage("from the parent")])
        assert store.load("m") == [U, AiMessage("from the child"), AiMessage("from the parent")]


# ------------------------------------------------------------------------------- asynchronous
class SlowStore(InMemoryStore):
    """A store whose writes wait until they may go on."""

    blocking = True

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def append(self, memory_id: Any, messages: Any) -> None:
        self.threads.add(threading.get_ident())
        self.begun.set()
        assert self.may_end.wait(20)
        super().append(memory_id, messages)


def test_a_blocking_store_is_used_in_a_worker_thread() -> None:
    store = SlowStore()
    memory = UnboundedMemory(store=store)

    async def main() -> None:
        adding = asyncio.create_task(memory.aadd(U))
        while not store.begun.is_set():
            await asyncio.sleep(0.001)
        store.may_end.set()
        await adding
        assert await memory.amessages() == [U]

    asyncio.run(main())
    assert store.threads
    assert threading.get_ident() not in store.threads


def test_a_store_in_memory_is_used_directly() -> None:
    async def main() -> None:
        memory = UnboundedMemory(store=InMemoryStore())
        # A coroutine that never waits ends at its first step.
        with pytest.raises(StopIteration):
            memory.aadd(U).send(None)
        with pytest.raises(StopIteration) as end:
            memory.amessages().send(None)
        assert end.value.value == [U]

    asyncio.run(main())


def test_a_cancelled_add_is_finished_first() -> None:
    store = SlowStore()
    memory = UnboundedMemory(store=store)

    async def main() -> None:
        adding = asyncio.create_task(memory.aadd(calls("a")))
        while not store.begun.is_set():
            await asyncio.sleep(0.001)
        for _ in range(2):
            adding.cancel()
            await asyncio.sleep(0)
            assert not adding.done()
        store.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await adding
        await memory.aadd(result("a"))

    asyncio.run(main())
    assert memory.messages() == round_of("a")


def test_the_asynchronous_methods_do_what_the_others_do(store: Any) -> None:
    memories = ChatMemories(MessageWindow(3), store=store)

    async def main() -> None:
        memory = memories.get("m")
        async with memory.aturn():
            assert await memory.amessages() == []
            await memory.aadd(U, *round_of("a"))
            await memory.areplace(iter([U, calls("a"), result("a", "rolled back")]))
            assert (await memory.amessages())[-1] == result("a", "rolled back")
            await memory.aadd(U)
        assert flaw(await memory.amessages()) is None
        assert store.load("m") == [U, calls("a"), result("a", "rolled back"), U]
        await memory.aclear()
        assert store.load("m") == await memory.amessages() == []

    asyncio.run(main())
