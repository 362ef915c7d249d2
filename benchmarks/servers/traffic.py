"""What dropped gradients cost in traffic: fetched when accepted, as the engine does, against pushed as they come.

Workers are on one node and servers on another, each a process of this machine with an object store of its own. All that
goes between processes goes over the loopback device, whose counter is read: objects that travel, values that Ray
sends along with the news of them, and all its other messages. What a gradient costs is told by two runs that accept the
same number of gradients, of which one drops as many again. A gradient comes in as many pieces as there are shards, and
each of them is small or large for itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, final

from benchmarks.claims import Claim, print_table
from benchmarks.servers.job import run
from benchmarks.servers.nodes import SERVERS, WORKERS, Nodes, nodes

ACCEPTED, UPDATES = 2, 40
INLINED = 100 * 1024
"""Bytes up to which Ray sends a value along with the news of it."""
CASES = {
    "small": (250, 1, (False, True)),
    "large": (13_000, 1, (False, True)),
    "middling, 4 shards": (1000, 4, (False,)),
    "large, 4 shards": (13_000, 4, (False,)),
}
"""Hidden units of nets of 19 thousand, 75 thousand and one million parameters; shards; whether pushed as they come."""
SLACK = 0.02
"""Of a gradient's bytes: what messages about it may take, of one in large pieces."""


@final
@dataclass(frozen=True, slots=True)
class Moved:
    """Of one run.

    Attributes:
        bytes: over the loopback device, from the first update to the last.
        accepted, dropped: gradients.
        parameters: of the net.
    """

    bytes: int
    accepted: int
    dropped: int
    parameters: int


def loopback() -> int:
    """Bytes that were sent over it so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    return 0


def moved(cluster: Nodes, hidden: int, servers: int, workers: int, eager: bool) -> Moved:
    """Train, and count. Whoever is not accepted finishes, and is dropped."""
    ray = cluster.ray
    counts: list[int] = []
    heard = 0
    sink = ray.remote(num_cpus=0, resources={SERVERS: 0.001})(_Sink).remote() if eager else None

    def look(driver: Any) -> None:
        if driver.version >= 5 and not counts:
            counts.append(loopback())
            counts.append(heard)

    def hear(done: Any) -> None:
        nonlocal heard
        heard += 1
        if sink is not None:
            # The servers' node fetches it, whatever becomes of it.
            sink.take.remote(*done.gradient)

    result = run(
        ray,
        f"backup:c={ACCEPTED}",
        workers=workers,
        servers=servers,
        hidden=hidden,
        seconds=0.1,
        updates=UPDATES,
        more={"worker_needs": {WORKERS: 1}, "server_needs": {SERVERS: 1}},
        heard=hear,
        meanwhile=look,
    )
    accepted = sum(record.count for record in result.rounds[5:])
    return Moved(loopback() - counts[0], accepted, heard - counts[1] - accepted, len(result.parameters))


@final
class _Sink:
    """Takes gradients, and does nothing with them."""

    def take(self, *gradient: Any) -> None:
        """Have them here."""


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    rows, claims = [], []
    with nodes({SERVERS: 4}) as cluster:
        cluster.add(**{WORKERS: 2 * ACCEPTED})
        for name, (hidden, servers, ways) in CASES.items():
            for eager in ways:
                costs, dropped, size = [], 0, 0
                for _ in range(repeats):
                    plain = moved(cluster, hidden, servers, ACCEPTED, eager)
                    more = moved(cluster, hidden, servers, 2 * ACCEPTED, eager)
                    costs.append((more.bytes - plain.bytes) / (more.dropped - plain.dropped))
                    dropped, size = dropped + more.dropped - plain.dropped, 4 * more.parameters
                # Ray looks at each returned value, which is a piece.
                piece = size / servers
                how = "pushed as it comes" if eager else "fetched when accepted"
                rows.append(
                    [
                        f"{name}, {how}",
                        f"{size / 1e3:.0f}",
                        f"{piece / 1e3:.0f}",
                        str(dropped),
                        *(f"{each / 1e3:.1f}" for each in (mean(costs), min(costs), max(costs))),
                        f"{mean(costs) / size:.3f}",
                    ]
                )
                if not eager and piece > INLINED:
                    claims.append(
                        Claim(
                            f"a dropped gradient of {size / 1e6:.1f} MB in pieces of {piece / 1e6:.1f} "
                            f"moves no numbers, only words (≤ {SLACK} of it)",
                            f"{mean(costs) / 1e3:.1f} KB",
                            mean(costs) <= SLACK * size,
                        )
                    )
                if eager and piece > INLINED:
                    claims.append(
                        Claim(
                            "pushed as it comes it would move whole",
                            f"{mean(costs) / size:.2f} of it",
                            mean(costs) >= 0.9 * size,
                        )
                    )
    print_table(
        f"Traffic of a dropped gradient, between a node of workers and one of servers; {repeats} repeats",
        ("", "gradient, KB", "its pieces", "dropped", "KB each", "least", "most", "of its size"),
        rows,
    )
    return claims
