"""Every malformed table is refused by one sentence that names file, place, value and remedy."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Refused: TypeAlias = Callable[..., str]

HEAD = "round,worker,seconds\n"
BODY = "0,a,1.0\n0,b,2.0\n1,a,1.5\n1,b,2.5\n"
GOOD = {"round": [0, 0, 1, 1], "worker": ["a", "b", "a", "b"], "seconds": [1.0, 2.0, 1.5, 2.5]}
DENSE = np.array([[1.0, 2.0], [1.5, 2.5]])


def _parquet(**changes: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({**GOOD, **changes}), file)
    return file.getvalue()


def _npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _claim(shape: tuple[int, int]) -> bytes:
    """An npz file whose header claims numbers that are not there."""
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode() + b"\n"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    return file.getvalue()


def _json_lines(**changes: object) -> str:
    return json.dumps({"round": 0, "worker": "a", "seconds": 1.0, **changes}) + "\n"


CASES: dict[str, tuple[str, str | bytes, list[str]]] = {
    "missing column": ("bad.csv", "round,worker,time\n" + BODY, ["'seconds'", "'time'", "name the columns"]),
    "column twice": (
        "bad.csv",
        "round,worker,seconds,seconds\n0,a,1,1\n",
        ["'seconds'", "2 times", "rename"],
    ),
    "semicolons": ("bad.csv", (HEAD + BODY).replace(",", ";"), ["'round'", "round;worker;seconds"]),
    "no header": ("bad.csv", "\n\n", ["no header line", "round,worker,seconds"]),
    "zero seconds": ("bad.csv", HEAD + BODY + "2,a,0\n", ["row 6", "'seconds'", "0.0", "drop the row"]),
    "negative seconds": ("bad.csv", HEAD + BODY + "2,a,-1.5\n", ["row 6", "'seconds'", "-1.5"]),
    "seconds not a number": ("bad.csv", HEAD + BODY + "2,a,nan\n", ["row 6", "'seconds'", "nan"]),
    "infinite seconds": ("bad.csv", HEAD + BODY + "2,a,inf\n", ["row 6", "'seconds'", "inf"]),
    "seconds with a unit": ("bad.csv", HEAD + BODY + "2,a,1.5s\n", ["row 6", "'1.5s'", "no unit"]),
    "empty seconds": ("bad.csv", HEAD + BODY + "2,a,\n", ["row 6", "'seconds'", "missing", "drop the row"]),
    "round with a fraction": ("bad.csv", HEAD + BODY + "2.5,a,1\n", ["row 6", "'round'", "'2.5'", "0, 1, 2"]),
    "no worker": ("bad.csv", HEAD + BODY + "2,,1\n", ["row 6", "'worker'", "missing"]),
    "cell twice": ("bad.csv", HEAD + BODY + "1,b,9\n", ["row 6", "row 5", "'b'", "one row per round"]),
    "one worker": ("bad.csv", HEAD + "0,a,1\n1,a,2\n", ["at least 2 workers", "'a'", "all workers"]),
    "no rows": ("bad.csv", HEAD, ["no rows", "one row per round and worker"]),
    "empty file": ("bad.csv", "", ["empty", "again"]),
    "ragged": ("bad.csv", HEAD + BODY + "2,a\n", ["row 6", "3 cells", "2", "every row"]),
    "open quote": ("bad.csv", HEAD + BODY + '2,"a,1\n', ["quote"]),
    "observed maybe": (
        "bad.csv",
        "round,worker,seconds,observed\n0,a,1,true\n0,b,1,maybe\n",
        ["row 3", "'observed'", "'maybe'", "true"],
    ),
    "nothing observed": (
        "bad.csv",
        "round,worker,seconds,observed\n0,a,1,0\n0,b,1,0\n",
        ["no run time is observed", "to its end"],
    ),
    "worker on two nodes": (
        "bad.csv",
        "round,worker,seconds,node\n0,a,1,x\n0,b,1,x\n1,a,1,y\n",
        ["row 4", "'node'", "'x'", "'y'", "new name"],
    ),
    "not UTF-8": ("bad.csv", HEAD.encode() + b"0,\xff,1\n", ["row 2", "UTF-8"]),
    "not JSON": ("bad.jsonl", _json_lines() + "{round: 1}\n", ["row 2"]),
    "JSON of the wrong type": ("bad.jsonl", _json_lines(seconds="1.0"), ["row 1", "'seconds'", "'1.0'"]),
    "JSON without a key": (
        "bad.ndjson",
        '{"round": 0, "worker": "a"}\n',
        ["'seconds'", "only 'round', 'worker'"],
    ),
    "truncated Parquet": ("bad.parquet", _parquet()[:-20], ["not a complete Parquet file", "again"]),
    "text as Parquet": ("bad.parquet", HEAD + BODY, ["not a complete Parquet file", "real format"]),
    "Parquet of the wrong type": (
        "bad.parquet",
        _parquet(seconds=list("1234")),
        ["'seconds'", "string", "convert"],
    ),
    "Parquet without a column": (
        "bad.parquet",
        _parquet().replace(b"seconds", b"sekunde"),
        ["'seconds'", "'sekunde'"],
    ),
    "Parquet with a null": (
        "bad.parquet",
        _parquet(seconds=[1.0, None, 1.0, 1.0]),
        ["row 2", "'seconds'", "missing"],
    ),
    "10 GB in a header": ("bad.npz", _claim((1_250_000, 1000)), ["'x'", "10,000,000,000 bytes", "holds 0"]),
    "pickled objects": ("bad.npz", _npz(x=DENSE.astype(object)), ["'x'", "run code", "plain numbers"]),
    "no x": ("bad.npz", _npz(y=DENSE), ["'x'", "'y'", "x[rounds, workers]"]),
    "flat x": ("bad.npz", _npz(x=DENSE[0]), ["'x'", "2 dimensions", "(2,)"]),
    "one column of x": ("bad.npz", _npz(x=DENSE[:, :1]), ["at least 2 workers"]),
    "NaN in x": ("bad.npz", _npz(x=DENSE * np.nan), ["'x'", "round 0, worker 0", "nan"]),
    "text as npz": ("bad.npz", HEAD + BODY, ["not a complete npz file", "numpy.savez"]),
    "unknown ending": (
        "bad.xlsx",
        HEAD + BODY,
        [".csv, .parquet, .jsonl, .ndjson, .npz", "'.xlsx'", "convert"],
    ),
    "no ending": ("bad", HEAD + BODY, [".csv, .parquet, .jsonl, .ndjson, .npz", "correct the ending"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_malformed_table_is_refused(case: str, folder: Path, refused: Refused) -> None:
    name, content, expected = CASES[case]
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "page.html").write_text("old page")
    (folder / "old.csv").write_text("old table")
    compared = refused("compare", name, "--policies", "wait-all", "--report", "page.html")
    assert all(part in compared for part in [name, *expected]), compared
    assert "Remedy: " in compared
    # Whatever else is asked for, the same sentence.
    assert refused("compare", "demo8", name, "--rounds", "20", "--json", "--report", "new.html") == compared
    assert refused("table", name, "-o", "old.csv") == compared
    assert refused("table", name, "-o", "new.npz") == compared


def test_a_missing_file_is_refused_with_where_it_was_looked_for(folder: Path, refused: Refused) -> None:
    for name in ("no.csv", "no/such.parquet", "./no.npz"):
        sentence = refused("compare", name, "--report", "page.html")
        assert Path(name).name in sentence
        assert "no such file" in sentence
        assert str(folder) in sentence


def test_a_folder_is_refused(folder: Path, refused: Refused) -> None:
    (folder / "runs.csv").mkdir()
    sentence = refused("compare", "runs.csv")
    assert "this is a folder" in sentence
    assert "name a file in it" in sentence
    (folder / "runs").mkdir()
    assert "runs" in refused("compare", "runs")


def test_a_name_too_long_for_a_file_is_refused(refused: Refused) -> None:
    assert "File name too long" in refused("compare", "x" * 300 + ".csv")
    assert "Unknown source" in refused("compare", "x" * 300)


def test_what_no_gradient_ever_ends_is_refused(folder: Path, refused: Refused) -> None:
    x = np.ones((30, 4))
    nobody, unseen, all_unseen = (np.ones(x.shape, dtype=np.bool_) for _ in range(3))
    nobody[5] = unseen[-1] = all_unseen[1:] = False
    np.savez(folder / "absent.npz", x=x, present=nobody)
    np.savez(folder / "censored.npz", x=x, observed=unseen)
    np.savez(folder / "only_first.npz", x=x, observed=all_unseen)
    # "async" and "clairvoyant" go by ways of their own, past the rounds in which others would notice.
    for policies in ("wait-all", "async", "clairvoyant"):
        for late in ("abandon", "finish"):
            options = ("--policies", policies, "--late", late, "--report", "page.html")
            for name, row in (("absent.npz", 5), ("censored.npz", 29), ("only_first.npz", 1)):
                sentence = refused("compare", name, *options)
                assert f"round {row} " in sentence
                assert name in sentence
                assert "Leave that round out" in sentence


@pytest.mark.parametrize(
    ("odd", "shown"),
    [("1e308", "1e+308"), ("1e30", "1e+30"), ("1e-30", "1e-30"), ("5e-324", "4.94066e-324")],
)
def test_numbers_that_only_stand_for_something_are_refused(
    odd: str, shown: str, folder: Path, refused: Refused
) -> None:
    (folder / "odd.csv").write_text(HEAD + BODY + f"2,a,{odd}\n2,b,1\n")
    for late in ("abandon", "finish"):
        sentence = refused("compare", "odd.csv", "--policies", "wait-all,elfving,trend", "--late", late)
        assert "odd.csv" in sentence
        assert shown in sentence
        assert "Check their unit" in sentence
