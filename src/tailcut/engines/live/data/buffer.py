"""Everything workers add up in one round, as one vector on the host: the net's side of a reduction.

    gradients | used, one per parameter | buffers | changed, one per buffer | scatter | trailer

Gradients and buffers are multiplied with the worker's samples; the divisor is what the trailer's samples sum up to.
A gradient is None after an update only if no accepted worker had one (under Adam, None and zero differ). A buffer that
no accepted worker has changed stays what it was, to the bit: averaging equal numbers would make constants drift. Of
whole numbers (counters) it is the change that is averaged, and rounded.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import final

import torch
from torch import Tensor, nn

from tailcut.engines.live.data.memory import WRITTEN, Memory
from tailcut.engines.live.data.parts import averaged, parameters, refuse_gradients, widest
from tailcut.engines.live.data.pool import Pool
from tailcut.engines.live.data.scaling import (
    gather,
    gather_together,
    mostly_small,
    spread,
    spread_together,
)
from tailcut.engines.live.data.scatter import SCATTER, Scattering
from tailcut.engines.live.data.shared import Shared
from tailcut.engines.live.data.trailer import LENGTH, Closed, digest, samples_in, trailer
from tailcut.engines.live.messages import Scatter


@final
@dataclass(frozen=True)
class Layout:
    """Where things are in the vector.

    Attributes:
        parameters: numbers of each parameter that takes part.
        buffers: numbers of each averaged buffer.
        dtype: of the vector: single precision, or what is wider in the net.
    """

    parameters: tuple[int, ...]
    buffers: tuple[int, ...]
    dtype: torch.dtype

    @cached_property
    def parts(self) -> tuple[int, int, int, int, int, int]:
        """Numbers of each part."""
        gradients, buffers = sum(self.parameters), sum(self.buffers)
        return gradients, len(self.parameters), buffers, len(self.buffers), SCATTER, LENGTH

    @property
    def length(self) -> int:
        """Numbers of the vector."""
        return sum(self.parts)

    def split(self, vector: Tensor) -> tuple[Tensor, ...]:
        """Views of gradients, used, buffers, changed, scatter and trailer."""
        return torch.split(vector, list(self.parts))


class FlatBuffer:
    """Packs a net's gradients and buffers into one vector, and puts a reduced vector back.

    Parameters that were trainable at construction or are in the optimizer take part, and the buffers that are saved
    with the net. Gloo works on the host: for a net on a GPU, one device vector is copied as a whole.

    Args:
        module: the net. All workers' parameters and buffers must be equal from here on.
        scatter: add up what tells how far gradients scatter, of parameters whose names begin so, an empty text for all;
            None for not. The same everywhere.
        share: whether others of this machine may look into `source`.
        optimized: the parameters of the optimizer. A frozen one among them takes part, without a gradient.

    Example:
        >>> from tailcut.engines.live.messages import Close
        >>> net = nn.Linear(1, 1, bias=False)
        >>> net.weight.grad = torch.tensor([[0.5]])
        >>> flat = FlatBuffer(net)
        >>> flat.pack(samples=32)
        >>> close = Close(term=1, epoch=1, version=0, accepted=(0,), scale=1.0, abandon=())
        >>> flat.stamp(close)
        >>> flat.source[:2]
        tensor([16.,  1.])
        >>> flat.unpack(flat.source, flat.samples_in(flat.source, close))
        >>> net.weight.grad
        tensor([[0.5000]])
    """

    def __init__(
        self,
        module: nn.Module,
        scatter: str | None = None,
        share: bool = True,
        optimized: Collection[Tensor] = (),
    ) -> None:
        self._named, self._frozen = parameters(module, optimized)
        self._trained = [each for _, each in self._named]
        self._places = averaged(module)
        buffers = [place.buffer for place in self._places]
        self.layout = Layout(
            tuple(each.numel() for each in self._trained),
            tuple(each.numel() for each in buffers),
            widest([*self._trained, *(each for each in buffers if each.is_floating_point())]),
        )
        device = self._trained[0].device
        on_host = device.type == "cpu"
        self._together = mostly_small(self.layout.parameters)
        self._memory = Memory.made(self.layout.length, self.layout.dtype) if share else None
        self.shared = Shared(self._memory)
        self.source = self._memory.source if self._memory else self._alone(device)
        if self._memory is not None and device.type == "cuda":
            self._memory.pin(device)
        # What is gathered in and spread from on the net's device; few large parameters on the host need no such place.
        direct = on_host and not self._together
        self._staged = self.source if direct else torch.zeros_like(self.source, device=device)
        self._own = self.layout.split(self.source)
        self._gradients, _, staged, *_ = self.layout.split(self._staged)
        self._parts, self._buffer_parts = self._views(self._gradients), self._buffer_views(staged)
        self._kept, self._means = torch.empty(2, sum(self.layout.buffers), dtype=self.layout.dtype)
        self._kept_parts, self._mean_parts = self._buffer_views(self._kept), self._buffer_views(self._means)
        self._counts = {
            n: torch.empty_like(each) for n, each in enumerate(buffers) if not each.is_floating_point()
        }
        self._pool = Pool(self.layout.length, self.layout.dtype)
        self._samples = 0
        self._scattering = None if scatter is None else Scattering(self._named, scatter)
        self.rebase()

    @torch.no_grad()
    def pack(self, samples: int, share: float = 1.0) -> None:
        """Write gradients and buffers, times the samples they are means over, into `source`. No gradient changes.

        Args:
            samples: of this worker.
            share: of the mini-batch that they are. Who adds up micro-batches has that share of its usual gradient.
        """
        refuse_gradients(self._named, self._frozen)
        self._mark(WRITTEN)
        values = [each.grad for each in self._trained]
        factor = samples / share
        if self._together:
            gather_together(values, self._parts, self._gradients, factor)
        else:
            gather(values, self._parts, factor)
        if self._places:
            torch._foreach_copy_(self._buffer_parts, self._own_buffers())
        if self._staged is not self.source:
            self.source.copy_(self._staged)
        gradients, used, buffers, changed, scatter, _ = self._own
        used.numpy()[:] = [value is not None for value in values]
        if self._places:
            changed.numpy()[:] = self._changes(buffers)
            buffers.mul_(samples)
        if self._scattering is not None:
            scatter.copy_(self._scattering.own(gradients, max(samples, 1)))
        self._samples = samples

    def stamp(self, closed: Closed) -> None:
        """Write the trailer of a `Close` into `source`: what was packed may now be reduced."""
        self._mark(WRITTEN)
        self._own[-1].numpy()[:] = trailer(closed, self._samples)
        self._mark(int.from_bytes(digest(closed)[:7], "big") + 1)

    def _mark(self, what: int) -> None:
        """Others of this machine may look: say which round is in `source`, nothing before it is written to."""
        if self._memory is not None:
            self._memory.holds = what

    @property
    def is_shared(self) -> bool:
        """Whether others of this machine may look into `source`."""
        return self._memory is not None

    def _alone(self, device: torch.device) -> Tensor:
        return torch.zeros(self.layout.length, dtype=self.layout.dtype, pin_memory=device.type == "cuda")

    def finite(self) -> bool:
        """Whether all that was packed can be averaged. A buffer may hold infinities (masks do), but no NaN."""
        gradients, _, buffers, *_ = self._own
        if self._places and bool(buffers.isnan().any()):
            return False
        # The sum of finite numbers is finite unless they are huge: cheaper to find than the largest of them.
        return isfinite(float(gradients.sum())) or all(
            isfinite(float(end)) for end in torch.aminmax(gradients)
        )

    def empty(self) -> Tensor:
        """A vector to reduce into, on the host; its memory is used again when nobody has it any more."""
        return self._pool.take()

    def samples_in(self, reduced: Tensor, closed: Closed) -> int:
        """The samples of all accepted workers; a sentence if the reduction was not of this `Close` alone."""
        *_, last = self.layout.split(reduced)
        return samples_in(last.tolist(), closed)

    def scatter_in(self, reduced: Tensor, workers: int, samples: int) -> Scatter | None:
        """How far the gradients of an update scatter; None where nobody was asked to look.

        Args:
            reduced: their sum.
            workers: that are in it.
            samples: that are in it.
        """
        if self._scattering is None:
            return None
        gradients, _, _, _, scatter, _ = self.layout.split(reduced)
        return self._scattering.found(gradients, scatter.tolist(), workers, samples)

    def unpack(self, reduced: Tensor, samples: int) -> None:
        """Make gradients and buffers of the net what a reduced vector says; the vector stays as it is."""
        gradients, used, buffers, changed, _, _ = self.layout.split(reduced)
        for parameter, count in zip(self._trained, used.tolist(), strict=True):
            if not count:
                parameter.grad = None
            elif parameter.grad is None or parameter.grad.requires_grad:
                parameter.grad = torch.empty_like(parameter)
        outs = [each.grad for each in self._trained]
        if self._staged is self.source:
            spread(self._views(gradients), outs, samples)
        else:
            self._gradients.copy_(gradients)
            self._spread_staged(outs, samples)
        torch.div(buffers, samples, out=self._means)
        self._put_buffers(changed.tolist())

    @torch.no_grad()
    def rebase(self) -> None:
        """Take the net's buffers as what all replicas have now: after a state was loaded into it."""
        for n, (place, kept) in enumerate(zip(self._places, self._kept_parts, strict=True)):
            if n in self._counts:
                self._counts[n].copy_(place.buffer)
                kept.zero_()
            else:
                kept.copy_(place.buffer)

    @torch.no_grad()
    def restore(self) -> None:
        """Take back what this worker's own passes did to the buffers since the last update."""
        if self._places:
            torch._foreach_copy_([place.buffer for place in self._places], self._all_have())

    def _spread_staged(self, outs: list[Tensor | None], samples: int) -> None:
        if self._together:
            spread_together(self._parts, self._gradients, outs, samples)
        else:
            spread(self._parts, outs, samples)

    def _put_buffers(self, changed: list[float]) -> None:
        """Changed buffers become the mean, the others what they were before this worker's own pass."""
        each = zip(self._places, self._mean_parts, self._kept_parts, changed, strict=True)
        for n, (place, mean, kept, count) in enumerate(each):
            if count and n in self._counts:
                whole = self._counts[n]
                whole.copy_(whole.to(torch.int64) + mean.round().to(whole.device, torch.int64))
            elif count:
                kept.copy_(mean.to(place.buffer.dtype))
        self.restore()

    def _own_buffers(self) -> list[Tensor]:
        """Of this worker, now; of whole numbers, what they have changed by."""
        return [
            place.buffer.to(torch.int64) - self._counts[n].to(torch.int64)
            if n in self._counts
            else place.buffer
            for n, place in enumerate(self._places)
        ]

    def _all_have(self) -> list[Tensor]:
        """What every replica's buffers are."""
        return [self._counts.get(n, kept) for n, kept in enumerate(self._kept_parts)]

    def _views(self, gradients: Tensor) -> list[Tensor]:
        parts = torch.split(gradients, list(self.layout.parameters))
        return [part.view(each.shape) for part, each in zip(parts, self._trained, strict=True)]

    def _buffer_views(self, buffers: Tensor) -> list[Tensor]:
        parts = torch.split(buffers, list(self.layout.buffers))
        return [part.view(place.shape) for part, place in zip(parts, self._places, strict=True)]

    def _changes(self, buffers: Tensor) -> list[float]:
        sizes = list(self.layout.buffers)
        pairs = zip(torch.split(buffers, sizes), torch.split(self._kept, sizes), strict=True)
        return [float(not torch.equal(now, kept)) for now, kept in pairs]
