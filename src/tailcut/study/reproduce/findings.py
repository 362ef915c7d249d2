"""The findings of an experiment as plain data, from which terminal output, JSON and page are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper or its readers, and whether it holds here.

    Attributes:
        text: the claim, one sentence.
        holds: whether it holds here.
        figure: measured values, so that a reader can judge again.
        whose: author of the claim: a paper, its readers, or tailcut itself.
    """

    text: str
    holds: bool
    figure: str
    whose: str

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "holds" if self.holds else "does not hold here"


@dataclass(frozen=True, slots=True)
class Line:
    """One curve.

    Attributes:
        name: name in the legend.
        x, y: coordinates, of the same length; NaN leaves a gap.
        low, high: worst and best of the seeds, as long as `y`; empty where there is one value alone.
        look: a `line`, unconnected `dots`, or a `bound`, which is drawn less prominently.
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
        steps: whether `x` takes few values that should all be labels of the axis.
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
    """A table of texts, whose first column has the names."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of one experiment.

    Attributes:
        key: name of the experiment.
        title: subject of the experiment.
        setting: one or two sentences on the runs; every difference to the paper belongs here.
        claims: judged claims.
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
    """All findings of one command.

    Attributes:
        paper: short name of the paper.
        title: title of the paper, with its authors.
        command: command line that made the findings.
        level: `quick` or `full`.
        findings: one finding for each experiment.
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
    """Return a sentence on the number of claims that hold.

    Example:
        >>> outcome([Claim("a", True, "", "x"), Claim("b", False, "", "x")])
        '1 of 2 claims holds here.'
    """
    held = sum(claim.holds for claim in claims)
    return f"{held} of {len(claims)} claims {'holds' if held == 1 else 'hold'} here."


def plain(finding: Finding) -> dict[str, Any]:
    """Return a finding as values that `json` writes: claims with their verdict in words, NaN as None."""
    told = asdict(finding)
    for claim, found in zip(finding.claims, told["claims"], strict=True):
        found["verdict"] = claim.verdict
    for plot in told["plots"]:
        for line in plot["lines"]:
            for axis in ("x", "y", "low", "high"):
                line[axis] = [value if value - value == 0.0 else None for value in line[axis]]
    return told
