"""The start of a run: all workers send Hello, and a mismatch is reported in one sentence."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hub_scripts import ALIKE, arrived, begun, bye, hello

from tailcut.acceptance import ASYNCHRONOUS
from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.orders import SENDER, Answers
from tailcut.engines.live.messages import Alike, Free, New, Over, Refused
from tailcut.errors import ParameterError
from tailcut.forecast import NoForecast
from tailcut.learning.rates import RATES
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import AdaSync, Ahead, Dbw, Explore, Valued, WaitAll


def hub(workers: int = 3, **more: Any) -> Hub:
    return Hub(Rounds(Policy(NoForecast(), WaitAll())), workers, **more)


def alike(**changes: str) -> Alike:
    return msgspec.structs.replace(ALIKE, **changes)


def refusal(answers: Answers, *told: int) -> str:
    """The one sentence that all of these were told."""
    assert [worker for worker, _ in answers] == list(told)
    [why] = {message.why for _, message in answers if isinstance(message, Refused)}
    return why


def test_a_run_begins_when_the_last_has_said_hello_in_whatever_order() -> None:
    it = hub()
    assert it.handle(hello(2), 0.0) == []
    assert it.handle(hello(0), 1.0) == []
    answers = it.handle(hello(1), 2.0)
    new = New(1, 1, (0, 1, 2), ("tcp://here:0", "tcp://here:1", "tcp://here:2"), base=0, holder=0)
    assert answers == [(0, new), (1, new), (2, new)]
    assert (it.epoch, it.version) == (1, 0)


def test_a_run_goes_on_from_the_longest_log_and_says_who_has_it() -> None:
    it = hub()
    it.handle(hello(0, version=5, chain=b"five"), 0.0)
    it.handle(hello(1, version=7, chain=b"seven"), 0.0)
    answers = it.handle(hello(2, version=7, chain=b"seven"), 0.0)
    assert all(isinstance(m, New) and (m.base, m.holder) == (7, 1) for _, m in answers)
    it.handle(arrived(0, 7), 1.0)
    it.handle(arrived(1, 7), 1.0)
    [close, *_] = it.handle(arrived(2, 7), 1.0)
    assert close[1].version == 7  # type: ignore[union-attr]


def test_as_many_hellos_again_as_a_process_likes() -> None:
    it = hub()
    it.handle(hello(0), 0.0)
    assert it.handle(hello(0), 0.0) == []
    it.handle(hello(1), 0.0)
    answers = it.handle(hello(2), 0.0)
    assert it.handle(hello(1), 1.0) == [answers[1]], "perhaps it did not get its answer"
    it.handle(arrived(1), 2.0)
    assert it.handle(hello(1), 2.0) == [], "it did"
    assert it.ignored == 1


def test_a_difference_within_long_descriptions_is_shown() -> None:
    it = hub()
    usual = "SGD(dampening=0, differentiable=False, foreach=None, lr=0.1, maximize=False, momentum=0.9, nesterov=False)"
    it.handle(hello(0, alike=alike(optimiser=usual)), 0.0)
    it.handle(hello(1, alike=alike(optimiser=usual.replace("0.1", "0.2"))), 0.0)
    why = refusal(it.handle(hello(2, alike=alike(optimiser=usual)), 0.0), 0, 1, 2)
    assert "the optimiser: '… lr=0.1, …' at workers 0 and 2, '… lr=0.2, …' at worker 1" in why


@pytest.mark.parametrize(
    ("field", "other", "named"),
    [
        ("torch", "2.12.1", "the torch version: '2.13.0' at workers 0 and 2, '2.12.1' at worker 1"),
        ("machine", "AVX512", "the machine: 'AVX2' at workers 0 and 2, 'AVX512' at worker 1"),
        ("optimiser", "Adam", "the optimiser: 'SGD(lr=0.1)' at workers 0 and 2, 'Adam' at worker 1"),
        (
            "parameters",
            "fff",
            "names, shapes or types of the parameters: 'abc123' at workers 0 and 2",
        ),
        ("settings", "clip", "the settings: 'clip_norm=None' at workers 0 and 2, 'clip' at worker 1"),
    ],
)
def test_what_differs_is_told_to_all(field: str, other: str, named: str) -> None:
    it = hub()
    it.handle(hello(0), 0.0)
    it.handle(hello(1, alike=alike(**{field: other})), 0.0)
    why = refusal(it.handle(hello(2), 0.0), 0, 1, 2)
    assert why.startswith(f"The workers do not agree on {named}")
    assert why.endswith("Start all of them with the same.")
    assert why.count(".") <= 8, "one sentence and its remedy"
    assert it.over
    assert it.why == why


def test_workers_that_begin_with_other_numbers_copy_those_of_worker_0() -> None:
    it = hub()
    given = [{"numbers": "aa"}, {"numbers": "bb"}, {"numbers": "aa", "unsaved": "dd"}]
    for worker, numbers in enumerate(given):
        answers = it.handle(hello(worker, alike=alike(initial="broadcast", **numbers)), 0.0)
    new = answers[0][1]
    assert isinstance(new, New)
    assert (new.base, new.holder, new.joiners) == (0, 0, (1, 2))


def test_numbers_are_compared_where_that_is_asked_for() -> None:
    it = hub(2)
    it.handle(hello(0, 2, alike=alike(initial="compare", numbers="aa")), 0.0)
    why = refusal(it.handle(hello(1, 2, alike=alike(initial="compare", numbers="bb")), 0.0), 0, 1)
    assert "the numbers that the net begins with" in why
    it = hub(2)
    it.handle(hello(0, 2, alike=alike(initial="compare")), 0.0)
    why = refusal(it.handle(hello(1, 2, alike=alike(initial="broadcast")), 0.0), 0, 1)
    assert "the parameter initial=: 'compare' at worker 0, 'broadcast' at worker 1" in why


def test_several_things_that_differ_are_one_sentence() -> None:
    it = hub(2)
    it.handle(hello(0, 2), 0.0)
    why = refusal(it.handle(hello(1, 2, alike=alike(torch="1", settings="x" * 500)), 0.0), 0, 1)
    assert "the torch version" in why
    assert "; and on the settings" in why
    assert len(why) < 400, "long values are shortened"


def test_one_version_by_different_updates_is_refused() -> None:
    it = hub()
    it.handle(hello(0, version=5, chain=b"a"), 0.0)
    it.handle(hello(1, version=4, chain=b"c"), 0.0)
    why = refusal(it.handle(hello(2, version=5, chain=b"b"), 0.0), 0, 1, 2)
    assert why.startswith("Workers 0 and 2 are both at version 5 but not by the same updates.")


def test_one_version_of_different_runs_is_refused_although_the_updates_were_the_same() -> None:
    it = hub()
    it.handle(hello(0, version=100, chain=b"undisturbed", alike=alike(numbers="aa")), 0.0)
    it.handle(hello(1, version=0, alike=alike(numbers="cc")), 0.0)
    why = refusal(
        it.handle(hello(2, version=100, chain=b"undisturbed", alike=alike(numbers="bb")), 0.0), 0, 1, 2
    )
    assert why == (
        "Workers 0 and 2 both come from a checkpoint of version 100 but not with the same numbers, 'aa' and 'bb' as "
        "digests: the checkpoints are of different runs. Remove those of the other run; who has none copies the state."
    )
    assert it.over


def test_who_comes_from_an_older_checkpoint_copies_whatever_its_numbers_are() -> None:
    it = hub()
    it.handle(hello(0, version=100, chain=b"same", alike=alike(numbers="aa")), 0.0)
    it.handle(hello(1, version=50, chain=b"other", alike=alike(numbers="bb")), 0.0)
    answers = it.handle(hello(2, version=100, chain=b"same", alike=alike(numbers="aa")), 0.0)
    assert all(isinstance(m, New) and (m.base, m.joiners) == (100, (1,)) for _, m in answers)


def test_another_number_of_workers_is_told_to_all_and_to_whoever_comes_later() -> None:
    it = hub()
    it.handle(hello(0), 0.0)
    why = refusal(it.handle(hello(1, workers=4), 0.0), 0, 1)
    assert why.startswith("Worker 1 was told of 4 workers, the controller of 3.")
    assert not it.over, "one has not heard of it"
    assert refusal(it.handle(hello(2), 0.0), 2) == why
    assert it.over


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_second_process_in_one_place_is_refused_and_the_first_stays(when: str) -> None:
    it = hub()
    it.handle(hello(0), 0.0)
    if when == "after":
        it.handle(hello(1), 0.0)
        it.handle(hello(2), 0.0)
    why = refusal(it.handle(hello(0, process=7, host="there"), 0.0), SENDER)
    assert why.startswith("Place 0 is taken by process 100 on here, but process 7 on there claims it too.")
    assert it.why is None
    if when == "before":
        it.handle(hello(1), 0.0)
        assert len(it.handle(hello(2), 0.0)) == 3


@pytest.mark.parametrize("worker", [-1, 3, 1000])
def test_a_place_that_there_is_not_is_refused(worker: int) -> None:
    why = refusal(hub().handle(hello(worker), 0.0), SENDER)
    assert why.startswith(f"A worker claims place {worker}, but places go from 0 to 2.")


def test_a_controller_that_was_replaced_says_so() -> None:
    why = refusal(hub().handle(hello(0, term=2), 0.0), SENDER)
    assert why == "This controller, of term 1, was replaced by one of term 2: talk to that one."
    assert hub(term=2).handle(hello(0, term=1), 0.0) == [], (
        "what the worker knows of earlier ones does not matter"
    )


def test_a_worker_that_leaves_before_the_run_begins_ends_it() -> None:
    it = hub()
    it.handle(hello(0), 0.0)
    it.handle(hello(1), 0.0)
    refused, free = it.handle(bye(1, term=0, epoch=0), 1.0)
    why = refusal([refused], 0)
    assert free == (1, Free(1, 0))
    assert why.startswith("Worker 1 left before the run began.")
    assert it.handle(bye(0, term=0, epoch=0), 1.0) == [(0, Free(1, 0))]
    assert refusal(it.handle(hello(2), 2.0), 2) == why
    assert it.over


def test_a_run_that_has_all_its_updates_ends_as_it_begins() -> None:
    it = hub(total=3)
    for worker in (0, 1):
        it.handle(hello(worker, version=3), 0.0)
    answers = it.handle(hello(2, version=3), 0.0)
    assert [type(message) for _, message in answers] == [New] * 3 + [Over] * 3
    assert answers[-1] == (2, Over(1, 1, 3))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"workers": 0}, "A run needs at least 1 worker, but got workers=0."),
        ({"min_workers": 4}, "min_workers must be from 1 to 3, but got 4."),
        ({"min_workers": 0}, "min_workers must be from 1 to 3, but got 0."),
        ({"total": -1}, "total must be 0 or more, but got -1."),
    ],
)
def test_impossible_parameters_are_refused(changes: dict[str, int], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        hub(**changes)


@pytest.mark.parametrize(
    ("rule", "rate", "sentence"),
    [
        (Dbw(), "fixed", "goes by the loss, which live training does not know"),
        (AdaSync(), "fixed", "goes by the loss, which live training does not know"),
        (
            Explore(Valued(Ahead())),
            "linear",
            'objective=gain goes with its own learning-rate rule: give rate="gain"',
        ),
    ],
)
def test_what_live_training_cannot_measure_is_refused(rule: Any, rate: str, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Hub(Rounds(Policy(NoForecast(), rule)), 2, rate=RATES[rate])


def test_what_is_not_synchronous_is_refused() -> None:
    with pytest.raises(ParameterError, match="Live training is synchronous: one gradient of each worker"):
        Hub(Rounds(Policy(NoForecast(), WaitAll()), ASYNCHRONOUS), 3)


def test_one_worker_alone_is_a_run() -> None:
    assert [type(message) for _, message in begun(hub(1), 1)] == [New]
