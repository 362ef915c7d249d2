"""A plan of faults: plain data that says which process is struck, where in the protocol, and in what way.

The victim carries out a fault on itself when it reaches a point of the protocol
(`tailcut.engines.live.points`, or `computing`); a fault from outside strikes at no point in particular.
Faults come in the order of the plan. One plan and one seed strike the same workers at the same points in the
same order; the version depends on the machine.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

from tailcut.errors import ParameterError
from tailcut.types import Seconds

ANYBODY = -1
"""Victim: the worker that reaches the point first."""
CONTROLLER = -2
"""Victim: the controller, which is struck from outside."""
ACCEPTED = -3
"""Entry of `also` that means all other workers in the victim's last update."""
OUTSIDE = "outside"
"""Point of a fault that is carried out from outside, at no point in particular."""
POINTS = (
    *(
        "computing",
        "submitting",
        "submitted",
        "reducing",
        "segment",
        "summed",
        "reduced",
        "applying",
        "applied",
    ),
    *("reported", "pulling", "stopped", "entering", "offering", "copying", "copied", "staging", "staged"),
    *("published", OUTSIDE),
)
DEEDS = ("kill", "orphan", "stop", "throttle", "fill")
SHARE = 0.2
"""Share of the time that a throttled process runs."""


@final
@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a plan.

    Attributes:
        number: its place in the plan, from 0.
        victim: a worker, or `ANYBODY`, or `CONTROLLER`.
        point: the point of the protocol at which it strikes, or `OUTSIDE`.
        deed: `kill`; `orphan`: the victim lives, and all others in `also` are killed; `stop` for some seconds;
            `throttle` for some seconds; `fill` the disk that the engine writes to for some seconds.
        left: at the point `segment`, the segments of the reduction that are still to come.
        delay: seconds between the point and the deed.
        seconds: duration of a `stop`, `throttle` or `fill`, in seconds.
        also: processes killed at the same moment: workers, `CONTROLLER`, or `ACCEPTED`.
        calm: whether the fault waits until all workers take part and no other fault is pending.
        pause: least number of seconds since the last fault was armed, or since too few workers took part.
        gap: versions between the newest version when it is armed and the first at which it may strike.
        phase: its name in tables of results.
    """

    number: int
    victim: int
    point: str = OUTSIDE
    deed: str = "kill"
    left: int = 0
    delay: Seconds = 0.0
    seconds: Seconds = 0.0
    also: tuple[int, ...] = ()
    calm: bool = True
    pause: Seconds = 0.0
    gap: int = 2
    phase: str = ""

    def __post_init__(self) -> None:
        if self.point not in POINTS:
            raise ParameterError(f"A fault strikes at one of {', '.join(POINTS)}, but got {self.point!r}.")
        if self.deed not in DEEDS:
            raise ParameterError(f"A fault does one of {', '.join(DEEDS)}, but got {self.deed!r}.")
        if self.victim == CONTROLLER and self.point != OUTSIDE:
            raise ParameterError(f"The controller is struck from {OUTSIDE}, but got {self.point!r}.")


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """A run and its faults.

    Attributes:
        faults: the faults, in the order in which they are armed.
        workers: number of workers.
        seed: seed of gradients and delays.
        policy: name of the policy that closes rounds.
        size: number of parameters.
        shared: whether workers reduce through shared memory; otherwise, from half a million parameters on,
            reductions among all are rings with segments.
        optimiser: `momentum` or `adam`.
        unit: seconds that a gradient takes.
        chance: probability that a gradient is slow.
        times: factor by which a slow gradient takes longer.
        total: version at which the run ends; None for an end soon after the last fault.
        max_wait: seconds, as `max_wait` of `tailcut.Optimizer`.
        restarts: most restarts of each worker.
        journal: whether the controller keeps a journal.
        checkpoint_every: updates from one checkpoint to the next; 0 for no checkpoints.
        min_workers: number of workers below which the run waits.
        patience: seconds after which an armed fault that has not struck is counted as missed.
        spares_holders: whether faults wait while they could kill the last workers that have the net's state.
        bug: bug to put into the engine, by its name in `bugs.py`; empty for none.
    """

    faults: tuple[Fault, ...] = ()
    workers: int = 8
    seed: int = 0
    policy: str = "wait-all"
    size: int = 600_000
    shared: bool = True
    optimiser: str = "momentum"
    unit: Seconds = 0.03
    chance: float = 0.0
    times: float = 5.0
    total: int | None = None
    max_wait: Seconds = 60.0
    restarts: int = 1000
    journal: bool = False
    checkpoint_every: int = 0
    min_workers: int = 1
    patience: Seconds = 15.0
    spares_holders: bool = True
    bug: str = ""

    def write(self, path: Path) -> None:
        """Write the plan to a file, as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read a plan from a file that `write` wrote."""
        told: dict[str, Any] = json.loads(path.read_text())
        faults = (Fault(**{**each, "also": tuple(each["also"])}) for each in told.pop("faults"))
        return cls(tuple(faults), **told)


def numbered(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Number the faults in this order."""
    return tuple(replace(fault, number=number) for number, fault in enumerate(faults))


PHASES: dict[str, dict[str, Any]] = {
    "computing": {"point": "computing"},
    "submitting": {"point": "submitting"},
    "in the reduction": {"point": "segment", "left": 7},
    "between first and last completion": {"point": "segment", "left": 2},
    "applying": {"point": "applying"},
    "pulling": {"point": "pulling"},
    "checkpointing": {"point": "staging", "victim": ANYBODY},
}
"""The phases in which a worker can die, each as fields of `Fault`."""
CHECKPOINTING: tuple[dict[str, Any], ...] = (
    {"point": "staging"},
    {"point": "staging", "delay": 0.002},
    {"point": "staged"},
)
"""Moments of death while checkpointing: before a byte is written, about in the middle, before publication."""


def kills(phase: str, times: int, workers: int, seed: int) -> tuple[Fault, ...]:
    """Return deaths in one phase, one after another, of all workers in turn, in a random order."""
    chances, faults = random.Random(f"{seed} {phase}"), list[Fault]()
    turn: list[int] = []
    for number in range(times):
        turn = turn or chances.sample(range(workers), workers)
        moment = CHECKPOINTING[(seed + number) % len(CHECKPOINTING)] if phase == "checkpointing" else {}
        faults.append(Fault(0, **{"victim": turn.pop(), "phase": phase, **PHASES[phase], **moment}))
    return numbered(faults)


def newest_holders(times: int) -> tuple[Fault, ...]:
    """Return deaths of all workers in an update soon after it: the others know of it, and cannot get it."""
    delays = (0.0, 0.002, 0.005, 0.01, 0.02)
    told: dict[str, Any] = {"also": (ACCEPTED,), "phase": "all in the newest update"}
    return numbered(
        [Fault(0, ANYBODY, "reported", delay=delays[n % len(delays)], **told) for n in range(times)]
    )


def several(workers: int, seed: int) -> tuple[Fault, ...]:
    """Return deaths of several: two at once, with the controller, in mid-copy, in a change of epochs."""
    chances = random.Random(seed)
    one, two, three = chances.sample(range(1, workers), 3)
    at_once: dict[str, Any] = {"calm": False, "gap": 0}
    found = [
        Fault(0, 0, "segment", left=2, phase="rank 0"),
        Fault(0, one, "segment", left=5, also=(two,), phase="two at once"),
        Fault(0, two, "reducing", also=(CONTROLLER,), phase="worker and controller"),
        Fault(0, three, "computing", phase="joiner in mid-copy"),
        Fault(0, ANYBODY, "copying", phase="joiner in mid-copy", **at_once),
        Fault(0, two, "computing", phase="donor in mid-copy"),
        Fault(0, ANYBODY, "offering", phase="donor in mid-copy", **at_once),
        Fault(0, three, "segment", left=6, phase="in a change of epochs"),
        Fault(0, ANYBODY, "stopped", phase="in a change of epochs", **at_once),
        Fault(0, one, "reducing", phase="entering a new epoch"),
        Fault(0, ANYBODY, "entering", phase="entering a new epoch", **at_once),
    ]
    return numbered(found)


def bereavements(workers: int, seed: int, times: int = 3) -> tuple[Fault, ...]:
    """Return deaths of random kinds, after most of which no worker is left that has the net's state."""
    chances = random.Random(f"bereavements {seed}")
    kinds = [chances.choice(BEREAVEMENTS) for _ in range(times)]
    return numbered([fault for kind in kinds for fault in _bereavement(chances, kind, workers)])


BEREAVEMENTS = (
    "all at once",
    "all with the controller",
    "one after the other",
    "all but a joiner",
    "all but a joiner, with the controller",
    "all but a joiner that has copied",
    "all who have the state, while a joiner copies",
    "a joiner in mid-copy, then the others",
)
"""Ways in which the workers that have the state die. A joiner has none until it has copied it."""


def _bereavement(chances: random.Random, kind: str, workers: int) -> list[Fault]:
    everybody = tuple(range(workers))
    first, *others = chances.sample(everybody, workers)
    at_once: dict[str, Any] = {"calm": False, "gap": 0, "phase": kind}
    with_controller = (CONTROLLER,) if "controller" in kind else ()
    begin = Fault(0, first, delay=chances.uniform(0.0, 0.3), phase=kind)
    match kind:
        case "all at once" | "all with the controller":
            return [replace(begin, also=(*others, *with_controller))]
        case "one after the other":
            pauses = [chances.uniform(0.05, 1.5) for _ in others]
            return [
                begin,
                *(Fault(0, one, pause=pause, **at_once) for one, pause in zip(others, pauses, strict=True)),
            ]
        case "all but a joiner" | "all but a joiner, with the controller":
            also = (*everybody, *with_controller)
            return [begin, Fault(0, ANYBODY, "copying", "orphan", also=also, **at_once)]
        case "all but a joiner that has copied":
            return [begin, Fault(0, ANYBODY, "copied", "orphan", also=everybody, **at_once)]
        case "all who have the state, while a joiner copies":
            return [begin, Fault(0, ANYBODY, "offering", also=tuple(others), **at_once)]
        case _:
            pause = chances.uniform(0.0, 1.0)
            rest = replace(begin, victim=others[0], also=tuple(others[1:]), pause=pause, **at_once)
            return [begin, Fault(0, ANYBODY, "copying", **at_once), rest]


def at_random(times: int, workers: int, seed: int, pause: Seconds) -> tuple[Fault, ...]:
    """Return faults of all kinds, about `pause` seconds apart, whichever processes are still down."""
    chances = random.Random(seed)
    return numbered([_any(chances, workers, pause) for _ in range(times)])


def _any(chances: random.Random, workers: int, pause: Seconds) -> Fault:
    victim = chances.randrange(workers)
    common: dict[str, Any] = {"calm": False, "pause": pause * chances.uniform(0.3, 1.7), "gap": 0}
    kind = chances.choices(
        ("kill", "kill outside", "stop", "throttle", "controller", "both", "two", "copy", "change", "fill"),
        (20, 10, 28, 15, 8, 4, 4, 5, 4, 2),
    )[0]
    match kind:
        case "kill":
            places = [PHASES[phase] for phase in PHASES if phase != "checkpointing"]
            return Fault(0, victim, phase=kind, **common, **chances.choice(places))
        case "kill outside":
            return Fault(0, victim, phase=kind, delay=chances.uniform(0.0, 0.1), **common)
        case "stop":
            point = chances.choice(("computing", "segment", "applying", "reduced", OUTSIDE))
            seconds = chances.choice((0.1, 0.5, 1.0, 3.0))
            return Fault(0, victim, point, "stop", seconds=seconds, phase=kind, **common)
        case "throttle":
            return Fault(0, victim, deed=kind, seconds=chances.uniform(0.5, 4.0), phase=kind, **common)
        case "controller":
            return Fault(0, CONTROLLER, phase=kind, **common)
        case "both":
            return Fault(0, victim, "reducing", also=(CONTROLLER,), phase=kind, **common)
        case "two":
            other = (victim + chances.randrange(1, workers)) % workers
            return Fault(0, victim, "segment", left=2, also=(other,), phase=kind, **common)
        case "fill":
            return Fault(0, CONTROLLER, deed=kind, seconds=chances.uniform(0.5, 3.0), phase=kind, **common)
        case "copy":
            point = chances.choice(("offering", "copying"))
            return Fault(0, ANYBODY, point, delay=chances.uniform(0.0, 0.01), phase=kind, **common)
        case _:
            return Fault(0, ANYBODY, chances.choice(("stopped", "entering")), phase=kind, **common)
