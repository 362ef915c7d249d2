"""A worker that has left serves others as long as another controller may come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailcut.engines.live.hosting import FOLDER
from tailcut.engines.live.messages import Free
from tailcut.engines.live.worker.inbox import LOOK_UP, WITHOUT, WITHOUT_AT_HOME, Inbox

ADDRESS = "tcp://127.0.0.1:4711"


class Broken:
    """A connection whose controller has ended; time passes only in calls of `next`."""

    address, is_connected, is_turned_away = ADDRESS, False, False

    def __init__(self, free_at: float) -> None:
        self.now, self._free_at = 0.0, free_at

    def next(self, seconds: float) -> Free | None:
        self.now += seconds
        return Free(2, 1) if self.now >= self._free_at else None

    def take_renewal(self) -> bool:
        return False


def served(free_at: float = 1000.0) -> tuple[float, bool]:
    """Return the seconds for which a worker that has left keeps serving, and whether it was released."""
    line: Any = Broken(free_at)
    is_free = Inbox(line, 300.0, lambda: line.now).until_free(300.0)
    return line.now, is_free


def test_without_a_launcher_nobody_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    assert served() == (LOOK_UP + WITHOUT, False)


def test_under_a_launcher_another_one_may_take_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert served() == (LOOK_UP + WITHOUT_AT_HOME, False)
    assert served(free_at=30.0) == (30.0, True)


def test_once_the_run_is_over_the_launcher_starts_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    (tmp_path / "over-4711").touch()
    assert served() == (LOOK_UP + WITHOUT, False)
