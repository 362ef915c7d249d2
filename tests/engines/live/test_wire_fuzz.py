"""Some of the messages of the attack that `python -m benchmarks.reliability.fuzz` makes, at a real run."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reliability.fuzz.attack import MOST_GROWTH, WAYS, Report, fuzz
from benchmarks.reliability.fuzz.letters import SHARES, Forger
from benchmarks.reliability.fuzz.strangers import GREETING, Heard, _beyond, frame, greeting
from hub_scripts import arrived, hello

from tailcut.engines.live.wire import FROM_WORKER, WireError, encode

MESSAGES = 1500


@pytest.fixture(scope="module")
def report() -> Report:
    return fuzz(MESSAGES, seed=1, look=0.2)


def test_a_run_under_attack_goes_on_as_if_nothing_were(report: Report) -> None:
    # So few messages say nothing of growth that is less than what they themselves take up; the benchmark does.
    claims = [claim for claim in report.claims(MESSAGES) if f"{MOST_GROWTH:.0%}" not in claim.text]
    assert [str(claim) for claim in claims if not claim.holds] == []


def test_it_was_under_attack(report: Report) -> None:
    assert sum(sent.letters for sent in report.sent.values()) >= MESSAGES
    assert {way for way, _ in report.sent} == set(WAYS)
    assert all(sent.letters > 0 for sent in report.sent.values())
    assert set(report.kinds) == set(SHARES)
    assert report.controlled.served.malformed > 100
    assert report.sent["with the key", "controller"].answers["Refused"] > 0
    assert report.sent["with the key", "updates"].answers["NotYet"] > 0


def test_letters_are_what_they_are_called() -> None:
    said = [encode(hello(0)), encode(arrived(1, 7))]
    made = Forger("controller", said, 1000, np.random.default_rng(0)).letters(2000)
    assert made == Forger("controller", said, 1000, np.random.default_rng(0)).letters(2000)
    first = {kind: [each.parts[0] for each in made if each.kind == kind] for kind in SHARES}
    assert all(len(each) > 1000 for each in first["oversized"])
    assert [each.kind for each in made[-len(first["oversized"]) :]] == ["oversized"] * len(first["oversized"])
    assert set(first["replayed"]) == set(said)
    assert all(any(whole.startswith(each) for whole in said) for each in first["truncated"])
    assert any(_reads(each) for each in first["mutated"])
    assert not all(_reads(each) for each in first["mutated"])
    assert sum(map(_reads, first["nonsense"])) > len(first["nonsense"]) // 3


def _reads(one: bytes) -> bool:
    try:
        return FROM_WORKER.read(one) is not None
    except WireError:
        return False


def test_a_server_that_tells_strangers_something_is_found_out() -> None:
    polite = greeting(b"CURVE") + frame(b"\x07WELCOME" + bytes(160), 4) + frame(b"\x05ERROR\x03400", 4)
    assert len(greeting(b"CURVE")) == GREETING
    assert _beyond(polite) == 0
    assert _beyond(polite + frame(b"a secret")) == 10
    assert Heard(0, closed=True) != Heard(0, closed=False)
