"""The trainer, which applies updates of accepted gradients to a net. It knows no clock and no cluster."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from tailcut.learning.flat import FlatNet
from tailcut.learning.gradients import Mini, Part, apart, together
from tailcut.learning.optimisers import optimiser
from tailcut.learning.parts import Parts, measured_of, parts_of
from tailcut.learning.rates import Behind
from tailcut.learning.recipe import Recipe
from tailcut.learning.tasks.base import Task
from tailcut.noise import Noise, after
from tailcut.types import Measured
from tailcut.work import Update, Work


class Trainer:
    """A net in training.

    Args:
        task: the task to train.
        recipe: how gradients become updates.
        workers: number of workers when all take part.
        batch: samples in a worker's mini-batch.
        seed: seed of weights and data.
        keeps_work: whether work that is unfinished at a close may still count; stale gradients in flight are
            then computed together, ahead of their use.
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
        """The task that is trained."""
        return self._task

    def update(self, update: Update) -> Measured:
        """Apply one update.

        Returns:
            The measurements of its gradients; a loss that is not finite means that the training has diverged.
        """
        self._note(update)
        version = update.record.version
        ages = [version - work.version for work in update.accepted]
        taken = [self._samples(share) for share in update.shares]
        parts = parts_of(ages, taken, self._recipe, self._mini.size, self._full)
        sums = [self._sum(update, group, parts, version) for group in parts.groups]
        loss = sum(each.losses for each in sums) / max(parts.samples, 1)
        total = torch.stack([each.total for each in sums]).sum(dim=0) if len(sums) > 1 else sums[0].total
        mean = total / parts.divisor
        rate = self._step(mean, parts.samples)
        small = [self._squared(each.total / each.samples) for each in sums]
        measured = measured_of(parts, self._recipe, self._mini.size, loss, self._squared(mean), small, rate)
        self.noise = after(self.noise, measured)
        self._forget(update)
        return measured

    def follow(self, update: Update) -> None:
        """Record work begun and ended in an update that was applied before these parameters were saved."""
        self._note(update)
        self._forget(update)

    def figures(self) -> dict[str, float]:
        """Return the task's figures, for the averaged weights if the recipe averages."""
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
                # No worker computes at these parameters any more.
                del self._begun[work.version]
                self.kept.pop(work.version, None)

    # -- gradients ----------------------------------------------------------------------------------------------

    def _samples(self, share: float) -> int:
        """Return the number of samples in a share of a mini-batch, at least 1."""
        return max(1, round(share * self._mini.size))

    def _sum(self, update: Update, group: Sequence[int], parts: Parts, version: int) -> Part:
        """Sum the gradients of a group, fresh ones in one pass."""
        works = [update.accepted[k] for k in group]
        taken = [parts.taken[k] for k in group]
        if works[0].version == version:
            return together(self.net, self._mini, works, taken)
        return self._stale(works, [parts.weights[k] for k in group], taken)

    def _stale(self, works: Sequence[Work], weights: Sequence[float], taken: Sequence[int]) -> Part:
        """Sum stale gradients by weight; a partial one is computed whole, with the weight of its samples."""
        missing = [work for work in works if work not in self.ahead]
        if missing:
            # With `keeps_work`, all work in flight may be used, so compute it together.
            all_of = (
                [work for work in self._in_flight if work not in self.ahead] if self._keeps_work else missing
            )
            found = apart(self.net, self._mini, all_of, self.kept)
            self.ahead.update(zip(all_of, found, strict=True))
        total, losses = torch.zeros_like(self.net.vector), 0.0
        for work, weight, samples in zip(works, weights, taken, strict=True):
            gradient, loss = self.ahead[work]
            total += gradient * weight
            losses += samples * loss
        return Part(total, losses, sum(taken))

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
            # Decay by samples: many small updates reach as far back as few large ones. Average all at first.
            share = samples / self._full
            self.covered += share
            decay = min(self._recipe.average**share, 1.0 - share / (self.covered + 1.0))
            self.average.lerp_(self.net.vector, 1.0 - decay)
        return rate

    def _squared(self, gradient: Tensor) -> float:
        """Return the squared norm over the parameters that estimate the noise scale."""
        return self._telling.squared(gradient)


def diverged(measured: Measured) -> bool:
    """Return whether a training has diverged."""
    return not (math.isfinite(measured.loss) and math.isfinite(measured.big))
