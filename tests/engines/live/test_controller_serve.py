"""The controller's socket: real connections over the loopback, workers as threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
import zmq
from hub_scripts import ALIKE, applied, arrived, bye, hello

from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.controller.intake import Came, Intake
from tailcut.engines.live.controller.listening import listening
from tailcut.engines.live.controller.serve import Served, Server, serve
from tailcut.engines.live.messages import Close, Free, FromController, FromWorker, Go, New, Over, Refused
from tailcut.engines.live.wire import FROM_CONTROLLER, encode
from tailcut.errors import InputError
from tailcut.forecast import NoForecast
from tailcut.policy import Policy
from tailcut.round import Rounds
from tailcut.rules import Backup, Deadline, WaitAll
from tailcut.types import RoundRecord
from waiting import limit

LOOPBACK = "tcp://127.0.0.1:0"
AT_MOST = round(limit(60_000))
"""Milliseconds that a test waits for an answer before it fails."""


class Line:
    """A worker's connection."""

    def __init__(self, address: str, linger: int = 0, at_once: bool = False) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, linger)
        # Whether nothing is said before it is connected: what is said over another line afterwards comes later then.
        self._socket.setsockopt(zmq.IMMEDIATE, int(at_once))
        self._socket.connect(address)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._context.term()

    def say(self, message: FromWorker) -> None:
        self.send(encode(message))

    def send(self, *parts: bytes) -> None:
        self._socket.send_multipart(parts)

    def hear(self) -> FromController:
        assert self._socket.poll(AT_MOST), "no answer came"
        return FROM_CONTROLLER.read(self._socket.recv())

    def hears(self, kind: type[Any]) -> Any:
        message = self.hear()
        assert isinstance(message, kind), message
        return message


@dataclass
class Running:
    """A controller in a thread."""

    address: str = ""
    stopped: threading.Event = field(default_factory=threading.Event)
    said: list[str] = field(default_factory=list)
    served: Served | None = None
    thread: threading.Thread | None = None

    def end(self) -> Served:
        assert self.thread is not None
        self.thread.join(AT_MOST / 1000)
        assert self.served is not None, "the controller has not ended"
        return self.served


@contextmanager
def running(it: Hub, **more: Any) -> Iterator[Running]:
    ready: queue.Queue[str] = queue.Queue()
    run = Running()

    def serves() -> None:
        how = {"say": run.said.append} | more
        run.served = serve(it, LOOPBACK, ready.put, run.stopped.is_set, **how)

    run.thread = threading.Thread(target=serves)
    run.thread.start()
    try:
        run.address = ready.get(timeout=AT_MOST / 1000)
        yield run
    finally:
        run.stopped.set()
        run.thread.join(AT_MOST / 1000)


def waiting(rule: Any = None, workers: int = 3, **more: Any) -> Hub:
    """Return a hub that has received no message."""
    return Hub(Rounds(Policy(NoForecast(), rule or WaitAll()), late_finish=True), workers, **more)


def works(address: str, worker: int, workers: int) -> list[int]:
    """A worker's whole life; the rounds its gradients were used in."""
    used: list[int] = []
    with Line(address) as line:
        line.say(hello(worker, workers))
        version = line.hears(New).base
        line.say(arrived(worker, version))
        while not isinstance(message := line.hear(), Over):
            if isinstance(message, Close) and worker in message.accepted:
                assert message.version == version, "all reduce gradients of one version"
                used.append(version)
                version += 1
                line.say(applied(worker, version))
            elif isinstance(message, Go):
                assert message.version > version
                version = message.version
            else:
                continue
            line.say(arrived(worker, version))
        line.say(bye(worker, message.version))
        line.hears(Free)
        return used


@pytest.mark.parametrize("rule", [WaitAll(), Backup(c=2), Backup(c=1)], ids=["all", "two", "one"])
def test_a_run_from_hello_to_over(rule: Any) -> None:
    records: list[RoundRecord] = []
    with running(waiting(rule, total=20, records=records.append)) as run, ThreadPoolExecutor(3) as pool:
        lives = [pool.submit(works, run.address, worker, 3) for worker in range(3)]
        used = [life.result(timeout=AT_MOST / 1000) for life in lives]
        assert run.end() == Served(version=20, why=None, malformed=0, ignored=0)
    assert [record.version for record in records] == list(range(20))
    for worker in range(3):
        assert used[worker] == [record.version for record in records if record.accepted[worker]]
    assert run.said == []


def test_a_round_closes_at_its_wake_up_though_nothing_comes() -> None:
    rule = Deadline(seconds=0.02)
    with running(waiting(rule, workers=2)) as run, Line(run.address) as line, Line(run.address) as silent:
        silent.say(hello(1, 2))
        line.say(hello(0, 2))
        line.hears(New)
        line.say(arrived(0))
        assert line.hears(Close).accepted == (0,)
        silent.hears(New)
        assert silent.hears(Close).accepted == (0,)


def test_what_came_while_it_was_thinking_is_in_time_for_the_wake_up() -> None:
    clock = [0.0]
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        # In one process what is sent is there at once.
        router.bind("inproc://controller")
        lines = [context.socket(zmq.DEALER) for _ in range(3)]
        server = Server(waiting(Deadline(seconds=1.0)), router, 60.0, print, lambda: clock[0])
        for worker, line in enumerate(lines):
            line.connect("inproc://controller")
            line.send(encode(hello(worker)))
        server.turn()
        assert all(isinstance(FROM_CONTROLLER.read(line.recv(zmq.NOBLOCK)), New) for line in lines)
        clock[0] = 1.5
        for worker in (2, 0):
            lines[worker].send(encode(arrived(worker)))
        server.turn()
        heard = [FROM_CONTROLLER.read(line.recv(zmq.NOBLOCK)) for line in lines]
        server.close()
        for line in lines:
            line.close(0)
    assert [message.accepted for message in heard if isinstance(message, Close)] == [(0, 2)] * 3


def test_whose_connection_breaks_is_spoken_of_and_the_others_go_on() -> None:
    with running(waiting(workers=2)) as run, Line(run.address) as one:
        one.say(hello(0, 2))
        with Line(run.address) as two:
            two.say(hello(1, 2))
            two.hears(New)
        assert one.hears(New).members == (0, 1)
        assert one.hears(New).members == (0,)
        one.say(arrived(0, epoch=2))
        assert one.hears(Close).accepted == (0,)
        one.say(bye(0, epoch=2))
        one.hears(Free)
        run.end()
    (said,) = run.said
    assert said.startswith("The process has ended of worker 1 (process 101 on here), computing at version 0")


def test_who_says_bye_and_is_gone_at_once_has_left_in_order() -> None:
    with running(waiting(workers=2)) as run, Line(run.address) as one:
        one.say(hello(0, 2))
        with Line(run.address, linger=AT_MOST) as two:
            two.say(hello(1, 2))
            two.hears(New)
            two.say(bye(1))
        one.hears(New)
        one.say(arrived(0))
        assert one.hears(Close).accepted == (0,)
        one.say(bye(0))
        one.hears(Free)
        run.end()
    assert run.said == []


def test_who_says_bye_and_is_gone_between_two_looks_has_left_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads = Intake.messages
    said: list[str] = []
    context = zmq.Context()
    line = context.socket(zmq.DEALER)
    line.setsockopt(zmq.LINGER, AT_MOST)
    with listening(LOOPBACK) as router:
        line.connect(router.getsockopt_string(zmq.LAST_ENDPOINT))
        it = waiting(workers=1)
        server = Server(it, router, 60.0, said.append, lambda: 0.0)
        line.send(encode(hello(0, 1)))
        while not it.has_begun:
            server.turn()

        def reads_and_then(intake: Intake, is_traced: Any) -> Iterator[Came]:
            yield from reads(intake, is_traced)
            # All is read, and only now it speaks, and is gone.
            if not line.closed:
                line.send(encode(bye(0)))
                line.close()
                assert server._lines.events.poll(AT_MOST), "the end of the connection is not noticed"

        monkeypatch.setattr(Intake, "messages", reads_and_then)
        while not it.over:
            server.turn()
        server.close()
    context.term()
    assert said == []
    assert not it.deserted


def test_a_run_of_no_updates_is_over_as_it_begins() -> None:
    with running(waiting(workers=2, total=0)) as run, Line(run.address) as one, Line(run.address) as two:
        for worker, line in enumerate((one, two)):
            line.say(hello(worker, 2))
        for worker, line in enumerate((one, two)):
            line.hears(New)
            line.hears(Over)
            line.say(bye(worker))
        one.hears(Free)
        assert run.end().version == 0


def test_what_is_no_message_is_counted_and_does_no_harm() -> None:
    with running(waiting(workers=1)) as run, Line(run.address) as line:
        for parts in ([b""], [b"\x01garbage"], [b"\x09" + encode(bye(0))[1:]], [b"a", b"b"], [b"x"] * 5):
            line.send(*parts)
        line.send(encode(Over(1, 1, 0)))
        line.say(hello(0, 1))
        line.hears(New)
        line.say(bye(0))
        line.hears(Free)
        assert run.end() == Served(version=0, why=None, malformed=6, ignored=0)


def test_nobody_speaks_for_another() -> None:
    with running(waiting(workers=2)) as run, Line(run.address) as one, Line(run.address) as two:
        two.say(arrived(0))
        assert two.hears(Refused).why.startswith(
            "A message of worker 0 came over a connection that has not said Hello."
        )
        one.say(hello(0, 2))
        two.say(hello(1, 2))
        one.hears(New)
        two.hears(New)
        two.say(bye(0))
        assert two.hears(Refused).why.startswith(
            "A message of worker 0 came over the connection of worker 1."
        )
        # Worker 0 is still there and waited for.
        two.say(arrived(1))
        one.say(arrived(0))
        assert one.hears(Close).accepted == two.hears(Close).accepted == (0, 1)


def test_a_second_process_in_one_place_is_refused_and_the_first_keeps_its_answers() -> None:
    with running(waiting(workers=2)) as run, Line(run.address) as one, Line(run.address) as thief:
        one.say(hello(0, 2))
        with Line(run.address) as two:
            two.say(hello(1, 2))
            two.hears(New)
            thief.say(hello(0, 2, process=7))
            assert thief.hears(Refused).why.startswith("Place 0 is taken by process 100 on here")
            thief.say(arrived(0))
            thief.hears(Refused)
            one.hears(New)


def test_a_worker_that_connects_anew_gets_the_answers_there() -> None:
    with running(waiting(workers=2)) as run, Line(run.address) as one, Line(run.address) as two:
        with Line(run.address) as broken:
            broken.say(hello(0, 2))
            broken.say(arrived(5))
            broken.hears(Refused)
        # The controller notices the end only after a while; until then the place is taken.
        while True:
            one.say(hello(0, 2))
            one.say(arrived(5))
            if not one.hears(Refused).why.startswith("Place 0 is taken"):
                break
            one.hears(Refused)
        two.say(hello(1, 2))
        one.hears(New)
        one.say(arrived(0))
        two.say(arrived(1))
        assert one.hears(Close).accepted == (0, 1)


def test_what_was_said_to_an_earlier_controller_is_not_answered() -> None:
    with running(waiting(workers=1, term=2)) as run, Line(run.address) as line:
        line.say(arrived(0))
        line.say(hello(0, 1))
        assert line.hears(New).term == 2


def test_workers_that_differ_are_all_told_and_the_run_is_over() -> None:
    other = msgspec.structs.replace(ALIKE, torch="1.0")
    with running(waiting(workers=2)) as run, Line(run.address) as one, Line(run.address) as two:
        one.say(hello(0, 2))
        two.say(hello(1, 2, alike=other))
        why = one.hears(Refused).why
        assert why == two.hears(Refused).why == run.end().why
        assert "the torch version: '2.13.0' at worker 0, '1.0' at worker 1" in why


def test_a_controller_that_is_stopped_says_so() -> None:
    with running(waiting(workers=1)) as run, Line(run.address) as line:
        line.say(hello(0, 1))
        line.hears(New)
        run.stopped.set()
        assert line.hears(Refused).why.startswith("The process that had started the controller")
        assert run.end().why is not None


def test_silence_is_spoken_of_once_and_ends_a_run_in_which_somebody_waits() -> None:
    clock = [0.0]
    with running(waiting(workers=2), max_wait=60.0, clock=lambda: clock[0]) as run:
        with Line(run.address) as one, Line(run.address) as two:
            one.say(hello(0, 2))
            two.say(hello(1, 2))
            one.hears(New)
            two.hears(New)
            one.say(arrived(0))
            one.say(arrived(9))
            one.hears(Refused)  # so the arrival before it was heard at 0
            clock[0] = 59.0
            two.say(arrived(9))
            two.hears(Refused)
            assert run.said == []
            clock[0] = 61.0
            why = one.hears(Refused).why
            assert two.hears(Refused).why == why == run.end().why
            assert why.startswith("Nothing was heard for 61 s while worker 0 waited in step().")
        assert run.said == [
            "Not heard of for 61 s: worker 1 (process 101 on here), computing at version 0; "
            "it has not called step() yet."
        ]


def test_a_run_that_never_begins_ends_after_max_wait() -> None:
    clock = [0.0]
    with running(waiting(workers=2), max_wait=60.0, clock=lambda: clock[0]) as run, Line(run.address) as one:
        one.say(hello(0, 2))
        one.say(arrived(1))
        one.hears(Refused)
        clock[0] = 61.0
        assert "No Hello for 61 s: worker 1." in one.hears(Refused).why
        run.end()


def test_a_port_in_use_is_refused_with_a_sentence() -> None:
    def never(_: str) -> None:
        raise AssertionError("it does not listen")

    with running(waiting()) as run, pytest.raises(InputError, match=r"127\.0\.0\.1:\d+: the port is in use"):
        serve(waiting(), run.address, never)


@pytest.mark.parametrize(
    "address",
    ["nonsense", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:-1", "tcp://192.0.2.1:0"],
)
def test_an_address_that_cannot_be_listened_on_is_refused_with_a_sentence(address: str) -> None:
    with pytest.raises(InputError, match=r"The controller cannot listen on .* Give it as tcp://host:port"):
        serve(waiting(), address, print)
