"""The columns of a study's table: heading, cell and meaning, once for the terminal, the page and its glossary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tailcut.report.formats import UNKNOWN, cutoff, figure, known, percent
from tailcut.report.grid import title_of
from tailcut.report.study.formats import policy, quantity, reached, size, span, time_to_target, value_of
from tailcut.report.study.words import ratio
from tailcut.report.words import printable
from tailcut.study.grid.facts import ArmFacts, CaseFacts
from tailcut.study.grid.statics import MARGIN
from tailcut.study.statistics import Interval

Cell = Callable[[CaseFacts, ArmFacts], str]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        heading: heading, with line breaks where a narrow table may break it.
        meaning: explanation for the glossary, in whole sentences.
        cell: the text for one arm.
        rank: 0 is always shown; in a narrow table the highest ranks are left out first.
        headline: whether the table at the top of the page has this column too.
        shown: tells whether the column is of use for a case.
    """

    heading: str
    meaning: str
    cell: Cell
    rank: int
    headline: bool = False
    shown: Callable[[CaseFacts], bool] = lambda case: True

    @property
    def title(self) -> str:
        """The heading on one line."""
        return title_of(self.heading)


def columns(case: CaseFacts) -> list[Column]:
    """Return the columns that are of use for `case`, in order."""
    return [column for column in COLUMNS if column.shown(case)]


def _several(case: CaseFacts) -> bool:
    return any(facts.runs > 1 for facts in case.arms)


def _compared(case: CaseFacts) -> bool:
    return any(facts.against is not None for facts in case.arms)


def _span_of_seeds(case: CaseFacts, facts: ArmFacts) -> str:
    return span(Interval(facts.time.best, facts.time.worst), " s") if facts.reached else UNKNOWN


def _against(tell: Callable[[ArmFacts], str]) -> Cell:
    return lambda case, facts: UNKNOWN if facts.against is None else tell(facts)


def _in_vain(case: CaseFacts, facts: ArmFacts) -> str:
    return percent(facts.bytes_in_vain / facts.bytes_sent) if facts.bytes_sent else UNKNOWN


COLUMNS = (
    Column(
        "arm",
        "A way to train: a policy with its learning-rate rule. Policy and base learning rate were chosen on other "
        "seeds than those shown.",
        lambda case, facts: printable(facts.arm),
        0,
        headline=True,
    ),
    Column(
        "time to\ntarget",
        "Seconds of virtual time until the target was reached at a look at the net, the mean over seeds. Where not "
        "all runs got there: the least it can be, had they got there when they ended; ∞ where one diverged.",
        lambda case, facts: time_to_target(facts),
        0,
        headline=True,
    ),
    Column(
        "95 %\ninterval",
        "Of that mean, by Student's t over seeds. Where a run did not get there the upper end is infinite, and the "
        "lower one is that of the least it can be.",
        lambda case, facts: span(facts.time.interval, " s"),
        3,
        headline=True,
        shown=_several,
    ),
    Column(
        "best–\nworst",
        "The same time in the fastest and in the slowest of the seeds.",
        _span_of_seeds,
        5,
        headline=True,
        shown=_several,
    ),
    Column(
        "reached",
        "How many of the runs reached the target.",
        lambda case, facts: reached(facts),
        1,
        headline=True,
    ),
    Column(
        "over best\nstatic",
        "Time to target over that of the best static arm with the same learning-rate rule, where there is one, seed by "
        "seed; geometric mean, and its 95 % interval by Student's t on logarithms, each arm for itself. Below 1: "
        "sooner.",
        _against(lambda facts: "" if facts.against is None else ratio(facts.against)),
        1,
        headline=True,
        shown=_compared,
    ),
    Column(
        "verdict",
        f"What paired tests over seeds show, corrected by Holm for the number of arms. Sooner: the ratio is below 1. "
        f"Not worse: it is below {MARGIN}. Worse: it is above {MARGIN}. Not shown: none of these.",
        _against(lambda facts: "" if facts.against is None else facts.against.verdict),
        2,
        headline=True,
        shown=_compared,
    ),
    Column(
        "updates",
        "Updates to the target, where all runs got there.",
        lambda case, facts: quantity(facts.updates),
        4,
        headline=True,
    ),
    Column(
        "mean\ncutoff",
        "Gradients in an update, out of all workers.",
        lambda case, facts: cutoff(facts.cutoff, case.setting.workers),
        4,
        headline=True,
    ),
    Column(
        "idle",
        "Share of the time that a worker waits for others.",
        lambda case, facts: percent(facts.idle),
        3,
        headline=True,
    ),
    Column(
        "stale-\nness",
        "Rounds that a used gradient lagged behind, on average.",
        lambda case, facts: figure(facts.staleness),
        6,
        shown=lambda case: any(facts.staleness > 0 for facts in case.arms),
    ),
    Column(
        "sent",
        "Bytes of all gradients that arrived in a run, four for each parameter.",
        lambda case, facts: size(facts.bytes_sent),
        6,
    ),
    Column(
        "sent\nin vain",
        "Share of these bytes that came too late and was thrown away.",
        _in_vain,
        7,
        shown=lambda case: any(facts.late > 0 for facts in case.arms),
    ),
    Column(
        "begun\nin vain",
        "Gradients of a run that were begun and never arrived.",
        lambda case, facts: quantity(facts.dropped),
        8,
        shown=lambda case: any(facts.dropped > 0 for facts in case.arms),
    ),
    Column(
        "least\nserved",
        "Accepted gradients of the worker with the fewest, over the mean of all workers. 1 is even; near 0 somebody's "
        "data is hardly seen.",
        lambda case, facts: f"{facts.least_served:.2f}" if known(facts.least_served) else UNKNOWN,
        6,
    ),
    Column(
        "last\nfigures",
        "What the task measures, at the last look of a run.",
        lambda case, facts: _final(facts),
        9,
    ),
    Column(
        "learning\nrate",
        "Base learning rate, and how it follows what goes into an update: fixed, linear in the accepted share or its "
        "square root (sqrt), or gain, by the noise scale.",
        lambda case, facts: f"{', '.join(f'{rate:g}' for rate in facts.rates)} {printable(facts.rate_rule)}",
        7,
    ),
    Column(
        "policy",
        "What decided when to close a round.",
        lambda case, facts: policy(facts),
        10,
        shown=lambda case: any(facts.policies != (facts.arm,) for facts in case.arms),
    ),
)
"""All columns, from left to right."""


def _final(facts: ArmFacts) -> str:
    told = (f"{printable(name).replace('_', ' ')} {value_of(name, v)}" for name, v in facts.final.items())
    return ", ".join(told) or UNKNOWN
