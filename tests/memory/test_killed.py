"""A process that is killed at any moment leaves a prefix of what it wrote, in whole batches."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fasttool.memory import MessageWindow, SqliteStore, UnboundedMemory
from fasttool.messages import Message, UserMessage
from tests.memory.conversations import calls, flaw, result

ROOT = Path(__file__).parents[2]

# Runs in ROOT, so that it finds tests.
WRITER = """
import os, sys
from fasttool.memory import MessageWindow, SqliteStore
from tests.memory.test_killed import steps
memory = MessageWindow(6, id=sys.argv[2], store=SqliteStore(sys.argv[1]))
for number, batch in enumerate(steps(), 1):
    memory.add(*batch)
    os.write(1, b"%d\\n" % number)
"""


def steps() -> Iterator[list[Message]]:
    """An endless conversation, step by step."""
    number = 0
    while True:
        yield [UserMessage(f"question {number}")]
        yield [calls(f"{number}a", f"{number}b", "same")]
        yield [result(f"{number}a"), result(f"{number}b", "x" * 3000), result("same", str(number))]
        number += 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_process_that_is_killed_leaves_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    chance = random.Random(7)
    most = 0
    for attempt in range(8):
        name = f"run {attempt}"
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name], stdout=subprocess.PIPE, cwd=ROOT
        )
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(chance.uniform(0, 0.05))
        finally:
            process.send_signal(signal.SIGKILL)
            output = process.communicate()[0]
        told = [int(line) for line in (first + output).split(b"\n")[:-1]]
        with SqliteStore(path) as store:
            stored = store.load(name)
            written: list[Message] = []
            done = 0
            for batch in steps():  # whole batches, in order
                if stored[len(written) : len(written) + len(batch)] != batch:
                    break
                written += batch
                done += 1
            assert written == stored
            assert done >= told[-1]  # whatever add returned from is there
            most = max(most, done)
            for memory in (UnboundedMemory(id=name, store=store), MessageWindow(6, id=name, store=store)):
                assert flaw(memory.messages()) is None
                memory.add(UserMessage("on"))
                assert flaw(memory.messages()) is None
    assert most > 3
    with SqliteStore(path) as store:
        assert len(store.ids()) == 8
