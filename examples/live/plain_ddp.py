"""Plain DistributedDataParallel, which waits for the slowest: `tailcut launch -n 4 examples/live/plain_ddp.py`."""

import argparse
import gc

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--updates", type=int, default=200)
told = parser.parse_args()

dist.init_process_group("gloo")
torch.manual_seed(0)
centres = 0.3 * torch.randn(10, 64)
labels = torch.randint(10, (5000,))
data = TensorDataset(centres[labels] + torch.randn(5000, 64), labels)

net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
net = DistributedDataParallel(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

draws = torch.Generator().manual_seed(dist.get_rank())
sampler = RandomSampler(data, replacement=True, num_samples=32 * told.updates, generator=draws)
for inputs, labels in DataLoader(data, batch_size=32, sampler=sampler):
    opt.zero_grad()
    loss = cross_entropy(net(inputs), labels)
    loss.backward()
    opt.step()

if dist.get_rank() == 0:
    print(f"loss {loss.item():.3f} after {told.updates} updates")
dist.barrier()
del net, loss
gc.collect()  # DDP must not be the last to hold the group: it can hang when it lets it go
dist.destroy_process_group()
