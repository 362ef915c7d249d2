"""Errors of a driver that cannot reach its cluster are one sentence."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tailcut.engines.servers.cluster import cluster, load_ray
from tailcut.engines.servers.failures import sentence_of
from tailcut.engines.servers.reaching import check_reachable
from tailcut.errors import InputError, MissingExtraError, ParameterError


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r'pip install "tailcut\[ray\]"'), cluster(None, 2):
        pass


NO_ADDRESSES = ["", "somewhere", "host:", "host:port", ":6379", "host:0", "host:70000"]
NO_ADDRESSES += ["host:²", "host:٣", "host:" + "9" * 5000, "[]:6379", "[::1:6379", "::1]:6379"]
HTTP1 = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
SETTINGS = bytes([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100])
"""First bytes of an HTTP/2 server: a SETTINGS frame with one setting of six bytes."""


@contextmanager
def listener(answer: bytes, is_there: bool = True, host: str = "127.0.0.1") -> Iterator[int]:
    """Answers one caller so, whatever it says, and hangs up, or stays there and says nothing more; its port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        callers: list[socket.socket] = []

        def serve() -> None:
            caller, _ = server.accept()
            caller.sendall(answer)
            callers.append(caller)
            if not is_there:
                caller.close()

        thread = Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            thread.join(10)
            for caller in callers:
                caller.close()


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ParameterError, match="must be host:port"), cluster(address, 2):
        pass


def test_where_nobody_answers_it_says_so_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        answer = f"No cluster answers at 127.0.0.1:{port}"
        with pytest.raises(InputError, match=answer), cluster(f"127.0.0.1:{port}", 2):
            pass


@pytest.mark.parametrize("host", ["..", "a" * 64])
def test_a_host_that_can_have_no_name_is_told(host: str) -> None:
    with pytest.raises(InputError, match="No cluster answers at"):
        check_reachable(f"{host}:6379")


@pytest.mark.parametrize(
    ("answer", "is_there"),
    [(b"", True), (b"", False), (HTTP1, True), (b"SSH-2.0-x\r\n", True), (SETTINGS[:5], True)],
)
def test_who_is_there_and_is_no_head_is_told_within_the_time(answer: bytes, is_there: bool) -> None:
    with (
        listener(answer, is_there) as port,
        pytest.raises(InputError, match=f"Something answers at 127.0.0.1:{port}, but it is no Ray head"),
    ):
        check_reachable(f"127.0.0.1:{port}", within=0.2)


def test_who_speaks_as_a_head_does_may_be_one() -> None:
    with listener(SETTINGS) as port:
        check_reachable(f"127.0.0.1:{port}")


def test_behind_encryption_nobody_can_be_told_from_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USE_TLS", "1")
    with listener(b"") as port:
        check_reachable(f"127.0.0.1:{port}", within=0.2)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_an_address_may_stand_in_brackets() -> None:
    with listener(SETTINGS, host="::1") as port:
        check_reachable(f"[::1]:{port}")


def test_who_has_no_token_is_not_told_that_it_was_refused() -> None:
    # Do not import Ray here: its first import decides about tokens.
    error = load_ray().exceptions.AuthenticationError
    none = sentence_of(error("Token authentication is enabled but no authentication token was found"))
    assert none is not None
    assert none.startswith("This process has no token")
    wrong = sentence_of(error("Token authentication is enabled but the authentication token is invalid."))
    assert wrong is not None
    assert wrong.startswith("The cluster did not accept this process's token")
