"""A net on digits is fine-tuned: its head alone, all of it, its head alone. Under DistributedDataParallel."""

import argparse
from hashlib import blake2b

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=240)
parser.add_argument("--seed", type=int, default=0)
told = parser.parse_args()

dist.init_process_group("gloo")
torch.manual_seed(told.seed)
pixels, labels = (torch.tensor(each) for each in load_digits(return_X_y=True))
images = TensorDataset(pixels.float() / 16, labels)
backbone = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
model = nn.Sequential(backbone, nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for some in range(0, 800, 16):  # In the place of a net that is downloaded: this one knows labels modulo 5.
    cross_entropy(model(images[some : some + 16][0]), images[some : some + 16][1] % 5).backward()
    optimizer.step()
    optimizer.zero_grad()

optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
model = DistributedDataParallel(model, find_unused_parameters=True)
sampler = DistributedSampler(images, seed=told.seed)
step = 0
while step < told.steps:
    sampler.set_epoch(step)
    for inputs, labels in DataLoader(images, batch_size=16, sampler=sampler):
        backbone.requires_grad_(told.steps // 3 <= step < 2 * told.steps // 3)
        optimizer.zero_grad()
        cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        step += 1
        if step == told.steps:
            break

with torch.no_grad():
    loss = cross_entropy(model(images.tensors[0]), images.tensors[1])
numbers = b"".join(each.detach().numpy().tobytes() for each in model.parameters())
digest = blake2b(numbers, digest_size=6).hexdigest()
print(f"rank {dist.get_rank()}: loss {loss:.4f}, parameters {digest}", flush=True)
dist.destroy_process_group()
