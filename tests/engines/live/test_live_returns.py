"""Real processes: one that is started again but cannot take part does no harm to the others."""

from __future__ import annotations

from pathlib import Path

from live_processes import SCRIPTS

from tailcut.engines.live.launch import launch


def run(script: str, workers: int, out: Path) -> tuple[int, str]:
    """Exit code, and all that was said."""
    lines: list[str] = []
    return launch([str(SCRIPTS / script), str(out)], workers, restarts=1, tell=lines.append), "\n".join(lines)


def test_one_that_comes_after_the_run_ends_nobody_and_the_run_has_not_failed(tmp_path: Path) -> None:
    code, said = run("too_late.py", 3, tmp_path)
    assert (code, sorted(path.name for path in tmp_path.glob("*.saved"))) == (0, ["0.saved", "2.saved"]), said
    assert (tmp_path / "refused").read_text() == "Worker 1 comes too late: the run is over."


def test_one_that_cannot_write_checkpoints_takes_part_all_the_same(tmp_path: Path) -> None:
    code, said = run("unwritable.py", 2, tmp_path)
    assert (code, sorted(path.name for path in tmp_path.glob("*.saved"))) == (0, ["0.saved", "1.saved"]), said
    assert int((tmp_path / "back").read_text()) > 0
    assert f"Checkpoints cannot be written to {tmp_path / 'kept'} (File exists)." in said
