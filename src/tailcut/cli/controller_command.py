"""`tailcut controller`: the process that decides when rounds of a live training close."""

from __future__ import annotations

import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailcut import names
from tailcut.cli.entry import app
from tailcut.engines.live.worker.controller_process import DESERTED
from tailcut.errors import ParameterError
from tailcut.extras import require

if TYPE_CHECKING:
    from tailcut.engines.live.controller.hub import Hub
    from tailcut.engines.live.keys import Key
    from tailcut.engines.records.listener import Listener


@app.command("controller", hidden=True)
def controller_command(
    workers: Annotated[int, typer.Option(help="How many take part.")],
    policy: Annotated[str, typer.Option(help="Decides when rounds close.")] = "bayes",
    rate: Annotated[str, typer.Option(help="Learning-rate rule: fixed, linear, sqrt or gain.")] = "linear",
    late: Annotated[str, typer.Option(help="What late workers do: finish or abandon.")] = "finish",
    address: Annotated[str, typer.Option(help="To listen on; port 0 for any.")] = "tcp://127.0.0.1:0",
    total: Annotated[int | None, typer.Option(help="Version at which the run ends.")] = None,
    min_workers: Annotated[int, typer.Option(help="With fewer the run waits.")] = 1,
    max_wait: Annotated[float, typer.Option(help="Seconds of silence to bear.")] = 300.0,
    journal: Annotated[Path | None, typer.Option(help="Folder to keep the run in.")] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Folder for TensorBoard's scalars.")] = None,
    term: Annotated[int, typer.Option(help="How many controllers this run has had, this one included.")] = 1,
    saved: Annotated[Path | None, typer.Option(help="File for what the policy has learnt.")] = None,
    follows_loss: Annotated[
        int, typer.Option(help="1 if the controller before this one had lost all workers that had a state.")
    ] = 0,
    resumes: Annotated[
        int, typer.Option(help="1 if a run that has lost its state returns to the newest checkpoint.")
    ] = 0,
) -> None:
    """Be the controller of one live training; workers start it themselves. Ends with its standard input."""
    require("tailcut controller", "zmq", "msgspec", *(() if tensorboard is None else ("tensorboard",)))
    from tailcut.engines.live.controller.hub import Hub
    from tailcut.engines.live.keys import found_key
    from tailcut.engines.records.learnt import Learnt
    from tailcut.engines.records.start import asked_now, listeners
    from tailcut.learning.rates import RATES
    from tailcut.round import Rounds

    if rate not in RATES:
        raise ParameterError(f"rate must be one of {', '.join(RATES)}, but got {rate!r}.")
    if late not in ("finish", "abandon"):
        raise ParameterError(f"late must be 'finish' or 'abandon', but got {late!r}.")
    # Only from the environment: every user of this machine can read the command lines of processes.
    key = found_key()
    entrant = names.entrant(policy)
    rounds = Rounds(entrant.policy, entrant.acceptance, late_finish=late == "finish")
    # Open the record's folders before workers can connect: an unusable one must not end a running training.
    asked = asked_now(policy, rate, late, workers, total, time.monotonic)
    learnt = [] if saved is None else [Learnt(saved, entrant.policy, rounds, _say, policy)]
    told = listeners(asked, journal, tensorboard, _say, learnt, goes_on=term > 1)
    try:
        hub = Hub(
            rounds,
            workers,
            term=term,
            rate=RATES[rate],
            total=total,
            min_workers=min_workers,
            follows_loss=follows_loss > 0,
            resumes=resumes > 0,
            records=told.round,
            settled=told.settled,
        )
        is_deserted = _serve(hub, address, max_wait, told, key, resumes > 0)
    except BaseException:
        told.give_up()
        raise
    if is_deserted:
        # The launcher then starts a replacement controller; a controller started by worker 0 gets none.
        raise typer.Exit(DESERTED)


def _serve(hub: Hub, address: str, max_wait: float, told: Listener, key: Key | None, resumes: bool) -> bool:
    """Run the controller; return whether all workers that had a state disconnected before the end."""
    from tailcut.engines.live.controller.serve import STOPPED, serve

    try:
        served = serve(hub, address, _announce, _orphaned, max_wait, say=_say, look=told.look, key=key)
    except KeyboardInterrupt:
        hub.fail("The controller was interrupted.")
        told.end(hub, time.monotonic())
        raise
    if served.deserted:
        told.hand_over()
        after = " The run returns to the newest checkpoint." if resumes else ""
        _say(
            f"All workers with the net's state have ended, or are cut off, at version {served.version}.{after}"
        )
        return True
    told.end(hub, time.monotonic())
    if served.why not in (None, STOPPED):
        _say(str(served.why))
    return False


def _announce(address: str) -> None:
    print(address, flush=True)


def _say(sentence: str) -> None:
    # The process that started this one may have ended, and with it the reader of this output.
    with suppress(OSError):
        print(f"tailcut: {sentence}", file=sys.stderr, flush=True)


def _orphaned() -> bool:
    """Return whether the process that started this one has ended, which closes standard input."""
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(readable) and not sys.stdin.read(1)
