"""The smallest live training: `tailcut launch -n 4 examples/live/smallest.py`."""

import torch
from sklearn.datasets import load_digits

import tailcut

torch.manual_seed(0)
pixels, labels = load_digits(return_X_y=True)
data = torch.utils.data.TensorDataset(torch.tensor(pixels / 16.0).float(), torch.tensor(labels))
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
opt = tailcut.Optimizer(
    torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), net, policy="bayes", total=200
)

torch.manual_seed(opt.worker)
for pixels, labels in opt.rounds(torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)):
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(pixels), labels)
    loss.backward()
    opt.step()

if opt.worker == 0:
    print(f"version {opt.version}, loss {loss.item():.3f}")
