"""The claims of a paper for a terminal: verdict, claim and figure, one experiment after the other."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from tailcut.report.grid import spelt
from tailcut.report.words import printable
from tailcut.study.reproduce.findings import Claim, Finding, Reproduction, outcome

HOLDS, FAILS = "green", "red"


def claims_table(found: Reproduction) -> ClaimsTable:
    """Return a rich renderable of the claims: `console.print(claims_table(found))`."""
    return ClaimsTable(found)


class ClaimsTable:
    """A rich renderable of the claims of a reproduction."""

    def __init__(self, found: Reproduction) -> None:
        self._found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, a table for each experiment, and the number of claims that hold."""
        plain = options.ascii_only
        yield Text(spelt(printable(self._found.title), plain), style="bold")
        for finding in self._found.findings:
            yield Text()
            yield Text(spelt(finding.title, plain), style="bold")
            yield _table(finding, plain)
        yield Text()
        claims = [claim for _, claim in self._found.claims]
        yield Text(spelt(outcome(claims), plain), style="bold")


def _table(finding: Finding, plain: bool) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=len("does not hold here"))
    table.add_column(overflow="fold")
    for claim in finding.claims:
        table.add_row(*_row(claim, plain))
    return table


def _row(claim: Claim, plain: bool) -> tuple[Text, Text]:
    verdict = Text(claim.verdict, style=HOLDS if claim.holds else FAILS)
    said = Text.assemble(spelt(printable(claim.text), plain), (f" [{claim.whose}]", "dim"))
    said.append(f"\n{spelt(printable(claim.figure), plain)}", style="dim")
    return verdict, said
