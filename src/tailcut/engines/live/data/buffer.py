"""Everything workers add up in one round, as one vector on the host: the net's side of a reduction.

    gradients | used, one per parameter | floating buffers | changed, one per buffer | trailer

Gradients and buffers are multiplied with the worker's samples; the divisor is what the trailer's samples sum up to.
A gradient is None after an update only if no accepted worker had one (under Adam, None and zero differ). A buffer that
no accepted worker has changed stays what it was, to the bit: averaging equal numbers would make constants drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from tailcut.engines.live.data.parts import averaged, parameters, refuse_gradients, widest
from tailcut.engines.live.data.pool import Pool
from tailcut.engines.live.data.scaling import (
    gather,
    gather_together,
    mostly_small,
    spread,
    spread_together,
)
from tailcut.engines.live.data.trailer import LENGTH, Closed, samples_in, trailer


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in the vector.

    Attributes:
        parameters: numbers of each trainable parameter.
        buffers: numbers of each averaged buffer.
        dtype: of the vector: single precision, or what is wider in the net.
    """

    parameters: tuple[int, ...]
    buffers: tuple[int, ...]
    dtype: torch.dtype

    @property
    def parts(self) -> tuple[int, int, int, int, int]:
        """Numbers of each part."""
        return sum(self.parameters), len(self.parameters), sum(self.buffers), len(self.buffers), LENGTH

    @property
    def length(self) -> int:
        """Numbers of the vector."""
        return sum(self.parts)

    def split(self, vector: Tensor) -> tuple[Tensor, ...]:
        """Views of gradients, used, buffers, changed and trailer."""
        return torch.split(vector, list(self.parts))


class FlatBuffer:
    """Packs a net's gradients and buffers into one vector, and puts a reduced vector back.

    Only what was trainable at construction takes part, and of the buffers those that are saved with the net and
    floating. Gloo works on the host: for a net on a GPU, one device vector is copied as a whole.

    Args:
        module: the net. All workers' parameters and buffers must be equal from here on.

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

    def __init__(self, module: nn.Module) -> None:
        self._named, self._frozen = parameters(module)
        self._trained = [each for _, each in self._named]
        self._places = averaged(module)
        buffers = [place.buffer for place in self._places]
        self.layout = Layout(
            tuple(each.numel() for each in self._trained),
            tuple(each.numel() for each in buffers),
            widest([*self._trained, *buffers]),
        )
        device = self._trained[0].device
        on_host = device.type == "cpu"
        self._together = mostly_small(self.layout.parameters)
        self.source = torch.zeros(self.layout.length, dtype=self.layout.dtype, pin_memory=not on_host)
        # What is gathered in and spread from on the net's device; few large parameters on the host need no such place.
        direct = on_host and not self._together
        self._staged = self.source if direct else torch.zeros_like(self.source, device=device)
        self._gradients, _, staged, _, _ = self.layout.split(self._staged)
        self._parts, self._buffer_parts = self._views(self._gradients), self._buffer_views(staged)
        self._kept, self._means = torch.empty(2, sum(self.layout.buffers), dtype=self.layout.dtype)
        self._kept_parts, self._mean_parts = self._buffer_views(self._kept), self._buffer_views(self._means)
        self._pool = Pool(self.layout.length, self.layout.dtype)
        self._samples = 0
        self.rebase()

    @torch.no_grad()
    def pack(self, samples: int) -> None:
        """Write gradients and buffers, times the samples they are means over, into `source`. No gradient changes."""
        refuse_gradients(self._named, self._frozen)
        values = [each.grad for each in self._trained]
        if self._together:
            gather_together(values, self._parts, self._gradients, samples)
        else:
            gather(values, self._parts, samples)
        if self._places:
            torch._foreach_copy_(self._buffer_parts, [place.buffer for place in self._places])
        if self._staged is not self.source:
            self.source.copy_(self._staged)
        _, used, buffers, changed, _ = self.layout.split(self.source)
        used.copy_(torch.tensor([float(value is not None) for value in values]))
        changed.copy_(torch.tensor(self._changes(buffers)))
        buffers.mul_(samples)
        self._samples = samples

    def stamp(self, closed: Closed) -> None:
        """Write the trailer of a `Close` into `source`: what was packed may now be reduced."""
        *_, last = self.layout.split(self.source)
        last.copy_(torch.tensor(trailer(closed, self._samples)))

    def finite(self) -> bool:
        """Whether all that was packed can be averaged. A buffer may hold infinities (masks do), but no NaN."""
        gradients, _, buffers, _, _ = self.layout.split(self.source)
        least, most = torch.aminmax(gradients)
        return bool(torch.isfinite(least) & torch.isfinite(most)) and not bool(buffers.isnan().any())

    def empty(self) -> Tensor:
        """A vector to reduce into, on the host; its memory is used again when nobody has it any more."""
        return self._pool.take()

    def samples_in(self, reduced: Tensor, closed: Closed) -> int:
        """The samples of all accepted workers; a sentence if the reduction was not of this `Close` alone."""
        *_, last = self.layout.split(reduced)
        return samples_in(last.tolist(), closed)

    @torch.no_grad()
    def unpack(self, reduced: Tensor, samples: int) -> None:
        """Make gradients and buffers of the net what a reduced vector says; the vector stays as it is."""
        gradients, used, buffers, changed, _ = self.layout.split(reduced)
        for parameter, count in zip(self._trained, used.tolist(), strict=True):
            if not count:
                parameter.grad = None
            elif parameter.grad is None:
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
        for place, kept in zip(self._places, self._kept_parts, strict=True):
            kept.copy_(place.buffer)

    def _spread_staged(self, outs: list[Tensor | None], samples: int) -> None:
        if self._together:
            spread_together(self._parts, self._gradients, outs, samples)
        else:
            spread(self._parts, outs, samples)

    def _put_buffers(self, changed: list[float]) -> None:
        """Changed buffers become the mean, the others what they were before this worker's own pass."""
        buffers = [place.buffer for place in self._places]
        for buffer, mean, kept, count in zip(
            buffers, self._mean_parts, self._kept_parts, changed, strict=True
        ):
            if count:
                kept.copy_(mean if buffer.dtype == mean.dtype else mean.to(buffer.dtype))
        if buffers:
            torch._foreach_copy_(buffers, self._kept_parts)

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
