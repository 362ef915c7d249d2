"""One worker by itself: everything that torch's own optimizers do around a step is done here too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import tailcut
from tailcut.engines.live.launch import environment, free_port
from tailcut.engines.live.worker import store


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in environment(0, 1, free_port()).items():
        monkeypatch.setenv(name, value)
    store._rendezvous.cache_clear()
    yield
    store._rendezvous.cache_clear()


@pytest.mark.usefixtures("alone")
def test_hooks_of_a_step_are_called_before_and_after_it() -> None:
    net = nn.Linear(2, 1)
    inner = torch.optim.SGD(net.parameters(), lr=0.1)
    seen: list[tuple[str, int]] = []

    def note(word: str) -> Any:
        return lambda optimiser, args, kwargs: seen.append((word, opt.version))

    with tailcut.Optimizer(inner, net, policy="wait-all", total=2, max_wait=100.0) as opt:
        opt.register_step_pre_hook(note("before"))
        opt.register_step_post_hook(note("after"))
        inner.register_step_post_hook(note("inner"))
        for _ in range(2):
            opt.zero_grad()
            net(torch.ones(4, 2)).sum().backward()
            assert opt.step().accepted
    assert seen == [("before", 0), ("inner", 0), ("after", 1), ("before", 1), ("inner", 1), ("after", 2)]


@pytest.mark.usefixtures("alone")
def test_a_batch_whose_gradient_is_not_finite_is_passed_over_and_not_taken_again(
    capfd: pytest.CaptureFixture[str],
) -> None:
    net = nn.Linear(2, 1)
    batches = [torch.full((4, 2), number) for number in (1.0, torch.nan, 2.0, torch.inf, 3.0)]
    seen: list[tuple[float, bool, bool]] = []
    inner = torch.optim.SGD(net.parameters(), lr=0.1)
    opt = tailcut.Optimizer(inner, net, policy="wait-all", total=3, max_wait=100.0)
    for batch in opt.rounds(batches, retake=True):
        opt.zero_grad()
        net(batch).sum().backward()
        outcome = opt.step()
        seen.append((float(batch[0, 0]), outcome.accepted, outcome.rejected))
    assert [(str(number), *rest) for number, *rest in seen] == [
        ("1.0", True, False),
        ("nan", False, True),
        ("2.0", True, False),
        ("inf", False, True),
        ("3.0", True, False),
    ]
    assert opt.position == 3
    assert capfd.readouterr().err.count("worker 0 was rejected, as not finite or of no samples") == 1
