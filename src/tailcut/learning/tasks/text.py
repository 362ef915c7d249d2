"""A byte-level language model, on the source of Python's standard library or on any text file."""

from __future__ import annotations

import math
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tailcut.bounded_files import open_file
from tailcut.errors import InputError
from tailcut.learning.nets import CausalNet, seeded
from tailcut.learning.tasks.base import Batch, Predict, Target, Task
from tailcut.learning.tasks.checks import on_device, positive, require, whole
from tailcut.learning.tasks.data import judging
from tailcut.learning.tasks.readers.files import wrong
from tailcut.learning.tasks.shares import Shares
from tailcut.types import IntArray

KEPT_BACK = 0.1
"""Share of the text, at its end, that is held out."""
WINDOWS = 512
"""Most pieces of the held-out text that an evaluation reads, evenly spaced."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Text(Task):
    """A task to predict each byte of a piece of text from those before it; a sample is one piece.

    Only bytes that occur in the text are symbols, which keeps the net small.

    Attributes:
        train: `(bytes,)` symbols to learn from.
        held: `(pieces, length + 1)` held-out symbols.
        symbols: number of different symbols.
        batch: pieces in a worker's mini-batch.
        length: bytes of a piece.
        width, layers: width and number of layers of the net.
        goal: bits per byte at which a run has reached its target.
        shares: the part of the text that each worker draws from; parts are contiguous.
    """

    train: Tensor
    held: Tensor
    symbols: int
    batch: int = 2
    length: int = 32
    width: int = 48
    layers: int = 3
    goal: float = 2.8
    shares: Shares = field(default_factory=Shares)

    @property
    def samples(self) -> int:
        """The number of pieces, each of which begins at another byte."""
        return len(self.train) - self.length

    @property
    def target(self) -> Target:
        """The bits per byte to reach."""
        return Target("bits_per_byte", self.goal, "most")

    def net(self, seed: int) -> nn.Module:
        """Make a net of causal convolutions."""
        return seeded(lambda: CausalNet(self.symbols, self.width, self.layers), seed, str(self.train.device))

    def batches(self, workers: IntArray, numbers: IntArray, size: int, seed: int) -> Batch:
        """Return `(k · size, length)` symbols, and the symbol that follows each."""
        first = self.shares.drawn(len(self.train) - self.length, workers, numbers, size, seed).ravel()
        places = torch.from_numpy(first[:, None] + np.arange(self.length + 1)).to(self.train.device)
        return _shifted(self.train[places])

    def losses(self, predict: Predict, batch: Batch) -> Tensor:
        """`(samples,)` nats per byte."""
        text, following = batch
        return cross_entropy(predict(text).transpose(1, 2), following, reduction="none").mean(-1)

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Return the loss and the bits per byte on held-out pieces of text."""
        with judging(net):
            loss = float(self.losses(net, _shifted(self.held)).double().mean())
        return {"loss": loss, "bits_per_byte": loss / math.log(2)}


def _shifted(pieces: Tensor) -> Batch:
    return pieces[:, :-1].long(), pieces[:, 1:].long()


def text(
    *,
    file: str = "",
    limit: int = 2_000_000,
    batch: int = 2,
    length: int = 32,
    width: int = 48,
    layers: int = 3,
    goal: float = 2.8,
    skew: float = 0.0,
    of: int = 1,
    device: str = "cpu",
) -> Text:
    """Next bytes of text, by default the source of Python's standard library (or file=PATH).

    Args:
        file: text file to read instead.
        limit: most bytes of text that are read.
        batch: pieces of text in a worker's mini-batch.
        length: bytes of a piece.
        width: features of a byte in the net.
        layers: causal convolutions, which together see 2^layers bytes.
        goal: bits per byte at which a run has reached its target.
        skew: as in `Shares`; 1: each worker has a stretch of the text of its own.
        of: workers that the data is split over.
        device: device to train on.
    """
    for name, value in (("limit", limit), ("batch", batch), ("length", length), ("width", width)):
        whole(name, value)
    whole("layers", layers, high=20)
    positive("goal", goal)
    on_device(device)
    raw = read_file(Path(file).expanduser(), limit) if file else library_source(limit)
    ids, symbols = symbols_of(raw)
    train, held = split(torch.from_numpy(ids).to(device), length)
    shares = Shares(skew, of)
    shares.refuse_more_parts_than(len(train) - length)
    return Text(train, held, symbols, batch, length, width, layers, goal, shares)


def symbols_of(raw: bytes) -> tuple[NDArray[np.uint8], int]:
    """Return `(bytes,)` the index of each byte among the bytes that occur, and the number of those."""
    found = np.frombuffer(raw, np.uint8)
    occurring = np.unique(found)
    return np.searchsorted(occurring, found).astype(np.uint8), len(occurring)


def split(ids: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Return the text to train on, and evenly spaced pieces of the rest."""
    kept_back = int(len(ids) * KEPT_BACK)
    least = math.ceil((length + 1) / KEPT_BACK)
    rule = f"the text must have at least {least} bytes for pieces of {length}"
    require(kept_back > length, rule, len(ids), "give a longer text or a smaller length")
    train, rest = ids[: len(ids) - kept_back], ids[len(ids) - kept_back :]
    count = min(WINDOWS, kept_back - length)
    first = torch.linspace(0, kept_back - length - 1, count, dtype=torch.float64).long()
    return train, rest[first[:, None].to(ids.device) + torch.arange(length + 1, device=ids.device)]


def read_file(path: Path, limit: int) -> bytes:
    """Read the first `limit` bytes of a file."""
    try:
        with open_file(path) as file:
            return file.read(limit)
    except OSError as error:
        raise wrong(
            path, f"cannot be read ({error.strerror or error})", "name a readable text file"
        ) from error


def library_source(limit: int) -> bytes:
    """Read the single-file modules of Python's standard library, in order of name, up to `limit` bytes."""
    folder = Path(sysconfig.get_path("stdlib"))
    parts: list[bytes] = []
    missing = limit
    for path in sorted(folder.glob("*.py")):
        parts.append(read_file(path, missing))
        missing -= len(parts[-1])
        if missing <= 0:
            break
    if not parts:
        raise InputError(f"{folder} holds no source of the standard library; write text:file=PATH instead.")
    return b"".join(parts)
