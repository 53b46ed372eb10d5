"""A store in one SQLite file, shared by threads and processes.

One row per message.  One connection behind one lock serves all threads: writers wait for each
other in SQLite anyway, and a connection per thread was measured to be no faster (about 70 µs for
one append from 2 to 32 threads, either way), while its waiting is by sleeping and retrying.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal, Self, TypeVar

from fasttool.errors import ConfigurationError, MessageFormatError
from fasttool.memory.conversation import checked_id
from fasttool.memory.protocol import ConversationId
from fasttool.message_format import messages_from_json, messages_to_json
from fasttool.messages import Message

SCHEMA_VERSION = 1
APPLICATION_ID = 0x66617374  # "fast": tells our files from other databases

_SCHEMA = """
CREATE TABLE messages (
    memory_id NOT NULL,         -- no type: 1 and '1' are two conversations
    position INTEGER NOT NULL,  -- from 0
    message TEXT NOT NULL,      -- the JSON form of one message, with its version
    PRIMARY KEY (memory_id, position)
)
"""
_INSERT = "INSERT INTO messages (memory_id, position, message) VALUES (?, ?, ?)"
_NEXT = "SELECT coalesce(max(position), -1) + 1 FROM messages WHERE memory_id = ?"
# As bytes, so that a row that is not UTF-8 is found by name like any other that is damaged.
_LOAD = "SELECT position, CAST(message AS BLOB) FROM messages WHERE memory_id = ? ORDER BY position"

T = TypeVar("T")


class SqliteStore:
    """Keeps conversations in a file, one row per message.

    What ``append`` or ``replace`` has returned from is in the file, whole, also where the process is
    killed a moment later.  Messages that are appended together are stored all or none.  Several
    processes may use the file at once; it must be on a local disk, as the write-ahead log (WAL)
    needs shared memory.

    Args:
        path: the file; it is made where there is none.
        synchronous: "normal" writes to the disk now and then: after a power cut the last appends may
            be missing, and the file is sound.  "full" waits for the disk at each append.  A process
            that is killed loses nothing in either.
        busy_timeout: seconds to wait while another process writes.

    Raises:
        ConfigurationError: an argument is wrong, the file cannot be opened, or it belongs to
            something else.
        MessageFormatError: a newer version of fasttool wrote the file, or it is damaged.
    """

    blocking = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["normal", "full"] = "normal",
        busy_timeout: float = 5.0,
    ) -> None:
        if synchronous not in ("normal", "full"):
            raise ConfigurationError(f'synchronous must be "normal" or "full", got {synchronous!r}.')
        if not isinstance(busy_timeout, (int, float)) or not 0 <= busy_timeout <= 1_000_000:
            raise ConfigurationError(f"busy_timeout must be seconds, 0 or more, got {busy_timeout!r}.")
        if not isinstance(path, (str, os.PathLike)) or not (name := os.fspath(path)) or name == ":memory:":
            raise ConfigurationError(
                f"SqliteStore takes the path of a file, got {path!r}; "
                "InMemoryStore keeps conversations in this process."
            )
        self._path = os.path.abspath(name)
        self._synchronous = synchronous
        self._busy_timeout = float(busy_timeout)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._foreign: list[sqlite3.Connection] = []
        self._connection: sqlite3.Connection | None = self._open()

    # ------------------------------------------------------------------------------ opening
    def _open(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self._path, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False
            )
        except (sqlite3.Error, ValueError) as error:
            raise ConfigurationError(f"The file {self._path!r} cannot be opened: {error}.") from None
        try:
            self._prepare(connection)
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.OperationalError):
                raise ConfigurationError(f"The file {self._path!r} cannot be used: {error}.") from None
            if isinstance(error, sqlite3.DatabaseError):
                raise MessageFormatError(f"The file {self._path!r} cannot be read: {error}.") from None
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        with _Transaction(connection):
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not application and not version and not tables:
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            elif application != APPLICATION_ID:
                raise ConfigurationError(
                    f"The file {self._path!r} is a database of something else; "
                    "SqliteStore takes a file of its own."
                )
            elif version != SCHEMA_VERSION:
                raise MessageFormatError(
                    f"The file {self._path!r} has version {version}; "
                    f"this version of fasttool reads {SCHEMA_VERSION}."
                )
        self._use_log(connection)

    def _use_log(self, connection: sqlite3.Connection) -> None:
        """Switch to the write-ahead log, so that readers and a writer don't wait for each other."""
        # The switch fails at once where another process has the file open, whatever the timeout.
        end = time.monotonic() + self._busy_timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError:
                if time.monotonic() >= end:
                    raise
                time.sleep(0.01)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._process != os.getpid():
            self._after_fork()
        with self._lock:
            if self._connection is None:
                raise ConfigurationError(f"The store {self._path!r} is closed.")
            return work(self._connection)

    def _after_fork(self) -> None:
        # SQLite forbids a connection to be used, or closed, on the other side of a fork; and a thread
        # that had the lock does not exist here.
        if self._connection is not None:
            self._foreign.append(self._connection)
            self._connection = self._open()
        self._lock = threading.Lock()
        self._process = os.getpid()

    # ------------------------------------------------------------------------------ the store
    def load(self, memory_id: ConversationId) -> list[Message]:
        """Return all messages of a conversation, oldest first.

        Raises:
            MessageFormatError: a row cannot be read; nothing is changed or dropped.
            sqlite3.Error: the file cannot be read.
        """
        key = checked_id(memory_id)
        rows = self._run(lambda connection: connection.execute(_LOAD, (key,)).fetchall())
        return [self._message(key, position, text) for position, text in rows]

    def _message(self, memory_id: ConversationId, position: int, text: Any) -> Message:
        try:
            (message,) = messages_from_json(text)
        except (MessageFormatError, ValueError) as error:
            raise MessageFormatError(
                f"Message {position} of conversation {memory_id!r} in {self._path!r} cannot be read: {error}"
            ) from None
        return message

    def append(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        """Put messages at the end of a conversation, in one transaction.

        Raises:
            MessageFormatError: a message has no JSON form.
            sqlite3.Error: the file cannot be written; nothing was stored.
        """
        self._write(memory_id, messages, replacing=False)

    def replace(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        """Put messages in the place of the whole conversation, in one transaction.

        Raises:
            MessageFormatError: a message has no JSON form.
            sqlite3.Error: the file cannot be written; nothing was changed.
        """
        self._write(memory_id, messages, replacing=True)

    def _write(self, memory_id: ConversationId, messages: Iterable[Message], *, replacing: bool) -> None:
        key = checked_id(memory_id)
        texts = [messages_to_json((message,)).decode() for message in messages]

        def write(connection: sqlite3.Connection) -> None:
            with _Transaction(connection):
                if replacing:
                    connection.execute("DELETE FROM messages WHERE memory_id = ?", (key,))
                (start,) = connection.execute(_NEXT, (key,)).fetchone()
                connection.executemany(
                    _INSERT, [(key, position, text) for position, text in enumerate(texts, start)]
                )

        if texts or replacing:
            self._run(write)

    def delete(self, memory_id: ConversationId) -> None:
        """Forget a conversation.

        Raises:
            sqlite3.Error: the file cannot be written; nothing was changed.
        """
        self._write(memory_id, (), replacing=True)

    def ids(self) -> list[ConversationId]:
        """Return the conversations that have messages, in the order of their ids.

        Raises:
            sqlite3.Error: the file cannot be read.
        """
        rows = self._run(
            lambda connection: connection.execute(
                "SELECT DISTINCT memory_id FROM messages ORDER BY memory_id"
            ).fetchall()
        )
        return [memory_id for (memory_id,) in rows]

    # ------------------------------------------------------------------------------ closing
    def close(self) -> None:
        """Close the file; it may be called again."""
        if self._process != os.getpid():
            self._after_fork()
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<SqliteStore {self._path!r}>"


class _Transaction:
    """Takes the right to write at the start, so that no other writer comes between."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            try:
                self._connection.execute("COMMIT")
                return
            except BaseException:
                self._roll_back()
                raise
        self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # some failures (a full disk) have rolled back already
            self._connection.execute("ROLLBACK")
