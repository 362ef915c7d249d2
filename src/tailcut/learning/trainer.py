"""The trainer: applies updates to a net, one after the other. No clock and no cluster: it is told what was accepted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from tailcut.learning.flat import FlatNet
from tailcut.learning.gradients import Mini, Part, apart, together
from tailcut.learning.optimisers import optimiser
from tailcut.learning.rates import Behind
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Task
from tailcut.noise import Noise, after
from tailcut.types import Measured
from tailcut.work import Update, Work


class Trainer:
    """A net in training.

    Args:
        task: what is trained.
        recipe: how.
        workers: how many there are when all take part.
        batch: samples in a worker's mini-batch.
        seed: of weights and data.
        keeps_work: whether work that a close cuts off may still count: then what workers have begun is worked out many
            at a time, ahead of its use.
    """

    def __init__(
        self, task: Task, recipe: Recipe, workers: int, batch: int, seed: int, keeps_work: bool = False
    ) -> None:
        self.net = FlatNet(task.net(seed))
        self._telling = self.net.chosen(task.noise_of)
        self.updates = 0
        self.covered = 0.0
        self.noise = Noise()
        self._task, self._recipe, self._keeps_work = task, recipe, keeps_work
        self._mini = Mini(task, batch, seed)
        self._full = workers * batch
        self.optimiser = optimiser(recipe.optimiser, self.net.vector, recipe.rate)
        self.average = self.net.vector.clone() if recipe.average else None
        self.kept: dict[int, Tensor] = {}
        self._in_flight: dict[Work, None] = {}
        self._begun: Counter[int] = Counter()
        self.ahead: dict[Work, tuple[Tensor, float]] = {}

    @property
    def task(self) -> Task:
        """What is trained."""
        return self._task

    def update(self, update: Update) -> Measured:
        """Apply one update.

        Returns:
            What its gradients showed; a loss that is no longer finite means that the training has come to nothing.
        """
        self._note(update)
        version = update.record.version
        fresh = [k for k, work in enumerate(update.accepted) if work.version == version]
        stale = [k for k, work in enumerate(update.accepted) if work.version != version]
        taken = [self._samples(share) for share in update.shares]
        halves = [self._fresh(update, half, taken) for half in (fresh[::2], fresh[1::2]) if half]
        old = self._stale(update, stale, taken, version)
        parts = [*halves, *([old] if old is not None else [])]
        samples = sum(part.samples for part in parts)
        loss = sum(part.losses for part in parts) / max(samples, 1)
        mean = self._mean(parts, samples, len(update.accepted))
        rate = self._step(mean, samples)
        measured = self._measured(loss, samples, mean, parts, rate)
        self.noise = after(self.noise, measured)
        self._forget(update)
        return measured

    def follow(self, update: Update) -> None:
        """Note what was begun and ended in an update that was applied before these parameters were saved."""
        self._note(update)
        self._forget(update)

    def figures(self) -> dict[str, float]:
        """The task's figures, of the averaged weights where there are any."""
        if self.average is None:
            return self._evaluated()
        now = self.net.vector.clone()
        self.net.put(self.average)
        found = self._evaluated()
        self.net.put(now)
        return found

    def _evaluated(self) -> dict[str, float]:
        self.net.module.eval()
        with torch.no_grad():
            found = self._task.evaluate(self.net.module)
        self.net.module.train()
        return found

    # -- what is in flight --------------------------------------------------------------------------------------

    def _note(self, update: Update) -> None:
        version = update.record.version
        for work in update.started:
            self._in_flight[work] = None
            self._begun[work.version] += 1
            if work.version == version and version not in self.kept:
                self.kept[version] = self.net.vector.clone()

    def _forget(self, update: Update) -> None:
        for work in (*update.accepted, *update.dropped, *update.late):
            del self._in_flight[work]
            self.ahead.pop(work, None)
            self._begun[work.version] -= 1
            if not self._begun[work.version]:
                # Nobody computes at these parameters any more.
                del self._begun[work.version]
                self.kept.pop(work.version, None)

    # -- gradients ----------------------------------------------------------------------------------------------

    def _samples(self, share: float) -> int:
        """Samples of a mini-batch that a share of it covers."""
        return max(1, round(share * self._mini.size))

    def _fresh(self, update: Update, places: Sequence[int], taken: Sequence[int]) -> Part:
        works = [update.accepted[k] for k in places]
        return together(self.net, self._mini, works, [taken[k] for k in places])

    def _stale(
        self, update: Update, places: Sequence[int], taken: Sequence[int], version: int
    ) -> Part | None:
        """Each weighted by its age. A gradient that is not whole counts whole but for fewer samples."""
        if not places:
            return None
        missing = [update.accepted[k] for k in places if update.accepted[k] not in self.ahead]
        if missing:
            # All that is in flight will be used: work it out together.
            all_of = (
                [work for work in self._in_flight if work not in self.ahead] if self._keeps_work else missing
            )
            found = apart(self.net, self._mini, all_of, self.kept)
            self.ahead.update(zip(all_of, found, strict=True))
        total, losses = torch.zeros_like(self.net.vector), 0.0
        for k in places:
            work = update.accepted[k]
            gradient, loss = self.ahead[work]
            total += gradient * (taken[k] * self._recipe.weight(version - work.version))
            losses += taken[k] * loss
        return Part(total, losses, sum(taken[k] for k in places))

    def _mean(self, parts: Sequence[Part], samples: int, count: int) -> Tensor:
        total = torch.stack([part.total for part in parts]).sum(dim=0) if len(parts) > 1 else parts[0].total
        match self._recipe.divide_by:
            case "workers":
                return total / (count * self._mini.size)
            case "world":
                return total / self._full
            case _:
                return total / samples

    # -- the step -----------------------------------------------------------------------------------------------

    def _step(self, mean: Tensor, samples: int) -> float:
        behind = Behind(self.updates, samples, self._full, self.noise.scale)
        rate = self._recipe.rule.rate(self._recipe.rate, behind)
        if self._recipe.clip is not None:
            norm = float(torch.linalg.vector_norm(mean))
            mean = mean * min(1.0, self._recipe.clip / max(norm, 1e-300))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.net.vector.grad = mean
        self.optimiser.step()
        self.updates += 1
        if self.average is not None:
            # By samples, so that many small updates are averaged as far back as few large ones; at first over all.
            share = samples / self._full
            self.covered += share
            decay = min(self._recipe.average**share, 1.0 - share / (self.covered + 1.0))
            self.average.lerp_(self.net.vector, 1.0 - decay)
        return rate

    def _measured(
        self, loss: float, samples: int, mean: Tensor, parts: Sequence[Part], rate: float
    ) -> Measured:
        big = self._squared(mean)
        if len(parts) < 2 or self._recipe.divide_by != "samples":
            return Measured(loss, samples, self._mini.size, big, big, float(samples), rate)
        small = [self._squared(part.total / part.samples) for part in parts]
        # Halves of unequal size: S enters with the mean of 1 / samples.
        inverse = sum(1.0 / part.samples for part in parts) / len(parts)
        return Measured(loss, samples, self._mini.size, big, sum(small) / len(small), 1.0 / inverse, rate)

    def _squared(self, gradient: Tensor) -> float:
        """Squared norm of what tells the noise."""
        return self._telling.squared(gradient)


def diverged(measured: Measured) -> bool:
    """Whether a training has come to nothing."""
    return not (math.isfinite(measured.loss) and math.isfinite(measured.big))
