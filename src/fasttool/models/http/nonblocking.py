"""Requests on the running event loop, over aiohttp."""

from __future__ import annotations

import io
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from fasttool.errors import MissingExtraError, ModelError
from fasttool.models.http.endpoint import DRAIN_SECONDS, IDLE_SECONDS, Endpoint, Reply
from fasttool.models.http.failures import (
    check_reply,
    connecting_timed_out,
    cut,
    not_http,
    refused_by_proxy,
    stalled,
    timed_out,
    too_large,
    unreachable,
)

if TYPE_CHECKING:
    import asyncio
    from types import SimpleNamespace

    import aiohttp

Outcome = TypeVar("Outcome")


class AsyncTransport:
    """Requests on the running event loop, over keep-alive connections that belong to that loop.

    Each loop gets a session, closed by ``aclose()``, by the loop's own end (``asyncio.run`` and every
    runner that calls ``shutdown_asyncgens``), or when the transport is dropped.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._sessions: dict[asyncio.AbstractEventLoop, _LoopSession] = {}
        self._lock = threading.Lock()
        # Holds the sessions until they are closed, so that the collector never meets an open one.
        weakref.finalize(self, _abandon, self._sessions).atexit = False

    async def post(self, body: bytes) -> Reply:
        """Send a body and return the answer.

        Raises:
            MissingExtraError: aiohttp is not installed.
            ModelError: no answer arrived, or its status is not one of success.
        """
        session = await self._session()
        endpoint = self.endpoint
        return check_reply(await _attempt(endpoint, session.post(body), endpoint.timeout), endpoint)

    async def open(self, body: bytes) -> AsyncStream:
        """Send a body and return the answer, to be read as it comes.

        Raises:
            MissingExtraError: aiohttp is not installed.
            ModelError: no answer began, or its status is not one of success.
        """
        session = await self._session()
        endpoint = self.endpoint
        stream, reply = await _attempt(endpoint, session.open(body), endpoint.timeout)
        try:
            check_reply(reply, endpoint)
        except BaseException:
            await stream.aclose()
            raise
        return stream

    async def aclose(self) -> None:
        """Close the connections of the running loop, and have those of other loops closed there."""
        import asyncio

        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.aclose()
        self.close()

    def close(self) -> None:
        """Have all connections closed, each on its own loop."""
        _abandon(self._sessions)

    async def _session(self) -> _LoopSession:
        import asyncio

        try:
            import aiohttp  # noqa: F401
        except ImportError:
            raise MissingExtraError(
                "An asynchronous call of a chat model", extra="http", package="aiohttp"
            ) from None

        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            with self._lock:
                closed = {
                    other: self._sessions.pop(other) for other in list(self._sessions) if other.is_closed()
                }
                session = self._sessions[loop] = _LoopSession(self.endpoint, self._sessions, loop)
            _abandon(closed)
            await anext(session.lifetime)  # the loop knows an asynchronous generator from its first step
        return session


class AsyncStream:
    """An answer that is read as it comes; by one task at a time.

    Args:
        endpoint: where it comes from.
        response: the answer.
        session: is closed with it; None for one that is kept.

    Attributes:
        status: its HTTP status.
        response: the answer.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        response: aiohttp.ClientResponse,
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        self.status = response.status
        self._endpoint = endpoint
        self.response = response
        self._session = session

    async def read(self) -> bytes:
        """Return the next bytes, as many as have come; none at the end of the answer.

        Raises:
            ModelError: it was cut, or nothing came in time.
        """
        endpoint = self._endpoint
        return await _attempt(endpoint, self.response.content.readany(), endpoint.timeout, stalled)

    async def drain(self) -> None:
        """Read to the end, if that comes soon: then the connection can be used again."""
        try:
            await _attempt(self._endpoint, self._read_all(), DRAIN_SECONDS)
        except ModelError:
            self.response.close()  # the answer is whole, whatever becomes of the connection

    async def aclose(self) -> None:
        """Give the connection back, or close it where the answer has not ended."""
        self.response.close()
        if self._session is not None:
            await self._session.close()

    async def _read_all(self) -> None:
        while await self.response.content.readany():
            continue


async def _attempt(
    endpoint: Endpoint,
    work: Coroutine[Any, Any, Outcome],
    seconds: float,
    late: Callable[[Endpoint], ModelError] = timed_out,
) -> Outcome:
    """Do something on the network.

    Args:
        endpoint: where that goes.
        work: what is done.
        seconds: how long it may take.
        late: makes the error for what was not done in time.

    Raises:
        ModelError: it failed.
    """
    import asyncio

    import aiohttp

    try:
        async with asyncio.timeout(seconds):
            return await work
    except aiohttp.ServerTimeoutError as error:
        raise connecting_timed_out(endpoint) from error
    except TimeoutError as error:
        raise late(endpoint) from error
    except aiohttp.ClientConnectorError as error:
        raise unreachable(endpoint, error) from error
    except aiohttp.ClientHttpProxyError as error:
        refusal = refused_by_proxy(endpoint, error.status)
    except aiohttp.ClientResponseError as error:  # of the parser: a status is no error here
        refusal = not_http(endpoint, error.message)
    except (aiohttp.ClientError, OSError) as error:
        raise cut(endpoint, error) from error
    raise refusal  # without its cause, which holds the request with its key


class _LoopSession:
    """The aiohttp session of one event loop."""

    def __init__(
        self,
        endpoint: Endpoint,
        sessions: dict[asyncio.AbstractEventLoop, _LoopSession],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        from yarl import URL

        self._endpoint = endpoint
        self._url = URL(endpoint.url, encoded=True)
        self._proxy = endpoint.proxy and URL(endpoint.proxy.geturl())
        self._pooled = self._open(keepalive_timeout=IDLE_SECONDS)
        self.lifetime = self._live(sessions, loop)

    async def _live(
        self, sessions: dict[asyncio.AbstractEventLoop, _LoopSession], loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[None]:
        # A loop that ends closes the asynchronous generators that it has seen: the only notice it gives.
        try:
            yield
        finally:
            if sessions.get(loop) is self:
                del sessions[loop]
            await self._pooled.close()

    async def aclose(self) -> None:
        await self.lifetime.aclose()

    def _open(self, **pool: Any) -> aiohttp.ClientSession:
        import aiohttp

        if self._endpoint.is_tls:
            pool["ssl"] = self._endpoint.tls()
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        return aiohttp.ClientSession(
            # No limit of connections: how many conversations run at once is the application's to say.
            connector=aiohttp.TCPConnector(limit=0, **pool),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._endpoint.headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._endpoint.connect_timeout),
            auto_decompress=False,
            trace_configs=[trace],
        )

    async def post(self, body: bytes) -> Reply:
        stream = await self._start(body)
        try:
            return await self._whole(stream)
        finally:
            await stream.aclose()

    async def open(self, body: bytes) -> tuple[AsyncStream, Reply]:
        """Return an answer, and what is to be checked of it: all of it where its status is no success."""
        stream = await self._start(body)
        if 200 <= stream.status < 300:
            return stream, Reply(stream.status, stream.response.headers, b"")
        try:
            return stream, await self._whole(stream)
        except BaseException:
            await stream.aclose()
            raise

    async def _start(self, body: bytes) -> AsyncStream:
        import aiohttp

        reused: list[bool] = []
        try:
            return AsyncStream(self._endpoint, await self._exchange(self._pooled, body, reused))
        except aiohttp.ServerDisconnectedError as error:
            # Its message is the head of the answer where some of one had arrived.
            if not reused or self._pooled.closed or not isinstance(error.message, str):
                raise
        except (aiohttp.ClientOSError, ConnectionResetError) as error:
            if not reused or self._pooled.closed or not isinstance(error.__cause__ or error, ConnectionError):
                raise
        # The server closed a connection just when it was used again: once more, on a new one.
        fresh = self._open(force_close=True)
        try:
            return AsyncStream(self._endpoint, await self._exchange(fresh, body, reused), fresh)
        except BaseException:
            await fresh.close()
            raise

    async def _exchange(
        self, session: aiohttp.ClientSession, body: bytes, reused: list[bool]
    ) -> aiohttp.ClientResponse:
        # aiohttp warns of a large body in one piece, and takes it from a file.
        data: Any = body if len(body) < 2**20 else io.BytesIO(body)
        return await session.post(
            self._url, data=data, proxy=self._proxy, allow_redirects=False, trace_request_ctx=reused
        )

    async def _whole(self, stream: AsyncStream) -> Reply:
        limit = self._endpoint.body_limit
        response = stream.response
        if (response.content_length or 0) > limit:
            raise too_large(self._endpoint)
        pieces = []
        size = 0
        while piece := await response.content.readany():
            size += len(piece)
            if size > limit:
                raise too_large(self._endpoint)
            pieces.append(piece)
        return Reply(response.status, response.headers, b"".join(pieces))


async def _note_reuse(session: object, context: SimpleNamespace, parameters: object) -> None:
    context.trace_request_ctx.append(True)


def _abandon(sessions: dict[asyncio.AbstractEventLoop, _LoopSession]) -> None:
    """Have sessions closed by their loops, from any thread."""
    while sessions:
        loop, session = sessions.popitem()
        try:
            loop.call_soon_threadsafe(_start_closing, loop, session)
        except RuntimeError:  # the loop is closed: nothing in aiohttp waits any more, one step is all
            closing = session.aclose()
            try:
                closing.send(None)
            except StopIteration:
                continue
            closing.close()


_closing: set[asyncio.Task[None]] = set()  # a loop holds its tasks weakly


def _start_closing(loop: asyncio.AbstractEventLoop, session: _LoopSession) -> None:
    task = loop.create_task(session.aclose())
    _closing.add(task)
    task.add_done_callback(_closing.discard)
