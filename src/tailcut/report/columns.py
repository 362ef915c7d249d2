"""The columns of the figures table: heading, cell and meaning, once for the terminal, the page and its glossary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tailcut.report.formats import UNKNOWN, cutoff, figure, known, percent, share, span
from tailcut.report.grid import title_of
from tailcut.report.words import printable
from tailcut.study.facts import PolicyFacts, SourceFacts


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        heading: heading, with line breaks where a narrow table may break it.
        meaning: explanation for the glossary, in whole sentences.
        cell: the text for one policy on one source.
        rank: 0 is always shown; in a narrow table the highest ranks are left out first.
        shown: tells whether the column is of use for a source.
    """

    heading: str
    meaning: str
    cell: Callable[[SourceFacts, PolicyFacts], str]
    rank: int
    shown: Callable[[SourceFacts], bool] = lambda source: True

    @property
    def title(self) -> str:
        """The heading on one line."""
        return title_of(self.heading)


def columns(source: SourceFacts) -> list[Column]:
    """Return the columns that are of use for `source`, in order."""
    return [column for column in COLUMNS if column.shown(source)]


def _idle(source: SourceFacts, facts: PolicyFacts) -> str:
    before, after = percent(source.idle_before), percent(facts.idle)
    return f"{before.removesuffix(' %')}→{after}"


def _decision(source: SourceFacts, facts: PolicyFacts) -> str:
    if not known(facts.decision_ms_p50) and not known(facts.decision_ms_p99):
        return UNKNOWN
    return f"{figure(facts.decision_ms_p50, 2)}/{figure(facts.decision_ms_p99, 2)}"


COLUMNS = (
    Column(
        "policy",
        "What decided when to close a round. Below the rule stand bounds: they need hindsight or the true law of "
        "the run times, and nobody can run them in earnest.",
        lambda source, facts: printable(facts.policy),
        0,
    ),
    Column(
        "grad/s",
        "Gradients used per second of the run, the mean over seeds; rounds of the warm-up are left out.",
        lambda source, facts: figure(facts.throughput.mean),
        0,
    ),
    Column(
        "of clair-\nvoyant",
        "Throughput as a share of the clairvoyant's, who knows all run times of a round in advance: 1 is the "
        "ceiling.",
        lambda source, facts: share(facts.of_clairvoyant.mean),
        0,
        lambda source: source.late != "finish",
    ),
    Column(
        "of abandon\nbound",
        "Throughput as a share of the clairvoyant's, whose late workers stop at once. Here they finish, so this "
        "is no bound: compare with wait-all, best static and best deadline instead.",
        lambda source, facts: share(facts.of_clairvoyant.mean),
        0,
        lambda source: source.late == "finish",
    ),
    Column(
        "worst–\nbest",
        "The same share in the worst and in the best of the seeds.",
        lambda source, facts: span(facts.of_clairvoyant.least, facts.of_clairvoyant.most),
        6,
        lambda source: source.seeds > 1,
    ),
    Column(
        "95 %\ninterval",
        "Where the mean of that share over many seeds lies, by Student's t: 95 % of such intervals hold it.",
        lambda source, facts: span(facts.of_clairvoyant.low, facts.of_clairvoyant.high),
        4,
        lambda source: source.seeds > 1,
    ),
    Column(
        "of\ninformed",
        "Share of what the same stopping rule reaches when it knows the true law and hidden state of the cluster.",
        lambda source, facts: share(facts.of_informed.mean if facts.of_informed else None),
        8,
        lambda source: any(facts.of_informed is not None for facts in source.policies),
    ),
    Column(
        "table\nscore",
        "Share of the best fixed choice in hindsight: cutoff, deadline or waiting for all. On a table, closing early "
        "in slow states pays twice, because every close moves the state on.",
        lambda source, facts: share(facts.table_score.mean if facts.table_score else None),
        1,
        lambda source: any(facts.table_score is not None for facts in source.policies),
    ),
    Column(
        "clock\nscore",
        "The same where states last in seconds, as in a real cluster. On a table: gradients over those of the best "
        "cutoff of each 25 rounds, each block counting for the seconds that waiting for all takes.",
        lambda source, facts: share(facts.clock_score.mean if facts.clock_score else None),
        1,
        lambda source: any(facts.clock_score is not None for facts in source.policies),
    ),
    Column(
        "of best\nstatic",
        "Share of what the best fixed cutoff, chosen in hindsight, reaches. Above 1: better than any fixed cutoff.",
        lambda source, facts: share(facts.of_best_static.mean),
        2,
    ),
    Column(
        "of best\ndeadline",
        "Share of what the best fixed number of seconds per round, chosen in hindsight, reaches.",
        lambda source, facts: share(facts.of_best_deadline.mean),
        6,
    ),
    Column(
        "mean\ncutoff",
        "Gradients used per round, out of all workers.",
        lambda source, facts: cutoff(facts.mean_cutoff, source.workers),
        3,
    ),
    Column(
        "idle",
        "Share of the time a worker waits for others: when everybody is waited for → under this policy.",
        _idle,
        1,
    ),
    Column(
        "least\nserved",
        "Accepted gradients of the worker that is cut most often, over the mean of all workers. 1 is even; near 0 "
        "somebody's data is hardly seen.",
        lambda source, facts: f"{facts.least_served:.2f}" if known(facts.least_served) else UNKNOWN,
        7,
    ),
    Column(
        "slowest\ndecile",
        "How much of the slowest tenth of the work is accepted. Where that is little, what makes work slow (long "
        "sequences, say) disappears from training.",
        lambda source, facts: percent(facts.deciles[-1] if facts.deciles else None),
        5,
    ),
    Column(
        "decision\nms",
        "Milliseconds one decision takes: median/99th percentile.",
        _decision,
        9,
        lambda source: any(known(facts.decision_ms_p50) for facts in source.policies),
    ),
)
"""All columns, from left to right."""
