"""Connections of strangers to every port of a real run, more than its processes may have file descriptors."""

from __future__ import annotations

import pytest
from benchmarks.reliability.descriptors import is_clean, run

pytestmark = pytest.mark.processes


def test_a_run_outlives_more_connections_than_it_has_descriptors() -> None:
    """A Gloo group keeps one for each, and aborts its process when there is none left."""
    ended = run(workers=2, connections=300, descriptors=150)
    assert ended.code == 0, ended.said
    assert sorted(each.who for each in ended.knocked) == ["controller", "launcher", "worker", "worker"]
    assert all(is_clean(each) and not each.failed for each in ended.knocked), ended.knocked


def test_where_gloo_listens_a_worker_warns_before_it_has_none_left() -> None:

    def warnings(said: str) -> list[str]:
        return [line for line in said.splitlines() if "of 150 file descriptors in use" in line]

    ended = run(2, 80, 150, shares_memory=False, awaits=lambda said: len(warnings(said)) == 2)
    assert ended.code == 0, ended.said
    for worker, line in enumerate(sorted(warnings(ended.said))):
        assert f"Worker {worker} has " in line
        assert "let a firewall admit only the machines of the run. Raise the limit (ulimit -n)." in line
