"""HTTP with a deadline: whoever does not finish the head of a request is not waited for."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WITHIN = 10.0
"""Seconds within which the head of a request must arrive, and what is left of one that was refused."""


class TimedProtocol(H11Protocol):
    """A connection that is closed where no request, or only a part of its head, arrives in time.

    Nobody needs a token to open a connection. Without a deadline, each half request would be held for ever. The body
    of a request is read after its token was seen, however slow the line is. A head has at most 64 KB.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the deadline with the connection.

        Parameters
        ----------
        transport : Transport
            The connection.
        """
        super().connection_made(transport)
        self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and end the deadline once they make a request.

        Parameters
        ----------
        data : bytes
            What arrived.
        """
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_deadline()

    def on_response_complete(self) -> None:
        """Start the deadline of the next request on this connection."""
        super().on_response_complete()
        # a request that was sent ahead may have begun
        if self.cycle is None or self.cycle.response_complete:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline of a connection that is gone.

        Parameters
        ----------
        exc : Exception, optional
            Why it is gone.
        """
        self._stop_deadline()
        super().connection_lost(exc)

    def _start_deadline(self) -> None:
        self._stop_deadline()
        if not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEAD_WITHIN, self.transport.close)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
