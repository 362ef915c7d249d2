"""`tailcut train`: real processes, few of them and briefly; what cannot be is refused before any is started."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import HEARING, Cli, Refused
from waiting import limit


def test_the_same_task_by_ddp_and_by_policies(cli: Cli, folder: Path) -> None:
    ended = cli(
        *("train", "--workers", "2", "--task", "digits", "--policy", "ddp,backup:c=1,bayes+until-closed"),
        *("--slow", "demo8", "--unit", "0.002", "--batch", "32", "--optimiser", "momentum", "--lr", "0.2"),
        *("--target", "0.6", "--updates", "60", "--every", "3", "--micro", "4"),
        *("--json", "--report", "page.html", "--journal", "runs"),
    )
    assert ended.code == 0, ended.err
    ddp, backup, bayes = json.loads(ended.out)
    assert [ddp["arm"], backup["arm"], bayes["arm"]] == ["ddp", "backup:c=1", "bayes+until-closed"]
    for arm in (ddp, backup, bayes):
        # All workers stop at the look that finds the target reached.
        last = arm["looks"][-1]
        assert last["accuracy"] >= 0.6
        assert all(look["accuracy"] < 0.6 for look in arm["looks"][:-1])
        assert last["version"] == arm["updates"] <= 60
        assert arm["seconds_to_target"] == last["seconds"] == arm["made"][-1]
        assert len(arm["counts"]) == arm["updates"]
        assert 0.0 <= arm["idle_share"] < 1.0
    assert ddp["counts"] == [2] * ddp["updates"]
    assert backup["counts"] == [1] * backup["updates"]
    assert ddp["accepted_share"] == 1.0
    assert json.loads(Path("runs/train.json").read_text()) == [ddp, backup, bayes]
    page = Path("page.html").read_text()
    assert page.count("<svg") == 4
    assert "each 10 % likely to be 9 times slow" in page


def test_a_table_of_run_times_slows_down_too(cli: Cli, folder: Path) -> None:
    rows = [f"{r},{w},{w + 1}" for r in range(3) for w in range(2)]
    Path("times.csv").write_text("round,worker,seconds\n" + "\n".join(rows) + "\n")
    ended = cli(
        *("train", "--workers", "2", "--task", "quadratic", "--policy", "wait-all", "--updates", "3"),
        *("--slow", "times.csv", "--unit", "0.05", "--slow-by", "gil"),
    )
    assert ended.code == 0, ended.err
    assert "Workers are held up as times.csv says" in ended.out
    seconds = float(re.findall(r"3\s+(\d\.\d+)\s*$", ended.out, flags=re.M)[0])
    # Three rounds of the slower worker's 2 · 0.05 s each.
    assert seconds >= 0.3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--workers", "0"], "--workers must be at least 1, but got 0"),
        (["--task", "digit"], "Unknown task 'digit'. Did you mean 'digits'?"),
        (["--policy", "baies"], "Unknown policy 'baies'. Did you mean 'bayes'?"),
        (["--policy", "dpp"], "ddp"),
        (["--policy", "softsync"], "accepts gradients of older parameters"),
        (["--policy", "ddp", "--until-closed"], "ddp waits for everybody"),
        (["--slow", "demo9"], "Did you mean 'demo8'?"),
        (["--slow", "demo8:n=4"], "has run times of 4 workers, but 8"),
        (["--slow", "demo8", "--unit", "0"], "--unit must be more than 0 seconds"),
        (["--slow", "demo8", "--slow-by", "nap"], "Unknown way to be slow 'nap'"),
        (["--lr", "0"], "--lr must be positive"),
        (["--rate", "cubic"], "--rate must be one of fixed, linear, sqrt, gain"),
        (["--policy", "wait-all,bayes:objective=gain"], "goes with its own learning-rate rule"),
        (["--policy", "wait-all,bayes:fair=2:how=stale"], "takes no gradients of older parameters"),
        (["--policy", "wait-all,batch-sync"], "Live training is synchronous: one gradient of each worker"),
        (["--optimiser", "sdg"], "Unknown optimiser 'sdg'. Did you mean 'sgd'?"),
        (
            ["--batch", "99999999"],
            "--batch must be at most the 1,437 samples that the task has to train with",
        ),
        (["--task", "quadratic", "--batch", "99999999"], "--batch must be at most the 1,000,000 samples"),
        (["--updates", "0"], "--updates must be at least 1"),
        (["--target", "nan"], "--target must be a number"),
        (["--report", "nowhere/page.html"], "does not exist"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(refused: Refused, arguments: list[str], says: str) -> None:
    assert says in refused("train", *arguments)


def test_a_folder_that_a_later_arm_cannot_have_is_found_out_before_the_first(
    folder: Path, refused: Refused
) -> None:
    (folder / "kept" / "backup").mkdir(parents=True)
    (folder / "kept" / "backup" / "run.json").write_text("{}")
    assert "holds a run already" in refused("train", "--policy", "wait-all,backup", "--journal", "kept")


def test_ctrl_c_ends_all_processes_with_one_sentence() -> None:
    command = [*HEARING, "train", "--workers", "2", "--task", "quadratic", "--policy", "wait-all"]
    command += ["--slow", "demo8", "--unit", "0.02", "--updates", "100000", "--every", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        try:
            assert running.stderr is not None
            before = [running.stderr.readline() for _ in range(2)]
            os.killpg(running.pid, signal.SIGINT)
            _, after = running.communicate(timeout=limit(60))
        finally:
            left = end_session(running.pid)
    assert "updates:" in before[1]
    assert running.returncode == 130
    said = [line for line in after.splitlines() if "updates:" not in line]
    assert said == ["tailcut: Interrupted; nothing more was computed."]
    assert not left


def end_session(session: int) -> list[str]:
    """End whatever still runs in a session; what that was."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,stat=,cmd=", "-s", str(session)], capture_output=True, text=True, check=False
    )
    left = [line for line in listed.stdout.splitlines() if not line.split()[1].startswith("Z")]
    for line in left:
        os.kill(int(line.split()[0]), signal.SIGKILL)
    return left
