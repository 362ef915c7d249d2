"""Delays that are added to a training: the seconds of each, and how they pass."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from tailcut.engines.slow.delays import LONGEST, delays_of, no_delays
from tailcut.engines.slow.ways import ONE_CALL, WAYS, way
from tailcut.errors import InputError, ParameterError, UnknownNameError
from tailcut.table import Table

TABLE = Table.dense(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), source="three.csv")


def test_a_mini_batch_takes_its_row_and_rows_repeat() -> None:
    delays = delays_of(TABLE, workers=2, unit=0.1)
    assert [delays.of(1, number) for number in range(4)] == pytest.approx([0.2, 0.5, 0.2, 0.5])
    assert delays.seconds.shape == (2, 2)


def test_nobody_is_held_up_by_default() -> None:
    assert {no_delays(3).of(worker, number) for worker in range(3) for number in range(3)} == {0.0}


def test_rounds_without_a_worker_are_passed_over() -> None:
    table = Table.dense(np.array([[1.0, np.nan], [2.0, 7.0], [3.0, np.nan], [4.0, 8.0]]))
    delays = delays_of(table, workers=2, unit=1.0)
    assert [delays.of(1, number) for number in range(4)] == [7.0, 8.0, 7.0, 8.0]


def test_too_few_workers_are_refused() -> None:
    with pytest.raises(InputError, match=r"three\.csv has run times of 3 workers, but 4 .* at most 3"):
        delays_of(TABLE, workers=4, unit=0.1)


def test_a_worker_that_never_took_part_is_refused() -> None:
    table = Table.dense(np.array([[1.0, np.nan], [2.0, np.nan]]))
    with pytest.raises(InputError, match="Worker 1 of table never took part"):
        delays_of(table, workers=2, unit=1.0)


@pytest.mark.parametrize("unit", [0.0, -1.0, float("inf"), float("nan")])
def test_impossible_units_are_refused(unit: float) -> None:
    with pytest.raises(ParameterError, match=r"--unit must be more than 0 .*, but got .* Try --unit 0\.1"):
        delays_of(TABLE, workers=2, unit=unit)


def test_a_unit_that_makes_delays_too_long_is_refused_with_one_that_does_not() -> None:
    with pytest.raises(ParameterError, match="would take up to 6000 s") as refused:
        delays_of(TABLE, workers=3, unit=1000.0)
    smaller = float(str(refused.value).rpartition("--unit ")[2].rstrip("."))
    assert delays_of(TABLE, workers=3, unit=smaller).seconds.max() <= LONGEST


@pytest.mark.parametrize("name", WAYS)
def test_every_way_lasts_as_long_as_it_should(name: str) -> None:
    began = time.monotonic()
    way(name)(0.03)
    assert time.monotonic() - began >= 0.03


@pytest.mark.parametrize(("name", "computes"), [("sleep", False), ("burn", True), ("gil", False)])
def test_only_burning_takes_the_processor(name: str, computes: bool) -> None:
    began = time.thread_time()
    for _ in range(20 if computes else 1):  # On a busy machine 0.1 s may hold hardly any of the processor's.
        way(name)(0.1)
        if computes and time.thread_time() - began > 0.03:
            break
    assert (time.thread_time() - began > 0.03) == computes


@pytest.mark.parametrize(("name", "holds"), [("sleep", False), ("gil", True)])
def test_only_gil_keeps_other_threads_from_running(name: str, holds: bool) -> None:
    turns: list[float] = []
    stop = threading.Event()

    def turn() -> None:
        while not stop.wait(0.002):
            turns.append(time.monotonic())

    thread = threading.Thread(target=turn)
    thread.start()
    began = time.monotonic()
    way(name)(0.25)
    ended = time.monotonic()
    stop.set()
    thread.join()
    during = [at for at in turns if began + 0.02 < at < ended - 0.02]
    assert bool(during) != holds
    assert ONE_CALL >= 0.25


def test_an_unknown_way_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown way to be slow 'nap'\. Known: burn, gil, sleep"):
        way("nap")
