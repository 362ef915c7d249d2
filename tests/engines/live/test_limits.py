"""Limits on the messages of one peer: honest workers never reach them, and memory stays bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailcut.engines.live.limits import CREDIT, MOST_PEERS, OFFENCE, Limits


def test_a_peer_may_say_so_much_at_once_and_so_much_per_second() -> None:
    limits = Limits(per_second=8, credit=2.0)
    assert [limits.admits(b"a", 0.0) for _ in range(30)] == [True] * 17 + [False] * 13
    assert sum(limits.admits(b"a", 1.0) for _ in range(30)) == 8
    assert sum(limits.admits(b"a", 1000.0) for _ in range(30)) == 17


def test_rubbish_is_dearer_and_concerns_nobody_else() -> None:
    limits = Limits()
    offences = round(CREDIT / OFFENCE)
    for _ in range(offences):
        assert limits.admits(b"bad", 5.0)
        limits.charge(b"bad", 5.0)
    assert not limits.admits(b"bad", 5.0)
    assert limits.admits(b"good", 5.0)
    assert not limits.admits(b"bad", 5.0 + OFFENCE / 1000)
    assert limits.admits(b"bad", 5.0 + OFFENCE)


def test_what_is_not_listened_to_costs_nothing() -> None:
    limits = Limits(per_second=1, credit=1.0)
    for _ in range(1000):
        limits.admits(b"a", 0.0)
    assert limits.admits(b"a", 1.5)


@given(
    workers=st.integers(1, 2175),
    each=st.integers(1, 8),
    pauses=st.lists(st.sampled_from([0.0, 1e-4, 0.01, 60.0]), min_size=1, max_size=20),
)
def test_honest_workers_are_always_listened_to(workers: int, each: int, pauses: list[float]) -> None:
    """Honest peers send all at once, again and again, however long the controller was stopped between.

    A peer sends only a few messages before it is answered; the controller answers all, at 10 µs a message.
    """
    limits, now = Limits(), 0.0
    peers = [b"%d" % worker for worker in range(0, workers, max(1, workers // 20))]
    for pause in pauses:
        for peer in peers:
            assert all(limits.admits(peer, now) for _ in range(each))
        now += pause + 1e-5 * each * workers


@given(
    st.lists(
        st.tuples(st.binary(max_size=2), st.booleans(), st.sampled_from([0.0, 1e-6, 0.1, 3.0])), max_size=300
    )
)
def test_nobody_is_let_off_by_others_and_nobody_grows(script: list[tuple[bytes, bool, float]]) -> None:
    """Each peer is judged by its own messages, as long as there are not too many peers."""
    limits, now = Limits(per_second=5, credit=1.0, offence=0.5), 0.0
    alone: dict[bytes, Limits] = {}
    for peer, offends, pause in script:
        own = alone.setdefault(peer, Limits(per_second=5, credit=1.0, offence=0.5))
        admitted = limits.admits(peer, now)
        assert admitted == own.admits(peer, now)
        if admitted and offends:
            limits.charge(peer, now)
            own.charge(peer, now)
        now += pause
    assert len(limits) == len(alone)


def test_peers_that_come_and_go_are_forgotten() -> None:
    limits = Limits()
    for number in range(5 * MOST_PEERS):
        assert limits.admits(b"%d" % number, 0.0)
        assert len(limits) <= MOST_PEERS
    # Peers with charges are kept before peers without.
    limits = Limits(most_peers=4)
    limits.charge(b"bad", 0.0)
    for number in range(3):
        limits.admits(b"%d" % number, 0.0)
    limits.admits(b"last", 0.05)
    assert len(limits) == 2
