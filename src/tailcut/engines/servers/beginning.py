"""Load the state that a run begins with or goes back to: first parameters, or newest checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from tailcut.engines.servers.keeping import Kept, read_newest
from tailcut.engines.servers.pieces import Piece, divided
from tailcut.engines.servers.plan import Plan
from tailcut.engines.servers.shards import Manifest, Ref
from tailcut.engines.servers.slices import Slices
from tailcut.errors import InputError
from tailcut.noise import Noise
from tailcut.types import WorkerId


@final
@dataclass(frozen=True, slots=True, eq=False)
class Beginning:
    """The state that a run begins with or goes back to.

    Attributes:
        manifest: refs to the parameters and optimizer states in Ray's store.
        noise: the estimates of the gradient noise by then.
        begun: number of mini-batches that each worker had begun, where it counts its own; empty otherwise.
    """

    manifest: Manifest
    noise: Noise
    begun: dict[WorkerId, int]


def beginning(
    plan: Plan, first: Piece, slices: Slices, put: Callable[[Any], Ref], say: Callable[[str], None]
) -> Beginning:
    """Return the state of the newest checkpoint of a plan, or that of its first parameters.

    Args:
        plan: the plan of the run.
        first: the parameters of a run without a checkpoint.
        slices: the division of the parameters among the shards.
        put: puts an object into Ray's store and returns its ref.
        say: called with a message where a checkpoint is found.

    Raises:
        InputError: the checkpoints are of another run.
    """
    kept = None if plan.checkpoints is None else read_newest(plan.checkpoints, say)
    if kept is None:
        return Beginning(_manifest(first, slices, put), Noise(), {})
    _check(kept, plan, slices)
    say(f"Goes on from version {kept.whole.version}, kept in {plan.checkpoints}.")
    return Beginning(_manifest(kept.whole, slices, put), kept.noise, kept.begun)


def _manifest(whole: Piece, slices: Slices, put: Callable[[Any], Ref]) -> Manifest:
    pieces = divided(whole, slices)
    parameters = tuple(put(piece.vector) for piece in pieces)
    return Manifest(whole.version, parameters, tuple(put(piece.state) for piece in pieces))


def _check(kept: Kept, plan: Plan, slices: Slices) -> None:
    size, wanted = len(kept.whole.vector), slices.size
    if kept.run != plan.identity or size != wanted:
        raise InputError(
            f"The checkpoints in {plan.checkpoints} are of another run: a net of {size} parameters with "
            f"{kept.run}, not {wanted} with {plan.identity}. Give another folder, or the same settings."
        )
