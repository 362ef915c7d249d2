"""Measure the traffic of dropped gradients: fetched when accepted, as the engine does, or pushed.

Workers are on one node and servers on another, each a process of this machine with an object store of its
own. All traffic crosses the loopback device, whose byte counter is read: objects, values that Ray sends
inline, and all its other messages. The cost of a dropped gradient is the difference of two runs that accept
the same number of gradients, of which one drops as many again. A gradient has one piece per shard, and Ray
decides for each piece by its size.
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
"""Largest value, in bytes, that Ray sends inline in its message."""
CASES = {
    "small": (250, 1, (False, True)),
    "large": (13_000, 1, (False, True)),
    "middling, 4 shards": (1000, 4, (False,)),
    "large, 4 shards": (13_000, 4, (False,)),
}
"""Hidden units (19 thousand, 75 thousand and one million parameters); shards; values of `eager` to try."""
SLACK = 0.02
"""Largest traffic of a dropped gradient, as a share of its bytes, where its pieces are large."""


@final
@dataclass(frozen=True, slots=True)
class Moved:
    """The traffic of one run.

    Attributes:
        bytes: bytes over the loopback device, from the fifth update to the last.
        accepted, dropped: gradients in that time.
        parameters: number of parameters of the net.
    """

    bytes: int
    accepted: int
    dropped: int
    parameters: int


def loopback() -> int:
    """Return the bytes that were sent over the loopback device so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    return 0


def moved(cluster: Nodes, hidden: int, servers: int, workers: int, eager: bool) -> Moved:
    """Train and count; gradients that are not accepted are finished and dropped."""
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
            # The servers' node fetches the gradient even if it is dropped later.
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
    """An actor that receives gradients and discards them."""

    def take(self, *gradient: Any) -> None:
        """Receive a gradient."""


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
