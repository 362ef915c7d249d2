"""Epochs under plain DistributedDataParallel: `tailcut launch -n 4 examples/live/epochs_ddp.py`.

After each epoch the workers validate together, keep the best net, and stop when it has not improved for two epochs. A
run that is started again goes on from what it has kept.
"""

import argparse
import gc
from hashlib import blake2b
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--patience", type=int, default=2)
parser.add_argument("--folder", type=Path, default=Path("epochs"))
told = parser.parse_args()
told.folder.mkdir(exist_ok=True)

dist.init_process_group("gloo")
worker, workers = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
centres = 0.3 * torch.randn(10, 64)
labels = torch.randint(10, (4000,))
inputs = centres[labels] + torch.randn(4000, 64)
train = TensorDataset(inputs[:3000], labels[:3000])
unseen, wanted = inputs[3000 + worker :: workers], labels[3000 + worker :: workers]

net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
net = DistributedDataParallel(net)
opt = torch.optim.SGD(net.parameters(), lr=0.005, momentum=0.9)
loader = DataLoader(train, batch_size=32, sampler=DistributedSampler(train))

losses, last = [], told.folder / "last.pt"
if last.exists():
    losses, weights, momentum = torch.load(last)
    net.load_state_dict(weights), opt.load_state_dict(momentum)

for epoch in range(len(losses), told.epochs):
    loader.sampler.set_epoch(epoch)
    for inputs, labels in loader:
        opt.zero_grad()
        cross_entropy(net(inputs), labels).backward()
        opt.step()

    with torch.no_grad():
        found = torch.tensor([cross_entropy(net(unseen), wanted, reduction="sum"), len(wanted)])
    dist.all_reduce(found)
    losses.append((found[0] / found[1]).item())
    best = losses.index(min(losses))
    if worker == 0:
        print(f"epoch {epoch}: loss {losses[-1]:.3f}", flush=True)
        torch.save([losses, net.state_dict(), opt.state_dict()], last)
        if best == epoch:
            torch.save(net.state_dict(), told.folder / "best.pt")
    if epoch - best >= told.patience:
        break

numbers = b"".join(each.detach().numpy().tobytes() for each in net.parameters())
print(
    f"worker {worker}: best loss {min(losses):.3f}, parameters {blake2b(numbers, digest_size=6).hexdigest()}"
)
dist.barrier()
del net, opt
gc.collect()  # DDP must not be the last to hold the group: it can hang when it lets it go
dist.destroy_process_group()
