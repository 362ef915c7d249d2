"""The search itself, on systems whose states can be counted by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.testing.search.explore import BrokenRuleError, explore


@dataclass
class Counter:
    """Two numbers that grow to `most`, one step at a time; where both are at `bad` a rule is broken."""

    most: int
    bad: int | None = None
    wraps: bool = False
    wedged: int | None = None

    def start(self) -> tuple[int, int]:
        return 0, 0

    def steps(self, state: tuple[int, int]) -> list[int]:
        if self.wedged is not None and state == (self.wedged, self.wedged):
            return []
        return [which for which in (0, 1) if state[which] < self.most or self.wraps]

    def after(self, state: tuple[int, int], step: int) -> tuple[int, int]:
        grown = (state[step] + 1) % (self.most + 1)
        return (grown, state[1]) if step == 0 else (state[0], grown)

    def is_trouble(self, step: int) -> bool:
        return False

    def check(self, state: tuple[int, int]) -> None:
        if state == (self.bad, self.bad):
            raise BrokenRuleError("bad", f"Both are {self.bad}.")

    def check_end(self, state: tuple[int, int]) -> None:
        if state != (self.most, self.most):
            raise BrokenRuleError("stuck", f"Nothing happens at {state}.")

    def tell(self, state: tuple[int, int], step: int) -> str:
        return f"Number {step} becomes {state[step] + 1}"


@given(st.integers(1, 8))
def test_all_states_are_found_once(most: int) -> None:
    found = explore(Counter(most), 10_000)
    assert (found.states, found.transitions) == ((most + 1) ** 2, 2 * most * (most + 1))
    assert (found.depth, found.whole, found.ends, found.violations) == (2 * most, True, True, ())


@given(st.integers(1, 4))
def test_the_way_to_a_broken_rule_is_a_shortest_one(bad: int) -> None:
    [violation] = explore(Counter(6, bad=bad), 10_000).violations
    assert (violation.rule, len(violation.way)) == ("bad", 2 * bad)
    assert sorted(violation.way) == sorted(
        f"Number {n} becomes {k}" for n in (0, 1) for k in range(1, bad + 1)
    )
    assert str(violation).endswith(f"bad: Both are {bad}.")


def test_where_nothing_happens_any_more_is_told() -> None:
    [violation] = explore(Counter(3, wedged=2), 10_000).violations
    assert (violation.rule, violation.why, len(violation.way)) == ("stuck", "Nothing happens at (2, 2).", 4)


def test_going_round_in_circles_is_told() -> None:
    found = explore(Counter(3, wraps=True), 10_000)
    assert (found.states, found.whole, found.ends, found.violations) == (16, True, False, ())


@pytest.mark.parametrize("most", [1, 5, 20])
def test_a_search_that_was_cut_short_claims_nothing(most: int) -> None:
    found = explore(Counter(8), most)
    assert most <= found.states <= most + 1
    assert (found.whole, found.ends) == (False, None)


def test_it_goes_on_after_a_broken_rule_if_told_so() -> None:
    found = explore(Counter(4, bad=1, wedged=3), 10_000, stop_at_first=False)
    assert {each.rule for each in found.violations} == {"bad", "stuck"}
    assert found.states == 25
