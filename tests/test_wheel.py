"""The built wheel with each extra: every command and public name works, or says in one sentence what is missing.

The environments are real, but their packages are links to those of this interpreter's environment: exactly the ones
that `pip install` would bring, according to what the distributions require. `python -m benchmarks.wheel` uses pip.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
import venv
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from benchmarks.wheel import attempt
from benchmarks.wheel.__main__ import ROOT, SETS, build_wheel
from benchmarks.wheel.judge import judge, judge_unknown, modules_of
from benchmarks.wheel.rows import ENVIRONMENT, FILES, ROWS
from packaging.requirements import Requirement

from tailcut.cli.entry import COMMANDS
from tailcut.extras import DISTRIBUTIONS, EXTRAS

LIMIT = 110.0


def project() -> dict[str, list[str]]:
    """Requirements of the package: those of each extra, and of none under the empty name."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": told["dependencies"], **told["optional-dependencies"]}


def closure(requirements: list[str]) -> dict[str, Distribution]:
    """All distributions that installing these requirements brings."""
    found: dict[str, Distribution] = {}
    coming = [(Requirement(text), "") for text in requirements]
    seen = set()
    while coming:
        requirement, extra = coming.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        key = (requirement.name, frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            one = distribution(requirement.name)
        except PackageNotFoundError:
            continue  # It is of another platform, say of CUDA.
        found[one.metadata["Name"]] = one
        coming += [
            (Requirement(text), wanted) for text in one.requires or [] for wanted in ("", *requirement.extras)
        ]
    return found


def link(distributions: list[Distribution], packages: Path) -> None:
    """Put links to the files of distributions into a folder of packages."""
    owners: dict[str, set[str]] = {}
    files = []
    for one in distributions:
        # Each look at the metadata reads and parses their file, and torch has 15,000 files.
        owner = one.metadata["Name"]
        for file in one.files or []:
            parts = file.parts
            if parts[0] not in ("..", "__pycache__"):
                owners.setdefault(parts[0], set()).add(owner)
                files.append((one, parts))
    # A folder that several distributions share, such as google, is not linked as a whole.
    links = {parts if len(owners[parts[0]]) > 1 else parts[:1]: one for one, parts in reversed(files)}
    for parts, one in links.items():
        target = packages.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(Path(str(one.locate_file(Path(*parts)))))


def documented() -> list[str]:
    """Import statements for all that pages and examples import of tailcut, or call by a dotted name in backticks."""
    files = [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "examples").rglob("*.py")),
    ]
    found = set()
    for text in (file.read_text() for file in files):
        for module, names in re.findall(r"^ *from (tailcut[\w.]*) import ([\w, ]+)", text, re.MULTILINE):
            found |= {f"from {module} import {name.split()[0]}" for name in names.split(",")}
        for module, name in re.findall(r"`(tailcut[\w.]*)\.(\w+)(?:\(.*?\))?`", text):
            path = ROOT / "src" / module.replace(".", "/") / name
            is_module = path.is_dir() or path.with_suffix(".py").exists()
            found.add(f"import {module}.{name}" if is_module else f"from {module} import {name}")
    return sorted(found)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel, which all environments share: so each module is compiled once."""
    folder = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(build_wheel(tmp_path_factory.mktemp("wheel"))).extractall(folder)
    return folder


@pytest.mark.parametrize("name", SETS)
def test_every_command_and_name_works_or_says_what_is_missing(
    name: str, unpacked: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    wanted = project()
    link(
        list(closure([*wanted[""], *(text for extra in SETS[name] for text in wanted[extra])]).values()),
        packages,
    )
    for each in unpacked.iterdir():
        (packages / each.name).symlink_to(each)
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    installed = modules_of(SETS[name])
    # Rows that take long where they work are tried in the live tests and by benchmarks.wheel.
    rows = [row for row in ROWS if not row.takes_long or set(row.needs) - installed]
    imports = documented()
    ended = subprocess.run(
        [tmp_path / "env" / "bin" / "python", "-W", "error", attempt.__file__],
        input=json.dumps([*([row.arguments, row.code] for row in rows), *([[], code] for code in imports)]),
        cwd=tmp_path,
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    outcomes = json.loads(ended.stdout)
    verdicts = {
        row.title: judge(row, installed, *outcome)
        for row, outcome in zip(rows, outcomes[: len(rows)], strict=True)
    }
    assert len(verdicts) > 35
    verdicts |= {
        code: judge_unknown(installed, number, err)
        for code, (number, _, err) in zip(imports, outcomes[len(rows) :], strict=True)
    }
    assert not {title: verdict.told for title, verdict in verdicts.items() if not verdict.is_right}


def test_every_command_is_tried() -> None:
    known = set(COMMANDS)
    assert known == {row.arguments[0] for row in ROWS if row.arguments} - {
        "--version",
        "--help",
        "--show-completion",
    }


def test_what_pages_import_is_found() -> None:
    found = documented()
    assert {"from tailcut import Optimizer", "from tailcut.fitting.bdsgd_file import read_bdsgd"} <= set(
        found
    )
    assert len(found) > 50


def test_the_table_of_extras_is_that_of_the_package() -> None:
    names = {
        extra: {re.split(r"[^\w-]", text)[0].lower() for text in texts} for extra, texts in project().items()
    }
    known = {
        extra: {DISTRIBUTIONS.get(module, module).lower() for module in modules}
        for extra, modules in EXTRAS.items()
    }
    assert known == {extra: some for extra, some in names.items() if extra not in ("", "dev")}
