"""Options of the optimizer belong to a version: all workers use the same, and late ones apply updates with them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest
import torch
from hub_scripts import arrived, hub
from hypothesis import given, settings
from hypothesis import strategies as st
from member_script import OTHER, scene
from msgspec.msgpack import Ext
from torch import nn

from tailcut.engines.live.controller.orders import Answers
from tailcut.engines.live.messages import Arrived, Go, Refused
from tailcut.engines.live.options import (
    MAX_PACKED_BYTES,
    MAX_SUMMARY_BYTES,
    OptionsError,
    pack,
    summary,
    unpack,
)
from tailcut.engines.live.wire import FROM_WORKER, WireError, encode
from tailcut.engines.live.worker.groups import Groups, GroupsError
from tailcut.engines.live.worker.replica import Replica
from tailcut.errors import ParameterError
from tailcut.rules import Backup

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3),
)
OPTIONS = st.lists(st.dictionaries(st.text(max_size=5), PLAIN, max_size=4), max_size=6)


def told(*groups: dict[str, Any]) -> bytes:
    return summary(pack(groups))


def refusal(answers: Answers) -> str:
    [why] = {message.why for _, message in answers if isinstance(message, Refused)}
    return why


# The controller compares them.


def test_the_run_ends_where_workers_have_frozen_different_parameters() -> None:
    """A worker that was late has missed the version at which its script unfreezes a layer."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    groups = Groups(torch.optim.SGD(net.parameters(), lr=0.1))
    plain = groups.summarize()
    assert plain == summary(groups.read())
    net[0].requires_grad_(False)
    frozen = groups.summarize()
    it = hub(Backup(c=2), workers=3)
    assert it.handle(arrived(2, options=frozen), 1.0) == []
    why = refusal(it.handle(arrived(1, options=plain), 2.0))
    assert "set of frozen parameters is '2 of 4 (" in why
    assert "at worker 2, absent at worker 1" in why
    net.requires_grad_(False)
    assert groups.summarize() not in (plain, frozen)
    net.requires_grad_(True)
    assert groups.summarize() == plain


def test_the_run_ends_at_the_first_version_at_which_options_differ() -> None:
    it = hub(Backup(c=3), workers=3)
    one, other = told({"lr": 0.1, "momentum": 0.9}), told({"lr": 0.2, "momentum": 0.9})
    assert it.handle(arrived(2, options=one), 1.0) == []
    assert it.handle(arrived(0, options=one), 1.0) == []
    answers = it.handle(arrived(1, options=other), 2.0)
    assert [worker for worker, _ in answers] == [0, 1, 2]
    assert refusal(answers).startswith(
        "Workers use different options of the optimizer at version 0: lr is 0.1 at workers 0 and 2, 0.2 at worker 1. "
        "Set them as a function of opt.version"
    )


def test_a_late_worker_is_compared_with_those_that_were_in_time() -> None:
    it = hub(Backup(c=1), workers=2)
    it.handle(arrived(0, options=told({"lr": 0.1})), 1.0)
    assert it.why is None
    answers = it.handle(arrived(1, options=told({"lr": 0.1, "nesterov": True})), 5.0)
    assert "at version 0: nesterov is absent at worker 0, True at worker 1" in refusal(answers)


def test_an_option_of_many_groups_and_one_that_no_message_has_room_for() -> None:
    groups = [{"lr": 0.1 / (n + 1), "weight_decay": 0.0} for n in range(5000)]
    assert len(told(*groups)) < 200
    it = hub(workers=2)
    it.handle(arrived(0, options=told(*groups)), 1.0)
    groups[4000] = {"lr": 1.0, "weight_decay": 0.0}
    why = refusal(it.handle(arrived(1, options=told(*groups)), 1.0))
    assert "lr of some of the 5000 groups, at worker 0 and worker 1" in why
    wide = told({f"option {n}": "x" * 200 for n in range(100)})
    assert len(wide) <= MAX_SUMMARY_BYTES


def test_options_that_are_none_are_an_error_and_no_traceback() -> None:
    it = hub(workers=2)
    it.handle(arrived(0, options=told({"lr": 0.1})), 1.0)
    why = refusal(it.handle(arrived(1, options=b"\xff rubbish"), 1.0))
    assert "what workers tell of them cannot be read" in why
    absent, same = [Ext(2, b"")] * 2, [[1, 0.1], [1, 0.1]]
    for other in ([1 << 62, [["lr", absent[0]]]], [2, [["lr", same]]], [2, [["lr", [[-1, 0.1], [3, 0.1]]]]]):
        it = hub(workers=2)
        it.handle(arrived(0, options=told({"lr": 0.1}, {"lr": 0.1})), 1.0)
        assert "of the optimizer at version 0" in refusal(
            it.handle(arrived(1, options=msgspec.msgpack.encode(other)), 1.0)
        )
    with pytest.raises(WireError):
        FROM_WORKER.read(encode(arrived(0, options=bytes(MAX_SUMMARY_BYTES + 1))))


def test_all_workers_may_try_a_version_again_with_other_options() -> None:
    """No worker had a finite gradient, as in the first steps under GradScaler; step counts still increase."""
    it = hub(workers=2)
    for rate in (0.1, 0.2):
        for worker in range(2):
            it.handle(arrived(worker, finite=False, options=told({"lr": rate})), 1.0)
    assert it.why is None
    it.handle(arrived(0, options=told({"lr": 0.3})), 1.0)
    it.handle(arrived(1, options=told({"lr": 0.2})), 1.0)
    assert it.why is not None


# Workers read them, and set them to those of an update.


@given(OPTIONS)
@settings(deadline=None)
def test_options_come_back_and_equal_ones_have_equal_summaries(groups: list[dict[str, Any]]) -> None:
    assert unpack(pack(groups)) == groups
    assert summary(pack(groups)) == summary(pack([dict(reversed(each.items())) for each in groups]))


@given(st.binary(max_size=60))
def test_bytes_that_are_no_options(rubbish: bytes) -> None:
    with suppress(OptionsError):
        assert isinstance(unpack(rubbish), list)


def test_more_options_than_an_update_carries() -> None:
    with pytest.raises(OptionsError, match="Use fewer groups"):
        pack([{"lr": n / 7} for n in range(MAX_PACKED_BYTES // 9)])


def test_missed_updates_are_applied_with_the_options_that_they_were_made_with() -> None:
    """The script sets the rate by the version before each step, as many scripts do."""
    with scene() as it:
        for version in range(4):
            it.other.own.replica.optimiser.param_groups[0].update(
                lr=0.5 / (version + 1), momentum=0.1 * version
            )
            it.other.makes(OTHER)
        assert it.step(Go(1, 1, 4, None)).version == 4
        [said] = [each for each in it.line.said if isinstance(each, Arrived)]
        mine, others = it.own.replica, it.other.own.replica
        assert mine.digest() == others.digest()
        assert mine.optimiser.param_groups[0]["lr"] == 0.125
        assert summary(mine.groups.read()) == summary(others.groups.read()) != said.options


def test_nothing_is_read_again_where_nothing_has_changed() -> None:
    net = nn.Linear(2, 2)
    inner = torch.optim.Adam([{"params": [each]} for each in net.parameters()], lr=0.1)
    groups = Groups(inner)
    before = groups.read()
    inner.param_groups[0]["lr"] *= 1.0
    assert groups.read() is before
    inner.param_groups[1]["betas"] = (0.5, 0.9)
    assert unpack(groups.read())[1]["betas"] == [0.5, 0.9]


def test_tensors_and_tuples_stay_what_they_were() -> None:
    net, rate = nn.Linear(2, 2), torch.tensor(0.5)
    inner = torch.optim.Adam(net.parameters(), lr=rate, betas=(0.9, 0.99), capturable=False, foreach=False)
    groups = Groups(inner)
    before = groups.read()
    rate.fill_(0.25)
    inner.param_groups[0]["betas"] = (0.8, 0.99)
    assert groups.read() != before
    groups.impose(before)
    assert inner.param_groups[0]["lr"] is rate
    assert (rate.item(), inner.param_groups[0]["betas"]) == (0.5, (0.9, 0.99))
    assert inner.param_groups[0]["params"] == list(net.parameters())


def test_other_groups_are_an_error() -> None:
    net = nn.Linear(2, 2)
    one, two = (torch.optim.SGD([{"params": [net.weight]}], lr=0.1) for _ in range(2))
    two.add_param_group({"params": [net.bias]})
    with pytest.raises(GroupsError, match="made with 2 parameter groups, but this worker has 1 of them"):
        Groups(one).impose(Groups(two).read())


# A schedule as a function of the version.


def test_a_function_of_the_version_gives_the_rate_of_every_update() -> None:
    net = nn.Linear(1, 1)
    inner = torch.optim.SGD([{"params": [each]} for each in net.parameters()], lr=0.1)
    asked: list[int] = []

    def rate(version: int) -> list[float]:
        asked.append(version)
        return [1.0 / (version + 1), 0.5]

    replica = Replica(net, inner, rate, total=3)
    seen = []
    for _ in range(3):
        seen.append([group["lr"] for group in inner.param_groups])
        replica.apply(0.1)
    assert seen == [[1.0, 0.5], [0.5, 0.5], [1 / 3, 0.5]]
    assert asked == [0, 1, 2], "the run ends at version 3"
    replica.load(replica.state() | {"version": 1})
    assert inner.param_groups[0]["lr"] == 0.5


@pytest.mark.parametrize("given", [-0.1, float("nan"), "fast", None, [0.1], [0.1, 0.1, 0.1], True * 1j])
def test_a_function_that_returns_no_rate(given: Any) -> None:
    net = nn.Linear(1, 1)
    inner = torch.optim.SGD([{"params": [each]} for each in net.parameters()], lr=0.1)
    with pytest.raises(
        ParameterError, match=r"scheduler\(0\) must return a learning rate of 0 or more, or a list"
    ):
        Replica(net, inner, lambda version: given)
    with pytest.raises(ParameterError, match=r"scheduler must have step\(\)"):
        Replica(net, inner, "cosine")  # type: ignore[arg-type]


def test_groups_that_are_changed_later_are_refused_at_the_worker_that_changed_them() -> None:
    net = nn.Linear(2, 1)
    inner = torch.optim.SGD([net.weight], lr=0.1)
    groups = Groups(inner)
    inner.add_param_group({"params": [net.bias]})
    with pytest.raises(GroupsError, match="it had 1 of them, and has 2"):
        groups.summarize()


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), "0.1", None, torch.tensor(float("nan"))])
def test_a_rate_that_is_no_finite_number_is_refused_before_it_is_applied(rate: object) -> None:
    inner = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    groups = Groups(inner)
    inner.param_groups[0]["lr"] = rate
    with pytest.raises(ParameterError, match="The learning rate of group 0 must be a finite number, but is"):
        groups.summarize()
