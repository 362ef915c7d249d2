"""What keeps a driver from its cluster is a sentence."""

from __future__ import annotations

import socket
import sys

import pytest

from tailcut.engines.servers.cluster import cluster
from tailcut.errors import InputError, MissingExtraError, ParameterError


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tailcut\[ray\]'"), cluster(None, 2):
        pass


@pytest.mark.parametrize("address", ["", "somewhere", "host:", "host:port", ":6379", "host:0", "host:70000"])
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
