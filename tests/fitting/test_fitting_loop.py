"""The training loop: when it stops, and that going on later is going on as if it had never stopped."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tailcut.errors import ParameterError
from tailcut.fitting.loop import Arrays, FitReport, Standing, Training, fit


class Scripted(Training):
    """Losses as given; counts in two steps, so that an interrupt in between is seen."""

    def __init__(self, losses: list[float], interrupt_at: int | None = None) -> None:
        self.losses, self.interrupt_at = losses, interrupt_at
        self.begun = 0
        self.best = -1
        self._standing = Standing()

    def epoch(self) -> float:
        self.begun += 1
        if self._standing.epochs == self.interrupt_at:
            self.interrupt_at = None
            raise KeyboardInterrupt
        loss = self.losses[self._standing.epochs]
        self._standing = self._standing.after(loss)
        if self._standing.best_epoch == self._standing.epochs:
            self.best = self.begun
        return loss

    def standing(self) -> Standing:
        return self._standing

    def arrays(self) -> Arrays:
        s = self._standing
        return {"state": np.array([self.begun, self.best, s.epochs, s.best_epoch, s.best_loss])}

    def restore(self, arrays: Arrays) -> None:
        begun, best, epochs, best_epoch, best_loss = arrays["state"]
        self.begun, self.best = int(begun), int(best)
        self._standing = Standing(int(epochs), int(best_epoch), float(best_loss))

    def model_arrays(self) -> Arrays:
        return {"best": np.array([self.best])}


def ticking(step: float) -> Callable[[], float]:
    now = [0.0]

    def clock() -> float:
        now[0] += step
        return now[0]

    return clock


def test_all_epochs_are_done() -> None:
    report = fit(Scripted([5, 4, 3, 2]), epochs=3, patience=10)
    assert report == FitReport(Standing(3, 3, 3), (5, 4, 3), interrupted=False, early=False)


def test_it_stops_when_nothing_gets_better() -> None:
    training = Scripted([5, 3, 4, 3, 6, 1])
    report = fit(training, epochs=6, patience=3)
    assert report == FitReport(Standing(5, 2, 3), (5, 3, 4, 3, 6), interrupted=False, early=True)
    assert training.model_arrays()["best"] == 2


def test_a_loss_that_is_no_number_is_never_the_best() -> None:
    report = fit(Scripted([math.nan, 2, math.nan, math.nan]), epochs=4, patience=2)
    assert report.standing == Standing(4, 2, 2)


def test_it_stops_when_time_is_up_after_at_least_one_epoch() -> None:
    losses = [float(9 - i) for i in range(9)]
    assert len(fit(Scripted(losses), epochs=9, patience=9, seconds=3.5, clock=ticking(1.0)).losses) == 4
    assert len(fit(Scripted(losses), epochs=9, patience=9, seconds=0.1, clock=ticking(1.0)).losses) == 1


def test_progress_is_told_after_each_epoch() -> None:
    told: list[tuple[int, float]] = []
    fit(Scripted([5, 4]), epochs=2, patience=2, progress=lambda s, loss: told.append((s.epochs, loss)))
    assert told == [(1, 5), (2, 4)]


def test_an_interrupt_ends_it_at_the_last_whole_epoch() -> None:
    training = Scripted([5, 4, 3, 2], interrupt_at=2)
    report = fit(training, epochs=4, patience=4)
    assert report == FitReport(Standing(2, 2, 4), (5, 4), interrupted=True, early=False)
    assert training.begun == 2
    again = Scripted([5, 4, 3, 2])
    again.restore(training.arrays())
    rest = fit(again, epochs=4, patience=4)
    assert rest == FitReport(Standing(4, 4, 2), (3, 2), interrupted=False, early=False)


def test_an_interrupt_in_the_telling_keeps_the_epoch() -> None:
    def impatient(standing: Standing, loss: float) -> None:
        if standing.epochs == 2:
            raise KeyboardInterrupt

    training = Scripted([5, 4, 3])
    report = fit(training, epochs=3, patience=3, progress=impatient)
    assert report.interrupted
    assert training.standing().epochs == 2


def test_nothing_is_left_to_do_after_all_epochs() -> None:
    training = Scripted([5, 4])
    fit(training, epochs=2, patience=2)
    assert fit(training, epochs=2, patience=2).losses == ()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epochs": 0}, "epochs"),
        ({"patience": 0}, "patience"),
        ({"seconds": 0.0}, "seconds"),
        ({"seconds": math.nan}, "seconds"),
    ],
)
def test_impossible_budgets_are_refused(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        fit(Scripted([1]), **({"epochs": 1, "patience": 1} | wrong))  # type: ignore[arg-type]
