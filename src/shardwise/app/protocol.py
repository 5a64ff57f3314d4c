"""HTTP with deadlines: for the head of a request, which needs no token, and for its body."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from starlette.types import Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WITHIN = 10.0
"""Seconds within which the head of a request must arrive, and what is left of one that was refused."""
BODY_PATIENCE = 30.0
"""Seconds that a body may keep us waiting, of which each byte gives some back."""
BODY_RATE = 1000.0
"""Bytes a second of a body that do not use up patience."""


class TooSlow(Exception):
    """A body that does not come, or comes too slowly."""


def limit_waiting(receive: Receive) -> Receive:
    """Return how to receive a request without waiting for ever for its body.

    Only waiting counts, not what is done with the bytes; what comes at `BODY_RATE` may go on for any time.

    Parameters
    ----------
    receive : callable
        Of the server.

    Returns
    -------
    callable
        The same, which raises `TooSlow`.
    """
    patience, complete = BODY_PATIENCE, False

    async def receive_in_time() -> Message:
        nonlocal patience, complete
        if complete:
            # what comes now is that the client has gone
            return await receive()
        began = time.monotonic()
        try:
            message = await asyncio.wait_for(receive(), patience)
        except TimeoutError:
            raise TooSlow from None
        waited, gained = time.monotonic() - began, len(message.get("body", b"")) / BODY_RATE
        patience = min(BODY_PATIENCE, max(patience - waited, 0.0) + gained)
        complete = not message.get("more_body", False)
        return message

    return receive_in_time


class TimedProtocol(H11Protocol):
    """A connection that is closed where no request, or only a part of its head, arrives in time.

    Nobody needs a token to open a connection. Without a deadline, each half request would be held for ever. The body
    of a request is read after its token was seen, by `limit_waiting`. A head has at most 64 KB.
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
