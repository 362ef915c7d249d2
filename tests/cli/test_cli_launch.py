"""`tailcut launch`: what is its own, what is the script's, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import HEARING, Cli, Refused, has_members
from tailcut.cli import main
from waiting import limit, until

TELLS = "import os, sys; open('told', 'w').write(' '.join([os.environ['WORLD_SIZE'], *sys.argv[1:]]))"


def test_what_follows_the_script_is_the_scripts_own(cli: Cli, folder: Path) -> None:
    (folder / "job.py").write_text(TELLS)
    assert cli("launch", "-n", "1", "job.py", "-n", "3", "--watch", "--lr", "0.1").code == 0
    assert (folder / "told").read_text() == "1 -n 3 --watch --lr 0.1"


def test_a_script_that_is_not_there_and_nobody_to_run_it_are_refused(folder: Path, refused: Refused) -> None:
    assert "nowhere.py does not exist" in refused("launch", "nowhere.py")
    (folder / "job.py").write_text("")
    assert "-n must be at least 1 worker" in refused("launch", "-n", "0", "job.py")


PRINTS = "import os, sys; sys.stdout.write(f'of rank {os.environ[\"RANK\"]}\\n')"


def test_lines_of_several_workers_have_their_ranks_unless_that_is_switched_off(
    cli: Cli, folder: Path
) -> None:
    (folder / "job.py").write_text(PRINTS)
    ended = cli("launch", "-n", "2", "job.py")
    assert (ended.code, sorted(ended.out.splitlines())) == (0, ["[rank 0] of rank 0", "[rank 1] of rank 1"])


@pytest.mark.parametrize("options", [("-n", "1"), ("-n", "2", "--no-prefix")])
def test_workers_print_for_themselves_where_there_is_one_or_no_prefix_is_wanted(
    options: tuple[str, ...], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "job.py").write_text(PRINTS)
    with pytest.raises(SystemExit, match="0"):
        main(["launch", *options, "job.py"])
    assert sorted(capfd.readouterr().out.splitlines()) == [
        f"of rank {rank}" for rank in range(int(options[1]))
    ]


TRAINS = """
import sys, torch, tailcut
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
inner = torch.optim.Adam(net.parameters())
kept = {"checkpoints": "kept", "checkpoint_every": 5}
opt = tailcut.Optimizer(inner, net, "wait-all", total=int(sys.argv[1]), max_wait=100.0, **kept)
print("begins at version", opt.version, flush=True)
for x in opt.rounds([torch.ones(4, 3)] * 3):
    opt.zero_grad()
    net(x).square().mean().backward()
    opt.step()
print("ends at version", opt.version, flush=True)
"""


def test_ctrl_c_ends_all_workers_and_the_run_goes_on_from_its_newest_checkpoint(folder: Path) -> None:
    (folder / "job.py").write_text(TRAINS)
    command, kept = [*HEARING, "launch", "-n", "2", "job.py"], folder / "kept"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "10000000"], start_new_session=True, **pipes) as running:  # type: ignore[call-overload]
        try:
            until(lambda: len(list(kept.glob("v*.safetensors"))) >= 2, "checkpoints are kept")
            # A terminal interrupts all processes of the command.
            os.killpg(running.pid, signal.SIGINT)
            out, err = running.communicate(timeout=limit(60))
            until(lambda: not has_members(running.pid), "all processes of the command end")
        finally:
            if has_members(running.pid):
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 130
    # On a busy machine the disk can be too slow for so many checkpoints, of which worker 0 tells.
    said = [
        line for line in err.splitlines() if "is left out: 2 before it are still being written" not in line
    ]
    assert said == ["tailcut: Interrupted; nothing more was computed."]
    assert sorted(out.splitlines()) == [f"[rank {rank}] begins at version 0" for rank in range(2)]
    newest = max(int(file.stem.removeprefix("v")) for file in kept.glob("v*.safetensors"))
    done = subprocess.run([*command, str(newest + 7)], timeout=limit(100), check=True, **pipes)  # type: ignore[call-overload]
    told = [f"begins at version {newest}", f"ends at version {newest + 7}"]
    assert sorted(done.stdout.splitlines()) == [f"[rank {rank}] {each}" for rank in range(2) for each in told]
