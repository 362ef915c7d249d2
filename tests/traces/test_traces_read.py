"""Reading valid files: realistic samples of every format."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailcut.traces import read_table
from tailcut.types import NO_NODE

PLAIN = "round,worker,seconds\n0,a,0.5\n0,b,0.75\n1,a,0.25\n1,b,2\n"

LAYOUTS = {
    "plain": PLAIN.encode(),
    "no last line end": PLAIN.strip().encode(),
    "byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "CRLF": PLAIN.replace("\n", "\r\n").encode(),
    "CR": PLAIN.replace("\n", "\r").encode(),
    "spaces": PLAIN.replace(",", " , ").encode(),
    "tabs": PLAIN.replace(",", "\t,\t").encode(),
    "all quoted": b"\n".join(
        b",".join(b'"' + cell + b'"' for cell in line.split(b",")) for line in PLAIN.encode().split()
    ),
    "blank lines": PLAIN.replace("\n", "\n\n").encode(),
    "columns in other order": b"seconds,round,worker\n.5,0,a\n0.75,0,b\n25e-2,1,a\n2.0,1,b\n",
    "rows in other order": b"round,worker,seconds\n1,b,2\n0,b,0.75\n1,a,0.25\n0,a,0.5\n",
    "more columns": b"round,note,worker,seconds,note\n0,,a,0.5,x\n0,,b,0.75,\n1,,a,0.25,\n1,,b,2,\n",
    "gaps and negative rounds": b"round,worker,seconds\n-5,a,0.5\n-5,b,0.75\n900,a,0.25\n900,b,2\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_csv_in_every_layout(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(LAYOUTS[layout])
    table = read_table(path)
    assert table.seconds.tolist() == [[0.5, 0.75], [0.25, 2.0]]
    assert table.names == ("a", "b")
    assert table.whole
    assert table.nodes.tolist() == [NO_NODE, NO_NODE]
    assert table.source == str(path)


def test_a_censored_trace_with_absent_workers(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text(
        "round,worker,seconds,observed,node,host\n"
        "10,gpu-10,0.412,true,rack-b,h1\n"
        "10,gpu-2,0.398,True,rack-a,h2\n"
        "10,7,0.9,0,,h3\n"
        "12,gpu-10,0.420,1,rack-b,h1\n"
        "12,7,0.401,TRUE,,h3\n"
        "30,gpu-2,1.5,false,rack-a,h2\n"
    )
    table = read_table(path)
    assert table.names == (7, "gpu-2", "gpu-10")
    nan = np.nan
    np.testing.assert_array_equal(table.seconds, [[0.9, 0.398, 0.412], [0.401, nan, 0.42], [nan, 1.5, nan]])
    np.testing.assert_array_equal(table.observed, [[0, 1, 1], [1, 0, 1], [0, 0, 0]])
    assert table.nodes.tolist() == [NO_NODE, 0, 1]


def test_workers_are_in_natural_order(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    workers = ["w10", "w9", "10", "9", "-3", "W1", "w09", "007", "w9a", "1.0"]
    path.write_text("round,worker,seconds\n" + "".join(f"0,{worker},1\n" for worker in workers))
    assert read_table(path).names == (-3, 9, 10, "1.0", "007", "W1", "w09", "w9", "w9a", "w10")


def test_nodes_are_numbered_as_they_appear_among_the_workers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("round,worker,seconds,node\n0,3,1,a\n0,0,1,z\n0,2,1,-1\n0,1,1,a\n")
    assert read_table(path).nodes.tolist() == [0, 1, NO_NODE, 1]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_bytes(
        b'\xef\xbb\xbf{"round": 3, "worker": "5", "seconds": 1, "node": "m", "tags": {"a": [1]}}\r\n\r\n'
        b'{"seconds": 2.5, "worker": 5, "round": 3.0, "node": null}\r\n'
        b'{"seconds": 1e-3, "worker": 4.0, "round": 2}'
    )
    table = read_table(path)
    assert table.names == (4, 5, "5")
    np.testing.assert_array_equal(table.seconds, [[0.001, np.nan, np.nan], [np.nan, 2.5, 1]])
    assert table.nodes.tolist() == [NO_NODE, NO_NODE, 0]


PARQUET_WORKERS = {
    "text": (pa.array(["b", "a", "b", "a"]), ("a", "b")),
    "digits as text": (pa.array(["10", "9", "10", "9"]), ("9", "10")),
    "large text": (pa.array(["b", "a", "b", "a"], pa.large_string()), ("a", "b")),
    "categories": (pa.array(["b", "a", "b", "a"]).dictionary_encode(), ("a", "b")),
    "integers": (pa.array([10, 9, 10, 9], pa.int16()), (9, 10)),
    "unsigned": (pa.array([10, 9, 10, 9], pa.uint64()), (9, 10)),
    "floats": (pa.array([10.0, 9.0, 10.0, 9.0]), (9, 10)),
}


@pytest.mark.parametrize("kind", PARQUET_WORKERS)
def test_parquet_workers_of_every_type(kind: str, tmp_path: Path) -> None:
    workers, names = PARQUET_WORKERS[kind]
    path = tmp_path / "t.parquet"
    columns = {"round": [0, 0, 1, 1], "worker": workers, "seconds": [1, 2, 3, 4], "other": [[1]] * 4}
    pq.write_table(pa.table(columns), path, row_group_size=2)
    table = read_table(path)
    assert table.names == names
    assert table.seconds.tolist() == [[2, 1], [4, 3]]


@pytest.mark.parametrize("kind", ["float32", "float64", "decimal", "int32", "uint8"])
def test_parquet_seconds_of_every_type(kind: str, tmp_path: Path) -> None:
    types = {"float32": pa.float32(), "float64": pa.float64(), "int32": pa.int32(), "uint8": pa.uint8()}
    seconds = pa.array([1, 2, 3, 4]).cast(types.get(kind, pa.decimal128(20, 1)))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"round": [0, 0, 1, 1], "worker": [0, 1, 0, 1], "seconds": seconds}), path)
    assert read_table(path).seconds.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "f4", "f2", "i4", "u1", "longdouble"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_numbers_of_every_type(dtype: str, order: str, tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    x = np.array([[1, 2, 3], [4, 5, 6]], dtype=dtype, order="F" if order == "F" else "C")
    np.savez(path, x=x, unrelated=np.array(["a"]))
    table = read_table(path)
    assert table.seconds.dtype == np.float64
    assert table.seconds.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert table.names == (0, 1, 2)
    assert table.whole


def test_dense_with_everything(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(
        path,
        x=np.array([[1.0, np.nan], [3.0, 4.0], [-1.0, np.inf]]),
        present=np.array([[True, False], [True, True], [False, False]]),
        observed=np.array([[True, True], [False, True], [True, True]]),
        nodes=np.array(["m", ""]),
        names=np.array(["b", "a"]),
    )
    table = read_table(path)
    nan = np.nan
    np.testing.assert_array_equal(table.seconds, [[1, nan], [3, 4], [nan, nan]])
    np.testing.assert_array_equal(table.observed, [[1, 0], [0, 1], [0, 0]])
    assert table.names == ("b", "a")
    assert table.nodes.tolist() == [0, NO_NODE]


@pytest.mark.data
@pytest.mark.skipif("TAILCUT_DATA" not in os.environ, reason="TAILCUT_DATA names no folder")
def test_the_recorded_traces() -> None:
    files = sorted((Path(os.environ["TAILCUT_DATA"]) / "traces").glob("*.npz"))
    assert files
    for file in files:
        table = read_table(file)
        assert table.whole
        np.testing.assert_array_equal(table.seconds, np.load(file)["x"])
