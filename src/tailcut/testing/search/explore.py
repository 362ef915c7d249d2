"""Explores all reachable states of a system, breadth first, and gives a shortest path to each broken rule."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, final

State = TypeVar("State", bound=Hashable)
Step = TypeVar("Step")
REPORT_EVERY = 50_000
"""States expanded between two reports of progress."""


class BrokenRuleError(Exception):
    """A rule does not hold.

    Args:
        rule: name of the rule, a word or two.
        why: how it is broken, as a sentence.
    """

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(why)
        self.rule, self.why = rule, why


class System(Protocol[State, Step]):
    """The interface of a system to explore. States are values: equal states count as one."""

    def start(self) -> State:
        """Return the first state."""

    def steps(self, state: State) -> Iterable[Step]:
        """Return all steps that can happen next."""

    def after(self, state: State, step: Step) -> State:
        """Return the state after a step; raise BrokenRuleError if a rule forbids the step."""

    def is_trouble(self, step: Step) -> bool:
        """Return whether a step is a fault from outside: the system must not depend on it to progress."""

    def check(self, state: State) -> None:
        """Raise BrokenRuleError if a state breaks a rule."""

    def check_end(self, state: State) -> None:
        """Raise BrokenRuleError if a state in which only faults can happen is no end of a run."""

    def tell(self, state: State, step: Step) -> str:
        """Return a step as a sentence."""


@final
@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule.

    Attributes:
        rule: name of the rule.
        why: how it is broken, as a sentence.
        way: the steps from the start to the violation, as sentences.
    """

    rule: str
    why: str
    way: tuple[str, ...]

    def __str__(self) -> str:
        steps = [f"{number:3}. {sentence}" for number, sentence in enumerate(self.way, 1)]
        return "\n".join([*steps, f"  ⇒  {self.rule}: {self.why}"])


@final
@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search.

    Attributes:
        states: number of different states.
        transitions: number of steps from one state to another.
        depth: steps from the start to the farthest state.
        whole: whether no state is left to expand.
        ends: whether every path ends, since no state can be reached from itself; None if `whole` is False.
        violations: the first violation of each rule.
    """

    states: int
    transitions: int
    depth: int
    whole: bool
    ends: bool | None
    violations: tuple[Violation, ...]


def explore(
    system: System[State, Step],
    most_states: int,
    *,
    stop_at_first: bool = True,
    report: Callable[[int, int, int], None] = lambda states, expanded, depth: None,
) -> Found:
    """Explore all reachable states, or as many as allowed.

    Args:
        system: system to explore.
        most_states: number of states after which to stop.
        stop_at_first: whether to stop at the first broken rule; otherwise a state that breaks one is not
            expanded.
        report: called every `REPORT_EVERY` states with the number of states, of expanded states, and the
            depth.
    """
    return _Search(system, most_states, stop_at_first, report).run()


class _Search(Generic[State, Step]):
    """One search. States are numbered in the order in which they were found."""

    def __init__(
        self,
        system: System[State, Step],
        most_states: int,
        stop_at_first: bool,
        report: Callable[[int, int, int], None],
    ) -> None:
        self._system, self._most, self._stop, self._report = system, most_states, stop_at_first, report
        first = system.start()
        self._states: list[State] = [first]
        self._numbers: dict[State, int] = {first: 0}
        self._from, self._by = array("q", [-1]), list[Step | None]([None])
        self._edges, self._first_edge = array("L"), array("L")
        self._violations: dict[str, Violation] = {}
        self._barred: set[int] = set()

    def run(self) -> Found:
        number, depth, level = 0, 0, 1
        while number < len(self._states) < self._most and not (self._stop and self._violations):
            if number == level:
                depth, level = depth + 1, len(self._states)
            self._first_edge.append(len(self._edges))
            if number not in self._barred:
                self._expand(number)
            number += 1
            if number % REPORT_EVERY == 0:
                self._report(len(self._states), number, depth)
        whole = number == len(self._states)
        violations = tuple(self._violations.values())
        deepest = depth + (len(self._states) > level)
        ends = self._every_way_ends() if whole else None
        return Found(len(self._states), len(self._edges), deepest, whole, ends, violations)

    def _expand(self, number: int) -> None:
        state, system, goes_on = self._states[number], self._system, False
        for step in system.steps(state):
            try:
                after = system.after(state, step)
            except BrokenRuleError as broken:
                self._violated(broken, number, step)
                goes_on = True
                continue
            if after == state:
                continue
            goes_on = goes_on or not system.is_trouble(step)
            self._edges.append(self._number(after, number, step))
        if not goes_on:
            try:
                system.check_end(state)
            except BrokenRuleError as broken:
                self._violated(broken, number, None)

    def _number(self, state: State, before: int, step: Step) -> int:
        known = self._numbers.get(state)
        if known is not None:
            return known
        number = self._numbers[state] = len(self._states)
        self._states.append(state)
        self._from.append(before)
        self._by.append(step)
        try:
            self._system.check(state)
        except BrokenRuleError as broken:
            self._barred.add(number)
            self._violated(broken, number, None)
        return number

    def _violated(self, broken: BrokenRuleError, number: int, last: Step | None) -> None:
        if broken.rule in self._violations:
            return
        way = [] if last is None else [self._system.tell(self._states[number], last)]
        while (step := self._by[number]) is not None:
            number = self._from[number]
            way.append(self._system.tell(self._states[number], step))
        self._violations[broken.rule] = Violation(broken.rule, broken.why, tuple(reversed(way)))

    def _every_way_ends(self) -> bool:
        """Return whether no state can be reached from itself, by a topological sort."""
        leading = array("L", bytes(len(self._states) * array("L").itemsize))
        for target in self._edges:
            leading[target] += 1
        free, taken = [number for number, many in enumerate(leading) if not many], 0
        while free:
            number, taken = free.pop(), taken + 1
            last = number + 1 == len(self._states)
            end = len(self._edges) if last else self._first_edge[number + 1]
            for target in self._edges[self._first_edge[number] : end]:
                leading[target] -= 1
                if not leading[target]:
                    free.append(target)
        return taken == len(self._states)
