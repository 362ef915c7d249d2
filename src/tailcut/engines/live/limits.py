"""Rate limits for the messages of each peer. Pure: the clock is an argument.

Every message adds some seconds to its peer's debt, and the debt shrinks as time passes. Messages of a peer
that owes more than `credit` seconds are dropped until enough time has passed. A worker cannot reach the
limit, since each of its messages waits for an answer, however long it or the controller was stopped before:
only a faulty peer is limited.
"""

from __future__ import annotations

from itertools import islice
from typing import final

from tailcut.types import Seconds

PER_SECOND = 20_000
"""Messages per second that one peer may send for any length of time."""
OFFENCE: Seconds = 0.1
"""Cost of a message that cannot be read, is refused, or is expensive to answer, in seconds."""
CREDIT: Seconds = 2.0
"""Largest debt of a peer, in seconds: 40,000 messages at once, or 20 offenses."""
MOST_PEERS = 1 << 13
"""Most peers that are remembered. A forgotten peer has no debt."""
HANDSHAKE_MS = 10_000
"""Milliseconds that a peer has to authenticate itself, before its connection is closed."""
BACKLOG = 4096
"""Connections that may wait to be accepted: all workers of a large run connect at once."""
MOST_UNREAD = 256
"""Most unread messages of one peer. Further ones stay in the queue of the peer."""


@final
class Limits:
    """The debt of each peer.

    Args:
        per_second: messages per second that a peer may send.
        offence: cost of an offense, in seconds.
        credit: largest debt, in seconds.
        most_peers: most peers that are remembered.

    Example:
        >>> limits = Limits(per_second=1, credit=2.0)
        >>> [limits.admits(b"a", now=5.0) for _ in range(4)], limits.admits(b"b", 5.0), limits.admits(b"a", 6.5)
        ([True, True, True, False], True, True)
    """

    def __init__(
        self,
        per_second: float = PER_SECOND,
        offence: Seconds = OFFENCE,
        credit: Seconds = CREDIT,
        most_peers: int = MOST_PEERS,
    ) -> None:
        self._price, self._offence, self._credit, self._most = 1.0 / per_second, offence, credit, most_peers
        # The time at which each peer has no debt any more.
        self._paid: dict[bytes, Seconds] = {}

    def __len__(self) -> int:
        return len(self._paid)

    def admits(self, peer: bytes, now: Seconds) -> bool:
        """Return whether to read a message of this peer; if so, charge it for the message."""
        paid = self._paid.get(peer)
        if paid is None:
            self._pay(peer, now + self._price, now)
        elif paid <= now:
            self._paid[peer] = now + self._price
        elif paid - now <= self._credit:
            self._paid[peer] = paid + self._price
        else:
            return False
        return True

    def charge(self, peer: bytes, now: Seconds) -> None:
        """Charge this peer for an offense."""
        self._pay(peer, max(self._paid.get(peer, now), now) + self._offence, now)

    def _pay(self, peer: bytes, until: Seconds, now: Seconds) -> None:
        self._paid[peer] = until
        if len(self._paid) > self._most:
            self._paid = {each: paid for each, paid in self._paid.items() if paid > now}
        if len(self._paid) > self._most:
            # All of them have debts: the older half of the entries is forgotten.
            self._paid = dict(islice(self._paid.items(), len(self._paid) // 2, None))
