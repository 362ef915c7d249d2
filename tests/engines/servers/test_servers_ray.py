"""Training on a real Ray cluster: the same parameters as in one process, also when processes die."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engines.servers.listening import is_loopback, listening

from tailcut import names
from tailcut.engines.live.checkpoints.trees import CheckpointError
from tailcut.engines.records.files import RunFolder
from tailcut.engines.records.listener import Listener, Several
from tailcut.engines.records.now import read_now
from tailcut.engines.records.read import read_run
from tailcut.engines.records.run_files import RunFiles
from tailcut.engines.records.standing import Standing
from tailcut.engines.records.start import asked_now
from tailcut.engines.servers.computing import Setting
from tailcut.engines.servers.crew import Done
from tailcut.engines.servers.driver import Driver
from tailcut.engines.servers.failures import GradientsLostError, ShardLostError
from tailcut.engines.servers.making import Made, Maker
from tailcut.engines.servers.orders import Job, Order
from tailcut.engines.servers.plan import Plan, Result
from tailcut.engines.servers.shards import Shards
from tailcut.engines.servers.train import train
from tailcut.engines.slow.delays import Delays
from tailcut.errors import InputError
from tailcut.events import Settle
from tailcut.learning.rates import Linear
from tailcut.learning.recipe import Recipe
from tailcut.testing.servers import Strike, Strikes
from tailcut.testing.servers_replay import replayed
from tailcut.types import Fate, RoundRecord

BATCH, SEED, WORKERS, UPDATES = 8, 3, 2, 16
TASK = partial(names.task, "logistic")
RECIPE = Recipe(0.3, Linear(), "momentum")


def plan(name: str = "wait-all", **more: Any) -> Plan:
    entrant = names.entrant(name)
    usual = Plan(
        Setting(TASK, BATCH, SEED),
        entrant.policy,
        RECIPE,
        WORKERS,
        servers=2,
        acceptance=entrant.acceptance,
        updates=UPDATES,
        every=UPDATES,
    )
    return replace(usual, **more)


LEISURELY = 0.2
"""Seconds of a gradient where updates are made until a process is there: those that wait leave it the processor."""


def slowly(seconds: float, pieces: int = 1) -> Setting:
    """Return a setting in which each gradient takes about `seconds`, between 0.8 and 1.2 times as long."""
    rng = np.random.default_rng(0)
    return Setting(TASK, BATCH, SEED, pieces, Delays(seconds * rng.uniform(0.8, 1.2, (50, 8))))


def check(found: Result, first: int = 0) -> None:
    """Check that every update was made once, in order."""
    # A run that is ended from outside may have closed a round whose update was not made.
    del found.rounds[len(found.made) :]
    assert [record.version for record in found.rounds] == list(range(first, found.version))
    assert (found.returns, found.skipped) == ([], {})


def check_parameters(
    found: Result,
    rounds: Sequence[RoundRecord],
    workers: int = WORKERS,
    skipped: Collection[int] = (),
    recipe: Recipe = RECIPE,
) -> None:
    there = replayed(rounds, Setting(TASK, BATCH, SEED), recipe, workers, skipped)
    np.testing.assert_allclose(found.parameters, there, rtol=2e-5, atol=1e-7)


class Until:
    """Ends a run a few updates after something has become true."""

    def __init__(self, is_so: Callable[[Driver], bool]) -> None:
        self._is_so = is_so
        self._ends: int | None = None

    def __call__(self, driver: Driver) -> None:
        if self._ends is None and self._is_so(driver):
            self._ends = driver.version + 5
        driver.over |= self._ends is not None and driver.version >= self._ends


def test_whoever_dies_the_parameters_are_those_of_the_accepted_sets(ray: Any, tmp_path: Path) -> None:
    """A shard before and after it has made an update, and a worker, which comes back; all others wait for all."""
    strikes = Strikes(
        tmp_path,
        (
            Strike("shard", 1, "applying", 3),
            Strike("shard", 0, "applied", 6),
            Strike("worker", 1, "computing", 9),
        ),
    )
    said: list[str] = []
    is_back = Until(lambda driver: driver.version > 9 and 1 in driver.roster.there)
    found = train(
        ray,
        plan(prepare=strikes, updates=5000, setting=slowly(LEISURELY)),
        say=said.append,
        meanwhile=is_back,
    )
    assert strikes.struck() == 3
    assert found.restored >= 2
    for line in ("shard 1 has died", "shard 0 has died"):
        assert any(line in each for each in said)
    check(found)
    check_parameters(found, found.rounds)
    counts = [record.count for record in found.rounds]
    assert counts[:9] == [WORKERS] * 9
    assert counts[9] == WORKERS - 1
    assert counts[-1] == WORKERS, "it takes part again"
    made = [each for each in strikes.seen() if each.point == "applied"]
    for shard in range(2):
        by_version: dict[int, set[str]] = {}
        for each in made:
            if each.number == shard:
                by_version.setdefault(each.version, set()).add(each.what)
        assert sorted(by_version) == list(range(found.version))
        assert all(len(digests) == 1 for digests in by_version.values()), "an update made twice is the same"


def test_a_local_run_listens_on_the_loopback_address_alone(ray: Any) -> None:
    """The driver, Ray's own processes, workers and shards."""
    seen: list[dict[str, set[str]]] = []

    def look(driver: Driver) -> None:
        if driver.version >= 1 and not seen:
            seen.append(listening(os.getpid()))

    train(ray, plan(updates=2, workers=1, servers=1), meanwhile=look)
    for kind in ("gcs_server", "raylet", "ray::WorkerActo", "ray::ShardActor"):
        assert any(kind in command for command in seen[-1]), seen[-1]
    for command, addresses in seen[-1].items():
        assert all(map(is_loopback, addresses)), (command, addresses)


def test_late_work_is_dropped_and_a_target_ends_the_run(ray: Any) -> None:
    """The recipe limits the norm of the mean gradient, which the shards compute together."""
    task, clipped = TASK(), replace(RECIPE, clip=0.05)
    target = replace(task.target, value=task.evaluate(task.net(SEED))["loss"] * 0.9, figure="loss", at="most")
    dropping = plan("backup:b=1", setting=slowly(0.03, 8), late_finish=False)
    found = train(ray, replace(dropping, recipe=clipped, target=target, every=2, updates=5000))
    assert found.version < 5000
    for record in found.rounds:
        assert record.count == 1 or np.ptp(record.arrivals) == 0, (
            "on a busy machine both may come at one instant"
        )
    check(found)
    check_parameters(found, found.rounds, recipe=clipped)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_parameters(found, found.rounds)
    assert (np.concatenate([record.fates for record in found.rounds]) == Fate.ABANDONED).any()
    assert found.looks[-1].figures["loss"] < found.looks[0].figures["loss"]


def test_it_begins_with_whoever_is_there_and_workers_join_and_leave(ray: Any) -> None:
    done: list[str] = []

    def is_done(driver: Driver) -> bool:
        if driver.version >= 5 and not done:
            driver.add(2)
            done.append("added")
        if {0, 1, 2} <= driver.roster.there.keys() and len(done) == 1:
            driver.remove(0)
            done.append("removed")
        return len(done) == 2

    first = plan(updates=5000, setting=slowly(LEISURELY), servers=1, begin_with=1)
    found = train(ray, first, meanwhile=Until(is_done))
    check(found)
    check_parameters(found, found.rounds)
    rosters = [record.roster.workers.tolist() for record in found.rounds]
    assert set(rosters[0]) <= {0, 1}
    assert rosters[-1] == [1, 2]


def test_what_is_lost_is_told_and_the_run_goes_on(
    ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accepted gradients, then parameters; then the driver, of which another goes on with another number of servers."""
    _lose(monkeypatch, gradients=3, parameters=12)
    first = plan(updates=15, checkpoints=tmp_path / "kept", keep_every=5, workers=1)
    told: list[tuple[int, str]] = []
    words: list[str] = []
    asked = asked_now("wait-all", "linear", "finish", 1, 15, time.monotonic)
    listener = Several([_Backs(told), RunFiles(RunFolder(tmp_path / "run"), asked)])
    found = train(ray, first, listener=listener, say=words.append)
    assert found.version == 15
    (back,) = found.returns
    # Checkpoints are written in the background: it is the newest that was whole by then.
    assert back in (0, 5, 10)
    assert told == [(back, "Scripted: the parameters are gone.")]
    assert f"All go back to version {back}: Scripted: the parameters are gone." in words
    assert "Version 4 is as the one before it: Scripted: a gradient is gone. The run goes on." in words
    assert found.skipped == ({4: "Scripted: a gradient is gone."} if back else {})
    assert [record.version for record in found.rounds] == [*range(12), *range(back, 15)]
    last = list({record.version: record for record in found.rounds}.values())
    skipped = {version - 1 for version in found.skipped}
    check_parameters(found, last, workers=1, skipped=skipped)
    run, now = read_run(tmp_path / "run"), read_now(tmp_path / "run" / "now.json")
    assert [(one.version, one.count) for one in run.rounds] == [
        (version, 0 if version in skipped else 1) for version in range(15)
    ]
    assert all((run.rounds[version].fates == Fate.LOST).all() for version in skipped)
    assert now is not None
    assert (now.rounds, now.version) == (15, 15), "what was undone does not count"
    said: list[str] = []
    rest = train(ray, replace(first, updates=20, servers=1), say=said.append)
    assert any("Goes on from version 15" in line for line in said)
    check(rest, first=15)
    check_parameters(rest, [*last, *rest.rounds], workers=1, skipped=skipped)
    with pytest.raises(InputError, match="are of another run"):
        train(ray, replace(first, updates=30, recipe=Recipe(0.3, Linear(), "adam")))


class _Backs(Listener):
    """Notes where the run went back to."""

    def __init__(self, told: list[tuple[int, str]]) -> None:
        self._told, self.gave_up = told, False

    def back(self, version: int, why: str) -> None:
        self._told.append((version, why))

    def round(self, record: RoundRecord) -> None: ...

    def settled(self, settle: Settle) -> None: ...

    def look(self, standing: Standing, now: float) -> None: ...

    def end(self, standing: Standing, now: float) -> None: ...

    def give_up(self) -> None:
        self.gave_up = True


def _lose(monkeypatch: pytest.MonkeyPatch, gradients: int, parameters: int) -> None:
    """Once each, in the updates that follow these versions: what shard 1 needs, when shard 0 has made the update."""
    make, call = Maker.make, Shards._call
    lost: set[str] = set()

    async def losing_parameters(self: Maker, version: int, done: Sequence[Done]) -> Made:
        if version == parameters and "parameters" not in lost:
            lost.add("parameters")
            raise ShardLostError("Scripted: the parameters are gone.")
        return await make(self, version, done)

    async def losing_gradients(self: Shards, shard: int, method: str, order: Order, *more: Any) -> Any:
        if order.base == gradients and shard == 1 and "gradients" not in lost:
            lost.add("gradients")
            raise GradientsLostError("Scripted: a gradient is gone.")
        return await call(self, shard, method, order, *more)

    monkeypatch.setattr(Maker, "make", losing_parameters)
    monkeypatch.setattr(Shards, "_call", losing_gradients)


def test_stale_gradients_are_used_and_no_mini_batch_twice(
    ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither after the parameters were lost nor when another driver goes on."""
    _lose(monkeypatch, gradients=-1, parameters=25)
    jobs: list[tuple[int, int]] = []
    begun_at: dict[tuple[int, int], Job] = {}

    def hear(done: Done) -> None:
        job = done.came.job
        jobs.append((job.worker, job.number))
        begun_at[job.worker, job.version] = job

    def jobs_of(record: RoundRecord) -> list[Job]:
        """Return one job in most rounds, and those that the driver took in at one instant in others."""
        workers = record.roster.workers[record.accepted > 0].tolist()
        for stale in permutations(record.staleness.tolist()):
            jobs = [(w, record.version - late) for w, late in zip(workers, stale, strict=True)]
            if begun_at.keys() >= set(jobs):
                return [begun_at[job] for job in jobs]
        raise AssertionError(f"no worker began on what {record} used")

    first = plan("async", updates=40, setting=slowly(LEISURELY), servers=1)
    first = replace(first, checkpoints=tmp_path / "kept", keep_every=10)
    found = train(ray, first, heard=hear)
    (back,) = found.returns
    assert back in (10, 20)
    stale = np.concatenate([record.staleness for record in found.rounds[2:]])
    assert 0.3 < stale.mean() < 2
    del found.rounds[len(found.made) :]
    last = list({record.version: record for record in found.rounds}.values())
    there = replayed(last, Setting(TASK, BATCH, SEED), RECIPE, workers=2, jobs_of=jobs_of)
    np.testing.assert_allclose(found.parameters, there, rtol=2e-5, atol=1e-7)
    rest = train(ray, replace(first, updates=60), heard=hear)
    assert [record.version for record in rest.rounds[:20]] == list(range(40, 60))
    assert len(jobs) >= 60
    assert len(set(jobs)) == len(jobs)


def test_who_has_arrived_already_trains_no_more(ray: Any, tmp_path: Path) -> None:
    task = TASK()
    target = replace(task.target, value=1e9, figure="loss", at="most")
    first = plan(updates=6, keep_every=5, checkpoints=tmp_path / "kept", workers=1, servers=1)
    train(ray, first)
    for more in ({"updates": 5}, {"updates": 50, "target": target, "every": 7}):
        found = train(ray, replace(first, **more))
        assert (found.version, found.rounds) == (6, []), "the last is kept, whichever it is"
        assert [look.version for look in found.looks] == [6]


def test_what_never_began_leaves_no_record(ray: Any, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "v00000005.safetensors").write_bytes(b"nothing of the kind")
    told: list[tuple[int, str]] = []
    listener = _Backs(told)
    with pytest.raises(CheckpointError):
        train(ray, plan(checkpoints=tmp_path / "kept"), listener=listener)
    assert listener.gave_up
