"""`tailcut.Optimizer`: wraps a torch optimiser so that a step closes when waiting longer no longer pays."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Iterator
from os import PathLike, fspath
from typing import Any, TypeVar

import torch
from torch import nn

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller
from tailcut.engines.live.data.ring import Group, mesh
from tailcut.engines.live.data.serving import UpdateServer
from tailcut.engines.live.messages import Hello
from tailcut.engines.live.worker.alike import alike
from tailcut.engines.live.worker.batches import samples_of
from tailcut.engines.live.worker.link import Link
from tailcut.engines.live.worker.member import Member, Parts
from tailcut.engines.live.worker.outcome import Outcome
from tailcut.engines.live.worker.replica import AfterUpdate, Replica, Scheduler
from tailcut.engines.live.worker.start import Start, started
from tailcut.errors import ParameterError
from tailcut.types import Seconds

T = TypeVar("T")


class Optimizer(torch.optim.Optimizer):
    """A torch optimiser whose `step()` does not wait for stragglers.

    The loop stays as it was: `loss.backward(); opt.step()`. Every worker applies the same updates in the same order,
    so that all copies of the net stay equal bit for bit. Workers make different numbers of `step()` calls: end
    loops by version, with `for batch in opt.rounds(loader, total=1000)`.

    Args:
        optimiser: the one to wrap, over the parameters of `module`.
        module: the net, the same at every worker.
        policy: name of the policy that decides when to close, as `tailcut policies` lists them.
        rate: learning-rate rule: `fixed`, or `linear` in the accepted share.
        scheduler: of learning rates; stepped here, once per update.
        clip_norm: largest norm of the mean gradient.
        after_update: called with the version after every update, also those that were made without this worker.
        total: version at which the run ends; None for when all workers have left their loops.
        late: what workers do whose round was closed without them: `finish` what they compute, as a loop without
            `until_closed` does, or `abandon` it.
        max_wait: seconds of silence after which a run is given up, with a sentence about who was silent.
        journal: folder to keep a record of the run in, written by the controller.
    """

    # GradScaler then calls `step()` after an overflow too, so that this worker arrives and nobody waits for it.
    _step_supports_amp_scaling = True

    def __init__(
        self,
        optimiser: torch.optim.Optimizer,
        module: nn.Module,
        policy: str = "bayes",
        *,
        rate: str = "linear",
        scheduler: Scheduler | None = None,
        clip_norm: float | None = None,
        after_update: AfterUpdate | None = None,
        total: int | None = None,
        late: str = "finish",
        max_wait: Seconds = 300.0,
        journal: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(optimiser.param_groups, optimiser.defaults)
        self.param_groups, self.state = optimiser.param_groups, optimiser.state
        self.inner = optimiser
        self.outcome: Outcome | None = None
        self._samples = 1
        self._left = self._dropped = False
        self._start = started(
            Start(policy, rate, late, total, max_wait, None if journal is None else fspath(journal))
        )
        flat = FlatBuffer(module)
        self._log = UpdateLog()
        self._server = UpdateServer(self._log, self._start.host)
        self._link = Link(self._start.controller)
        replica = Replica(module, optimiser, scheduler, clip_norm, after_update)
        puller = Puller(flat.layout.length, flat.layout.dtype)
        settings = f"policy={policy} rate={rate} late={late} clip_norm={clip_norm} total={total}"
        hello = Hello(
            term=1,
            epoch=0,
            worker=self._start.worker,
            workers=self._start.workers,
            host=self._start.host,
            process=self._start.process,
            node=self._start.node,
            address=self._server.address,
            version=0,
            chain=self._log.chain,
            alike=alike(module, optimiser, settings),
        )
        parts = Parts(self._link, replica, flat, self._log, puller)
        self._member = Member(parts, hello, self._mesh, max_wait)
        self._puller = puller
        atexit.register(self.close)

    @property
    def worker(self) -> int:
        """This worker's place, from 0."""
        return self._start.worker

    @property
    def version(self) -> int:
        """Updates that the parameters have."""
        return self._member.version

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self._member.over

    def step(self, closure: Callable[[], float] | None = None, samples: int | None = None) -> Outcome:  # type: ignore[override]
        """Hand in this worker's gradient and make the next update with whoever came in time.

        Args:
            closure: not possible here.
            samples: that the gradient is a mean over; by default those of the batch `rounds` gave, or 1.
        """
        if closure is not None:
            raise ParameterError(
                "A closure would compute several gradients in one step. Call step() without one."
            )
        finite = self._unscaled()
        if self._dropped:
            self._dropped = False
            self.outcome = self._member.skip()
        else:
            self.outcome = self._member.arrive(self._samples if samples is None else samples, 1.0, finite)
        return self.outcome

    def rounds(self, loader: Iterable[T], total: int | None = None) -> Iterator[T]:
        """Batches until the run has made `total` updates; the loader is begun anew as often as it takes.

        Without a total it ends with the loader. Either way this worker is then no longer waited for.
        """
        try:
            while not self._ended(total):
                came = False
                for batch in loader:
                    if self._ended(total):
                        return
                    came = True
                    self._samples = samples_of(batch)
                    yield batch
                if not came or (total is None and self._start.ask.total is None):
                    return
        finally:
            self.close()

    def until_closed(self, batches: Iterable[T]) -> Iterator[T]:
        """Micro-batches of one step, until the round has been closed and what this worker computes is not wanted."""
        self._dropped = False
        for batch in batches:
            if self._member.may_stop:
                self._dropped = True
                return
            yield batch

    def close(self) -> None:
        """Take part no longer."""
        if self._left:
            return
        self._left = True
        atexit.unregister(self.close)
        self._member.leave(wait=self._ended(None))
        self._link.close()
        self._puller.close()
        self._server.close()
        self._start.end()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As the wrapped one does."""
        self.inner.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """Of the wrapped one."""
        return self.inner.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Into the wrapped one."""
        self.inner.load_state_dict(state_dict)

    def _ended(self, total: int | None) -> bool:
        ends = [each for each in (total, self._start.ask.total) if each is not None]
        return self.over or (bool(ends) and self.version >= min(ends))

    def _mesh(self, place: int, size: int) -> Group:
        return mesh(self._start.store, place, size, self._start.ask.max_wait, self._start.host)

    def _unscaled(self) -> bool:
        """Divide by GradScaler's scale, if there is one; whether the gradients are finite."""
        scale, found = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if found is not None and float(found):
            return False
        if scale is not None:
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.div_(scale)
        return True
