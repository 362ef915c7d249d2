"""A convolutional net on images of MNIST's shape: `tailcut launch -n 4 examples/live/cnn.py`.

By default the images are drawn here: blurred shapes, shifted and noisy. `--folder` names one with the files of MNIST.
With `--device cuda` processes take the GPUs in turn, and share them where there are fewer. At the end every worker
prints a digest of its parameters: they are the same to the bit.
"""

import argparse
import os
from hashlib import blake2b
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import tailcut


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="with the files of MNIST")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--policy", default="bayes")
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64, help="samples in a worker's mini-batch")
    parser.add_argument("--samples", type=int, default=6000, help="images that are drawn")
    return parser.parse_args()


def images(told: argparse.Namespace) -> tuple[Tensor, Tensor]:
    """Pixels around 0 and labels, the same at every worker."""
    if told.folder is not None:
        from tailcut.learning.tasks.mnist import read_mnist

        read = read_mnist(told.folder)
        return torch.tensor(read.train).float() / 128 - 0.5, torch.tensor(read.train_labels)
    draws = torch.Generator().manual_seed(0)
    shapes = avg_pool2d(torch.randn(10, 1, 36, 36, generator=draws), 5, stride=1, padding=2) * 4
    labels = torch.randint(10, (told.samples,), generator=draws)
    shifts = torch.randint(9, (told.samples, 2), generator=draws).tolist()
    pairs = zip(labels.tolist(), shifts, strict=True)
    cut = torch.stack([shapes[label, :, y : y + 28, x : x + 28] for label, (y, x) in pairs])
    return cut + torch.randn(cut.shape, generator=draws), labels


def convolutional_net() -> nn.Module:
    """Two convolutions and a linear layer: about 30,000 parameters."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 5 * 5, 10)),
    )


def main() -> None:
    """Train, and look at the last tenth of the images, which nobody trained on."""
    told = arguments()
    inputs, labels = images(told)
    kept_back = len(labels) // 10
    torch.manual_seed(0)
    net = convolutional_net()
    device = torch.device(told.device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    net.to(device)
    opt = tailcut.Optimizer(
        torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), net, told.policy, total=told.updates
    )
    torch.manual_seed(opt.worker)
    data = TensorDataset(inputs[:-kept_back], labels[:-kept_back])
    for x, y in opt.rounds(DataLoader(data, batch_size=told.batch, shuffle=True)):
        opt.zero_grad()
        cross_entropy(net(x.to(device)), y.to(device)).backward()
        opt.step()

    net.eval()
    with torch.no_grad():
        right = net(inputs[-kept_back:].to(device)).argmax(1).cpu() == labels[-kept_back:]
    numbers = b"".join(each.detach().cpu().numpy().tobytes() for each in net.parameters())
    digest = blake2b(numbers, digest_size=6).hexdigest()
    print(f"worker {opt.worker}: {100 * right.float().mean():.1f} % right, parameters {digest}", flush=True)


if __name__ == "__main__":
    main()
