"""Backup workers: Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting Distributed Synchronous SGD (arXiv 1604.00981)."""

WHOSE = "Chen et al. 2016"
