"""Errors that are raised before any worker waits for another."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest
import torch
import torch.distributed as dist
from torch import nn

import tailcut
from tailcut.engines.live.worker import start, store
from tailcut.engines.live.worker.alike import alike, described
from tailcut.engines.live.worker.batches import Micro, sizes_of
from tailcut.engines.live.worker.checks import (
    check_net,
    check_samples,
    check_settings,
    check_unwrapped,
    mostly_frozen,
)
from tailcut.engines.live.worker.controller_process import ControllerProcess
from tailcut.engines.live.worker.inbox import Inbox, RunError
from tailcut.engines.live.worker.link import Link
from tailcut.errors import InputError, ParameterError

# Parameters.


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"late": "never"}, "late must be 'finish' or 'abandon', but got 'never'"),
        ({"rate": "cubic"}, "rate must be one of fixed, linear, sqrt, gain, but got 'cubic'"),
        ({"total": 0}, "total must be at least 1 update, but got 0"),
        ({"max_wait": 0.0}, "max_wait must be over 0 seconds, but got 0.0"),
        ({"min_workers": 0}, "min_workers must be at least 1, but got 0"),
        ({"clip_norm": -1.0}, "clip_norm must be over 0, but got -1.0"),
        ({"initial": "copy"}, "initial must be 'broadcast' or 'compare', but got 'copy'"),
    ],
)
def test_settings_that_cannot_be(changes: dict[str, Any], sentence: str) -> None:
    usual = {
        "late": "finish",
        "rate": "linear",
        "total": None,
        "max_wait": 300.0,
        "clip_norm": None,
        "min_workers": 1,
        "initial": "broadcast",
    }
    check_settings(**cast(dict[str, Any], usual))
    with pytest.raises(ParameterError, match=sentence):
        check_settings(**cast(dict[str, Any], usual | changes))
    net = nn.Linear(1, 1)
    with pytest.raises(ParameterError, match=sentence):
        tailcut.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1), net, **changes)


def test_nets_and_optimisers_that_do_not_go_together() -> None:
    net, other = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), nn.Linear(5, 3)
    check_net(net, torch.optim.SGD(net.parameters(), lr=0.1))
    both = torch.optim.SGD([{"params": net.parameters()}, {"params": other.parameters()}], lr=0.1)
    with pytest.raises(ParameterError, match=r"Group 1 .* shape \(3, 5\) that is not the module's"):
        check_net(net, both)
    with pytest.raises(ParameterError, match="LBFGS computes several gradients"):
        check_net(net, torch.optim.LBFGS(net.parameters()))
    sync = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    with pytest.raises(ParameterError, match=r"'1' is a SyncBatchNorm, which waits for all workers"):
        check_net(sync, torch.optim.SGD(sync.parameters(), lr=0.1))
    frozen = nn.Linear(1, 1).requires_grad_(False)
    with pytest.raises(ParameterError, match="no trainable parameter"):
        tailcut.Optimizer(torch.optim.SGD(frozen.parameters(), lr=0.1), frozen)


def wrapped(net: nn.Module, is_run: bool = True) -> nn.Module:
    """A DistributedDataParallel as it is after a pass; no other workers are needed for that."""
    made = nn.parallel.DistributedDataParallel.__new__(nn.parallel.DistributedDataParallel)
    nn.Module.__init__(made)
    made.module, made._lazy_init_ran = net, is_run
    return made


def test_a_part_that_something_else_has_wrapped_is_refused() -> None:
    """A container of two nets, each wrapped by itself: no pass goes through the container."""
    both = nn.ModuleDict({"generator": nn.Linear(2, 1), "critic": nn.Linear(1, 1)})
    other = wrapped(nn.Linear(2, 1))
    failed = nn.parallel.DistributedDataParallel.__new__(nn.parallel.DistributedDataParallel)
    unused = wrapped(both["generator"], is_run=False)
    check_unwrapped(both)
    kept = [wrapped(both["critic"])]
    with pytest.raises(
        ParameterError, match="A part of the net, Linear, runs within DistributedDataParallel"
    ):
        check_unwrapped(both)
    del kept[:]
    check_unwrapped(both)
    assert all(isinstance(each, nn.Module) for each in (other, failed, unused))


def test_an_optimizer_that_shares_its_state_out_is_refused() -> None:
    class Sharing(torch.optim.SGD):
        pass

    Sharing.__module__ = "torch.distributed.optim.zero_redundancy_optimizer"
    net = nn.Linear(2, 1)
    with pytest.raises(ParameterError, match="Sharing shares its state out among the workers"):
        check_net(net, Sharing(net.parameters(), lr=0.1))


def test_parameter_groups_cannot_be_added_to_an_optimizer_that_is_wrapped() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    wrapped = object.__new__(tailcut.Optimizer)
    wrapped.inner = torch.optim.SGD(net[1].parameters(), lr=0.1)
    with pytest.raises(ParameterError, match=r"before it is wrapped, and freeze .* requires_grad_\(False\)"):
        wrapped.add_param_group({"params": [*net[0].parameters()]})


def test_an_optimizer_of_mostly_frozen_parameters_is_told_of() -> None:
    body, head = nn.Linear(4000, 4000, bias=False, device="meta"), nn.Linear(4000, 10, bias=False)
    assert mostly_frozen(torch.optim.SGD([body.weight, head.weight], lr=0.1)) is None
    body.requires_grad_(False)
    said = mostly_frozen(torch.optim.SGD([body.weight, head.weight], lr=0.1))
    assert said is not None
    assert said.startswith("16000000 of the 16040000 numbers in the optimizer are frozen")
    assert mostly_frozen(torch.optim.SGD(head.parameters(), lr=0.1)) is None


def test_a_closure_is_refused() -> None:
    step = getattr(tailcut.Optimizer.step, "__wrapped__", tailcut.Optimizer.step)
    with pytest.raises(ParameterError, match="A closure would compute several gradients"):
        step(cast(Any, None), closure=lambda: 0.0)


@pytest.mark.parametrize("samples", [-1, 1 << 40])
def test_samples_that_cannot_be_counted(samples: int) -> None:
    with pytest.raises(ParameterError, match=f"samples must be from 0 to .*, but got {samples}"):
        check_samples(samples)


def test_part_of_a_mini_batch_has_at_least_one_sample() -> None:
    assert (Micro(many=8).after(1).of(32), Micro(many=8, done=1).of(2), Micro(many=8, done=3).of(0)) == (
        4,
        1,
        0,
    )
    assert Micro(many=2).after(1).after(1).after(1).share == 1.0


def test_micro_batches_count_by_their_samples() -> None:
    sizes = sizes_of(list(zip(torch.zeros(10, 2).chunk(3), torch.zeros(10).chunk(3), strict=True)))
    assert sizes == [4, 4, 2]
    assert Micro(many=sum(sizes)).after(sizes[0]).after(sizes[1]).share == 0.8
    with pytest.raises(ParameterError, match="Give a list of them"):
        sizes_of(iter([1]))


# Settings that must be the same at every worker.


def test_what_an_optimiser_carries_along_is_compared() -> None:
    """Only one worker loaded the optimizer's checkpoint: its momentum would drive the nets apart."""
    net = nn.Linear(2, 1)
    plain = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loaded = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loaded.state[net.weight]["momentum_buffer"] = torch.ones(1, 2)
    assert alike(net, plain, "").numbers == alike(net, plain, "").numbers
    assert alike(net, plain, "").numbers != alike(net, loaded, "").numbers


def test_where_a_schedule_has_come_to_by_a_checkpoint_is_not_compared() -> None:
    net = nn.Linear(2, 1)
    plain, loaded = (torch.optim.SGD(net.parameters(), lr=0.1) for _ in range(2))
    given = described(loaded, net)
    loaded.param_groups[0]["lr"] = 0.05
    assert alike(net, plain, "").optimiser == alike(net, loaded, "", given).optimiser
    assert alike(net, plain, "").optimiser != alike(net, loaded, "").optimiser


def test_which_parameters_each_group_has_is_compared() -> None:
    """Copies of the optimizer's state go by the order of its parameters."""
    net = nn.Linear(2, 1)
    first, last = [[net.weight], [net.bias]]
    groups = ([{"params": first}, {"params": last}], [{"params": last}, {"params": first}], [*first, *last])
    told = [alike(net, torch.optim.SGD(each, lr=0.1), "").optimiser for each in groups]
    assert len(set(told)) == 3
    assert "params=<1 from weight to weight, " in told[0]


def test_extra_state_of_a_module_is_no_parameter() -> None:
    class Counting(nn.Linear):
        def get_extra_state(self) -> dict[str, int]:
            return {"calls": 3}

        def set_extra_state(self, state: dict[str, int]) -> None:
            del state

    net, plain = Counting(2, 1), nn.Linear(2, 1)
    found, known = (alike(each, torch.optim.SGD(each.parameters(), lr=0.1), "") for each in (net, plain))
    assert found.parameters == known.parameters


def test_what_differs_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(inputs: int = 2, seed: int = 0, lr: float = 0.1, settings: str = "") -> dict[str, str]:
        torch.manual_seed(seed)
        net = nn.Linear(inputs, 1)
        found = alike(net, torch.optim.SGD(net.parameters(), lr=lr, foreach=False), settings)
        return {name: getattr(found, name) for name in found.__struct_fields__}

    usual = of()
    assert of() == usual
    differing = [of(inputs=3), of(seed=1), of(lr=0.2), of(settings="total=3")]
    monkeypatch.setattr(torch, "__version__", "0.0.1")
    differing.append(of())
    shown = [{name for name in usual if usual[name] != other[name]} for other in differing]
    assert shown == [{"parameters", "numbers"}, {"numbers"}, {"optimiser"}, {"settings"}, {"torch"}]


# The store through which workers find each other.


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name, value in zip(store.NAMES, ("0", "2", "127.0.0.1", "1"), strict=True):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(store.AGENT, raising=False)
    store._rendezvous.cache_clear()
    yield monkeypatch
    store._rendezvous.cache_clear()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"RANK": ""},
            "RANK is not set, so this worker does not know its place. Start the script with `tailcut",
        ),
        ({"RANK": "one"}, "RANK must be a whole number, but is 'one'"),
        ({"RANK": "2"}, "RANK must be from 0 to WORLD_SIZE - 1 = 1, but is 2"),
        (
            {"MASTER_ADDR": "192.0.2.1"},
            "MASTER_ADDR is '192.0.2.1', but that is not the machine that RANK 0 runs on",
        ),
        (
            {"RANK": "1"},
            r"No store answers at 127.0.0.1:1 after 0.1 s \(Connection refused\). See whether RANK 0",
        ),
    ],
)
def test_places_that_cannot_be(places: pytest.MonkeyPatch, changes: dict[str, str], sentence: str) -> None:
    for name, value in changes.items():
        places.setenv(name, value)
    with pytest.raises(InputError, match=sentence):
        store.find_store(0.1)


def test_a_port_that_is_in_use(places: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        places.setenv("MASTER_PORT", str(port))
        with pytest.raises(
            InputError, match=f"MASTER_PORT {port} is in use on this machine, by another run or"
        ):
            store.find_store(1.0)


def test_a_second_controller_is_refused_and_others_hear_why_there_is_none() -> None:
    here = dist.HashStore()
    ask = start.Start("wait-all", "linear", "finish", None, max_wait=0.05)
    with pytest.raises(InputError, match=r"Worker 0 has not started the controller within 0.05 s"):
        start._heard(here, ask.max_wait)
    here.add(start._CLAIMS, 1)
    with pytest.raises(InputError, match="Two workers have RANK 0, and each would start a controller"):
        start._controller(ask, here, 2, "127.0.0.1")
    here.set(start._ADDRESS, "!Unknown policy.")
    with pytest.raises(InputError, match=r"^Unknown policy\.$"):
        start._heard(here, ask.max_wait)


def test_a_controller_that_is_gone_is_not_waited_for_long() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        with Link(address) as link:
            clock = iter(range(100))
            with pytest.raises(RunError, match=f"There has been no controller at {address} for 2 s"):
                Inbox(_Hasty(link), 2.0, lambda: float(next(clock))).next()


class _Hasty(Link):
    """Waits for nothing."""

    def __init__(self, link: Link) -> None:
        self._link, self.address = link, link.address

    @property
    def is_connected(self) -> bool:
        return self._link.is_connected

    @property
    def is_turned_away(self) -> bool:
        return self._link.is_turned_away

    def take_renewal(self) -> bool:
        return self._link.take_renewal()

    def next(self, seconds: float) -> None:
        """Return no message at once."""


def test_workers_that_torchrun_starts_again_do_not_meet_those_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = dist.HashStore()
    monkeypatch.setenv(store.LIVES, "0")
    monkeypatch.delenv(store.AGENT, raising=False)
    assert store._of_this_life(kept) is kept, "not torchrun's"
    monkeypatch.setenv(store.AGENT, "True")
    assert store._of_this_life(kept).add("claims", 1) == 1
    monkeypatch.setenv(store.LIVES, "1")
    assert store._of_this_life(kept).add("claims", 1) == 1


def test_a_controller_whose_process_is_stopped_is_given_up_in_a_sentence() -> None:
    killed: list[bool] = []

    class Stopped:
        def wait_until_listening(self, patience: float) -> bool:
            return patience < 0

        def kill(self) -> None:
            killed.append(True)

    with pytest.raises(InputError, match=r"The controller's process has not begun within 120 s\."):
        start._listening(cast(ControllerProcess, Stopped()))
    assert killed == [True]
