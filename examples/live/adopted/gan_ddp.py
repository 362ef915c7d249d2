"""A generator and a discriminator learn eight points on a circle, under DistributedDataParallel."""

import argparse
from hashlib import blake2b

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--seed", type=int, default=0)
told = parser.parse_args()

dist.init_process_group("gloo")
torch.manual_seed(told.seed)


def real_points(count: int) -> Tensor:
    """Return points near the eight, `(count, 2)`."""
    angles = torch.randint(8, (count,)) * (torch.pi / 4)
    return torch.stack([angles.cos(), angles.sin()], 1) + 0.05 * torch.randn(count, 2)


def perceptron(inputs: int, outputs: int) -> nn.Module:
    """Return a net of three layers."""
    hidden = (nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2))
    return nn.Sequential(nn.Linear(inputs, 64), *hidden, nn.Linear(64, outputs))


G, D = perceptron(8, 2), perceptron(2, 1)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
D, G = DistributedDataParallel(D), DistributedDataParallel(G)
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

torch.manual_seed(1000 * told.seed + dist.get_rank())
for _ in range(told.steps):
    fake = G(torch.randn(64, 8))

    opt_d.zero_grad()
    scores = D(torch.cat([real_points(64), fake.detach()]))
    loss_d = bce(scores[:64], ones) + bce(scores[64:], zeros)
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = bce(D(fake), ones)
    loss_g.backward()
    opt_g.step()

torch.manual_seed(0)
with torch.no_grad():
    a, b = real_points(2000), G(torch.randn(2000, 8))
    loss = torch.cdist(a, b).mean() - (torch.cdist(a, a).mean() + torch.cdist(b, b).mean()) / 2
numbers = b"".join(each.detach().numpy().tobytes() for each in [*G.parameters(), *D.parameters()])
digest = blake2b(numbers, digest_size=6).hexdigest()
print(f"rank {dist.get_rank()}: loss {loss:.4f}, parameters {digest}", flush=True)
dist.destroy_process_group()
