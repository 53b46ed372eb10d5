from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.loopback import Exchange, Serve, Server


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(behave: Callable[[Exchange], bool | None], **options: Any) -> Server:
        servers.append(Server(behave, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
    gc.collect()  # a connection that was left open warns here, and a warning is an error


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith("OPENAI_"):
            monkeypatch.delenv(name)
