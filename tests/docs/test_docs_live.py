"""The pages on live training tell of all there is, and show scripts and commands as they are."""

from __future__ import annotations

import difflib
import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from docs_commands import options, torchrun_options
from docs_markdown import PAGES, ROOT, Block, blocks, prose, table_after

import tailcut
from tailcut import events, names
from tailcut.engines.live.controller.checks import check_parameters
from tailcut.engines.live.worker import store
from tailcut.engines.records import files
from tailcut.engines.records.scalars import scalars_of
from tailcut.errors import ParameterError
from tailcut.learning.rates import RATES
from tailcut.policy_names import POLICIES
from tailcut.round import Rounds
from waiting import limit

README, LIVE = ROOT / "README.md", ROOT / "docs" / "live.md"
CHANGED = "seven changed lines"
SHELL = [block for page in PAGES for block in blocks(page) if block.language in ("bash", "yaml")]


# The step from plain DDP.


def examples() -> tuple[list[str], list[str]]:
    """The lines of the script before and after."""
    folder = ROOT / "examples" / "live"
    before, after = (
        (folder / f"{name}.py").read_text().splitlines() for name in ("plain_ddp", "with_tailcut")
    )
    return before, after


def test_the_readme_shows_all_that_changes_but_the_docstring() -> None:
    before, after = examples()
    changes = [
        line
        for line in difflib.unified_diff(before[1:], after[1:], n=0, lineterm="")
        if line[0] in "+-" and not line.startswith(("+++", "---"))
    ]
    [shown] = [block.text.splitlines() for block in blocks(README) if block.language == "diff"]
    assert [line for line in shown if line[0] in "+-"] == changes
    for line in shown:
        assert line[0] in "+-" or (line[1:] in before and line[1:] in after), line


def test_the_readme_says_how_many_lines_that_is() -> None:
    before, after = examples()
    blocks_of_lines = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    assert sum(max(b - a, d - c) for kind, a, b, c, d in blocks_of_lines if kind != "equal") == 7
    assert CHANGED in prose(README)


# What docs/live.md explains.


def test_live_explains_every_option_of_train() -> None:
    rows = "\n".join(table_after(LIVE, "## Built-in tasks with stragglers"))
    for option in options("train") - {"--help"}:
        assert f"`{option}`" in rows, f"docs/live.md does not explain {option}"


def test_live_explains_the_optimiser_its_outcome_and_its_record() -> None:
    parameters = inspect.signature(tailcut.Optimizer).parameters
    fields = [*inspect.signature(tailcut.Outcome).parameters, "replayed"]
    kept = (files.RUN, files.ROUNDS, files.NOW, files.STRAGGLERS)
    for heading, those in (
        ("## Parameters", parameters),
        ("## What a step tells", fields),
        ("## Record, watch", kept),
    ):
        rows = "\n".join(table_after(LIVE, heading))
        for name in those:
            assert f"`{name}`" in rows, f"docs/live.md does not explain {name}"


def test_live_says_what_the_defaults_are() -> None:
    rows = table_after(LIVE, "## Parameters")
    for name, parameter in inspect.signature(tailcut.Optimizer).parameters.items():
        row = next(row for row in rows if f"`{name}`" in row.split("|")[1])
        default = parameter.default
        wanted = "" if default is inspect.Parameter.empty else "none" if default is None else default
        said = row.split("|")[2].strip().strip("`")
        assert said == (f"{wanted:g}" if isinstance(wanted, float) else str(wanted)), row


@pytest.mark.parametrize("name", POLICIES)
def test_live_says_which_policies_can_be_run_and_which_cannot(name: str) -> None:
    paragraph = prose(LIVE).partition("Policies that take one fresh gradient")[2].partition("\n\n")[0]
    can, cannot = paragraph.split("Those that accept")
    entrant = names.entrant("deadline:seconds=1" if name == "deadline" else name)
    try:
        check_parameters(Rounds(entrant.policy, entrant.acceptance), 2, None, 1, RATES["linear"])
    except ParameterError:
        assert f"`{name}`" in cannot
    else:
        assert f"`{name}`" in can


def test_live_names_every_curve_of_tensorboard() -> None:
    rounds = Rounds(names.entrant("wait-all").policy)
    told = [events.Joined(0.0, 0, 0), events.Applied(0.0, 0), events.Arrived(1.0, 0, 0, 1.0, 1.0, True)]
    [close] = [c for event in told for c in rounds.handle(event) if isinstance(c, events.CloseRound)]
    for name in scalars_of(close.record):
        assert f"`{name}`" in prose(LIVE), f"docs/live.md does not explain {name}"


# Commands for machines that tests have not got.


def torchruns(block: Block) -> list[str]:
    """Each call of torchrun in a shell script or manifest, on one line."""
    text = re.sub(r"\\\n|\n +(?=--)", " ", block.text)
    return re.findall(r"\btorchrun .*", text)


def test_calls_of_torchrun_have_options_that_it_has() -> None:
    known, found = torchrun_options(), [line for block in SHELL for line in torchruns(block)]
    assert len(found) >= 4
    for line in found:
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line):
            assert option in known, line


LAUNCHING = ROOT / "docs" / "launching.md"


def test_every_death_and_restart_has_its_row() -> None:
    rows = "\n".join(table_after(LAUNCHING, "## What a death costs"))
    for way in ("`tailcut launch`", "torchrun", "Slurm", "Kubernetes"):
        assert f"| {way}" in rows


def test_jobs_on_several_machines_have_a_key_and_single_pods_are_started_again() -> None:
    yaml = pytest.importorskip("yaml")
    for block in blocks(LAUNCHING):
        if block.file is not None and block.file.endswith(".sbatch"):
            assert "export TAILCUT_KEY_FILE=" in block.text, block.place
    [manifest] = [block for block in blocks(LAUNCHING) if block.language == "yaml"]
    service, job = yaml.safe_load_all(manifest.text)
    template = job["spec"]["template"]["spec"]
    [container] = template["containers"]
    told = {each["name"]: each.get("value") for each in container["env"]}
    assert {*store.NAMES} <= {*told, "RANK"}
    assert "TAILCUT_KEY" in told
    assert int(told["WORLD_SIZE"]) == job["spec"]["completions"] == job["spec"]["parallelism"]
    assert told["MASTER_ADDR"] == f"{job['metadata']['name']}-0.{service['metadata']['name']}"
    assert template["subdomain"] == service["metadata"]["name"]
    assert (template["restartPolicy"], job["spec"]["backoffLimit"] > 0) == ("OnFailure", True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    "block", [block for block in SHELL if block.language == "bash"], ids=lambda b: b.place
)
def test_shell_scripts_can_be_read_by_a_shell(block: Block, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text(block.text, encoding="utf-8")
    read = subprocess.run(
        ["bash", "-n", str(script)], capture_output=True, text=True, timeout=limit(60), check=False
    )
    assert (read.returncode, read.stderr) == (0, ""), block.place
