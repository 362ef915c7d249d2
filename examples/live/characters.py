"""A language model over characters: `tailcut launch -n 4 examples/live/characters.py`.

It reads Python's own standard library, or `--file`, and in the end writes a line of its own.
"""

import argparse
import math
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import tailcut

LETTERS = 128
"""Characters that the net knows; all others become a question mark."""


class Writer(nn.Module):
    """`(samples, length)` characters to the log-odds of each next one."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(LETTERS, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.write = nn.Linear(width, LETTERS)

    def forward(self, letters: Tensor) -> Tensor:
        """`(samples, length, LETTERS)`."""
        out: Tensor = self.write(self.read(self.embed(letters))[0])
        return out


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, help="a text to learn from")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--policy", default="bayes")
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16, help="lines in a worker's mini-batch")
    parser.add_argument("--length", type=int, default=64, help="characters in a line")
    parser.add_argument("--width", type=int, default=128, help="of the net's state")
    return parser.parse_args()


def text(told: argparse.Namespace) -> Tensor:
    """Return `(characters,)` the text as small numbers, the same at every worker."""
    files = [told.file] if told.file else sorted(Path(argparse.__file__).parent.glob("*.py"))[:40]
    letters = "".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    return torch.tensor([ord(letter) if ord(letter) < LETTERS else ord("?") for letter in letters])


def lines(letters: Tensor, told: argparse.Namespace) -> Tensor:
    """`(batch, length + 1)`: some places of the text, drawn at random."""
    first = torch.randint(len(letters) - told.length - 1, (told.batch, 1))
    return letters[first + torch.arange(told.length + 1)].to(told.device)


def written(net: nn.Module, start: str, length: int = 60) -> str:
    """Return a line that begins with `start` and continues with characters drawn from the net."""
    letters, draws = [ord(letter) for letter in start], torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _ in range(length):
            seen = torch.tensor([letters], device=next(net.parameters()).device)
            chances = net(seen)[0, -1].softmax(0).cpu()
            letters.append(int(torch.multinomial(chances, 1, generator=draws)))
    return "".join(map(chr, letters)).splitlines()[0]


def main() -> None:
    """Train, and show what came of it."""
    told = arguments()
    letters = text(told)
    torch.manual_seed(0)
    net = Writer(told.width).to(told.device)
    opt = tailcut.Optimizer(
        torch.optim.AdamW(net.parameters(), lr=0.003),
        net,
        told.policy,
        rate="sqrt",
        clip_norm=1.0,
        total=told.updates,
    )
    torch.manual_seed(opt.worker)
    bits = math.nan
    for _ in opt.rounds(range(told.updates)):
        some = lines(letters, told)
        opt.zero_grad()
        loss = cross_entropy(net(some[:, :-1]).flatten(0, 1), some[:, 1:].flatten())
        loss.backward()
        opt.step(samples=told.batch)
        bits = loss.item() / math.log(2)
        if opt.worker == 0 and opt.version % 50 == 0:
            print(f"version {opt.version}: {bits:.2f} bits per character", flush=True)
    if opt.worker == 0:
        print(f"{bits:.2f} bits per character; it writes: {written(net, 'def ')}", flush=True)


if __name__ == "__main__":
    main()
