"""`tailcut pretrain`: the deep part of `bayes` from simulated clusters, as it comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from tailcut.cli.arguments import at_least, check_output
from tailcut.cli.entry import app
from tailcut.extras import require


@app.command("pretrain")
def pretrain_command(
    output: Annotated[Path, typer.Option("-o", "--output", help="Model file to write (safetensors).")],
    clusters: Annotated[int, typer.Option(help="Simulated clusters, all different.")] = 300,
    rounds: Annotated[int, typer.Option(help="Of each cluster; one in five has three times as many.")] = 200,
    seed: Annotated[int, typer.Option(help="Of clusters and training.")] = 0,
    epochs: Annotated[int, typer.Option(help="Epochs at most.")] = 30,
    patience: Annotated[
        int, typer.Option(help="Epochs without a better held-out loss after which to stop.")
    ] = 5,
) -> None:
    """Train the deep part of bayes on simulated clusters; the one that comes with the package was made so."""
    for name, value, least in (
        ("clusters", clusters, 12),
        ("rounds", rounds, 40),
        ("seed", seed, 0),
        ("epochs", epochs, 1),
        ("patience", patience, 1),
    ):
        at_least(name, value, least)
    check_output(output)
    require("tailcut pretrain", "torch")
    from tailcut.fitting.bayes import BayesTraining
    from tailcut.fitting.bayes_file import write_bayes
    from tailcut.fitting.loop import fit
    from tailcut.study.pretraining import simulated_samples

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_interactive) as bar:
        task = bar.add_task("clusters", total=clusters)
        samples = simulated_samples(clusters, seed, lambda: bar.advance(task), rounds)
        training = BayesTraining(samples, None, seed)
        task = bar.add_task("epochs", total=epochs)
        report = fit(training, epochs=epochs, patience=patience, progress=lambda *_: bar.advance(task))
    if report.interrupted:
        raise KeyboardInterrupt
    losses = f"{report.standing.best_loss:.4f} (uncorrected {training.untrained:.4f})"
    about = {"clusters": str(clusters), "rounds": str(rounds), "seed": str(seed), "held-out loss": losses}
    write_bayes(output, training.model(), about)
    print(f"{len(samples)} samples of {clusters} clusters, {report.standing.epochs} epochs.")
    print(f"Held-out loss, nats a run time, on clusters never trained on: {losses}.")
    print(f"Model: {output}. Use it with --policies bayes:model={output}")
