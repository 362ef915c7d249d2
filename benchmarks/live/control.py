"""Measure the time that the controller adds to a round: clients on loopback, without nets.

Up to eight clients arrive a millisecond apart, as workers do, and the measure is how long the last one waits.
More clients arrive all at once, so the measure is the controller's whole work of a round. All get the same
Close, and this process decodes it once, because workers on machines of their own would decode it in parallel.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import time
from multiprocessing.queues import Queue

import numpy as np
import zmq

from benchmarks.claims import Claim, print_table
from tailcut import names
from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.serve import serve
from tailcut.engines.live.messages import Alike, Applied, Arrived, Bye, Close, Hello
from tailcut.engines.live.wire import FROM_CONTROLLER, encode
from tailcut.round import Rounds

LIMITS_MS = {8: 1.0, 158: 10.0, 2175: 150.0}
POLICIES = ("wait-all", "bayes")
FEW = 8
RUN_TIME_S, LONG_RUN_TIME_S, MANY = 0.05, 0.2, 1000
"""Run times in seconds, of fewer workers than `MANY` and of more; the controller forecasts meanwhile."""
ALIKE = Alike("", "", "", "", "")


def main(repeats: int) -> list[Claim]:
    """Run and judge."""
    del repeats
    rows, claims = [], []
    for workers, limit in LIMITS_MS.items():
        for policy in POLICIES:
            found = 1e3 * np.array(rounds(workers, policy, 200 if workers < 1000 else 40))
            half, most = np.percentile(found, [50, 90])
            rows.append([str(workers), policy, f"{half:.2f}", f"{most:.2f}", f"{limit:g}"])
            claims.append(
                Claim(
                    f"control traffic of a round ≤ {limit:g} ms, {workers} workers, {policy}",
                    f"{half:.2f}",
                    half <= limit,
                )
            )
    print_table(
        "From the last arrival until the last client has its Close, ms",
        ("workers", "policy", "median", "90 %", "limit"),
        rows,
    )
    return claims


def rounds(workers: int, policy: str, total: int) -> list[float]:
    """Return the seconds of each round without the first tenth of the rounds."""
    context = mp.get_context("spawn")
    found: Queue[str] = context.Queue()
    # The command line sets this too.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    controller = context.Process(target=control, args=(workers, policy, total, found), daemon=True)
    controller.start()
    with zmq.Context() as clients:
        clients.set(zmq.MAX_SOCKETS, workers + 8)
        sockets = [connected(clients, found_address) for found_address in [found.get()] * workers]
        seconds = [once(sockets, version) for version in range(total)] if greeted(sockets) else []
        for worker, socket in enumerate(sockets):
            socket.send(encode(Bye(1, 1, worker, total)))
        for socket in sockets:
            socket.close(linger=2000)
    controller.join()
    return seconds[total // 10 :]


def control(workers: int, policy: str, total: int, found: Queue[str]) -> None:
    """Run the controller in this process."""
    hub = Hub(Rounds(names.entrant(policy).policy, late_finish=True), workers, total=total)
    serve(hub, "tcp://127.0.0.1:0", found.put)


def connected(clients: zmq.Context[zmq.Socket[bytes]], address: str) -> zmq.Socket[bytes]:
    """Return the socket of one connected client."""
    socket = clients.socket(zmq.DEALER)
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.connect(address)
    return socket


def greeted(sockets: list[zmq.Socket[bytes]]) -> bool:
    """Send Hello for all workers, and return whether all were answered."""
    for worker, socket in enumerate(sockets):
        socket.send(encode(Hello(1, 0, worker, len(sockets), "", 0, 0, "", 0, bytes(16), ALIKE)))
    return all(socket.recv() for socket in sockets)


def once(sockets: list[zmq.Socket[bytes]], version: int) -> float:
    """Play one round and return its seconds; the controller thinks while workers compute."""
    run_time = RUN_TIME_S if len(sockets) < MANY else LONG_RUN_TIME_S
    arrivals = [
        encode(Arrived(1, 1, worker, version, 32, 1.0, run_time, True)) for worker in range(len(sockets))
    ]
    applied = [encode(Applied(1, 1, worker, version + 1, bytes(16))) for worker in range(len(sockets))]
    time.sleep(run_time)
    for socket, frame in zip(sockets[:-1], arrivals, strict=False):
        socket.send(frame)
        if len(sockets) <= FEW:
            time.sleep(0.001)
    sent = time.perf_counter()
    sockets[-1].send(arrivals[-1])
    heard = b""
    for socket in sockets:
        heard = _until_closed(socket, version, heard)
    seconds = time.perf_counter() - sent
    for socket, frame in zip(sockets, applied, strict=True):
        socket.send(frame)
    return seconds


def _until_closed(socket: zmq.Socket[bytes], version: int, heard: bytes) -> bytes:
    """Return the frame of the Close; `heard` is the previous client's frame, which is not decoded again.

    Other messages come too, where a policy closes without some workers.
    """
    while True:
        frame = socket.recv()
        if frame == heard:
            return frame
        message = FROM_CONTROLLER.read(frame)
        if isinstance(message, Close) and message.version == version:
            return frame
