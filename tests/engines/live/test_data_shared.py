"""Sums through memory that the workers of one machine share: between four real processes, and what can go wrong."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
import torch
from data_processes import PATIENCE, Crew, Here, crew
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from tailcut.engines.live import points
from tailcut.engines.live.data import START, FlatBuffer, ReduceError, TrailerError, Update, reduce
from tailcut.engines.live.data.group import let_go
from tailcut.engines.live.data.memory import MOST_SHARERS, NOWHERE, WRITTEN, Memory
from tailcut.engines.live.data.shared import Shared
from tailcut.engines.live.messages import Close
from tailcut.engines.live.worker.checks import SHARED, shares_memory
from tailcut.errors import ParameterError

SIZE = 4
ALL = tuple(range(SIZE))
SUBSETS = [places for k in range(2, SIZE + 1) for places in itertools.combinations(ALL, k)]
ORDERS = [(2, 0, 3), (3, 1), (1, 3, 0, 2)]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    with crew(SIZE, tmp_path_factory.mktemp("crew")) as found:
        yield found


def vector(place: int, length: int, seed: int = 0) -> Tensor:
    return torch.randn(length, generator=torch.Generator().manual_seed(1000 * place + seed))


def own(length: int) -> Memory:
    memory = Memory.made(length, torch.float32)
    assert memory is not None
    assert memory.holds == WRITTEN
    memory.holds = 1
    return memory


# -- functions that run in the processes ----------------------------------------------------------------------------


def sums(
    here: Here, groups: list[tuple[int, ...]], length: int, alone: tuple[int, ...] = ()
) -> list[Tensor | None]:
    """The sums of one round after another; some workers have no memory that they could share."""
    memory, found = own(length), list[Tensor | None]()
    shared = Shared(None if here.place in alone else memory)
    for number, accepted in enumerate(groups):
        # Keep the workers within a round of each other; another test covers slower ones.
        here.group.allreduce([torch.zeros(1)]).wait()
        if here.place not in accepted:
            found.append(None)
            continue
        memory.holds = 0
        memory.source.copy_(vector(here.place, length, number))
        memory.holds = number + 1
        out = torch.full_like(memory.source, torch.nan)
        reduce(here.group, here.place, accepted, memory.source, out, number, shared=shared)
        assert torch.equal(memory.source, vector(here.place, length, number))
        found.append(out)
    return found


def ways(here: Here) -> list[bool]:
    """Return whether each of three rounds used shared memory; in the second, worker 2 holds newer content."""
    memory, found = own(10), []
    shared, out = Shared(memory), torch.empty(10)
    for number, held in enumerate([1, 2, 2]):
        memory.holds = 3 if held == 2 and here.place == 2 and number == 1 else held
        found.append(shared.reduce(here.group, here.place, ALL, out, 50 + number, PATIENCE, lazy=False))
    return found


def one_writes_early(here: Here) -> list[bool]:
    """Run three rounds; in the second, worker 2 begins to write as soon as another worker has reported."""
    memory, found, number = own(10), [], 0
    shared, out = Shared(memory), torch.empty(10)

    def write(point: str, version: int, chain: bytes, accepted: tuple[int, ...]) -> None:
        if here.place == 2 and number == 1:
            memory.holds = WRITTEN

    points.watch(write)
    for number in range(3):
        memory.holds = number + 1
        found.append(shared.reduce(here.group, here.place, ALL, out, 70 + number, PATIENCE, lazy=False))
    points.watch(None)
    return found


def disagree(here: Here, closes: list[Close]) -> str:
    """Each worker believes its own `Close`."""
    net = nn.Linear(2, 1)
    flat = FlatBuffer(net)
    net(torch.ones(1, 2)).sum().backward()
    flat.pack(4)
    flat.stamp(closes[here.place])
    out = flat.empty()
    reduce(here.group, here.place, ALL, flat.source, out, 1, shared=flat.shared)
    try:
        Update.made(closes[here.place], out, START)
    except TrailerError as problem:
        return str(problem)
    return "unnoticed"


def one_stays_away(here: Here, silent: bool, lazy: bool) -> tuple[float, str]:
    """Worker 3 does not come: its connections are closed at once, or stay open until all others have given up."""
    name = f"{silent} {lazy}"
    held = [here.another(f"spoilt {name}", PATIENCE, lazy)]
    here.store.set(f"made {name} {here.place}", "")
    here.store.wait([f"made {name} {place}" for place in ALL])
    memory = own(100)
    words, begun = "", monotonic()
    if here.place < 3:
        try:
            reduce(
                held[0],
                here.place,
                ALL,
                memory.source,
                torch.empty(100),
                7,
                timeout=0.3,
                lazy=lazy,
                shared=Shared(memory),
            )
        except ReduceError as problem:
            words = str(problem)
        here.store.set(f"{name} {here.place}", "")
    elif silent:
        here.store.wait([f"{name} {place}" for place in range(3)])
    seconds = monotonic() - begun
    let_go(held)  # Where a member has died, torch's group now and then never ends.
    return seconds, words


def one_is_stopped(here: Here, rounds: int) -> str:
    """Worker 0 has heard all, and stands still before it copies, until others have reduced without it that often."""
    memory = own(60)
    shared, out, told = Shared(memory), torch.empty(60), 0

    def reduced(accepted: tuple[int, ...], number: int) -> None:
        memory.holds = WRITTEN
        memory.source.copy_(vector(here.place, 60, number))
        memory.holds = number
        reduce(here.group, here.place, accepted, memory.source, out, 200 + number, shared=shared)

    def stand(point: str, version: int, chain: bytes, accepted: tuple[int, ...]) -> None:
        nonlocal told
        told += point == "segment"
        if told == 6:
            here.store.wait([f"went on {rounds} {place}" for place in (1, 2, 3)])

    if here.place == 0:
        points.watch(stand)
    words = "the sum"
    try:
        reduced(ALL, 1)
    except ReduceError as problem:
        words = str(problem)
    points.watch(None)
    if here.place:
        for number in range(rounds):
            reduced((1, 2, 3), 2 + number)
        here.store.set(f"went on {rounds} {here.place}", "")
    elif words == "the sum":
        assert torch.equal(out, added(ALL, 60, 1))
    return words


def generations(here: Here, name: str) -> tuple[int, int]:
    """Open descriptors of this worker after two, and after ten groups with new memories each."""
    counts, shared = [], Shared(own(1000))
    for number in range(10):
        if here.place:
            shared = Shared(own(1000))
        group = here.another(f"{name} {number}", PATIENCE)
        assert shared.reduce(group, here.place, ALL, torch.empty(1000), 1, PATIENCE, lazy=False)
        here.store.set(f"{name} {number} {here.place}", "")
        here.store.wait([f"{name} {number} {place}" for place in ALL])
        del group
        # The descriptor of the listing itself is closed by the time its link is read.
        links = (each for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
        counts.append(sum(str(each.readlink()).startswith("/memfd") for each in links))
    return counts[1], counts[-1]


# -- tests ----------------------------------------------------------------------------------------------------------


def added(accepted: tuple[int, ...], length: int, seed: int) -> Tensor:
    """Return the sum of the workers' vectors, added one after another in the order of the accepted set."""
    total, *more = (vector(place, length, seed) for place in accepted)
    for each in more:
        total = total + each
    return total


@pytest.mark.parametrize("length", [1, 3, 17, 1001, 300_000])
def test_every_subset_gets_the_sum_to_the_bit(workers: Crew, length: int) -> None:
    groups = [*SUBSETS, *ORDERS, *SUBSETS]
    found = workers.run(sums, groups, length)
    for number, accepted in enumerate(groups):
        for place in ALL:
            if place in accepted:
                assert torch.equal(found[place][number], added(accepted, length, number))
            else:
                assert found[place][number] is None


def test_where_one_has_no_memory_to_share_all_go_another_way(workers: Crew) -> None:
    groups = [*SUBSETS, *ORDERS]
    found = workers.run(sums, groups, 1001, (2,))
    for number, accepted in enumerate(groups):
        results = [found[place][number] for place in accepted]
        torch.testing.assert_close(results[0], added(accepted, 1001, number))
        assert all(torch.equal(each, results[0]) for each in results)


def test_a_vector_of_another_round_is_not_added(workers: Crew) -> None:
    assert workers.run(ways) == [[True, False, True]] * SIZE


def test_a_worker_with_another_close_is_noticed_by_all(workers: Crew) -> None:
    close, other = Close(1, 1, 1, ALL, 1.0, ()), Close(1, 1, 1, ALL, 0.5, ())
    for words in workers.run(disagree, [close, close, other, close]):
        assert "not all of workers 0, 1, 2, 3 meant the same Close" in words
    assert set(workers.run(disagree, [close] * 4)) == {"unnoticed"}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("silent", [False, True])
def test_who_stays_away_ends_the_reduction(workers: Crew, silent: bool, lazy: bool) -> None:
    for seconds, words in workers.run(one_stays_away, silent, lazy)[:3]:
        assert "round 7 among workers at places [0, 1, 2, 3] did not end" in words
        assert seconds < PATIENCE


@pytest.mark.parametrize(("rounds", "told"), [(1, "the sum"), (12, "were written over while they were read")])
def test_who_stands_still_for_long_finds_out(workers: Crew, rounds: int, told: str) -> None:
    first, *others = workers.run(one_is_stopped, rounds)
    assert told in first
    assert set(others) == {"the sum"}


def test_a_buffer_says_which_round_is_in_it() -> None:
    """The buffer names no round while it is written, because others may read at any time."""
    net = nn.Linear(2, 1)
    flat = FlatBuffer(net)
    memory = flat._memory
    assert memory is not None
    seen = []
    close, other = Close(1, 1, 1, ALL, 1.0, ()), Close(1, 2, 1, ALL, 1.0, ())
    for each in (close, other, close):
        net.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        flat.pack(4)
        assert memory.holds == WRITTEN
        flat.stamp(each)
        seen.append(memory.holds)
    assert WRITTEN not in seen
    assert seen[0] == seen[2] != seen[1]
    alone = FlatBuffer(net, share=False)
    assert alone._memory is None
    alone.pack(4)
    assert torch.equal(alone.source[:3], flat.source[:3])


def test_a_vector_that_is_being_written_is_not_used(workers: Crew) -> None:
    assert workers.run(one_writes_early) == [[True, False, True]] * SIZE


def test_memories_of_the_gone_are_let_go(workers: Crew) -> None:
    for early, late in workers.run(generations, "gone"):
        assert early == late


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(50, 90))
def test_what_a_memory_still_has_is_as_it_was(lengths: list[int], length: int) -> None:
    memory, put = own(length), list[tuple[int, int]]()
    for number, each in enumerate(lengths):
        position, room = memory.room(each)
        room.fill_(number)
        put.append((position, each))
    assert memory.has(put[-1][0])
    for number, (position, each) in enumerate(put):
        if memory.has(position):
            assert memory.at(position, each).tolist() == [number] * each
    # The memory keeps as many of the newest vectors as fit.
    kept, total = 0, 0
    for each in reversed(lengths):
        total += each
        kept += total <= (2 * length + MOST_SHARERS) // 2
    assert all(memory.has(position) for position, _ in put[len(put) - kept :])


def test_another_process_s_memory_is_opened_by_its_key_alone() -> None:
    memory = own(8)
    memory.source.fill_(3.0)
    pid, descriptor, chance = memory.key
    other = Memory.of(memory.key, 8, torch.float32)
    assert other is not None
    assert other.source.tolist() == [3.0] * 8
    assert Memory.of((pid, descriptor, chance + 1), 8, torch.float32) is None
    assert Memory.of(memory.key, 9, torch.float32) is None
    assert Memory.of(memory.key, 8, torch.float64) is None
    assert Memory.of(NOWHERE, 8, torch.float32) is None
    with open(os.devnull) as something:  # noqa: PTH123
        assert Memory.of((pid, something.fileno(), chance), 8, torch.float32) is None


def test_the_memory_of_who_is_gone_cannot_be_opened() -> None:
    code = "import torch, tailcut.engines.live.data.memory as m; print(*m.Memory.made(8, torch.float32).key)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    pid, descriptor, chance = map(int, told.split())
    assert Memory.of((pid, descriptor, chance), 8, torch.float32) is None


@pytest.mark.parametrize(("told", "found"), [(None, True), ("on", True), ("off", False)])
def test_who_must_not_share_memory_can_say_so(
    monkeypatch: pytest.MonkeyPatch, told: str | None, found: bool
) -> None:
    monkeypatch.delenv(SHARED, raising=False)
    if told is not None:
        monkeypatch.setenv(SHARED, told)
    assert shares_memory() is found


def test_another_word_about_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARED, "no")
    with pytest.raises(ParameterError, match="TAILCUT_SHARED_MEMORY must be on or off, but got 'no'"):
        shares_memory()
