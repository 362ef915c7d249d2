from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from tailcut.engines.live.data.buffer import FlatBuffer
from tailcut.engines.live.messages import Close
from tailcut.errors import ParameterError


class Net(nn.Module):
    """Batch statistics, a constant, a counter, a cache, a frozen and an unused parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 1)
        self.unused = nn.Parameter(torch.ones(5))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.constant: Tensor
        self.register_buffer("constant", torch.tensor([0.1, -torch.inf]))
        self.register_buffer("cache", torch.zeros(3), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(torch.relu(self.norm(self.first(x))))
        return out * self.constant[0]


def nets(count: int) -> list[Net]:
    torch.manual_seed(0)
    net = Net()
    return [copy.deepcopy(net) for _ in range(count)]


def computed(net: nn.Module, seed: int, samples: int) -> None:
    batch = torch.randn(samples, 3, generator=torch.Generator().manual_seed(seed))
    net.zero_grad()
    net(batch).square().mean().backward()


def gradients(net: nn.Module) -> dict[str, Tensor]:
    return {name: each.grad.clone() for name, each in net.named_parameters() if each.grad is not None}


def closed(count: int, version: int = 0) -> Close:
    return Close(term=1, epoch=1, version=version, accepted=tuple(range(count)), scale=1.0, abandon=())


def reduced(flats: list[FlatBuffer], version: int = 0) -> Tensor:
    """Return the sum of the stamped buffers, as a reduction gives it."""
    close = closed(len(flats), version)
    for each in flats:
        each.stamp(close)
    return torch.stack([each.source for each in flats]).sum(0)


@pytest.fixture(params=["together", "one by one"], autouse=True)
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test with parameters that count as small, and with the same as large ones."""
    monkeypatch.setattr(
        "tailcut.engines.live.data.buffer.mostly_small", lambda _: request.param == "together"
    )


def test_the_mean_is_over_samples() -> None:
    crew = nets(3)
    samples = [8, 5, 2]
    for seed, (net, count) in enumerate(zip(crew, samples, strict=True)):
        computed(net, seed, count)
    before = [gradients(net) for net in crew]
    flats = [FlatBuffer(net) for net in crew]
    for flat, count in zip(flats, samples, strict=True):
        flat.pack(count)
    total = reduced(flats)
    assert flats[0].samples_in(total, closed(3)) == 15
    flats[0].unpack(total, 15)
    after = gradients(crew[0])
    assert (
        set(after)
        == set(before[0])
        == {f"{a}.{b}" for a in ("first", "norm", "last") for b in ("weight", "bias")}
    )
    for name, mean in after.items():
        parts = [count * each[name] for count, each in zip(samples, before, strict=True)]
        torch.testing.assert_close(mean, torch.stack(parts).sum(0) / 15)


def test_gradients_stay_untouched_until_the_result_is_put_back() -> None:
    [net] = nets(1)
    computed(net, 0, 8)
    before = gradients(net)
    flat = FlatBuffer(net)
    flat.pack(8)
    flat.stamp(closed(1))
    assert all(torch.equal(each, before[name]) for name, each in gradients(net).items())
    kept = flat.source.clone()
    flat.unpack(flat.source * 3, 24)
    assert torch.equal(flat.source, kept)


def test_a_gradient_is_none_only_where_nobody_had_one() -> None:
    one, other = nets(2)
    for seed, net in enumerate((one, other)):
        computed(net, seed, 4)
    one.unused.grad = None
    other.unused.grad = torch.full((5,), 6.0)
    flats = [FlatBuffer(one), FlatBuffer(other)]
    for flat in flats:
        flat.pack(4)
    total = reduced(flats)
    for flat, net in zip(flats, (one, other), strict=True):
        flat.unpack(total, 8)
        assert net.unused.grad is not None
        assert torch.equal(net.unused.grad, torch.full((5,), 3.0))
    one.unused.grad = other.unused.grad = None
    for flat in flats:
        flat.pack(4)
    total = reduced(flats)
    one.unused.grad = torch.ones(5)  # of a late worker: no accepted one had any
    flats[0].unpack(total, 8)
    assert one.unused.grad is None


def test_batch_statistics_are_averaged_and_counters_counted_on() -> None:
    crew = nets(2)
    flats = [FlatBuffer(net) for net in crew]
    computed(crew[0], 0, 6)
    computed(crew[1], 1, 2)
    computed(crew[1], 2, 2)
    means = [net.norm.running_mean.clone() for net in crew if net.norm.running_mean is not None]
    for flat, count in zip(flats, (6, 2), strict=True):
        flat.pack(count)
    total = reduced(flats)
    for flat, net in zip(flats, crew, strict=True):
        flat.unpack(total, 8)
        assert net.norm.running_mean is not None
        torch.testing.assert_close(net.norm.running_mean, (6 * means[0] + 2 * means[1]) / 8)
    assert torch.equal(crew[0].norm.state_dict()["running_var"], crew[1].norm.state_dict()["running_var"])
    counts = [net.norm.num_batches_tracked for net in crew]
    assert [each.item() for each in counts if each is not None] == [1, 1], "round((6 · 1 + 2 · 2) / 8)"


def test_large_whole_numbers_stay_exact_and_flags_are_put_to_the_vote() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))
            self.count: Tensor
            self.flags: Tensor
            self.register_buffer("count", torch.tensor(2**40 + 1))
            self.register_buffer("flags", torch.tensor([True, False, False]))

    crew = [Counting() for _ in range(3)]
    flats = [FlatBuffer(net) for net in crew]
    for version in range(3):
        for worker, (net, flat) in enumerate(zip(crew, flats, strict=True)):
            net.count += 3
            net.flags[:] = torch.tensor([False, worker == 1, worker != 1])
            flat.pack(8)
        total = reduced(flats, version)
        for flat in flats:
            flat.unpack(total, 24)
    for net in crew:
        assert net.count.item() == 2**40 + 10
        assert net.flags.tolist() == [False, False, True]


def test_what_own_passes_did_to_buffers_is_taken_back() -> None:
    [net] = nets(1)
    before = copy.deepcopy(net.norm.state_dict())
    flat = FlatBuffer(net)
    computed(net, 0, 4)
    assert not torch.equal(net.norm.state_dict()["running_mean"], before["running_mean"])
    flat.restore()
    for key, value in net.norm.state_dict().items():
        assert torch.equal(value, before[key]), key


@pytest.mark.parametrize("divides", [True, False])
def test_part_of_a_mini_batch_counts_by_its_samples(divides: bool) -> None:
    """Micro-batches added up, their losses divided by their number or not: one stops after 1 of 4."""
    crew = nets(2)
    flats = [FlatBuffer(net.eval()) for net in crew]
    micro = torch.randn(2, 4, 5, 3, generator=torch.Generator().manual_seed(0))
    usual = 4 if divides else 1
    for worker, done in enumerate((4, 1)):
        crew[worker].zero_grad()
        for each in micro[worker, :done]:
            (crew[worker](each).square().mean() / usual).backward()
        flats[worker].pack(5 * done, share=done / 4)
    flats[0].unpack(reduced(flats), 25)
    [one] = nets(1)
    all_of_it = torch.cat([micro[0].reshape(20, 3), micro[1, 0]])
    (one.eval()(all_of_it).square().mean() * 4 / usual).backward()
    for name, mean in gradients(crew[0]).items():
        torch.testing.assert_close(mean, gradients(one)[name])


def squared(net: nn.Module, prefix: str) -> float:
    """Norm of the gradients of parameters whose names begin so."""
    return sum(float(each.square().sum()) for name, each in gradients(net).items() if name.startswith(prefix))


@pytest.mark.parametrize("prefix", ["", "first", "last.weight"])
def test_how_far_gradients_scatter_comes_out(prefix: str) -> None:
    crew, samples = nets(3), [8, 5, 2]
    flats = [FlatBuffer(net, scatter=prefix) for net in crew]
    norms = []
    for seed, (net, flat, count) in enumerate(zip(crew, flats, samples, strict=True)):
        computed(net, seed, count)
        norms.append(squared(net, prefix))
        flat.pack(count)
    total = reduced(flats)
    found = flats[0].scatter_in(total, workers=3, samples=15)
    flats[0].unpack(total, 15)
    big = squared(crew[0], prefix)
    assert found is not None
    assert big > 0
    assert found.samples == 15
    assert found.big == pytest.approx(big, rel=1e-5)
    assert found.small == pytest.approx(sum(norms) / 3, rel=1e-5)
    assert found.small_samples == pytest.approx(3 / (1 / 8 + 1 / 5 + 1 / 2), rel=1e-6)
    assert FlatBuffer(crew[0]).scatter_in(total, workers=3, samples=15) is None


def test_noise_of_parameters_that_there_are_not_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"begins with noise_of='policy'; the first is '"):
        FlatBuffer(nets(1)[0], scatter="policy")


def test_constants_do_not_drift() -> None:
    """0.1 times odd numbers, summed and divided, is 0.1 only now and then."""
    crew = nets(3)
    flats = [FlatBuffer(net) for net in crew]
    for version in range(50):
        for flat, count in zip(flats, (7, 11, 13), strict=True):
            flat.pack(count)
        total = reduced(flats, version)
        for flat in flats:
            flat.unpack(total, 31)
    for net in crew:
        assert torch.equal(net.constant, torch.tensor([0.1, -torch.inf]))


def test_a_late_worker_takes_back_what_its_own_pass_changed() -> None:
    """The accepted one ran in evaluation mode: its statistics did not move, and the late one's must not either."""
    accepted, late = nets(2)
    flats = [FlatBuffer(accepted), FlatBuffer(late)]
    accepted.eval()
    computed(accepted, 0, 4)
    computed(late, 1, 4)
    flats[0].pack(4)
    flats[1].unpack(reduced(flats[:1]), 4)
    for one, other in zip(accepted.norm.state_dict().values(), late.norm.state_dict().values(), strict=True):
        if one.is_floating_point():
            assert torch.equal(one, other)


def test_a_loaded_state_becomes_the_base() -> None:
    one, other = nets(2)
    flats = [FlatBuffer(one), FlatBuffer(other)]
    for net, flat in zip((one, other), flats, strict=True):
        net.constant.fill_(0.3)
        flat.rebase()
    flats[0].pack(7)
    total = reduced(flats[:1])
    other.constant.fill_(9.0)
    flats[1].unpack(total, 7)
    assert torch.equal(other.constant, torch.tensor([0.3, 0.3]))


def test_a_buffer_that_is_replaced_is_found() -> None:
    class Running(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))
            self.seen: Tensor
            self.register_buffer("seen", torch.zeros(2))

    net = Running()
    flat = FlatBuffer(net)
    net.seen = torch.tensor([2.0, 4.0])
    flat.pack(3)
    flat.unpack(reduced([flat]) * 2, 6)
    assert torch.equal(net.seen, torch.tensor([2.0, 4.0]))
    net.seen = torch.zeros(5)
    with pytest.raises(ParameterError, match=r"'seen' of Running had shape \(2,\) .* now of shape \(5,\)"):
        flat.pack(3)


def test_half_precision_is_summed_in_single() -> None:
    net = nn.Linear(1, 1, bias=False).to(torch.bfloat16)
    flat = FlatBuffer(net)
    net.weight.grad = torch.tensor([[1.0078125]], dtype=torch.bfloat16)
    flat.pack(3)
    assert flat.source.dtype == torch.float32
    assert float(flat.source[0]) == 3 * 1.0078125
    flat.unpack(reduced([flat]), 3)
    assert net.weight.grad.dtype == torch.bfloat16
    assert float(net.weight.grad) == 1.0078125


def test_double_precision_stays_double() -> None:
    net = nn.Linear(2, 1).double()
    flat = FlatBuffer(net)
    net.weight.grad = torch.tensor([[1 / 3, 2 / 3]], dtype=torch.float64)
    flat.pack(1)
    total = reduced([flat])
    flat.unpack(total, flat.samples_in(total, closed(1)))
    assert torch.equal(net.weight.grad, torch.tensor([[1 / 3, 2 / 3]], dtype=torch.float64))


def test_memory_formats_do_not_matter() -> None:
    plain = nn.Conv2d(2, 3, 3)
    last = copy.deepcopy(plain).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    flats = [FlatBuffer(plain), FlatBuffer(last)]
    batch = torch.randn(2, 2, 5, 5, generator=torch.Generator().manual_seed(0))
    for net, flat in zip((plain, last), flats, strict=True):
        net(batch).sum().backward()
        flat.pack(2)
    torch.testing.assert_close(flats[0].source, flats[1].source)
    last.weight.grad = None
    flats[1].unpack(reduced(flats), 4)
    torch.testing.assert_close(last.weight.grad, plain.weight.grad)


def test_tied_parameters_count_once() -> None:
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    assert FlatBuffer(net).layout.parameters == (4,)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf, 3e38])
def test_what_cannot_be_averaged_is_seen(value: float) -> None:
    [net] = nets(1)
    flat = FlatBuffer(net)
    computed(net, 0, 4)
    flat.pack(4)
    assert flat.finite()
    assert net.last.bias.grad is not None
    net.last.bias.grad.fill_(value)
    flat.pack(4)
    assert not flat.finite()


def test_a_buffer_that_is_no_number_is_seen() -> None:
    [net] = nets(1)
    flat = FlatBuffer(net)
    assert net.norm.running_var is not None
    net.norm.running_var[1] = torch.nan
    flat.pack(4)
    assert not flat.finite()


def test_a_thawed_parameter_is_refused() -> None:
    [net] = nets(1)
    flat = FlatBuffer(net)
    net.frozen.grad = torch.ones(2)
    with pytest.raises(ParameterError, match="'frozen' has a gradient, but was frozen"):
        flat.pack(4)


def test_a_frozen_parameter_of_the_optimizer_can_be_unfrozen_and_frozen_again() -> None:
    crew = nets(2)
    flats = [FlatBuffer(net, optimized=[*net.parameters()]) for net in crew]
    for unfrozen in (False, True, False):
        for worker, net in enumerate(crew):
            net.zero_grad()
            computed(net, worker, 4)
            net.frozen.requires_grad_(unfrozen)
            if unfrozen:
                net.frozen.grad = torch.full((2,), float(worker))
            flats[worker].pack(4)
        total = reduced(flats)
        for net, flat in zip(crew, flats, strict=True):
            flat.unpack(total, 8)
            assert (None if net.frozen.grad is None else net.frozen.grad.tolist()) == (
                [0.5, 0.5] if unfrozen else None
            )


def test_frozen_whole_numbers_of_the_optimizer_take_no_part() -> None:
    net = nn.Linear(2, 1, bias=False)
    net.register_parameter("codes", nn.Parameter(torch.ones(3, dtype=torch.int8), requires_grad=False))
    assert FlatBuffer(net, optimized=[*net.parameters()]).layout.parameters == (2,)


def test_nets_that_cannot_be_averaged_are_refused() -> None:
    with pytest.raises(ParameterError, match="no trainable parameter"):
        FlatBuffer(nn.ReLU())
    with pytest.raises(ParameterError, match=r"'weight' is torch\.complex64"):
        FlatBuffer(nn.Linear(1, 1, bias=False, dtype=torch.complex64))
    with pytest.raises(ParameterError, match="has no shape yet"):
        FlatBuffer(nn.LazyLinear(1))
    table = nn.Embedding(4, 2, sparse=True)
    flat = FlatBuffer(table)
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(ParameterError, match="gradient of 'weight' is sparse"):
        flat.pack(1)
    one = FlatBuffer(nn.Linear(1, 1))
    one.pack(0)
    with pytest.raises(ParameterError, match="samples=0"):
        one.stamp(closed(1))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_net_on_a_gpu_packs_what_it_packs_on_the_host() -> None:
    host, device = nets(2)
    device.cuda()
    flats = [FlatBuffer(host), FlatBuffer(device)]
    computed(host, 0, 4)
    for ours, theirs in zip(host.parameters(), device.parameters(), strict=True):
        theirs.grad = None if ours.grad is None else ours.grad.cuda()
    device.norm.load_state_dict(host.norm.state_dict())
    for flat in flats:
        flat.pack(4)
    assert torch.equal(flats[0].source, flats[1].source)
    assert flats[1].source.device.type == "cpu"
    for flat in flats:
        flat.unpack(reduced(flats), 8)
    for ours, theirs in zip(host.parameters(), device.parameters(), strict=True):
        assert (ours.grad is None) == (theirs.grad is None)
        if ours.grad is not None and theirs.grad is not None:
            assert torch.equal(ours.grad, theirs.grad.cpu())
