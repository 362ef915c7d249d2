"""A running training for a terminal: per-worker state and accepted share, cutoff, throughput, time saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from tailcut.engines.records.asked import Asked
from tailcut.engines.records.now import Now, WorkerNow
from tailcut.report.formats import percent, seconds
from tailcut.report.grid import spelt
from tailcut.report.words import printable
from tailcut.types import Seconds

MOST_ROWS = 32
"""Most workers that are shown one by one; of more, those with the smallest accepted share."""
STALE: Seconds = 5.0
"""Seconds without news after which the view says so."""
BAR, DRAWN = 20, 24
"""Width of a share's bar in characters, and number of last cutoffs that are drawn."""
DOES = {
    "starts": "waits for the others to start",
    "computes": "computes at version {}",
    "waits": "waits in step(), version {}",
    "reduces": "reduces to version {}",
    "drops": "drops version {}",
    "left": "has left at version {}",
}
STYLES = {"computes": "green", "waits": "yellow", "reduces": "cyan", "drops": "red", "left": "dim"}
_BLOCKS = "▁▂▃▄▅▆▇█"


def live_view(asked: Asked, now: Now | None, age: Seconds = 0.0) -> LiveView:
    """Return a rich renderable of a running training: `console.print(live_view(asked, now))`.

    Args:
        asked: settings of the run.
        now: state of the run; None before anything is known.
        age: seconds since that state was written.
    """
    return LiveView(asked, now, age)


@final
@dataclass(frozen=True, slots=True)
class LiveView:
    """A rich renderable of a run: a title, a line of figures, a table of workers."""

    asked: Asked
    now: Now | None
    age: Seconds

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield title, figures and workers."""
        plain = options.ascii_only
        asked, now = self.asked, self.now
        yield Text(spelt(printable(_title(asked, now)), plain), style="bold")
        if now is None:
            yield Text("Waiting for the controller.", style="dim")
            return
        yield Text(spelt(_figures(now, asked.workers, plain), plain))
        yield _table(now, plain)
        if len(now.workers) > MOST_ROWS:
            yield Text(spelt(_others(now), plain), style="dim")
        ending = _ending(now, self.age)
        if ending:
            yield Text(spelt(printable(ending), plain), style="red" if now.why else "yellow")


def _title(asked: Asked, now: Now | None) -> str:
    version = "" if now is None else f", version {now.version}"
    total = "" if asked.total is None else f" of {asked.total}"
    running = "" if now is None else f", {_duration(now.running)}"
    return f"{asked.policy}, {asked.workers} workers, late ones {asked.late}{version}{total if now else ''}{running}"


def _figures(now: Now, workers: int, plain: bool) -> str:
    if not now.cutoffs or now.gradients_per_second is None or now.seconds_per_round is None:
        return "No round has closed yet."
    mean = sum(now.cutoffs) / len(now.cutoffs)
    drawn = "" if plain else f" {_sparkline(now.cutoffs, workers)}"
    saved = f"{'at least ' if now.unknown else ''}{_duration(now.saved)} saved"
    return (
        f"cutoff {mean:.1f}/{workers}{drawn}, {now.gradients_per_second:.3g} gradients/s, "
        f"{seconds(now.seconds_per_round)} a round, {saved}"
    )


def _table(now: Now, plain: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("worker", justify="right")
    table.add_column("does", min_width=30)
    table.add_column("for", justify="right", min_width=7)
    table.add_column("accepted")
    for worker in _shown(now.workers):
        does = DOES[worker.doing].format(worker.version)
        table.add_row(
            str(worker.worker),
            Text(printable(does), style=STYLES.get(worker.doing, "")),
            _duration(worker.seconds),
            _bar(worker.share, plain),
        )
    return table


def _shown(workers: tuple[WorkerNow, ...]) -> list[WorkerNow]:
    """Return the workers by number; of more than `MOST_ROWS`, those with the smallest accepted shares."""
    if len(workers) <= MOST_ROWS:
        return list(workers)
    least = sorted(workers, key=lambda one: 1.0 if one.share is None else one.share)[:MOST_ROWS]
    return sorted(least, key=lambda one: one.worker)


def _others(now: Now) -> str:
    shown = {worker.worker for worker in _shown(now.workers)}
    rest = [worker.share for worker in now.workers if worker.worker not in shown]
    known = [share for share in rest if share is not None]
    mean = f", accepted in {percent(sum(known) / len(known))} on average" if known else ""
    return f"and {len(rest)} more{mean}"


def _bar(share: float | None, plain: bool) -> Text:
    if share is None:
        return Text("")
    full = round(share * BAR)
    drawn = "#" * full + "." * (BAR - full) if plain else "█" * full + "░" * (BAR - full)
    return Text(f"{drawn} {percent(share)}")


def _sparkline(counts: tuple[int, ...], most: int) -> str:
    heights = (min(count, most) * (len(_BLOCKS) - 1) // max(most, 1) for count in counts[-DRAWN:])
    return "".join(_BLOCKS[height] for height in heights)


def _duration(value: Seconds) -> str:
    if value < 60.0:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02} min"


def _ending(now: Now, age: Seconds) -> str:
    if now.over:
        return "The run has ended." if now.why is None else f"The run has failed: {now.why}"
    return f"No news for {_duration(age)}." if age >= STALE else ""
