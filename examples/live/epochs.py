"""The script of epochs_ddp.py, but not waiting for the slowest: `tailcut launch -n 4 examples/live/epochs.py`.

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
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import tailcut

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
opt = torch.optim.SGD(net.parameters(), lr=0.005, momentum=0.9)
opt = tailcut.Optimizer(opt, net, checkpoints=told.folder / "checkpoints")
loader = DataLoader(train, batch_size=32, sampler=DistributedSampler(train))

losses, last = [], told.folder / "last.pt"
if last.exists():
    [losses] = torch.load(last)

for epoch, batches in opt.epochs(loader, told.epochs):
    del losses[epoch:]
    for inputs, labels in batches:
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
        torch.save([losses], last)
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
