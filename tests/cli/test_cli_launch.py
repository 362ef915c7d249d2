"""`tailcut launch`: what is its own, what is the script's, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli, Refused
from tailcut.cli import main

TELLS = "import os, sys; open('told', 'w').write(' '.join([os.environ['WORLD_SIZE'], *sys.argv[1:]]))"


def test_what_follows_the_script_is_the_scripts_own(cli: Cli, folder: Path) -> None:
    (folder / "job.py").write_text(TELLS)
    assert cli("launch", "-n", "1", "job.py", "-n", "3", "--watch", "--lr", "0.1").code == 0
    assert (folder / "told").read_text() == "1 -n 3 --watch --lr 0.1"


def test_a_script_that_is_not_there_and_nobody_to_run_it_are_refused(folder: Path, refused: Refused) -> None:
    assert "nowhere.py does not exist" in refused("launch", "nowhere.py")
    (folder / "job.py").write_text("")
    assert "-n must be at least 1 worker" in refused("launch", "-n", "0", "job.py")


PRINTS = "import os; print('of rank', os.environ['RANK'])"


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
