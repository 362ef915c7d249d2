"""Names on pages exist in the code, and names in the code are on the page that should document them."""

from __future__ import annotations

import configparser
import importlib
import inspect
import pkgutil
import re
import typing
from pathlib import Path

import pytest
from docs_commands import COMMANDS, options, ray_options, torchrun_options
from docs_markdown import PAGES, ROOT, blocks, name_of, prose, quoted, table_after

import tailcut
from tailcut import events, names, traces
from tailcut.policy_names import POLICIES
from tailcut.report import as_json
from tailcut.report.columns import COLUMNS
from tailcut.study.compare import BOUNDS, Setting, compare
from tailcut.study.facts import Comparison
from tailcut.types import Fate

MODULES = [found.name for found in pkgutil.walk_packages(tailcut.__path__, "tailcut.")]
IN_EXAMPLES = {"Grace", "Exponential"}
OF_TORCH = {
    "DataLoader",
    "DistributedDataParallel",
    "DistributedSampler",
    "GradScaler",
    "ZeroRedundancyOptimizer",
}
COMPARE, DESIGN, FIT = (ROOT / "docs" / f"{page}.md" for page in ("compare", "design", "fit"))


def resolve(dotted: str) -> object:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        if ".".join(parts[:cut]) in {"tailcut", *MODULES}:
            found: object = importlib.import_module(".".join(parts[:cut]))
            for name in parts[cut:]:
                found = getattr(found, name)
            return found
    raise AssertionError(f"no module {dotted}")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_dotted_names_resolve(page: Path) -> None:
    groups = {"tailcut.policies", "tailcut.clusters"}
    for text in quoted(page):
        if re.fullmatch(r"tailcut(\.\w+)+", text) and text not in groups:
            resolve(text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_classes_exist(page: Path) -> None:
    known = {
        name
        for module in MODULES
        for name, kind in inspect.getmembers(importlib.import_module(module), inspect.isclass)
        if kind.__module__.startswith("tailcut")
    }
    for text in quoted(page):
        head = re.match(r"([A-Z][a-z]+(?:[A-Z][a-z]+)*)\b(?:[.(]|$)", text)
        if head is not None:
            assert head[1] in known | IN_EXAMPLES | OF_TORCH, f"{name_of(page)} speaks of {text}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_exist(page: Path) -> None:
    known = options() | options(*COMMANDS) | {"--strict"}
    for text in [*quoted(page), *(b.text for b in blocks(page) if b.language in ("console", "text"))]:
        there = known | torchrun_options() if "torchrun" in text else known
        there = there | ray_options() if re.search(r"\bray (start|get-auth-token)", text) else there
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
            assert option in there, f"{name_of(page)} speaks of {option}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_policies_with_parameters_can_be_made(page: Path) -> None:
    makers = {**dict.fromkeys(names.clusters(), names.source), **dict.fromkeys(names.tasks(), names.task)}
    for text in quoted(page):
        name = text.partition(":")[0]
        # Files and folders are the reader's.
        if (
            re.fullmatch(r"[a-z0-9-]+(:\w+=[\w.]+)+", text)
            and name != "name"
            and not re.search("file=|folder=", text)
        ):
            assert makers.get(name, names.entrant)(text)


def test_the_ray_page_names_policies_that_there_are() -> None:
    section = (ROOT / "docs" / "ray.md").read_text().partition("## Which policies")[2].partition("\n## ")[0]
    found = [name for name in re.findall(r"`([^`]+)`", section) if not name.startswith("+")]
    assert "bounded-stale" in found
    for name in found:
        assert names.entrant(name)


def test_the_readme_has_every_policy_and_every_bound() -> None:
    rows = "\n".join(table_after(ROOT / "README.md", "## Policies"))
    for name in POLICIES:
        assert f"`{name}`" in rows, f"the README does not list {name}"
    for name in BOUNDS:
        assert f"`{name}`" in prose(ROOT / "README.md")
        assert f"`{name}`" in "\n".join(table_after(COMPARE, "## The bounds"))
        assert f"`{name}`" in "\n".join(table_after(DESIGN, "## Bounds"))


def test_compare_explains_every_key_and_every_column() -> None:
    facts = compare(names.source("demo8"), [], Setting(seeds=1, rounds=20))
    text, rows = prose(COMPARE), "\n".join(table_after(COMPARE, "## The table"))
    for key in as_json(Comparison("", (facts,)))[0]:
        stem, _, ending = key.rpartition("_")
        spelt = f"`{key}`" in text or (f"`{stem}" in rows and f"`_{ending}`" in rows)
        assert spelt, f"docs/compare.md does not explain {key}"
    for column in COLUMNS:
        assert f"| {column.title} |" in rows, f"docs/compare.md does not explain {column.title}"


def test_compare_explains_every_option() -> None:
    rows = "\n".join(table_after(COMPARE, "## Options"))
    for option in options("compare") - {"--help"}:
        assert f"`{option}`" in rows, f"docs/compare.md does not explain {option}"


def test_fit_explains_every_option() -> None:
    rows = "\n".join(table_after(FIT, "## Options"))
    for option in options("fit") - {"--help"}:
        assert f"`{option}`" in rows, f"docs/fit.md does not explain {option}"


def test_compare_lists_every_parameter_of_every_policy() -> None:
    rows = table_after(COMPARE, "## Parameters of policies")
    shared = set(inspect.signature(POLICIES["trend"].make).parameters)
    for name, named in POLICIES.items():
        row = next(row for row in rows if f"`{name}`" in row.split("|")[1])
        needed = set(inspect.signature(named.make).parameters) - (shared if name == "stopping" else set())
        assert all(f"`{parameter}`" in row for parameter in needed), f"docs/compare.md: parameters of {name}"


def test_the_design_lists_every_event_command_and_fate() -> None:
    text = prose(DESIGN)
    for record in (*typing.get_args(events.Event), *typing.get_args(events.Command)):
        assert f"`{record.__name__}" in text, record
    for fate in Fate:
        assert f"`{fate.name}`" in text, fate


def test_the_design_draws_the_layers_that_are_enforced() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = contracts["importlinter:contract:direction"]["layers"].split("\n")
    enforced = [line.replace("tailcut.", "").replace(" : ", " | ") for line in layers if line]
    drawn = DESIGN.read_text().partition("## Who may import whom")[2].partition("\n## ")[0]
    assert [line.strip() for line in drawn.splitlines() if line.startswith("    ")] == enforced


def test_tables_says_which_columns_and_arrays_there_are() -> None:
    text = prose(ROOT / "docs" / "tables.md")
    for name in (
        "round",
        "worker",
        "seconds",
        "observed",
        "node",
        "x",
        "present",
        "nodes",
        "names",
        "name_is_int",
    ):
        assert f"`{name}`" in text
    for ending in traces.read.READERS:
        assert f"`{ending}`" in text
