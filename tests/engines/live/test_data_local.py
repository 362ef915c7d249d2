"""Groups of one machine over Unix sockets: members in threads of this process, and what can go wrong with them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import torch
from torch._C._distributed_c10d import HashStore

from tailcut.engines.live.data import ReduceError, local, mesh, reduce
from tailcut.engines.live.data.local import LocalGroup, locality
from tailcut.engines.live.data.memory import Memory
from tailcut.engines.live.data.shared import Shared
from waiting import limit, until

LONG = limit(60.0)
"""Seconds that no test waits for, unless it fails."""


@contextmanager
def members(size: int) -> Iterator[tuple[HashStore, list[LocalGroup]]]:
    store = HashStore()
    with ExitStack() as stack:
        made = [LocalGroup(store, place, size, LONG, lazy=True) for place in range(size)]
        for each in made:
            stack.callback(each.close)
        yield store, made


def at_once(*acts: Callable[[], str]) -> list[str]:
    """Run each in a thread; what it returns, or the words of its error."""
    with ThreadPoolExecutor(len(acts)) as pool:
        futures: list[Future[str]] = [pool.submit(act) for act in acts]
        return [str(each.exception()) if each.exception() else each.result() for each in futures]


def summed(group: LocalGroup, place: int, accepted: tuple[int, ...], length: int, tag: int = 7) -> str:
    """The sum, as a worker gets it; one whose reduction fails leaves the group."""
    out = torch.empty(length)
    try:
        reduce(group, place, accepted, torch.full((length,), 10.0**place), out, tag)
    except ReduceError:
        group.close()
        raise
    assert bool((out == out[0]).all())
    return f"{out[0]:g}"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def word(number: int = 0) -> torch.Tensor:
    return torch.tensor([number, 2 * number])


@pytest.mark.parametrize("length", [3, 1001, 700_000])
def test_a_ring_goes_over_it(length: int) -> None:
    """Messages that are longer than what the system keeps of them, in both directions at once."""
    with members(3) as (_, groups):
        turns = [lambda p=p: summed(groups[p], p, (2, 0, 1), length) for p in range(3)]  # type: ignore[misc]
        assert at_once(*turns) == ["111"] * 3
        pair = [lambda p=p: summed(groups[p], p, (1, 2), length) for p in (1, 2)]  # type: ignore[misc]
        assert at_once(*pair) == ["110"] * 2


def test_words_about_shared_memory_go_over_it() -> None:
    memories = [Memory.made(9, torch.float32) for _ in range(3)]
    shared = [Shared(memory) for memory in memories]

    def added(group: LocalGroup, place: int) -> str:
        memory, out = memories[place], torch.empty(9)
        assert memory is not None
        memory.source.fill_(10.0**place)
        memory.holds = 1
        reduce(group, place, (0, 1, 2), memory.source, out, 7, shared=shared[place])
        return f"{out.unique().tolist()}"

    with members(3) as (_, groups):
        assert at_once(*[lambda p=p: added(groups[p], p) for p in range(3)]) == ["[111.0]"] * 3  # type: ignore[misc]
    assert [each.reductions for each in shared] == [1, 1, 1]


def test_all_wait_for_all_to_come_unless_they_are_lazy() -> None:
    store = HashStore()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(mesh, store, 0, 2, LONG, is_local=True)
        until(lambda: store.check(["0"]), "the first is there")
        assert not first.done()
        second = mesh(store, 1, 2, LONG, is_local=True)
        other = first.result(LONG)
    assert isinstance(second, LocalGroup)
    assert isinstance(other, LocalGroup)
    other.send([word(3)], 1, 5).wait()
    received = word()
    second.recv([received], 0, 5).wait()
    assert received.tolist() == [3, 6]
    other.close()
    second.close()


def test_who_does_not_come_is_not_waited_for_any_longer() -> None:
    with pytest.raises(RuntimeError):
        mesh(HashStore(), 0, 2, 0.05, is_local=True)


def test_messages_keep_their_order_and_what_is_not_meant_is_refused() -> None:
    with members(2) as (_, (one, other)):
        for number in range(3):
            one.send([word(number)], 1, number)
        found = [word() for _ in range(3)]
        for work in [other.recv([each], 0, number) for number, each in enumerate(found)]:
            work.wait()
        assert [each.tolist() for each in found] == [[0, 0], [1, 2], [2, 4]]
        one.send([word(1)], 1, 8)
        with pytest.raises(
            RuntimeError, match="the worker at place 0 sent something of another round or length"
        ):
            other.recv([word()], 0, 9).wait()
        with pytest.raises(RuntimeError, match="another round"):
            other.recv([word()], 0, 8).wait()


@pytest.mark.parametrize("is_connected", [True, False])
def test_who_leaves_ends_the_reduction_at_once(is_connected: bool) -> None:
    """Also if nobody was connected to it yet. The limit on silence is a long one."""
    with members(3) as (_, groups):
        if is_connected:
            everybody = [lambda p=p: summed(groups[p], p, (0, 1, 2), 5) for p in range(3)]  # type: ignore[misc]
            assert at_once(*everybody) == ["111"] * 3

        def leave() -> str:
            groups[2].close()
            return "left"

        turns = [lambda p=p: summed(groups[p], p, (0, 1, 2), 5, 8) for p in range(2)]  # type: ignore[misc]
        *words, left = at_once(*turns, leave)
        assert left == "left"
        assert all("round 8 among workers at places [0, 1, 2] did not end" in each for each in words)


def test_who_leaves_a_reduction_tells_the_others() -> None:
    """The third waits for the second, which waits for the first, which waits for the fourth, which has left."""
    with members(4) as (_, groups):
        groups[3].close()
        words = at_once(*[lambda p=p: summed(groups[p], p, (0, 1, 2, 3), 5) for p in range(3)])  # type: ignore[misc]
        assert all("did not end" in each for each in words)


def test_what_was_sent_before_leaving_is_received() -> None:
    with members(2) as (_, (one, other)):
        one.send([word(4)], 1, 1).wait()
        one.close()
        received = word()
        other.recv([received], 0, 1).wait()
        assert received.tolist() == [4, 8]
        with pytest.raises(RuntimeError, match="the worker at place 0 has died, or has left this epoch"):
            other.recv([word()], 0, 2).wait()


def test_who_is_silent_is_given_up() -> None:
    with (
        members(2) as (_, (one, _)),
        pytest.raises(ReduceError, match="no word came from another worker in"),
    ):
        reduce(one, 0, (0, 1), torch.ones(3), torch.empty(3), 1, timeout=0.05)


def test_who_stood_still_itself_looks_first_at_what_has_come() -> None:
    with members(2) as (_, (one, other)):
        one.send([word(4)], 1, 1)
        received = word()
        other.complete(other.recv([received], 0, 1), timeout=0.0)
        assert received.tolist() == [4, 8]


def test_strangers_find_no_port_and_leave_nothing_behind() -> None:
    with members(2) as (store, (one, other)), ExitStack() as stack:
        name, before = "\0" + store.get("1").decode(), descriptors()
        strangers = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(200)]
        for number, stranger in enumerate(strangers):
            stranger.connect(name)
            stranger.sendall(
                [b"", b"GET / HTTP/1.1\r\n\r\n", b"tailcut\0\x05\0\0\0", b"tailcut\0\x01\0\0\0"][number % 4]
            )
        turns = [lambda p=p: summed((one, other)[p], p, (0, 1), 5) for p in range(2)]  # type: ignore[misc]
        assert at_once(*turns) == ["11"] * 2
        for stranger in strangers:
            stranger.settimeout(LONG)
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
        # Two connections, each with two ends here, in place of two listeners.
        assert descriptors() == before + len(strangers) + 2
        with socket.socket(socket.AF_UNIX) as stranger, pytest.raises(ConnectionRefusedError):
            stranger.connect(name)


def users(monkeypatch: pytest.MonkeyPatch, accepted: int = 0, connected: int = 0) -> None:
    """Let the other ends of connections belong to a user with another number. Only an accepted one has a name here."""
    here = os.geteuid()
    monkeypatch.setattr(local, "_user", lambda one: here + (accepted if one.getsockname() else connected))


def test_nobody_of_another_user_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    users(monkeypatch, accepted=1)
    with members(2) as (store, (one, _)), socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect("\0" + store.get("0").decode())
        stranger.sendall(b"tailcut\0\x01\0\0\0")
        with pytest.raises(RuntimeError, match="no word came"):
            one.complete(one.recv([word()], 1, 1), timeout=0.05)
        stranger.settimeout(LONG)
        with suppress(ConnectionResetError):
            assert stranger.recv(1) == b""


def test_nothing_is_sent_to_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    users(monkeypatch, connected=1)
    with members(2) as (_, (one, _)), pytest.raises(RuntimeError, match="the worker at place 1 has died"):
        one.send([word()], 1, 1).wait()


def test_a_full_queue_of_strangers_holds_nobody_up_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "BACKLOG", 2)
    with members(2) as (store, (one, other)), ExitStack() as stack:
        for _ in range(3):
            stranger = stack.enter_context(
                socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            )
            stranger.connect("\0" + store.get("1").decode())
        sent = one.send([word(4)], 1, 1)
        assert not sent.is_done
        received = word()

        def wait() -> str:
            other.recv([received], 0, 1).wait()
            return "received"

        def go_on() -> str:
            sent.wait()
            return "sent"

        assert at_once(wait, go_on) == ["received", "sent"]
        assert received.tolist() == [4, 8]


def test_workers_are_local_to_each_other_by_namespaces_and_address() -> None:
    here = locality("127.0.0.1")
    assert here == locality("127.0.0.1") != locality("10.0.0.1")
    assert str(Path("/proc/self/ns/net").readlink()) in here
    assert f"user:{os.geteuid()}" in here


FORKS = """
import os, signal, sys, time, torch
from torch._C._distributed_c10d import FileStore
from tailcut.engines.live.data.local import LocalGroup

def member(place):
    return LocalGroup(FileStore(sys.argv[1], 2), place, 2, 1000.0, lazy=True)

told, tells = os.pipe()
other = os.fork()
if other == 0:
    group = member(1)
    group.send([torch.ones(1)], 0, 1).wait()
    loader = os.fork()
    if loader == 0:
        time.sleep(1000)
    os.write(tells, str(loader).encode())
    time.sleep(1000)
group, word = member(0), torch.zeros(1)
group.recv([word], 1, 1).wait()
loader = int(os.read(told, 100))
os.kill(other, signal.SIGKILL)
try:
    group.recv([word], 1, 2).wait()
except RuntimeError as problem:
    print(problem)
os.kill(loader, signal.SIGKILL)
"""


def test_a_killed_member_is_noticed_although_its_data_loaders_live(tmp_path: Path) -> None:
    """The member's data loaders are forks of it, with copies of its connections."""
    command = [sys.executable, "-c", FORKS, str(tmp_path / "store")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=limit(100), check=True).stdout
    assert said == "the worker at place 1 has died, or has left this epoch\n"
