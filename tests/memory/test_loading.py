"""The parts of the memory load on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fasttool
from fasttool import memory


def loaded_by(script: str) -> str:
    script = f"import sys\n{script}\nprint(sorted({{'asyncio', 'sqlite3'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_asyncio_and_sqlite_load_only_where_they_are_used() -> None:
    script = (
        "from fasttool.memory import ChatMemories, MessageWindow\n"
        "from fasttool.messages import UserMessage\n"
        "memory = ChatMemories(MessageWindow(5)).get('a')\n"
        "with memory.turn():\n"
        "    memory.add(UserMessage('hi'))"
    )
    assert loaded_by(script) == "[]"
    assert loaded_by("from fasttool.memory import SqliteStore") == "['sqlite3']"


def test_each_public_name_resolves() -> None:
    assert fasttool.memory is memory
    for name in memory.__all__:
        assert getattr(memory, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Elephant'"):
        memory.Elephant  # noqa: B018
