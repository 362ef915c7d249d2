"""Where a run begins, or goes back to: its first parameters, or its newest checkpoint."""

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
    """All that goes on from there.

    Attributes:
        manifest: the parameters, in the store.
        noise: what the gradients had shown by then.
        begun: mini-batches that each worker had begun, where they go by its own count.
    """

    manifest: Manifest
    noise: Noise
    begun: dict[WorkerId, int]


def beginning(
    plan: Plan, first: Piece, slices: Slices, put: Callable[[Any], Ref], say: Callable[[str], None]
) -> Beginning:
    """The newest checkpoint of a plan, or its first parameters.

    Args:
        plan: whose.
        first: the parameters of a run that begins.
        slices: that shards hold.
        put: into the store.
        say: is told of a checkpoint.

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
