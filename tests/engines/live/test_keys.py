"""The run's key: its source, the permission to read its file, and connections refused without it."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq

from tailcut.engines.live.keys import (
    FILE_NAME,
    NAME,
    Key,
    found_key,
    open_to_all,
    read_key,
    secured_client,
    secured_server,
    with_key,
    write_key,
)
from tailcut.errors import InputError
from waiting import limit

AT_MOST = round(limit(60_000))
"""Milliseconds that a test waits before it fails."""
SHORTLY = 150
"""Milliseconds in which nothing must happen; what would happen takes one or two."""


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def server(key: Key | None) -> Iterator[tuple[str, zmq.Socket[bytes]]]:
    """A listening socket, secured or not."""
    with zmq.Context() as context:
        router = context.socket(zmq.ROUTER)
        router.setsockopt(zmq.LINGER, 0)
        with secured_server(router, key):
            router.bind("tcp://127.0.0.1:*")
            yield router.getsockopt_string(zmq.LAST_ENDPOINT), router
            router.close()


@contextmanager
def client(address: str, key: Key | None) -> Iterator[zmq.Socket[bytes]]:
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.setsockopt(zmq.LINGER, 0)
        secured_client(dealer, key)
        dealer.connect(address)
        yield dealer


# -- keys ---------------------------------------------------------------------------------------------------------


def test_a_key_does_not_show_its_secret() -> None:
    key = Key.new()
    secret = key.secret.decode()
    assert len(secret) == len(key.public) == 40
    for shown in (repr(key), str(key), f"{key}", f"{key!r}", str([key]), str({"key": key})):
        assert secret not in shown


def test_keys_are_their_own() -> None:
    one, other = Key.new(), Key.new()
    assert one != other
    assert Key.of(one.secret.decode()) == one
    assert Key.of(f"  {one.secret.decode()}\n") == one


def test_the_environment_gives_a_key_or_none(tmp_path: Path) -> None:
    key, path = Key.new(), tmp_path / "run.key"
    write_key(path, key)
    assert found_key({}) is None
    assert found_key({NAME: key.secret.decode()}) == key
    assert found_key({FILE_NAME: str(path)}) == key
    with pytest.raises(InputError, match="Both TAILCUT_KEY and TAILCUT_KEY_FILE are set"):
        found_key({NAME: key.secret.decode(), FILE_NAME: str(path)})


def test_the_process_s_own_environment_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Key.new()
    monkeypatch.delenv(FILE_NAME, raising=False)
    monkeypatch.setenv(NAME, key.secret.decode())
    assert found_key() == key


@pytest.mark.parametrize("word", ["", "short", "x" * 39, "x" * 41, "ü" * 40, "~" * 40, "#####" * 8, " " * 40])
def test_what_is_no_key_is_refused_and_not_repeated(word: str) -> None:
    """The most important case is an empty variable: it must not leave a run open to everybody."""
    with pytest.raises(InputError, match="What TAILCUT_KEY holds is no key") as refused:
        found_key({NAME: word})
    assert not word.strip() or word not in str(refused.value)


@pytest.mark.parametrize("host", ["10.0.0.5", "0.0.0.0", "[::]", "[fd00::2]", "*", "node0"])
def test_a_port_that_others_reach_without_a_key_is_spoken_of(host: str) -> None:
    told = open_to_all(f"tcp://{host}:4242", None)
    assert told is not None
    assert f"tcp://{host}:4242" in told
    assert FILE_NAME in told
    assert open_to_all(f"tcp://{host}:4242", Key.new()) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "[::1]", "localhost"])
def test_one_that_only_this_machine_reaches_is_not(host: str) -> None:
    assert open_to_all(f"tcp://{host}:4242", None) is None


def test_processes_of_one_run_get_one_key() -> None:
    told = with_key({"HOME": "/x"})
    key = found_key(told)
    assert key is not None
    assert told == {"HOME": "/x", NAME: key.secret.decode()}
    assert with_key(told) == told
    assert found_key(with_key({})) != key


# -- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_key_file_is_its_owner_s_alone(tmp_path: Path, mask: int) -> None:
    key, path = Key.new(), tmp_path / "run.key"
    before = os.umask(mask)
    try:
        write_key(path, key)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key(path) == key


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "run.key"
    path.write_text("mine")
    with pytest.raises(InputError, match=r"run\.key is there already"):
        write_key(path, Key.new())
    assert path.read_text() == "mine"
    (tmp_path / "link.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"link\.key is there already"):
        write_key(tmp_path / "link.key", Key.new())
    with pytest.raises(InputError, match=r"cannot be written to .* \(No such file or directory\)"):
        write_key(tmp_path / "no" / "run.key", Key.new())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o601, 0o777])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "run.key"
    write_key(path, Key.new())
    path.chmod(mode)
    with pytest.raises(InputError, match=f"run.key has mode 0{mode:o}: others may have read it"):
        read_key(path)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_that_others_cannot_read_is_taken(tmp_path: Path, mode: int) -> None:
    key, path = Key.new(), tmp_path / "run.key"
    write_key(path, key)
    path.chmod(mode)
    (tmp_path / "link").symlink_to(path)
    assert read_key(path) == read_key(tmp_path / "link") == key


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.key"
    write_key(path, Key.new())
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(InputError, match=f"belongs to user {other - 1}, not to user {other}"):
        read_key(path)


def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    for name in ("pipe", "folder"):
        with pytest.raises(InputError, match=rf"{name} cannot be read \(it is a (named pipe|folder)"):
            read_key(tmp_path / name)
    with pytest.raises(InputError, match=r"none cannot be read \(No such file or directory\)"):
        read_key(tmp_path / "none")
    (tmp_path / "empty").touch(0o600)
    with pytest.raises(InputError, match="empty holds is no key"):
        read_key(tmp_path / "empty")


# -- connections --------------------------------------------------------------------------------------------------


def test_without_a_key_everything_is_as_it_was() -> None:
    with server(None) as (address, router), client(address, None) as dealer:
        dealer.send(b"hello")
        assert router.poll(AT_MOST)
        who, said = router.recv_multipart()
        assert said == b"hello"
        router.send_multipart([who, b"welcome"])
        assert dealer.poll(AT_MOST)


def test_who_holds_the_key_is_let_in() -> None:
    key = Key.new()
    with server(key) as (address, router), client(address, Key.of(key.secret.decode())) as dealer:
        dealer.send(b"hello")
        assert router.poll(AT_MOST)
        who, said = router.recv_multipart()
        router.send_multipart([who, b"welcome"])
        assert said == b"hello"
        assert dealer.poll(AT_MOST)
        assert dealer.recv() == b"welcome"


@pytest.mark.parametrize("who", ["no key", "another key", "the public key", "the public key as its own"])
def test_strangers_are_not(who: str) -> None:
    key, other = Key.new(), Key.new()
    # The server key that the client expects, and its own key pair.
    shown = {
        "no key": None,
        "another key": (other.public, other.public, other.secret),
        "the public key": (key.public, other.public, other.secret),
        "the public key as its own": (key.public, key.public, other.secret),
    }[who]
    with server(key) as (address, router), zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.setsockopt(zmq.LINGER, 0)
        names = (zmq.CURVE_SERVERKEY, zmq.CURVE_PUBLICKEY, zmq.CURVE_SECRETKEY)
        for name, value in zip(names, shown or (), strict=shown is not None):
            stranger.setsockopt(name, value)
        stranger.connect(address)
        stranger.send(b"hello")
        assert not router.poll(SHORTLY)
        assert not stranger.poll(0)
        # A holder of the key is still let in.
        with client(address, key) as holder:
            holder.send(b"me")
            assert router.poll(AT_MOST)
            assert router.recv_multipart()[1] == b"me"


def test_a_holder_does_not_talk_to_a_server_without_the_key() -> None:
    key = Key.new()
    for theirs in (None, Key.new()):
        with server(theirs) as (address, router), client(address, key) as dealer:
            dealer.send(b"hello")
            assert not router.poll(SHORTLY)


def test_nobody_is_let_in_while_there_is_no_authenticator() -> None:
    key = Key.new()
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        with secured_server(router, key):
            router.bind("tcp://127.0.0.1:*")
        address = router.getsockopt_string(zmq.LAST_ENDPOINT)
        with client(address, key) as dealer:
            dealer.send(b"hello")
            assert not router.poll(SHORTLY)


def test_nothing_is_left_behind() -> None:
    key = Key.new()

    def once() -> None:
        with server(key) as (address, router), client(address, key) as dealer:
            dealer.send(b"hello")
            assert router.poll(AT_MOST)

    once()
    threads, files = threading.active_count(), open_files()
    for _ in range(5):
        once()
    assert (threading.active_count(), open_files()) == (threads, files)
