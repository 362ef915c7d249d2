"""The data plane between real processes: four of them over loopback, started once for all tests of this file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import pytest
import torch
from data_processes import PATIENCE, Crew, Here, crew
from test_data_buffer import Net, computed, nets
from torch import Tensor

from tailcut.engines.live.data import (
    START,
    FlatBuffer,
    Puller,
    ReduceError,
    TrailerError,
    Update,
    UpdateLog,
    UpdateServer,
    Wanted,
    reduce,
    ring,
)
from tailcut.engines.live.data.group import let_go
from tailcut.engines.live.messages import Close

SIZE = 4
SUBSETS = [places for k in range(1, SIZE + 1) for places in itertools.combinations(range(SIZE), k)]
ORDERS = [(2, 0, 3), (3, 1), (1, 3, 0, 2)]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    with crew(SIZE, tmp_path_factory.mktemp("crew")) as found:
        yield found


def vector(place: int, length: int) -> Tensor:
    return torch.randn(length, generator=torch.Generator().manual_seed(1000 * place + length))


# -- functions that run in the processes ----------------------------------------------------------------------------


def sums(
    here: Here, groups: list[tuple[int, ...]], length: int, tag: int, segment: int, native: bool = True
) -> list[Tensor | None]:
    """The sums of one round after another, as this worker gets them; None where it has no part."""
    found: list[Tensor | None] = []
    usual, ring.SEGMENT = ring.SEGMENT, segment
    for number, accepted in enumerate(groups):
        if here.place not in accepted:
            found.append(None)
            continue
        source = vector(here.place, length)
        out = torch.full_like(source, torch.nan)
        reduce(here.group, here.place, accepted, source, out, tag + number, native=native)
        assert torch.equal(source, vector(here.place, length))
        found.append(out)
    ring.SEGMENT = usual
    return found


@dataclass(frozen=True)
class Momentum:
    """A hand-written optimizer: torch's imports modules for seconds at its first step."""

    state: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def step(self, net: Net) -> None:
        for name, parameter in net.named_parameters():
            if parameter.grad is not None:  # a zero would still move it
                velocity = self.state.setdefault(f"velocity of {name}", torch.zeros_like(parameter))
                parameter.sub_(0.5 * velocity.mul_(0.9).add_(parameter.grad))


@dataclass(frozen=True)
class Replica:
    """One worker's net, and what keeps it equal to the others."""

    here: Here
    net: Net
    momentum: Momentum
    flat: FlatBuffer
    log: UpdateLog

    def compute(self, version: int) -> None:
        computed(self.net, seed=100 * version + self.here.place, samples=2 + self.here.place)

    def take_part(self, close: Close) -> None:
        self.compute(close.version)
        self.flat.pack(2 + self.here.place)
        self.flat.stamp(close)
        out = self.flat.empty()
        reduce(self.here.group, self.here.place, close.accepted, self.flat.source, out, close.version)
        self.apply(Update.made(close, out, self.log.chain))

    def apply(self, update: Update) -> None:
        self.flat.unpack(update.flat, update.samples)
        self.momentum.step(self.net)
        self.log.append(update)

    def catch_up(self, puller: Puller, holders: dict[int, str], version: int) -> int:
        missed = Wanted(range(self.log.version, version), self.log.chain, term=1, epoch=1)
        for update in puller.pull(missed, holders, timeout=PATIENCE):
            self.apply(update)
        return len(missed.versions)


def train(here: Here, closes: list[Close]) -> dict[str, Any]:
    """Make a few updates; a late worker computes too, and pulls before its next round or at the end."""
    net = nets(1)[0]
    replica = Replica(here, net, Momentum(), FlatBuffer(net), UpdateLog())
    layout, pulled = replica.flat.layout, 0
    with UpdateServer(replica.log, keep=5.0) as server, Puller(layout.length, layout.dtype) as puller:
        here.store.set(f"address/{here.place}", server.address)
        others = [place for place in range(here.size) if place != here.place]
        holders = {place: here.store.get(f"address/{place}").decode() for place in others}
        for close in closes:
            if here.place in close.accepted:
                pulled += replica.catch_up(puller, holders, close.version)
                replica.take_part(close)
            else:
                replica.compute(replica.log.version)
        pulled += replica.catch_up(puller, holders, len(closes))
        here.store.set(f"done/{here.place}", "")
        here.store.wait([f"done/{place}" for place in range(here.size)])
    state = {name: each for name, each in net.state_dict().items() if each.is_floating_point()}
    return {"state": {**state, **replica.momentum.state}, "chain": replica.log.chain, "pulled": pulled}


def disagree(here: Here, closes: list[Close]) -> str:
    """Each worker believes its own `Close`."""
    net = nets(1)[0]
    flat = FlatBuffer(net)
    computed(net, here.place, 4)
    flat.pack(4)
    flat.stamp(closes[here.place])
    out = flat.empty()
    reduce(here.group, here.place, tuple(range(here.size)), flat.source, out, 1)
    try:
        Update.made(closes[here.place], out, START)
    except TrailerError as problem:
        return str(problem)
    return "unnoticed"


def one_stays_away(here: Here, accepted: tuple[int, ...], silent: bool) -> tuple[float, str, Tensor | None]:
    """Worker 3 does not come: its connections are closed at once, or stay open until all others have given up.

    Seconds until the reduction failed, its words, and what a repetition without the absent one gives.
    """
    name = f"{accepted} {silent}"
    rest = tuple(place for place in accepted if place != 3)
    group = here.another(f"spoilt {name}", PATIENCE)
    here.store.set(f"made {name} {here.place}", "")
    # Wait until all have made their groups: a worker that leaves earlier would break that.
    here.store.wait([f"made {name} {place}" for place in range(here.size)])
    source = vector(here.place, 1000)
    words, out, begun = "", torch.empty_like(source), monotonic()
    if here.place in rest:
        try:
            reduce(group, here.place, accepted, source, out, 7, timeout=0.3)
        except ReduceError as problem:
            words = str(problem)
        here.store.set(f"{name} {here.place}", "")
    elif silent:
        here.store.wait([f"{name} {place}" for place in rest])
    seconds = monotonic() - begun
    del group
    again = here.another(f"again {name}", PATIENCE)
    if here.place in rest:
        reduce(again, here.place, rest, source, out, 7)
    # Wait again: a worker that leaves first would break the others' groups or reductions.
    here.store.set(f"again {name} {here.place}", "")
    here.store.wait([f"again {name} {place}" for place in range(here.size)])
    return seconds, words, out if here.place in rest else None


def one_is_never_connected(here: Here) -> tuple[float, str]:
    """Worker 3 is gone before anybody is connected to it: seconds until the reduction failed, and its words."""
    held = [here.another("lazily", PATIENCE, lazy=True)]
    here.store.set(f"lazily made {here.place}", "")
    here.store.wait([f"lazily made {place}" for place in range(here.size)])
    begun, words = monotonic(), ""
    if here.place == 3:
        held.clear()
        here.store.set("gone", "")
        return 0.0, ""
    here.store.wait(["gone"])
    source = vector(here.place, 1000)
    try:
        reduce(held[0], here.place, (0, 1, 2, 3), source, torch.empty_like(source), 7, timeout=0.5, lazy=True)
    except ReduceError as problem:
        words = str(problem)
    seconds = monotonic() - begun
    let_go(held)  # Where a member has died, torch's group now and then never ends.
    return seconds, words


# -- tests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("length", "segment"), [(3, 10), (17, 10), (1001, 1 << 18), (1001, 64)])
def test_every_subset_gets_the_sum_and_all_the_same_bits(
    workers: Crew, length: int, segment: int, native: bool
) -> None:
    groups = [*SUBSETS, *ORDERS]
    found = workers.run(sums, groups, length, 0, segment, native)
    for number, accepted in enumerate(groups):
        plain = torch.stack([vector(place, length).double() for place in accepted]).sum(0)
        results = [found[place][number] for place in accepted]
        torch.testing.assert_close(results[0].double(), plain, rtol=1e-6, atol=1e-6)
        assert all(torch.equal(each, results[0]) for each in results)
        assert all(found[place][number] is None for place in range(SIZE) if place not in accepted)


def test_the_bits_follow_from_the_accepted_alone(workers: Crew) -> None:
    """Not from the round, nor from how messages are cut."""
    groups = [each for each in SUBSETS if 1 < len(each) < SIZE]
    one = workers.run(sums, groups, 1001, 0, 64)
    other = workers.run(sums, groups, 1001, (1 << 31) - 3, 1 << 18)
    for first, second in zip(one, other, strict=True):
        for a, b in zip(first, second, strict=True):
            assert (a is None) == (b is None)
            assert a is None or torch.equal(a, b)


def test_a_ring_adds_in_its_order(workers: Crew) -> None:
    """Chunk p starts at place p and is added up along the ring, one after another: to the bit."""
    accepted, length = (2, 0, 3), 90
    found = workers.run(sums, [accepted], length, 0, 64)
    sources = [vector(place, length) for place in accepted]
    for chunk in range(3):
        part = slice(30 * chunk, 30 * chunk + 30)
        total = sources[chunk][part]
        for step in (1, 2):
            total = total + sources[(chunk + step) % 3][part]
        assert torch.equal(found[0][0][part], total)


def test_separate_rings_run_side_by_side(workers: Crew) -> None:
    groups = [(0, 1), (2, 3), (0, 1, 2, 3), (3, 0), (1, 2)] * 4
    found = workers.run(sums, groups, 500, 0, 64)
    for number, accepted in enumerate(groups):
        plain = torch.stack([vector(place, 500) for place in accepted]).sum(0)
        for place in accepted:
            torch.testing.assert_close(found[place][number], plain)


def test_replicas_stay_bit_identical_and_equal_one_process(workers: Crew) -> None:
    rounds: list[tuple[int, ...]] = [(0, 1, 2, 3), (2, 0), (1, 0, 2), (0,), (3, 2), (1, 3, 0, 2), (0, 2, 1)]
    closes = [Close(1, 1, version, accepted, 1.0, ()) for version, accepted in enumerate(rounds)]
    found = workers.run(train, closes)
    first = found[0]
    assert [each["pulled"] for each in found] == [1, 3, 1, 4]
    for each in found:
        assert each["chain"] == first["chain"]
        for name, value in first["state"].items():
            assert torch.equal(each["state"][name], value), name
    reference = alone(rounds)
    assert reference.keys() == first["state"].keys()
    for name, value in reference.items():
        torch.testing.assert_close(first["state"][name], value, rtol=1e-4, atol=1e-6)


def alone(rounds: list[tuple[int, ...]]) -> dict[str, Tensor]:
    """The same in one process, from gradients averaged in double precision."""
    net = nets(1)[0]
    momentum = Momentum()
    for version, accepted in enumerate(rounds):
        replicas = {place: nets(1)[0] for place in accepted}
        for place, replica in replicas.items():
            replica.load_state_dict(net.state_dict())
            computed(replica, seed=100 * version + place, samples=2 + place)
        total = sum(2 + place for place in accepted)

        def mean(parts: dict[int, Tensor], total: int = total) -> Tensor:
            return torch.stack([(2 + place) * part.double() for place, part in parts.items()]).sum(0) / total

        for name, parameter in net.named_parameters():
            parts = {place: dict(each.named_parameters())[name].grad for place, each in replicas.items()}
            had = {place: part for place, part in parts.items() if part is not None}
            parameter.grad = mean(had).float() if had else None
        for name, buffer in net.named_buffers():
            if buffer.is_floating_point():
                buffer.copy_(mean({place: each.get_buffer(name) for place, each in replicas.items()}))
        momentum.step(net)
    state = {name: each for name, each in net.state_dict().items() if each.is_floating_point()}
    return {**state, **momentum.state}


def test_a_worker_with_another_close_is_noticed_by_all(workers: Crew) -> None:
    close = Close(1, 1, 1, (0, 1, 2, 3), 1.0, ())
    other = Close(1, 1, 1, (0, 1, 2, 3), 0.5, ())
    for words in workers.run(disagree, [close, close, other, close]):
        assert "not all of workers 0, 1, 2, 3 meant the same Close" in words
    older = Close(1, 1, 0, (0, 1, 2, 3), 1.0, ())
    for words in workers.run(disagree, [close, close, older, close]):
        assert "meant the same round" in words
    assert set(workers.run(disagree, [close] * 4)) == {"unnoticed"}


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("accepted", [(0, 1, 2, 3), (3, 0, 1)])
def test_who_stays_away_ends_the_reduction_and_the_rest_repeats_it(
    workers: Crew, accepted: tuple[int, ...], silent: bool
) -> None:
    found = workers.run(one_stays_away, accepted, silent)
    rest = [place for place in accepted if place != 3]
    plain = torch.stack([vector(place, 1000) for place in rest]).sum(0)
    for place in rest:
        seconds, words, again = found[place]
        assert f"round 7 among workers at places {list(accepted)} did not end" in words
        assert seconds < PATIENCE
        torch.testing.assert_close(again, plain)
    assert not silent or max(found[place][0] for place in rest) > 0.25


def test_who_dies_before_it_is_connected_keeps_nobody_waiting(workers: Crew) -> None:
    for seconds, words in workers.run(one_is_never_connected)[:3]:
        assert "round 7 among workers at places [0, 1, 2, 3] did not end" in words
        assert seconds < PATIENCE


def test_impossible_calls_are_refused() -> None:
    class Lonely:
        def size(self) -> int:
            return 2

    group: Any = Lonely()
    one = torch.zeros(3)
    with pytest.raises(ValueError, match=r"different places, 1 among them, but got \[0\]"):
        reduce(group, 1, (0,), one, one.clone(), 0)
    with pytest.raises(ValueError, match="different places"):
        reduce(group, 0, (0, 0), one, one.clone(), 0)
    with pytest.raises(ValueError, match=r"places in a group of 2, but got \[0, 2\]"):
        reduce(group, 0, (0, 2), one, one.clone(), 0)
    with pytest.raises(ValueError, match="vectors alike"):
        reduce(group, 0, (0, 1), one, torch.zeros(4), 0)
