"""HTTP clients for a chat request: POST of 2 kB, reply of 1 kB, one keep-alive connection, loopback.

Usage: python benchmarks/bench_http.py [--requests 1000] [--repeats 7] [--json]

Prints the median over the repeats of the time per request, and its ratio to the fastest of its kind.
A client that is not installed is left out. The repeats of the clients take turns, so that a
disturbance of the machine hits all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import importlib.util
import json
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any

REQUEST = b'{"messages":"' + b"q" * (2048 - 15) + b'"}'
REPLY = b'{"choices":"' + b"a" * (1024 - 14) + b'"}'
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer key", "Accept-Encoding": "identity"}
PATH = "/v1/chat/completions"
HEAD = (
    b"HTTP/1.1 200 OK\r\nDate: Tue, 01 Dec 2026 12:00:00 GMT\r\nServer: bench\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\nX-Request-Id: 0123456789abcdef\r\n\r\n"
    % len(REPLY)
)


class _Answerer(asyncio.Protocol):
    """Answers every complete request on a connection, and looks at nothing but its length."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end >= 0 and len(self.received) >= end + 4 + len(REQUEST):
            self.received.clear()
            self.transport.write(HEAD + REPLY)


def _serve(ready: Connection) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(_Answerer, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await asyncio.sleep(600)

    asyncio.run(run())


# ------------------------------------------------------------------------------ the clients
def _http_client(port: int, count: int) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def post() -> None:
        connection.request("POST", PATH, REQUEST, HEADERS)
        assert connection.getresponse().read() == REPLY

    try:
        return _time(post, count)
    finally:
        connection.close()


def _urllib3(port: int, count: int) -> float:
    import urllib3

    with urllib3.PoolManager(timeout=urllib3.Timeout(connect=10, read=60), retries=False) as pool:

        def post() -> None:
            reply = pool.request("POST", f"http://127.0.0.1:{port}{PATH}", body=REQUEST, headers=HEADERS)
            assert reply.data == REPLY

        return _time(post, count)


def _httpcore(port: int, count: int) -> float:
    import httpcore

    with httpcore.ConnectionPool() as pool:

        def post() -> None:
            reply = pool.request("POST", f"http://127.0.0.1:{port}{PATH}", headers=HEADERS, content=REQUEST)
            assert reply.content == REPLY

        return _time(post, count)


def _httpx(port: int, count: int) -> float:
    import httpx

    with httpx.Client(timeout=60, headers=HEADERS) as client:

        def post() -> None:
            assert client.post(f"http://127.0.0.1:{port}{PATH}", content=REQUEST).content == REPLY

        return _time(post, count)


def _fasttool_sync(port: int, count: int) -> float:
    from fasttool.models.http.blocking import SyncTransport
    from fasttool.models.http.endpoint import Endpoint

    transport = SyncTransport(Endpoint(f"http://127.0.0.1:{port}{PATH}", HEADERS))

    def post() -> None:
        assert transport.post(REQUEST).body == REPLY

    try:
        return _time(post, count)
    finally:
        transport.close()


def _aiohttp(port: int, count: int) -> float:
    async def run() -> float:
        import aiohttp

        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60), headers=HEADERS) as session:

            async def post() -> None:
                async with session.post(f"http://127.0.0.1:{port}{PATH}", data=REQUEST) as reply:
                    assert await reply.read() == REPLY

            return await _atime(post, count)

    return asyncio.run(run())


def _httpx_async(port: int, count: int) -> float:
    async def run() -> float:
        import httpx

        async with httpx.AsyncClient(timeout=60, headers=HEADERS) as client:

            async def post() -> None:
                assert (await client.post(f"http://127.0.0.1:{port}{PATH}", content=REQUEST)).content == REPLY

            return await _atime(post, count)

    return asyncio.run(run())


def _fasttool_async(port: int, count: int) -> float:
    async def run() -> float:
        from fasttool.models.http.endpoint import Endpoint
        from fasttool.models.http.nonblocking import AsyncTransport

        transport = AsyncTransport(Endpoint(f"http://127.0.0.1:{port}{PATH}", HEADERS))

        async def post() -> None:
            assert (await transport.post(REQUEST)).body == REPLY

        try:
            return await _atime(post, count)
        finally:
            await transport.aclose()

    return asyncio.run(run())


def _time(post: Callable[[], None], count: int) -> float:
    for _ in range(20):
        post()
    start = time.perf_counter()
    for _ in range(count):
        post()
    return (time.perf_counter() - start) / count


async def _atime(post: Callable[[], Awaitable[None]], count: int) -> float:
    for _ in range(20):
        await post()
    start = time.perf_counter()
    for _ in range(count):
        await post()
    return (time.perf_counter() - start) / count


CLIENTS: dict[str, tuple[str, str, Callable[[int, int], float]]] = {
    "http.client": ("sync", "http", _http_client),
    "urllib3": ("sync", "urllib3", _urllib3),
    "httpcore": ("sync", "httpcore", _httpcore),
    "httpx.Client": ("sync", "httpx", _httpx),
    "fasttool SyncTransport": ("sync", "httpcore", _fasttool_sync),
    "aiohttp": ("async", "aiohttp", _aiohttp),
    "httpx.AsyncClient": ("async", "httpx", _httpx_async),
    "fasttool AsyncTransport": ("async", "aiohttp", _fasttool_async),
}


def measure(requests: int, repeats: int) -> list[dict[str, Any]]:
    """Return a row for each client that is installed."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    server = context.Process(target=_serve, args=(sender,), daemon=True)
    server.start()
    try:
        if not receiver.poll(30):
            raise RuntimeError("the loopback server did not start within 30 s")
        port = receiver.recv()
        clients = {name: row for name, row in CLIENTS.items() if importlib.util.find_spec(row[1])}
        times: dict[str, list[float]] = {name: [] for name in clients}
        for _ in range(repeats):
            for name, (_, _, run) in clients.items():
                times[name].append(run(port, requests))
    finally:
        server.terminate()
        server.join()
    medians = {name: statistics.median(found) for name, found in times.items()}
    best = {
        kind: min(medians[name] for name in clients if clients[name][0] == kind) for kind in ("sync", "async")
    }
    return [
        {
            "kind": clients[name][0],
            "client": name,
            "microseconds": round(median * 1e6, 1),
            "ratio": round(median / best[clients[name][0]], 2),
            "spread": round((max(times[name]) - min(times[name])) / median, 2),
        }
        for name, median in medians.items()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=1000, help="requests per repeat")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    rows = measure(options.requests, options.repeats)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'kind':6} {'client':24} {'µs/request':>10} {'ratio':>6} {'spread':>7}")
    for row in rows:
        figures = f"{row['microseconds']:10.1f} {row['ratio']:6.2f} {row['spread']:7.2f}"
        print(f"{row['kind']:6} {row['client']:24} {figures}")


if __name__ == "__main__":
    main()
