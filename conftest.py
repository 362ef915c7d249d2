"""Tests that share what is made once for a module run in one process: otherwise two would make it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

SHARED = ("module", "session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Put them into groups, which `--dist loadgroup` keeps together."""
    for item in items:
        if isinstance(item, pytest.Function) and _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))


def _shares(item: pytest.Function) -> bool:
    found = item._fixtureinfo.name2fixturedefs
    ours = (
        each for each in found.values() if each[-1].func.__module__.startswith(("tests", "test_", "conftest"))
    )
    return any(each[-1].scope in SHARED for each in ours)
