"""Late workers pull over real sockets on loopback; other processes' in test_data_rounds."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import pytest
import torch
import zmq
from test_data_updates import history, made

from tailcut.engines.live.data.connection import SEES_PROGRESS
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.pulling import Puller, PullError, TooOldError, Wanted
from tailcut.engines.live.data.serving import UpdateServer
from tailcut.engines.live.data.updates import START, Update
from tailcut.engines.live.messages import NotYet, Pull
from tailcut.engines.live.wire import BETWEEN_WORKERS, encode
from tailcut.errors import InputError
from waiting import limit

LENGTH = len(made().flat)


def filled(updates: list[Update], most_versions: int = 1000) -> UpdateLog:
    log = UpdateLog(most_versions=most_versions)
    for each in updates:
        log.append(each)
    return log


def puller() -> Puller:
    return Puller(LENGTH, torch.float32)


def wanted(first: int, after: int, chain: bytes = START) -> Wanted:
    return Wanted(range(first, after), chain, term=1, epoch=1)


def free_address() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{one.getsockname()[1]}"


def open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@contextmanager
def liar(*answer: bytes) -> Iterator[str]:
    """A holder that gives one answer to everything."""
    context = zmq.Context(1)
    router = context.socket(zmq.ROUTER)
    router.bind("tcp://127.0.0.1:*")
    address = router.getsockopt_string(zmq.LAST_ENDPOINT)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            if router.poll(10):
                who, *_ = router.recv_multipart()
                router.send_multipart([who, *answer])

    thread = threading.Thread(target=serve)
    thread.start()
    yield address
    stop.set()
    thread.join()
    router.close(0)
    context.term()


def test_a_late_worker_gets_what_it_missed_in_order() -> None:
    updates = history(6)
    with UpdateServer(filled(updates)) as server, puller() as client:
        chain = updates[1].chain
        found = list(client.pull(wanted(2, 6, chain), {3: server.address}, timeout=limit(60.0)))
    assert [each.version for each in found] == [2, 3, 4, 5]
    for one, other in zip(found, updates[2:], strict=True):
        assert torch.equal(one.flat, other.flat)
        assert (one.chain, one.samples, one.scale) == (other.chain, other.samples, other.scale)


def test_nothing_wanted_is_nothing_asked() -> None:
    with puller() as client:
        assert list(client.pull(wanted(3, 3), {}, timeout=1.0)) == []


def test_an_update_that_comes_later_is_waited_for() -> None:
    first, second, third = history(3)
    log = filled([first])
    with UpdateServer(log, keep=20.0) as server, puller() as client:
        found = client.pull(wanted(0, 3), {0: server.address}, timeout=limit(60.0))
        assert next(found).version == 0
        later = threading.Timer(0.05, lambda: [log.append(each) for each in (second, third)])  # type: ignore[func-returns-value]
        later.start()
        assert [each.version for each in found] == [1, 2]
        later.join()


def test_a_request_for_what_comes_later_is_kept() -> None:
    """The answer to the second request, whose update is in the log, shows that the first is kept by now."""
    first, second = history(2)
    log = filled([first])
    with (
        UpdateServer(log, keep=20.0) as server,
        zmq.Context(1) as context,
        context.socket(zmq.DEALER) as dealer,
    ):
        dealer.connect(server.address)
        for version in (1, 0):
            dealer.send(encode(Pull(term=1, epoch=1, version=version)))
        assert dealer.poll(round(limit(60_000)))
        assert dealer.recv_multipart()[0] == first.head
        log.append(second)
        assert dealer.poll(round(limit(60_000)))
        assert dealer.recv_multipart()[0] == second.head


def test_who_waits_too_long_is_told() -> None:
    with UpdateServer(filled(history(2)), keep=0.02) as server, puller() as client:
        begun = monotonic()
        with pytest.raises(PullError, match=r"updates of version 2 cannot be had \(worker 4 has 0 to 1\)"):
            list(client.pull(wanted(2, 3), {4: server.address}, timeout=0.2))
        assert monotonic() - begun > 0.19


def test_the_server_says_what_it_has() -> None:
    with (
        UpdateServer(filled(history(9), most_versions=3), keep=0.0) as server,
        zmq.Context(1) as context,
        context.socket(zmq.DEALER) as dealer,
    ):
        dealer.connect(server.address)
        for version in (2, 9):
            dealer.send(encode(Pull(term=5, epoch=6, version=version)))
            assert dealer.poll(round(limit(60_000)))
            answer = BETWEEN_WORKERS.read(dealer.recv())
            assert answer == NotYet(term=5, epoch=6, version=version, oldest=6, newest=8)


def test_what_is_no_longer_kept_is_an_error_at_once() -> None:
    words = r"updates of versions 2 to 8 .*worker 1 has 6 to 8.*log_bytes"
    with UpdateServer(filled(history(9), most_versions=3)) as server, puller() as client:
        found = client.pull(wanted(2, 9), {1: server.address}, timeout=1e6)
        with pytest.raises(TooOldError, match=words):
            list(found)


def test_it_is_not_too_old_as_long_as_somebody_may_keep_it() -> None:
    """One has dropped it; the other does not answer for now."""
    with UpdateServer(filled(history(9), most_versions=3)) as server, puller() as client:
        with pytest.raises(PullError, match="worker 2 cannot be reached") as found:
            list(client.pull(wanted(2, 9), {1: server.address, 2: free_address()}, timeout=0.3))
        assert not isinstance(found.value, TooOldError)


def test_holders_are_asked_in_turn() -> None:
    """The first is not there, the second has too little, the third no longer what is needed, the fourth has it."""
    updates = history(5)
    short, cut = filled(updates[:1]), filled(updates, most_versions=1)
    with (
        UpdateServer(short, keep=0.01) as second,
        UpdateServer(cut) as third,
        UpdateServer(filled(updates)) as fourth,
        puller() as client,
    ):
        holders = {7: free_address(), 2: second.address, 5: third.address, 0: fourth.address}
        found = list(client.pull(wanted(1, 5, updates[0].chain), holders, timeout=limit(60.0)))
    assert [each.version for each in found] == [1, 2, 3, 4]


def test_who_is_not_there_is_named() -> None:
    with puller() as client, pytest.raises(PullError, match=r"worker 6 cannot be reached; worker 8 cannot"):
        list(client.pull(wanted(0, 1), {6: free_address(), 8: free_address()}, timeout=0.2))
    with puller() as client, pytest.raises(PullError, match="there is nobody to ask"):
        list(client.pull(wanted(0, 1), {}, timeout=0.2))


def test_damaged_bytes_are_refused_and_the_next_holder_asked() -> None:
    [update] = history(1)
    raw = bytearray(update.raw)
    raw[3] ^= 1
    with liar(update.head, bytes(raw)) as bad, puller() as client:
        with pytest.raises(PullError, match=r"worker 1 sent rubbish: The checksum"):
            list(client.pull(wanted(0, 1), {1: bad}, timeout=limit(60.0)))
        with UpdateServer(filled([update])) as good:
            [found] = client.pull(wanted(0, 1), {1: bad, 2: good.address}, timeout=limit(60.0))
    assert torch.equal(found.flat, update.flat)


@pytest.mark.parametrize(
    "answer", [(b"",), (b"\x01\x02",), (encode(Pull(1, 1, 0)),), (b"a", b"b"), (b"a", b"b", b"c")]
)
def test_rubbish_is_refused(answer: tuple[bytes, ...]) -> None:
    with liar(*answer) as bad, puller() as client, pytest.raises(PullError, match="sent rubbish"):
        list(client.pull(wanted(0, 1), {1: bad}, timeout=limit(60.0)))


def test_too_large_an_answer_is_not_even_received() -> None:
    with liar(b"a", bytes(1 << 20)) as bad, puller() as client, pytest.raises(PullError):
        list(client.pull(wanted(0, 1), {1: bad}, timeout=0.3))


def test_another_history_is_refused() -> None:
    elsewhere = made(0, accepted=(3, 4))
    other = filled([elsewhere, *history(2, start=1, before=elsewhere.chain)])
    ours = made(0)
    with UpdateServer(other) as server, puller() as client:
        found = client.pull(wanted(1, 3, ours.chain), {1: server.address}, timeout=limit(60.0))
        with pytest.raises(PullError, match="worker 1 has another history than this worker"):
            next(found)


def test_the_server_survives_rubbish() -> None:
    [update] = history(1)
    with UpdateServer(filled([update])) as server, zmq.Context(1) as context, puller() as client:
        with context.socket(zmq.DEALER) as dealer:
            dealer.connect(server.address)
            for frames in (
                [b""],
                [b"x" * 100],
                [b"a", b"b"],
                [encode(NotYet(1, 1, 0, 0, 0))],
                [bytes(1 << 16)],
            ):
                dealer.send_multipart(frames)
            dealer.close(100)
        assert len(list(client.pull(wanted(0, 1), {0: server.address}, timeout=limit(60.0)))) == 1


def test_many_late_workers_at_once() -> None:
    updates = history(20)
    log = filled(updates[:1])
    results: list[list[int]] = []

    def pull() -> None:
        with puller() as client:
            found = client.pull(wanted(0, 20), {0: server.address}, timeout=limit(60.0))
            results.append([each.version for each in found])

    with UpdateServer(log, keep=10.0) as server:
        threads = [threading.Thread(target=pull) for _ in range(8)]
        for each in threads:
            each.start()
        for update in updates[1:]:
            log.append(update)
        for each in threads:
            each.join(30.0)
    assert results == [list(range(20))] * 8


def test_an_address_of_another_machine_is_refused() -> None:
    before = set(threading.enumerate())
    with pytest.raises(InputError, match=r"offered at '203\.0\.113\.9'.*address of this machine"):
        UpdateServer(UpdateLog(), host="203.0.113.9")
    assert set(threading.enumerate()) == before


def test_nothing_is_left_behind() -> None:
    updates = history(2)

    def once() -> None:
        with UpdateServer(filled(updates)) as server, puller() as client:
            assert len(list(client.pull(wanted(0, 2), {0: server.address}, timeout=limit(60.0)))) == 2
            server.close()
            server.close()

    once()  # the library's own thread for messages without a copy stays
    threads, files = threading.active_count(), open_files()
    for _ in range(3):
        once()
    assert threading.active_count() == threads
    assert open_files() == files


def test_updates_that_come_before_their_turn_are_kept() -> None:
    """Asked for again they would cost a wait each."""
    first, second = history(2)
    with zmq.Context() as context, context.socket(zmq.ROUTER) as holder:
        holder.bind("tcp://127.0.0.1:*")

        def answers() -> None:
            who, _ = holder.recv_multipart()
            for update in (second, first):
                holder.send_multipart([who, update.head, bytes(update.raw)])

        thread = threading.Thread(target=answers)
        thread.start()
        with puller() as client:
            found = client.pull(
                wanted(0, 2), {0: holder.getsockopt_string(zmq.LAST_ENDPOINT)}, timeout=limit(60.0)
            )
            assert [each.version for each in found] == [0, 1]
        thread.join()
        # It was asked for ahead, and not again.
        assert not holder.poll(0) or len(holder.recv_multipart()) == 2
        assert not holder.poll(0)
        holder.close(0)


# Asking several holders.


@contextmanager
def frozen(count: list[int] | None = None) -> Iterator[str]:
    """A holder that takes requests and answers none; it counts them."""
    with zmq.Context(1) as context, context.socket(zmq.ROUTER) as router:
        router.bind("tcp://127.0.0.1:*")
        yield router.getsockopt_string(zmq.LAST_ENDPOINT)
        while count is not None and router.poll(50):
            router.recv_multipart()
            count.append(1)
        router.close(0)


@contextmanager
def narrow(address: str, chunk: int, pause: float) -> Iterator[str]:
    """A way to a holder over which its answers come in small pieces."""
    host, port = address.removeprefix("tcp://").split(":")
    stop, threads, lines = threading.Event(), [], list[socket.socket]()

    def carry(source: socket.socket, target: socket.socket, size: int, wait: float) -> None:
        with suppress(OSError):
            while data := source.recv(size):
                target.sendall(data)
                stop.wait(wait)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((host, int(port)))
                lines.extend((near, far))
                for way in ((near, far, 1 << 16, 0.0), (far, near, chunk, pause)):
                    threads.append(threading.Thread(target=carry, args=way))
                    threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stop.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for each in lines:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
            for thread in threads:
                thread.join()


def test_in_the_ordinary_case_only_one_holder_is_asked() -> None:
    updates, count = history(6), list[int]()
    with (
        UpdateServer(filled(updates)) as server,
        frozen(count) as other,
        Puller(LENGTH, torch.float32, quiet=limit(60.0)) as client,
    ):
        found = client.pull(wanted(0, 6), {0: server.address, 1: other}, timeout=limit(60.0))
        assert [each.version for each in found] == list(range(6))
    assert count == []


def test_a_holder_that_stands_still_does_not_keep_the_others_from_being_asked() -> None:
    with UpdateServer(filled(history(2))) as server, frozen() as still, puller() as client:
        found = client.pull(wanted(0, 2), {0: still, 1: server.address}, timeout=limit(60.0))
        assert [each.version for each in found] == [0, 1]


def test_a_holder_that_has_ended_is_passed_over_without_waiting() -> None:
    """The puller skips the ended holder long before the timeout for silent holders, 1e6 seconds."""
    updates = history(3)
    with Puller(LENGTH, torch.float32, quiet=1e6) as client, UpdateServer(filled(updates)) as second:
        with UpdateServer(filled(updates)) as first:
            holders = {0: first.address, 1: second.address, 2: free_address()}
            assert len(list(client.pull(wanted(0, 1), holders, timeout=limit(60.0)))) == 1
        chain = updates[0].chain
        found = list(client.pull(wanted(1, 3, chain), holders, timeout=limit(60.0)))
        assert [each.version for each in found] == [1, 2]
        gone = {2: holders[2], 0: holders[0], 1: second.address}
        assert len(list(client.pull(wanted(0, 1), gone, timeout=limit(60.0)))) == 1


def test_a_holder_that_ends_after_it_was_asked_is_passed_over_without_waiting() -> None:
    [update] = history(1)
    first = UpdateServer(UpdateLog(), keep=1e6)
    with UpdateServer(filled([update])) as second, Puller(LENGTH, torch.float32, quiet=1e6) as client:
        ending = threading.Timer(0.1, lambda: first.close(0.0))
        ending.start()
        holders = {0: first.address, 1: second.address}
        assert len(list(client.pull(wanted(0, 1), holders, timeout=limit(60.0)))) == 1
        ending.join()


def test_who_is_called_away_does_not_wait_for_holders_that_say_nothing() -> None:
    with frozen() as still, Puller(LENGTH, torch.float32, quiet=1e6) as client:
        looks = iter([False, False, True])
        found = client.pull(wanted(0, 1), {0: still}, timeout=1e6, enough=lambda: next(looks))
        assert list(found) == []


@pytest.mark.skipif(not SEES_PROGRESS, reason="needs a system that tells how much of a message has come")
def test_an_answer_that_makes_progress_is_waited_for_and_not_asked_for_twice() -> None:
    """The answer takes many times the timeout for silent holders, and the worker is called away meanwhile."""
    update, count = made(numbers=200_000), list[int]()
    begun = list[int]()
    with (
        UpdateServer(filled([update])) as server,
        narrow(server.address, 20_000, 0.05) as slow,
        frozen(count) as other,
        Puller(len(update.flat), torch.float32, quiet=limit(0.4)) as client,
    ):
        holders = {0: slow, 1: other}
        found = client.pull(wanted(0, 1), holders, timeout=limit(60.0), enough=lambda: bool(begun))
        timer = threading.Timer(0.3, begun.append, (1,))
        timer.start()
        assert [each.version for each in found] == [0]
        timer.join()
    assert count == []
