"""`tailcut fit`: train the model of a policy on run times, and write it to a file that the policy reads."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tailcut import names
from tailcut.cli.arguments import at_least, check_output
from tailcut.cli.entry import FAILED, INTERRUPTED, app, fail
from tailcut.cli.fit_kinds import KINDS, Kind, Prepared
from tailcut.errors import ParameterError, UnknownNameError
from tailcut.fitting.loop import FitReport, Standing, fit
from tailcut.fitting.unfinished import fingerprint, place_beside, restore_unfinished, write_unfinished
from tailcut.table import Table
from tailcut.types import Seconds

SEED = 100
"""Default seed, outside the seeds 0 to 4 of a comparison: no model is judged on its training data."""


@app.command("fit")
def fit_command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A run-time table or a named cluster.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Model file to write (safetensors).")],
    kind: Annotated[str, typer.Option(help="The policy whose model is fitted: bayes or bdsgd.")] = "bayes",
    rounds: Annotated[int | None, typer.Option(help="How many rounds to train on.")] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of a named cluster's sample and of the training. compare draws seeds 0 to 4 by default; "
            "another one here keeps it from judging a model on the run times it was trained on."
        ),
    ] = SEED,
    epochs: Annotated[int, typer.Option(help="Most epochs, those before an interrupt included.")] = 200,
    patience: Annotated[int, typer.Option(help="Stop after so many epochs without a better one.")] = 20,
    seconds: Annotated[float, typer.Option(help="Stop after so many seconds, with the best so far.")] = 50.0,
) -> None:
    """Fit a model to run times. Ctrl-C keeps what was trained; the same command goes on from there."""
    begun = time.monotonic()
    what = _kind(kind)
    _refuse_numbers(rounds, seed, epochs, patience, seconds)
    _refuse_output(source, output)
    try:
        table = names.source(source).draw(seed, rounds).table
        what.refuse(table)
        mark = fingerprint(table, {"kind": kind, "seed": seed})
        beside = place_beside(output)
        with _Bar(what, table, epochs) as bar:
            prepared = what.prepare(table, seed, bar.read)
            resumed = restore_unfinished(beside, kind, prepared.training, mark)
            # The time spent reading the rounds counts against --seconds; one epoch is always done.
            left = max(seconds - (time.monotonic() - begun), 1e-9)
            report = fit(
                prepared.training,
                epochs=epochs,
                patience=patience,
                seconds=left,
                clock=time.monotonic,
                progress=bar.trained,
            )
    except KeyboardInterrupt:
        fail("Interrupted before the training began; nothing was written.", INTERRUPTED)
    if report.interrupted:
        _keep(beside, kind, prepared, mark)
    if report.standing.best_epoch == 0:
        fail(
            "No epoch had a held-out loss that is a number; nothing was written. Check the run times.", FAILED
        )
    prepared.write(output, _about(table, seed, prepared, report))
    beside.unlink(missing_ok=True)
    spent = time.monotonic() - begun
    for line in _summary(kind, source, output, table, prepared, report, resumed, epochs, spent):
        print(line)


def _kind(name: str) -> Kind:
    if name not in KINDS:
        raise UnknownNameError("kind of model", name, KINDS)
    return KINDS[name]


def _refuse_numbers(rounds: int | None, seed: int, epochs: int, patience: int, seconds: float) -> None:
    if rounds is not None:
        at_least("rounds", rounds, 2)
    at_least("seed", seed, 0)
    at_least("epochs", epochs, 1)
    at_least("patience", patience, 1)
    if not seconds > 0.0:
        raise ParameterError(f"--seconds must be more than 0, but got {seconds}. Try --seconds 60.")


def _refuse_output(source: str, output: Path) -> None:
    check_output(output)
    if output.exists() and Path(source).exists() and output.samefile(source):
        raise ParameterError(
            f"--output {output} is the source itself, which it would replace. Name another file."
        )


def _keep(beside: Path, kind: str, prepared: Prepared, mark: str) -> None:
    """Save an interrupted training and end the program."""
    done = prepared.training.standing().epochs
    if done == 0:
        fail("Interrupted before the first epoch was done; nothing was written.", INTERRUPTED)
    write_unfinished(beside, kind, prepared.training, mark)
    fail(
        f"Interrupted after {_count(done, 'epoch')}, which are kept in {beside}; the same command goes on from there.",
        INTERRUPTED,
    )


def _about(table: Table, seed: int, prepared: Prepared, report: FitReport) -> dict[str, str]:
    standing = report.standing
    return {
        "source": table.source,
        "rounds": str(table.rounds),
        "workers": str(table.workers),
        "seed": str(seed),
        "epochs": str(standing.epochs),
        "best_epoch": str(standing.best_epoch),
        "held_out_loss": repr(standing.best_loss),
        "untrained_loss": repr(prepared.untrained),
    }


def _summary(
    kind: str,
    source: str,
    output: Path,
    table: Table,
    prepared: Prepared,
    report: FitReport,
    resumed: bool,
    epochs: int,
    spent: Seconds,
) -> list[str]:
    standing = report.standing
    if report.early:
        why = "nothing got better any more"
    else:
        why = "all epochs done" if standing.epochs >= epochs else "time was up (--seconds)"
    before = standing.epochs - len(report.losses)
    again = f", {before} of them before the interrupt" if resumed else ""
    lines = [
        f"{kind} fitted to {table.rounds} rounds of {table.workers} workers of {source} in {spent:.1f} s: {why}.",
        f"{_count(standing.epochs, 'epoch')}{again}; best {standing.best_epoch} with held-out loss "
        f"{standing.best_loss:.4f}, untrained {prepared.untrained:.4f}.",
    ]
    if not standing.best_loss < prepared.untrained:
        lines.append(f"That is no better than {KINDS[kind].start}: this model will not help.")
    return [*lines, f"File: {output}", f"Use:  tailcut compare {source} --policies {kind}:model={output}"]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


class _Bar:
    """Two progress bars on standard error, for reading rounds and for epochs; hidden without a terminal."""

    def __init__(self, kind: Kind, table: Table, epochs: int) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
        )
        console = Console(stderr=True)
        self._progress = Progress(
            *columns, console=console, transient=True, disable=not console.is_interactive
        )
        self._reading = self._progress.add_task("reading rounds", total=table.rounds, visible=kind.reads)
        self._training = self._progress.add_task("epochs", total=epochs, visible=not kind.reads)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def read(self) -> None:
        """Advance the bar by one round that was read."""
        self._progress.advance(self._reading)

    def trained(self, standing: Standing, loss: float) -> None:
        """Show a finished epoch with its held-out loss."""
        best = f", best {standing.best_loss:.4f}" if math.isfinite(standing.best_loss) else ""
        self._progress.update(self._reading, visible=False)
        self._progress.update(
            self._training,
            completed=standing.epochs,
            description=f"epochs: held-out loss {loss:.4f}{best}",
            visible=True,
        )
