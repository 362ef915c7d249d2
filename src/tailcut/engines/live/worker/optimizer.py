"""`tailcut.Optimizer`: wraps a torch optimizer so that a step closes when waiting longer no longer pays."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from os import PathLike, fspath
from types import TracebackType
from typing import Any, TypeVar

import torch
from torch import nn

from tailcut.engines.live.checkpoints import retaking
from tailcut.engines.live.worker.batches import Micro, samples_of, sizes_of
from tailcut.engines.live.worker.checks import (
    check_net,
    check_parameters,
    check_samples,
    check_settings,
    check_unwrapped,
    mostly_frozen,
    refuse_ddp,
)
from tailcut.engines.live.worker.epoch_loops import Passes, updates_of
from tailcut.engines.live.worker.groups import REMEDY, RateOf
from tailcut.engines.live.worker.inbox import RunError
from tailcut.engines.live.worker.keeping import say
from tailcut.engines.live.worker.outcome import Outcome
from tailcut.engines.live.worker.replica import AfterUpdate, Replica, Scheduler
from tailcut.engines.live.worker.session import Session
from tailcut.engines.live.worker.start import Start
from tailcut.errors import ParameterError
from tailcut.types import Seconds

T = TypeVar("T")
_NONE = object()
"""Stands for the next batch of a loader that has ended."""


class Optimizer(torch.optim.Optimizer):
    """A torch optimizer whose `step()` does not wait for stragglers.

    The loop stays as it was: `loss.backward(); opt.step()`. Every worker applies the same updates in the same order,
    so that all copies of the net stay equal bit for bit. Workers make different numbers of `step()` calls: end
    loops by version, with `for batch in opt.rounds(loader, total=1000)`.

    Args:
        optimiser: the one to wrap, over the parameters of `module`.
        module: the net, the same at every worker.
        policy: name of the policy that decides when to close, as `tailcut policies` lists them.
        rate: learning-rate rule: `fixed`, `linear` or `sqrt` in the accepted share, or `gain`, by the noise scale of
            the gradients: the rule that goes with policies that have `objective=gain`.
        noise_of: where the rate is `gain`: prefix of the parameter names used to estimate the gradient noise
            scale; by default all. For nets that learn several things at once, as an actor and a critic do.
        scheduler: scheduler of learning rates, stepped here, once per update. Or a function that is given the
            version, from 0, and returns the learning rate of the next update: one for all parameter groups,
            or a list of one for each.
        clip_norm: largest norm of the mean gradient.
        after_update: called with the version after every update, also those that were made without this worker.
        total: version at which the run ends; None for when all workers have left their loops.
        late: what a worker does whose round was closed without it: `finish` what it computes, as a loop
            without `until_closed` does, or `abandon` it.
        min_workers: with fewer workers the run waits for killed or disconnected ones to come back, for
            `max_wait` at most: so the two sides of a broken network never both train. By default one worker
            goes on alone.
        max_wait: seconds of silence after which a run is given up, with a sentence that names the silent
            workers.
        journal: folder to keep a record of the run in, written by the controller.
        tensorboard: folder for scalars that TensorBoard shows, written by the controller.
        log_bytes: bytes of updates kept for late workers. A worker that is further behind copies the whole
            state of another one.
        checkpoints: folder to keep checkpoints in, and to resume from the newest there; the same at every
            worker.
        checkpoint_every: updates from one checkpoint to the next. The last version of a run with a `total` is
            kept too.
        keep: number of checkpoints that stay.
        initial: what happens where workers begin with different values: with `broadcast` they copy
            parameters, buffers and optimizer state of worker 0, with `compare` the run is refused.

    Attributes:
        inner: the wrapped optimizer.
        outcome: outcome of the last `step()`; None before the first.
    """

    # GradScaler then calls `step()` after an overflow too, so that this worker arrives: no other waits.
    _step_supports_amp_scaling = True

    def __init__(
        self,
        optimiser: torch.optim.Optimizer,
        module: nn.Module,
        policy: str = "bayes",
        *,
        rate: str = "linear",
        noise_of: str = "",
        scheduler: Scheduler | RateOf | None = None,
        clip_norm: float | None = None,
        after_update: AfterUpdate | None = None,
        total: int | None = None,
        late: str = "finish",
        min_workers: int = 1,
        max_wait: Seconds = 300.0,
        journal: str | PathLike[str] | None = None,
        tensorboard: str | PathLike[str] | None = None,
        log_bytes: int = 1 << 30,
        checkpoints: str | PathLike[str] | None = None,
        checkpoint_every: int = 100,
        keep: int = 3,
        initial: str = "broadcast",
    ) -> None:
        check_settings(late, rate, total, max_wait, clip_norm, min_workers, initial)
        check_net(module, optimiser)
        super().__init__(optimiser.param_groups, optimiser.defaults)
        self.param_groups, self.state = optimiser.param_groups, optimiser.state
        self.inner, self._module = optimiser, module
        self.outcome: Outcome | None = None
        self._samples, self._micro, self._asked = 1, Micro(), ("", 0)
        self._meeting: str | None = None
        self._total, self._met, self._has_passed_over = total, set[int](), False
        replica = Replica(module, optimiser, scheduler, clip_norm, after_update, total)
        folders = [None if each is None else fspath(each) for each in (journal, tensorboard, checkpoints)]
        ask = Start(policy, rate, late, total, max_wait, *folders, min_workers=min_workers)
        kept = (folders[-1], checkpoint_every, keep)
        settings = f"clip_norm={clip_norm}, noise_of={noise_of!r}"
        self._session = Session(replica, ask, settings, log_bytes, kept, noise_of, initial)
        self._member = self._session.member
        if self._session.is_alone:
            # As in a notebook, where the cell that wraps the optimizer is run again and again.
            weakref.finalize(self, self._session.let_go).atexit = False
        self._hook = module.register_forward_pre_hook(refuse_ddp)
        if self.worker == 0 and (sentence := mostly_frozen(optimiser)):
            say(sentence)
        # A worker that joins a run that is under way has loaded a state.
        self.param_groups, self.state = optimiser.param_groups, optimiser.state

    @property
    def worker(self) -> int:
        """Return this worker's place, from 0."""
        return self._member.worker

    @property
    def version(self) -> int:
        """Return the number of updates in the parameters."""
        return self._member.version

    @property
    def position(self) -> int:
        """Return how many gradients of this worker are in updates: with `retake`, its place in its data."""
        return self._session.position

    @property
    def over(self) -> bool:
        """Return whether the run has ended."""
        return self._ended(None)

    def step(self, closure: Callable[[], float] | None = None, samples: int | None = None) -> Outcome:  # type: ignore[override]
        """Hand in this worker's gradient and make the next update with the workers that came in time.

        Args:
            closure: must be None.
            samples: samples of the mini-batch; by default those of the batch that `rounds` or `epochs` gave,
                or 1. Where `until_closed` cut the mini-batch short, those of the whole one.
        """
        if closure is not None:
            raise ParameterError(
                "A closure would compute several gradients in one step. Call step() without one."
            )
        self._refuse_if_left()
        if self.outcome is None:
            check_parameters(self._module, self.inner)
            check_unwrapped(self._module)
        for before in self._optimizer_step_pre_hooks.values():
            before(self, (), {})
        finite, micro = self._unscaled(), self._micro
        whole = check_samples(self._samples if samples is None else samples)
        self._micro = Micro()
        if micro.dropped:
            outcome = self._member.skip()
        else:
            outcome = self._member.arrive(micro.of(whole), micro.share, finite)
        # A worker that was given up and came back has loaded a state.
        self.param_groups, self.state = self.inner.param_groups, self.inner.state
        self.outcome = outcome if outcome.over == self.over else replace(outcome, over=self.over)
        for after in self._optimizer_step_post_hooks.values():
            after(self, (), {})
        return self.outcome

    # Torch wraps `step` to time it and to call hooks, at a cost of its own, and does so for the wrapped one already.
    step.hooked = True  # type: ignore[attr-defined]

    def rounds(self, loader: Iterable[T], total: int | None = None, *, retake: bool = False) -> Iterator[T]:
        """Yield batches until the run has made `total` updates; begin the loader anew as often as it takes.

        Without a total the batches end with the loader. Either way, and where the loop is left early, this
        worker then leaves the run.

        Args:
            loader: gives the batches.
            total: version at which the batches end.
            retake: give a batch again whose gradient was dropped, so that no sample is passed over. One whose
                gradient was rejected is not given again: it would be rejected again.
        """
        try:
            while not self._ended(total):
                came = False
                for batch in retaking(loader, self._was_dropped) if retake else loader:
                    if self._ended(total):
                        return
                    came = True
                    self._samples = samples_of(batch)
                    yield batch
                if not came or (total is None and self._total is None):
                    return
        finally:
            self.close()

    def epochs(
        self, loader: Iterable[T], n: int, *, updates: int | None = None, retake: bool = False
    ) -> Iterator[tuple[int, Iterator[T]]]:
        """Yield the epochs, each as its number and its batches: `for epoch, batches in opt.epochs(loader, 10)`.

        An epoch is a fixed number of updates: epoch e ends at version (e + 1) · updates. All workers meet there, so the
        script may call collectives of its own after the inner loop. A worker that was late gets fewer batches. A worker
        that begins in mid-run, from a checkpoint or with the state of another, begins in the epoch of that version, and
        passes over as many batches as that epoch has updates already.

        This worker leaves the run at the end of the last epoch, or where the script leaves the outer loop early.

        Args:
            loader: gives the batches. Where it, its samplers or its data have `set_epoch`, that is called.
            n: number of epochs.
            updates: updates in an epoch; by default the number of batches in the loader. The same at every
                worker.
            retake: give a batch out again whose gradient was dropped, so that no sample is passed over. The loader is
                then begun anew when it has ended, in whichever epoch that is.
        """
        if n < 1:
            raise ParameterError(f"There must be at least 1 epoch, but got {n}.")
        each = updates_of(loader, updates)
        self._refuse_if_left()
        self._total = n * each if self._total is None else min(self._total, n * each)
        self._session.loop(each, n, self._total)
        return self._epochs(Passes(loader), each, retake)

    def _epochs(self, passes: Passes[T], each: int, retake: bool) -> Iterator[tuple[int, Iterator[T]]]:
        taken: Iterator[T] | None = None
        try:
            while not self.over:
                epoch, done = divmod(self.version, each)
                if retake:
                    taken = taken or retaking(passes.batches(0, self.position), self._was_dropped)
                batches = taken or passes.in_epoch(epoch, each, done)
                self._meeting = None
                yield epoch, self._in_epoch(batches, epoch, (epoch + 1) * each)
                if not self._ended((epoch + 1) * each):
                    raise RunError(
                        f"The loop over the batches of epoch {epoch} was left at version {self.version}, but the epoch "
                        f"ends at version {(epoch + 1) * each}, where all workers meet. Give epochs(…, updates=…) for "
                        "shorter epochs, or leave both loops."
                    )
                self._session.between_epochs()
        finally:
            self.close()

    def _in_epoch(self, batches: Iterator[T], epoch: int, end: int) -> Iterator[T]:
        while not self._ended(end):
            batch = next(batches, _NONE)
            if batch is _NONE:
                raise RunError(
                    f"The loader gave no more batches at version {self.version}, but the epoch ends at version {end}. "
                    "Give a loader that can be begun anew, or fewer updates."
                )
            self._samples = samples_of(batch)
            yield batch  # type: ignore[misc]
        self._meeting = f"end of epoch {epoch}"
        if self.over:
            # No worker is to wait for what the script does after the last epoch.
            self._session.leave(over=True)

    def agree(self, value: Any) -> Any:
        """Return the value that the first worker to call this has given: one decision for all, without a collective.

        Call it where all workers meet, in the same place at every worker: between two epochs, or where `every(k)` is
        true. No worker waits for another one.

        Args:
            value: a number, text, True, False or None, or a list or dictionary of these.
        """
        # A worker that was away may end an epoch at a later version: so the epoch names that meeting.
        meeting, (last, number) = self._meeting or f"version {self.version}", self._asked
        self._asked = (meeting, number + 1 if meeting == last else 0)
        return self._session.agree("{} {}".format(*self._asked), value)

    def until_closed(self, batches: Iterable[T], partial: bool = False) -> Iterator[T]:
        """Yield the micro-batches of one step, until this worker's gradient is no longer wanted.

        Args:
            batches: all micro-batches of the step.
            partial: also stop where the policy sets a limit to computing (`drop-compute`), and hand in what was
                computed until then, weighted by its samples. Batches then have a length, and at least one comes.
        """
        sizes = sizes_of(batches) if partial else []
        self._micro = Micro(many=max(1, sum(sizes)))
        for number, batch in enumerate(batches):
            # The first always comes: GradScaler cannot step without a loss that it has scaled.
            if number and self._member.may_stop:
                self._micro = Micro(dropped=True)
                return
            if partial and self._micro.done and self._member.time_left <= 0:
                return
            yield batch
            self._micro = self._micro.after(sizes[number] if partial else 0)

    def every(self, k: int) -> bool:
        """Return whether k divides the version: there all workers meet, and the script's collectives match.

        The round of such a version waits for all workers, so that none skips it. Call this in every turn of
        the loop, at every worker, in the same place.
        """
        if k < 1:
            raise ParameterError(f"Workers can meet every 1, 2, … versions, but got {k}.")
        if k not in self._met and not self._session.left:
            self._met.add(k)
            self._member.meet(k)
        return self.version % k == 0

    def close(self) -> None:
        """Leave the run; no worker waits for this one from here on.

        At the end of a run it waits until all have come there. A worker that leaves earlier gives its updates
        to others in the background, and its process ends when they need none of them any more; that of worker
        0 ends last.
        """
        self._hook.remove()
        self._session.close(over=self.over)

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Call `zero_grad` of the wrapped optimizer."""
        self.inner.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the wrapped optimizer."""
        return self.inner.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state into the wrapped optimizer."""
        self.inner.load_state_dict(state_dict)
        self.param_groups, self.state = self.inner.param_groups, self.inner.state

    def _refuse_if_left(self) -> None:
        if self._session.left:
            raise RunError(
                "This worker has left the run: no step() can follow close(), or the end of rounds() or epochs(). To "
                "train on, wrap the optimizer once more: tailcut.Optimizer(opt.inner, …)."
            )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refuse another parameter group: late workers and checkpoints have the groups that were wrapped."""
        if hasattr(self, "inner"):
            raise ParameterError(f"No parameter group can be added to an optimizer that is wrapped. {REMEDY}")
        super().add_param_group(param_group)

    def _was_dropped(self) -> bool:
        """Return whether the last batch's gradient was dropped, and would be usable if computed again."""
        if self.outcome is None or self.outcome.accepted or self._member.over:
            return False
        if self.outcome.rejected and not self._has_passed_over:
            self._has_passed_over = True
            say(
                f"A gradient of worker {self.worker} was rejected, as not finite or of no samples. Its mini-batch is "
                "passed over, and so are others like it, without another word."
            )
        return not self.outcome.rejected

    def _ended(self, total: int | None) -> bool:
        ends = [each for each in (total, self._total) if each is not None]
        return self._member.over or (bool(ends) and self.version >= min(ends))

    def _unscaled(self) -> bool:
        """Divide the gradients by GradScaler's scale, if there is one; return whether they are finite."""
        scale, found = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if found is not None and float(found):
            return False
        if scale is not None:
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.div_(scale)
        return True
