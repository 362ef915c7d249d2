"""The vector that workers add up in one round, on the host: the net's side of a reduction.

    gradients | used, one per parameter | buffers | changed, one per buffer | scatter | trailer

Gradients and buffers are multiplied with the worker's samples; the divisor is what the trailer's samples sum
up to. A gradient is None after an update only if no accepted worker had one (under Adam, None and zero
differ). A buffer that no accepted worker has changed stays what it was, to the bit: averaging equal numbers
would make constants drift. For integer buffers (counters) the change is averaged, and rounded.
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
    """The layout of the vector.

    Attributes:
        parameters: number of elements of each parameter that takes part.
        buffers: number of elements of each averaged buffer.
        dtype: type of the vector: single precision, or what is wider in the net.
    """

    parameters: tuple[int, ...]
    buffers: tuple[int, ...]
    dtype: torch.dtype

    @cached_property
    def parts(self) -> tuple[int, int, int, int, int, int]:
        """Return the number of elements of each part."""
        gradients, buffers = sum(self.parameters), sum(self.buffers)
        return gradients, len(self.parameters), buffers, len(self.buffers), SCATTER, LENGTH

    @property
    def length(self) -> int:
        """Return the number of elements of the vector."""
        return sum(self.parts)

    def split(self, vector: Tensor) -> tuple[Tensor, ...]:
        """Return views of gradients, used, buffers, changed, scatter and trailer."""
        return torch.split(vector, list(self.parts))


class FlatBuffer:
    """Packs a net's gradients and buffers into one vector, and puts a reduced vector back.

    Parameters that were trainable at construction or are in the optimizer take part, and the buffers that are saved
    with the net. Gloo works on the host: for a net on a GPU, one device vector is copied as a whole.

    Args:
        module: the net. All workers' parameters and buffers must be equal from here on.
        scatter: prefix of the parameter names used to estimate the gradient noise scale, an empty text for
            all; None to estimate none. The same everywhere.
        share: whether other workers of this machine may read `source`.
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
        # The vector on the net's device. A net on the host with few large parameters needs none of its own.
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
            samples: samples of this worker.
            share: part of the mini-batch that they are: a gradient added up over micro-batches is that part
                of a full one.
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
        """Write the trailer of a `Close` into `source`: the packed vector may then be reduced."""
        self._mark(WRITTEN)
        self._own[-1].numpy()[:] = trailer(closed, self._samples)
        self._mark(int.from_bytes(digest(closed)[:7], "big") + 1)

    def _mark(self, what: int) -> None:
        """Tell other workers of this machine which round `source` is for; `WRITTEN` before a write."""
        if self._memory is not None:
            self._memory.holds = what

    @property
    def is_shared(self) -> bool:
        """Return whether other workers of this machine may read `source`."""
        return self._memory is not None

    def _alone(self, device: torch.device) -> Tensor:
        return torch.zeros(self.layout.length, dtype=self.layout.dtype, pin_memory=device.type == "cuda")

    def finite(self) -> bool:
        """Return whether the packed vector can be averaged. A buffer may hold infinities, but no NaN."""
        gradients, _, buffers, *_ = self._own
        if self._places and bool(buffers.isnan().any()):
            return False
        # The sum of finite numbers is finite unless they are huge: cheaper to find than the largest of them.
        return isfinite(float(gradients.sum())) or all(
            isfinite(float(end)) for end in torch.aminmax(gradients)
        )

    def empty(self) -> Tensor:
        """Return a vector to reduce into, on the host; its memory is reused when nothing refers to it."""
        return self._pool.take()

    def samples_in(self, reduced: Tensor, closed: Closed) -> int:
        """Return the samples of all accepted workers; raise an error if not all meant this `Close`."""
        *_, last = self.layout.split(reduced)
        return samples_in(last.tolist(), closed)

    def scatter_in(self, reduced: Tensor, workers: int, samples: int) -> Scatter | None:
        """Return how far the gradients of an update scatter; None where no noise scale is estimated.

        Args:
            reduced: the reduced vector.
            workers: number of workers in it.
            samples: number of samples in it.
        """
        if self._scattering is None:
            return None
        gradients, _, _, _, scatter, _ = self.layout.split(reduced)
        return self._scattering.found(gradients, scatter.tolist(), workers, samples)

    def unpack(self, reduced: Tensor, samples: int) -> None:
        """Set gradients and buffers of the net from a reduced vector, which stays as it is."""
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
        """Take the net's buffers as those that all replicas have: after a state was loaded into it."""
        for n, (place, kept) in enumerate(zip(self._places, self._kept_parts, strict=True)):
            if n in self._counts:
                self._counts[n].copy_(place.buffer)
                kept.zero_()
            else:
                kept.copy_(place.buffer)

    @torch.no_grad()
    def restore(self) -> None:
        """Undo the changes of this worker's own passes to the buffers since the last update."""
        if self._places:
            torch._foreach_copy_([place.buffer for place in self._places], self._all_have())

    def _spread_staged(self, outs: list[Tensor | None], samples: int) -> None:
        if self._together:
            spread_together(self._parts, self._gradients, outs, samples)
        else:
            spread(self._parts, outs, samples)

    def _put_buffers(self, changed: list[float]) -> None:
        """Set changed buffers to the mean, and the others to what they were before this worker's own pass."""
        each = zip(self._places, self._mean_parts, self._kept_parts, changed, strict=True)
        for n, (place, mean, kept, count) in enumerate(each):
            if count and n in self._counts:
                whole = self._counts[n]
                whole.copy_(whole.to(torch.int64) + mean.round().to(whole.device, torch.int64))
            elif count:
                kept.copy_(mean.to(place.buffer.dtype))
        self.restore()

    def _own_buffers(self) -> list[Tensor]:
        """Return this worker's current buffers; of integer buffers, their change since the last update."""
        return [
            place.buffer.to(torch.int64) - self._counts[n].to(torch.int64)
            if n in self._counts
            else place.buffer
            for n, place in enumerate(self._places)
        ]

    def _all_have(self) -> list[Tensor]:
        """Return the buffers that every replica has."""
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
