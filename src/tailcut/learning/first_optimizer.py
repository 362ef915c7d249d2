"""Importing this module makes the first optimizer of a process, for which torch may import its compiler: a second."""

import torch

torch.optim.SGD([torch.zeros(1, requires_grad=True)])
