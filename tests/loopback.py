"""A server on 127.0.0.1 that does with each request what a test says."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Any


class Exchange:
    """One request as the server got it, and what it does about it."""

    def __init__(
        self, sock: socket.socket, head: str, body: bytes, position: int, stopping: threading.Event
    ) -> None:
        self.socket = sock
        self.head = head
        self.body = body
        self.position = position
        """Of the request on its connection, from 0."""
        self.stopping = stopping

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, body: bytes | str, status: str = "200 OK", headers: str = "") -> None:
        data = body if isinstance(body, bytes) else body.encode()
        self.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n{headers}\r\n".encode() + data)

    def say(self, text: str = "hi") -> None:
        self.answer(completion(text))

    def wait(self, seconds: float = 10.0) -> None:
        """Wait until the client is gone or the test is over."""
        end = time.monotonic() + seconds
        self.socket.settimeout(0.02)
        while time.monotonic() < end and not self.stopping.is_set():
            with contextlib.suppress(TimeoutError):
                if not self.socket.recv(1):
                    return

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def completion(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()


class Server:
    """Runs ``behave`` for each request; a connection stays open while it returns true."""

    def __init__(self, behave: Callable[[Exchange], bool | None], tls: ssl.SSLContext | None = None) -> None:
        self.behave = behave
        self.tls = tls
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.stopping = threading.Event()
        self.threads: list[threading.Thread] = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/v1"
        self.start(self._listen)

    def start(self, run: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            if self.stopping.is_set():
                sock.close()
                return
            self.connections += 1
            self.start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        try:
            sock.settimeout(20)
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True)
            self._answer(sock)
        except OSError:
            return  # the client is gone
        finally:
            sock.close()

    def _answer(self, sock: socket.socket) -> None:
        position = 0
        received = b""
        sock.settimeout(0.02)
        while not self.stopping.is_set():
            head, found, body = received.partition(b"\r\n\r\n")
            if found:
                lengths = [
                    line[15:] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
                ]
                length = int(lengths[0]) if lengths else 0
                if len(body) >= length:
                    received = body[length:]
                    exchange = Exchange(sock, head.decode(), body[:length], position, self.stopping)
                    self.exchanges.append(exchange)
                    position += 1
                    sock.settimeout(20)
                    if not self.behave(exchange):
                        return
                    sock.settimeout(0.02)
                    continue
            try:
                piece = sock.recv(65536)
            except TimeoutError:
                continue
            if not piece:
                return
            received += piece
            if received[:1] == b"\x16":  # a TLS handshake
                sock.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                return

    def stop(self) -> None:
        self.stopping.set()
        with contextlib.suppress(OSError):  # wakes the listener
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        self.listener.close()
        for thread in list(self.threads):
            thread.join(20)
            assert not thread.is_alive()


Serve = Callable[..., Server]
