"""How much one peer may say. Pure: the clock is an argument.

Every message has a price in seconds, and a peer pays with time. One that owes more than `credit` seconds
is not listened to until time has passed. The rate is more than a worker can say: each of its messages waits for an
answer. So only one that has gone wrong comes to feel it, however long it or the controller was stopped before.
"""

from __future__ import annotations

from itertools import islice
from typing import final

from tailcut.types import Seconds

PER_SECOND = 20_000
"""Messages that one peer may send for as long as it likes."""
OFFENCE: Seconds = 0.1
"""What a message costs that cannot be read, is refused, or is dear to answer."""
CREDIT: Seconds = 2.0
"""What a peer may owe: 40,000 messages at once, or 20 offences."""
MOST_PEERS = 1 << 13
"""Peers remembered. Who is forgotten owes nothing any more."""
HANDSHAKE_MS = 10_000
"""For a peer to prove who it is, before its connection is closed."""
BACKLOG = 4096
"""Connections that may wait to be accepted: all workers of a large run connect at once."""
MOST_UNREAD = 256
"""Messages of one peer that wait to be read. More stay where they are, at the peer."""


@final
class Limits:
    """What each peer owes.

    Args:
        per_second: messages.
        offence: seconds.
        credit: seconds.
        most_peers: remembered.

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
        # When each peer will have paid.
        self._paid: dict[bytes, Seconds] = {}

    def __len__(self) -> int:
        return len(self._paid)

    def admits(self, peer: bytes, now: Seconds) -> bool:
        """Whether to listen to a message of this peer, which pays for it then."""
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
        """What this peer sent was an offence."""
        self._pay(peer, max(self._paid.get(peer, now), now) + self._offence, now)

    def _pay(self, peer: bytes, until: Seconds, now: Seconds) -> None:
        self._paid[peer] = until
        if len(self._paid) > self._most:
            self._paid = {each: paid for each, paid in self._paid.items() if paid > now}
        if len(self._paid) > self._most:
            # All of them owe something: the half that was heard of first is let off.
            self._paid = dict(islice(self._paid.items(), len(self._paid) // 2, None))
