"""The opening of a round, and its workers."""

from __future__ import annotations

import numpy as np
import pytest
from round_scripts import Says, arrived, closing, play, rounds

from tailcut.events import (
    Applied,
    Joined,
    OpenRound,
)
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import WaitAll
from tailcut.types import (
    Wait,
)


def test_a_round_opens_with_everyone_who_is_there_in_the_order_of_their_ids() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    assert play(machine, Joined(0.0, 5), Joined(0.5, 1), Joined(1.0, 3, node=7)) == []
    assert machine.handle(Applied(2.0, 0)) == [OpenRound(0, (1, 3, 5))]


def test_the_roster_tells_nodes_and_who_is_free() -> None:
    rule = Says(lambda _: Wait())
    machine = Rounds(Policy(NoForecast(), rule))
    play(machine, Joined(0.0, 5, node=2), Joined(0.5, 1), Applied(2.0, 0))
    roster = rule.openings[0].roster
    assert roster.workers.tolist() == [1, 5]
    assert roster.nodes.tolist() == [-1, 2]
    assert np.isnan(roster.busy).all()


def test_without_workers_a_round_opens_when_the_first_one_joins() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    assert machine.handle(Applied(1.0, 0)) == []
    assert machine.handle(Joined(3.0, 4)) == [OpenRound(0, (4,))]
    assert closing(machine.handle(arrived(5.0, 4, run_time=2.0))).record.elapsed == 2.0


def test_who_joins_during_a_round_takes_part_in_the_next_one() -> None:
    machine = rounds(WaitAll(), n=2)
    assert machine.handle(Joined(0.5, 9)) == []
    assert machine.handle(arrived(0.8, 9)) == []
    close = closing(play(machine, arrived(1.0, 0), arrived(1.0, 1)))
    assert close.record.roster.workers.tolist() == [0, 1]
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0, 1, 9))]


def test_a_run_may_begin_with_any_version_and_goes_on_from_there() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    play(machine, Joined(0.0, 0))
    assert machine.handle(Applied(0.0, 41)) == [OpenRound(41, (0,))]
    assert closing(machine.handle(arrived(1.0, 0, version=41))).version == 41
    assert machine.handle(Applied(1.0, 42)) == [OpenRound(42, (0,))]


@pytest.mark.parametrize("version", [-1, 0, 2, 7])
def test_parameters_that_nobody_waits_for_change_nothing(version: int) -> None:
    machine = rounds(WaitAll(), n=1)
    machine.handle(arrived(1.0, 0))
    assert machine.handle(Applied(1.5, version)) == []
    assert machine.handle(Applied(2.0, 1)) == [OpenRound(1, (0,))]


def test_parameters_are_out_once_and_not_before_the_round_has_closed() -> None:
    machine = rounds(WaitAll(), n=1)
    assert machine.handle(Applied(0.5, 1)) == []
    machine.handle(arrived(1.0, 0))
    assert machine.handle(Applied(1.0, 1)) == [OpenRound(1, (0,))]
    assert machine.handle(Applied(1.0, 1)) == []
    assert machine.handle(Applied(1.5, 2)) == []
    assert machine.handle(arrived(2.0, 0, version=1))


def test_no_later_version_is_out_while_a_round_waits_for_workers() -> None:
    machine = Rounds(Policy(NoForecast(), WaitAll()))
    play(machine, Applied(0.0, 0), Applied(1.0, 1))
    assert machine.handle(Joined(2.0, 0)) == [OpenRound(0, (0,))]
