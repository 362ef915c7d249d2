"""One Ray cluster on this machine, for all tests that need a real one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tailcut.engines.servers.cluster import cluster


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with cluster(None, processors=64, store=200_000_000) as package:
        yield package
