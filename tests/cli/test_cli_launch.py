"""`tailcut launch`: what is its own, what is the script's, and what is refused."""

from __future__ import annotations

from pathlib import Path

from conftest import Cli, Refused

TELLS = "import os, sys; open('told', 'w').write(' '.join([os.environ['WORLD_SIZE'], *sys.argv[1:]]))"


def test_what_follows_the_script_is_the_scripts_own(cli: Cli, folder: Path) -> None:
    (folder / "job.py").write_text(TELLS)
    assert cli("launch", "-n", "1", "job.py", "-n", "3", "--watch", "--lr", "0.1").code == 0
    assert (folder / "told").read_text() == "1 -n 3 --watch --lr 0.1"


def test_a_script_that_is_not_there_and_nobody_to_run_it_are_refused(folder: Path, refused: Refused) -> None:
    assert "nowhere.py does not exist" in refused("launch", "nowhere.py")
    (folder / "job.py").write_text("")
    assert "-n must be at least 1 worker" in refused("launch", "-n", "0", "job.py")
