"""The smallest live training: `tailcut launch -n 4 examples/live/smallest.py`."""

import torch

import tailcut

torch.manual_seed(0)
labels = torch.randint(10, (2000,))
inputs = torch.randn(10, 64)[labels] + torch.randn(2000, 64)
data = torch.utils.data.TensorDataset(inputs, labels)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
opt = tailcut.Optimizer(
    torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), net, policy="bayes", total=100
)

torch.manual_seed(opt.worker)
for inputs, labels in opt.rounds(torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)):
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(inputs), labels)
    loss.backward()
    opt.step()

if opt.worker == 0:
    print(f"version {opt.version}, loss {loss.item():.3f}")
