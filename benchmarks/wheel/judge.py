"""Judge the outcome of a row by its needs: it must work, or name what is missing in one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.wheel.rows import Row
from tailcut.extras import DISTRIBUTIONS, EXTRAS

_SENTENCE = re.compile(
    r'[^\n]+ needs ([^\n]+), which (?:is|are) not installed: pip install "tailcut\[([\w,]+)\]"\.'
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a row.

    Attributes:
        told: text in the table: that the row works, the missing extras, or the error.
        is_right: whether the outcome is the expected one.
    """

    told: str
    is_right: bool


def modules_of(extras: tuple[str, ...]) -> set[str]:
    """Return the optional modules that extras install."""
    return {module for extra in extras for module in EXTRAS[extra]}


def judge(row: Row, installed: set[str], code: int, out: str, err: str) -> Verdict:
    """Judge one row.

    Args:
        row: row that was tried.
        installed: optional modules that are installed.
        code: exit code.
        out: standard output.
        err: standard error.
    """
    missing = set(row.needs) - installed
    said = err.strip().splitlines()
    if not missing:
        works = code == row.code_of_success and "Traceback" not in err
        return Verdict("works" if works else f"fails: {said[-1] if said else code}", works)
    found = _SENTENCE.fullmatch((said or [""])[-1].removeprefix("tailcut: ").removeprefix(ERROR))
    if found is None or code != 1 or out or (row.arguments and len(said) > 1):
        return Verdict(f"fails: {said[-1] if said else code}", False)
    extras = tuple(found[2].split(","))
    named = set(re.split(", | and ", found[1]))
    wanted = {DISTRIBUTIONS.get(module, module) for module in missing}
    # An import stops at the first package that lacks something; a command knows beforehand all that it lacks.
    is_right = named == wanted or (row.code != "" and named < wanted)
    return Verdict(f"needs [{found[2]}]", is_right and (missing <= modules_of(extras) or row.code != ""))


def judge_unknown(installed: set[str], code: int, err: str) -> Verdict:
    """Judge code whose needs are not listed: it works, or its last line names what is missing, and only that.

    Args:
        installed: optional modules that are there.
        code: exit code.
        err: standard error.
    """
    said = (err.strip().splitlines() or [""])[-1]
    if code == 0:
        return Verdict("works", True)
    found = _SENTENCE.fullmatch(said.removeprefix(ERROR))
    there = {DISTRIBUTIONS.get(module, module) for module in installed}
    if found is None or there & set(re.split(", | and ", found[1])):
        return Verdict(f"fails: {said}", False)
    return Verdict(f"needs [{found[2]}]", True)


ERROR = "tailcut.errors.MissingExtraError: "
"""Start of the last line of a traceback that ends in the sentence."""
