"""What an experiment leaves behind, as plain data: the terminal, the JSON and the page are all drawn from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that was said, and what became of it here.

    Attributes:
        text: the claim, one sentence.
        holds: whether it holds here.
        figure: what was measured, so that anybody can judge again.
        whose: who says so: a paper, its readers, or tailcut itself.
    """

    text: str
    holds: bool
    figure: str
    whose: str

    @property
    def verdict(self) -> str:
        """In words."""
        return "holds" if self.holds else "does not hold here"


@dataclass(frozen=True, slots=True)
class Line:
    """One curve.

    Attributes:
        name: for the legend.
        x, y: of the same length; NaN leaves a gap.
        low, high: worst and best of the seeds, as long as `y`; empty where there is one value alone.
        look: a `line`, `dots` joined by nothing, or a `bound` that stands back.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    look: Literal["line", "dots", "bound"] = "line"


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over one axis.

    Attributes:
        title, caption: whole sentences.
        x_label, y_label: with their units.
        lines: the curves.
        x_log, y_log: whether an axis is logarithmic.
        steps: whether `x` takes few values that should all be named at the axis.
    """

    title: str
    caption: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_log: bool = False
    y_log: bool = False
    steps: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, the first column the names."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one experiment found.

    Attributes:
        key: of the experiment.
        title: what was asked.
        setting: what was run, one or two sentences; every departure from the paper belongs here.
        claims: each judged.
        sheets, plots: the figures behind them.
    """

    key: str
    title: str
    setting: str
    claims: tuple[Claim, ...]
    sheets: tuple[Sheet, ...] = ()
    plots: tuple[Plot, ...] = ()


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All that came of one command.

    Attributes:
        paper: its short name.
        title: of the paper, with its authors.
        command: that made it.
        level: `quick` or `full`.
        findings: one for each experiment.
    """

    paper: str
    title: str
    command: str
    level: str
    findings: tuple[Finding, ...]

    @property
    def claims(self) -> tuple[tuple[Finding, Claim], ...]:
        """Every claim, with the experiment that judged it."""
        return tuple((finding, claim) for finding in self.findings for claim in finding.claims)


def outcome(claims: Sequence[Claim]) -> str:
    """How many hold, in one sentence.

    Example:
        >>> outcome([Claim("a", True, "", "x"), Claim("b", False, "", "x")])
        '1 of 2 claims holds here.'
    """
    held = sum(claim.holds for claim in claims)
    return f"{held} of {len(claims)} claims {'holds' if held == 1 else 'hold'} here."


def plain(finding: Finding) -> dict[str, Any]:
    """A finding as values that `json` writes: claims with their verdict in words, NaN as None."""
    told = asdict(finding)
    for claim, found in zip(finding.claims, told["claims"], strict=True):
        found["verdict"] = claim.verdict
    for plot in told["plots"]:
        for line in plot["lines"]:
            for axis in ("x", "y", "low", "high"):
                line[axis] = [value if value - value == 0.0 else None for value in line[axis]]
    return told
