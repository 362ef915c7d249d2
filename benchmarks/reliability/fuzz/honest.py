"""The workers of the run that is attacked, in one process.

Links, logs, update servers and pullers are real; only the gradients are computed by a formula, without a
reduction. So the log of every worker is known in advance, to the last bit.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Event, Thread
from typing import Any, TypeVar

import torch
from torch import Tensor

from benchmarks.reliability.fuzz.controlled import PATIENCE_S, WORKERS
from tailcut.engines.live.data import START, Puller, Update, UpdateLog, UpdateServer, Wanted, link
from tailcut.engines.live.data.copies import frames_of
from tailcut.engines.live.data.trailer import LENGTH, trailer
from tailcut.engines.live.keys import Key
from tailcut.engines.live.messages import (
    Alike,
    Applied,
    Arrived,
    Bye,
    Close,
    Copy,
    Free,
    FromController,
    FromWorker,
    Hello,
    New,
)
from tailcut.engines.live.wire import encode
from tailcut.engines.live.worker.link import Link

NUMBERS, SAMPLES = 48, 8
KEPT = 64
"""Updates in a log."""
RECORDED = 40
"""Rounds whose messages are handed to the attacker."""
PACE_S = 0.002
ALIKE = Alike("2", "any", "SGD", "48 numbers", "none")
STATE: dict[str, Any] = {"numbers": torch.arange(2000.0), "version": 0}
Kind = TypeVar("Kind", bound=FromController)


@dataclass(frozen=True)
class Begun:
    """The state of the workers in mid-run: addresses of update servers, and the messages sent so far."""

    addresses: list[str]
    said: list[bytes]


@dataclass(frozen=True)
class Worked:
    """The final state of the workers: version and chains, and the late one's pulls, copies and mismatches."""

    version: int
    chains: list[bytes]
    pulled: int
    copied: int
    wrong: list[str]


def numbers_of(close: Any) -> Tensor:
    """Return the sum of the accepted workers' gradients, with the trailer."""
    numbers = torch.arange(NUMBERS, dtype=torch.float32) * (1 + close.version % 97)
    return torch.cat([numbers, torch.tensor(trailer(close, SAMPLES)) * float(len(close.accepted))])


def chain_of(version: int) -> bytes:
    """Return the chain of a log in which every update has all workers, and there is one epoch."""
    chain = START
    for each in range(version):
        chain = link(chain, 1, 1, each, tuple(range(WORKERS)))
    return chain


def work(secret: str, controller: str, pipe: Connection) -> None:
    """Run rounds in this process until the parent sends "end"; answer any other message with the version."""
    torch.set_num_threads(1)
    key = Key.of(secret)
    with ExitStack() as stack:
        logs = [UpdateLog(most_versions=KEPT) for _ in range(WORKERS)]
        servers = [stack.enter_context(UpdateServer(log, key=key)) for log in logs]
        links = [stack.enter_context(Link(controller, key)) for _ in logs]
        crew = Crew(links, logs, [server.address for server in servers])
        servers[0].offer(0, frames_of(STATE))
        late = Late(servers[0].address, logs[0], key)
        late.start()
        while True:
            crew.round()
            late.fold(crew.version)
            if crew.version == RECORDED:
                pipe.send(Begun(crew.addresses, list(crew.said)))
            if pipe.poll(0):
                if pipe.recv() == "end":
                    break
                pipe.send(crew.version)
            time.sleep(PACE_S)
        late.end()
        crew.leave()
        pipe.send(Worked(crew.version, [log.chain for log in logs], late.pulled, late.copied, late.wrong))


class Crew:
    """Workers, one after the other in one thread."""

    def __init__(self, links: list[Link], logs: list[UpdateLog], addresses: list[str]) -> None:
        self.version, self.addresses = 0, addresses
        self.said: deque[bytes] = deque(maxlen=4 * WORKERS * RECORDED)
        self._links, self._logs = links, logs
        for worker in range(WORKERS):
            what = (worker, WORKERS, "here", worker, 0, addresses[worker], 0, START, ALIKE)
            self._say(worker, Hello(1, 0, *what))
        for worker in range(WORKERS):
            new = self._hear(worker, New)
            assert (new.epoch, new.base) == (1, 0), new

    def round(self) -> None:
        """Let all workers arrive, be accepted and apply the update."""
        for worker in range(WORKERS):
            self._say(worker, Arrived(1, 1, worker, self.version, SAMPLES, 1.0, PACE_S, True))
        for worker, log in enumerate(self._logs):
            close = self._hear(worker, Close)
            assert (close.version, close.accepted) == (self.version, tuple(range(WORKERS))), close
            log.append(Update.made(close, numbers_of(close), log.chain))
            self._say(worker, Applied(1, 1, worker, log.version, log.chain))
        self.version += 1

    def leave(self) -> None:
        """Let all workers leave, and wait until they are released."""
        for worker in range(WORKERS):
            self._say(worker, Bye(1, 1, worker, self.version))
        for worker in range(WORKERS):
            self._hear(worker, Free)

    def _say(self, worker: int, message: FromWorker) -> None:
        self._links[worker].send(message)
        self.said.append(encode(message))

    def _hear(self, worker: int, kind: type[Kind]) -> Kind:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            message = self._links[worker].next(1.0)
            if message is not None:
                assert isinstance(message, kind), f"worker {worker} waited for {kind.__name__}: {message}"
                return message
        raise AssertionError(f"worker {worker} waited for {kind.__name__} in vain")


class Late(Thread):
    """A worker that pulls what the others make, again and again, and now and then copies a whole state."""

    def __init__(self, address: str, log: UpdateLog, key: Key) -> None:
        super().__init__(daemon=True)
        self.pulled = self.copied = 0
        self.wrong: list[str] = []
        self._address, self._log, self._key = address, log, key
        self._chains: deque[tuple[int, bytes]] = deque([(0, START)], maxlen=KEPT)
        self._over = Event()

    def fold(self, version: int) -> None:
        """The others have come to a version: what must be its chain is worked out here, apart from their logs."""
        before, chain = self._chains[-1]
        assert version == before + 1
        self._chains.append((version, link(chain, 1, 1, before, tuple(range(WORKERS)))))

    def end(self) -> None:
        """Stop."""
        self._over.set()
        self.join(PATIENCE_S)

    def run(self) -> None:
        """Pull updates and copy states until the worker is stopped or an error occurs."""
        with Puller(NUMBERS + LENGTH, torch.float32, self._key) as puller:
            for turn in range(1 << 40):
                if self._over.wait(0.05):
                    return
                try:
                    self._pull(puller)
                    if turn % 20 == 0:
                        self._copy(puller)
                except Exception as problem:
                    self.wrong.append(f"{type(problem).__name__}: {problem}")
                    return

    def _pull(self, puller: Puller) -> None:
        chains = list(self._chains)
        # The oldest may be gone from the log before its turn comes.
        (first, chain), (last, _) = chains[len(chains) // 2], chains[-1]
        for update in puller.pull(Wanted(range(first, last), chain, 1, 1), {0: self._address}, PATIENCE_S):
            if not torch.equal(update.flat, numbers_of(update)):
                self.wrong.append(f"update {update.version} holds other numbers")
            self.pulled += 1

    def _copy(self, puller: Puller) -> None:
        state = puller.copy(self._address, Copy(1, 1, 0), PATIENCE_S, self._over.is_set)
        if state is not None:
            if not torch.equal(state["numbers"], STATE["numbers"]):
                self.wrong.append("a state holds other numbers")
            self.copied += 1
