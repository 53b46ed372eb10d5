"""Models that hold connections or processes, as context managers."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Calls ``close`` at the end of a ``with`` block, and ``aclose`` at that of an ``async with`` block."""

    __slots__ = ()

    def close(self) -> None:
        """Give back what is held."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Give back what is held, without blocking the event loop."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
