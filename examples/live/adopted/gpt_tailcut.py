"""A small GPT learns Python's own source, under tailcut, in the manner of nanoGPT."""

import argparse
import math
from contextlib import nullcontext
from hashlib import blake2b
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

import tailcut

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--iters", type=int, default=200)
parser.add_argument("--eval-interval", type=int, default=50)
parser.add_argument("--seed", type=int, default=1337)
parser.add_argument("--dtype", default="float16", choices=["float32", "bfloat16", "float16"])
parser.add_argument("--backend", default="inductor", help="of torch.compile; none for no compiling")
parser.add_argument("--policy", default="bayes")
told = parser.parse_args()
LR, WARMUP, CONTEXT, BATCH = 1e-2, 10, 32, 8

dist.init_process_group("gloo")
rank, master = dist.get_rank(), dist.get_rank() == 0
accumulation = 8 // dist.get_world_size()
torch.manual_seed(told.seed + rank)
files = sorted(Path(argparse.__file__).parent.glob("*.py"))[:20]
letters = "".join(path.read_text("utf-8", "replace") for path in files)
data = torch.tensor([min(ord(letter), 127) for letter in letters])
splits = {"train": data[: len(data) * 9 // 10], "val": data[len(data) * 9 // 10 :]}


def get_batch(split: str) -> tuple[Tensor, Tensor]:
    """Return lines drawn at random, and the same lines one character later."""
    first = torch.randint(len(splits[split]) - CONTEXT, (BATCH, 1))
    lines = splits[split][first + torch.arange(CONTEXT + 1)]
    return lines[:, :-1], lines[:, 1:]


class Block(nn.Module):
    """Attention and a perceptron, each with a norm before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return what the block makes of `(samples, length, width)`."""
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        heads = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """A transformer over characters; its first and last layer share their weights."""

    def __init__(self, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(128, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 128, bias=False)
        self.head.weight = self.wte.weight
        nn.init.normal_(self.wte.weight, std=0.02)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of the next characters, and the loss."""
        logits = self.head(self.norm(self.blocks(self.wte(x) + self.wpe(torch.arange(x.shape[1])))))
        return logits, cross_entropy(logits.flatten(0, 1).float(), y.flatten())


def get_lr(it: int) -> float:
    """Return the learning rate of an iteration: warmup, then half a cosine."""
    if it < WARMUP:
        return LR * (it + 1) / WARMUP
    return LR * (0.1 + 0.45 * (1 + math.cos(math.pi * (it - WARMUP) / (told.iters - WARMUP))))


def estimate_loss() -> float:
    """Return the mean loss over batches that are always the same."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        return torch.stack([raw_model(*get_batch("val"))[1] for _ in range(20)]).mean().item()


autocast = nullcontext() if told.dtype == "float32" else torch.autocast("cpu", getattr(torch, told.dtype))
model = GPT()
scaler = torch.amp.GradScaler("cpu", enabled=told.dtype == "float16")
optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.95), weight_decay=0.1)
model = model if told.backend == "none" else torch.compile(model, backend=told.backend)
optimizer = tailcut.Optimizer(optimizer, model, told.policy, rate="fixed", clip_norm=1.0, total=told.iters)
raw_model = model

x, y = get_batch("train")
iter_num = optimizer.version
while True:
    lr = get_lr(iter_num)
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr
    if optimizer.every(told.eval_interval) and master:
        print(f"iter {iter_num}: val loss {estimate_loss():.4f}, lr {lr:.5f}", flush=True)
    if iter_num >= told.iters:
        break
    for _ in range(accumulation):
        with autocast:
            logits, loss = model(x, y)
            loss = loss / accumulation
        x, y = get_batch("train")
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    iter_num = optimizer.version

numbers = b"".join(each.detach().numpy().tobytes() for each in raw_model.parameters())
print(f"rank {rank}: loss {estimate_loss():.4f}, parameters {blake2b(numbers, digest_size=6).hexdigest()}")
dist.destroy_process_group()
