"""Every malformed npz file is refused by one sentence, and no memory is set aside for what it claims."""

from __future__ import annotations

import io
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut.errors import TableError
from tailcut.traces import read_table

GOOD = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def _with(value: float) -> np.ndarray[Any, Any]:
    x = GOOD.copy()
    x[1, 2] = value
    return x


MALFORMED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no x": ({"y": GOOD}, ["'x'", "'y'"]),
    "one dimension": ({"x": GOOD[0]}, ["'x'", "2 dimensions", "(3,)"]),
    "three dimensions": ({"x": GOOD[None]}, ["'x'", "2 dimensions", "(1, 2, 3)"]),
    "a number": ({"x": 1.0}, ["'x'", "2 dimensions", "()"]),
    "no rounds": ({"x": GOOD[:0]}, ["no run times"]),
    "no workers": ({"x": GOOD[:, :0]}, ["no run times"]),
    "one column": ({"x": GOOD[:, :1]}, ["2 workers"]),
    "NaN": ({"x": _with(np.nan)}, ["'x'", "round 1, worker 2", "nan"]),
    "inf": ({"x": _with(np.inf)}, ["'x'", "round 1, worker 2", "inf"]),
    "zero": ({"x": _with(0)}, ["'x'", "round 1, worker 2", "0.0"]),
    "negative": ({"x": _with(-3)}, ["'x'", "round 1, worker 2", "-3.0"]),
    "integer zero": ({"x": _with(0).astype(int)}, ["round 1, worker 2", "0.0"]),
    "beyond float64": ({"x": np.full((2, 2), np.longdouble("1e4000"))}, ["round 0, worker 0", "inf"]),
    "NaN where present": (
        {"x": _with(np.nan), "present": np.ones((2, 3), bool)},
        ["round 1, worker 2", "nan"],
    ),
    "complex": ({"x": GOOD * 1j}, ["'x'", "real numbers", "complex128"]),
    "text": ({"x": GOOD.astype(str)}, ["'x'", "real numbers", "<U"]),
    "bytes": ({"x": GOOD.astype("S3")}, ["'x'", "real numbers", "|S3"]),
    "bool": ({"x": GOOD > 0}, ["'x'", "real numbers", "bool"]),
    "durations": ({"x": GOOD.astype("m8[s]")}, ["'x'", "real numbers", "timedelta64"]),
    "structured": ({"x": np.zeros((2, 2), [("a\nb", "f8")])}, ["'x'", "real numbers"]),
    "objects": ({"x": GOOD.astype(object)}, ["'x'", "objects", "run code"]),
    "observed as number": ({"x": GOOD, "observed": np.ones((2, 3))}, ["'observed'", "true and false"]),
    "observed, other shape": (
        {"x": GOOD, "observed": np.ones((3, 2), bool)},
        ["'observed'", "(2, 3)", "(3, 2)"],
    ),
    "nothing observed": ({"x": GOOD, "observed": np.zeros((2, 3), bool)}, ["'observed'", "no run time"]),
    "nobody present": ({"x": GOOD, "present": np.zeros((2, 3), bool)}, ["no run time"]),
    "present as number": ({"x": GOOD, "present": np.ones((2, 3), int)}, ["'present'", "true and false"]),
    "too few nodes": ({"x": GOOD, "nodes": np.zeros(2, int)}, ["'nodes'", "(3,)", "(2,)"]),
    "nodes with fraction": ({"x": GOOD, "nodes": np.zeros(3)}, ["'nodes'", "text or integers", "float64"]),
    "too many names": ({"x": GOOD, "names": np.arange(4)}, ["'names'", "(3,)", "(4,)"]),
    "name twice": ({"x": GOOD, "names": np.array(["a", "b", "a"])}, ["'names'", "must differ", "'a'"]),
    "empty name": ({"x": GOOD, "names": np.array(["a", "", "b"])}, ["'names'", "empty"]),
    "large name": ({"x": GOOD, "names": np.array([1, 2, 2**63], np.uint64)}, ["'names'", str(2**63)]),
    "object names": ({"x": GOOD, "names": np.array(["a", 1, 2], object)}, ["'names'", "objects"]),
    "half a character": ({"x": GOOD, "names": np.array(["a", "b", "\ud800"])}, ["'names'", "Unicode"]),
    "no character": (
        {"x": GOOD, "names": np.array([97, 98, 0x7FFFFFFF], np.uint32).view("U1")},
        ["'names'", "Unicode"],
    ),
    "not an integer": (
        {"x": GOOD, "names": np.array(["1", "b", "c"]), "name_is_int": np.array([True, False, True])},
        ["'names'", "spelt", "'c'"],
    ),
}


def refusal(path: Path) -> str:
    with pytest.raises(TableError) as caught:
        read_table(path)
    message = str(caught.value)
    assert path.name in message
    assert "Remedy: " in message
    assert len(message.splitlines()) == 1
    return message


@pytest.mark.parametrize("case", MALFORMED)
def test_npz_is_refused(case: str, tmp_path: Path) -> None:
    arrays, expected = MALFORMED[case]
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    message = refusal(path)
    assert all(part in message for part in expected), message


def _npy(shape: tuple[int, ...], descr: str = "<f8", data: bytes = b"", version: int = 1) -> bytes:
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def _archive(path: Path, *members: tuple[str, bytes], packed: bool = False) -> Path:
    method = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", method) as archive:
        warnings.simplefilter("ignore")  # zipfile warns of a name given twice, which is a case below
        for name, content in members:
            archive.writestr(name, content)
    return path


CLAIMS = {
    "10 GB": (_npy((1_250_000, 1000)), ["claims 10,000,000,000 bytes", "holds 0"]),
    "300 MB": (_npy((37_500, 1000)), ["claims 300,000,000 bytes", "holds 0"]),
    "one row too many": (_npy((3, 2), data=b"\1" * 32), ["claims 48", "holds 32"]),
    "one row too few": (_npy((1, 2), data=b"\1" * 32), ["claims 16", "holds 32"]),
    "wide entries": (_npy((2, 2), "<U500000000"), ["claims 8,000,000,000 bytes"]),
    "negative shape": (_npy((-2, 2)), ["damaged"]),
    "huge shape": (_npy((10**30, 10**30)), ["claims"]),
    "huge shape of nothing": (_npy((10**30, 10**30), "<U0"), ["real numbers"]),
    "shape of floats": (_npy((2.0, 2.0)), ["damaged"]),  # type: ignore[arg-type]
    "unknown type": (_npy((2, 2), "<q9"), ["damaged"]),
    "object type": (_npy((2, 2), "|O", b"cos\nsystem\n(S'true'\ntR."), ["objects"]),
    "unknown version": (_npy((2, 2), version=9), ["damaged"]),
    "endless header": (b"\x93NUMPY\2\0" + struct.pack("<I", 2**32 - 1) + b" " * 100, ["damaged"]),
    "header of brackets": (b"\x93NUMPY\1\0" + struct.pack("<H", 5000) + b"(" * 5000, ["damaged"]),
    "no array": (b"round,worker,seconds\n", ["damaged"]),
    "nothing": (b"", ["damaged"]),
}


@pytest.mark.parametrize("case", CLAIMS)
def test_a_header_is_not_believed(case: str, tmp_path: Path) -> None:
    content, expected = CLAIMS[case]
    path = _archive(tmp_path / "bad.npz", ("x.npy", content))
    tracemalloc.start()
    try:
        message = refusal(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert all(part in message for part in expected), message
    assert peak < 50e6, "memory was set aside for what the header claims"


def test_an_archive_that_claims_more_than_it_can_hold_is_refused(tmp_path: Path) -> None:
    path = _archive(tmp_path / "bomb.npz", ("x.npy", _npy((10, 10), data=b"\1" * 800)), packed=True)
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\1\2") + 24  # the unpacked size in the central directory
    content[at : at + 4] = struct.pack("<I", 1_000_000_000)
    path.write_bytes(content)
    assert "claims 1,000,000,000 bytes" in refusal(path)
    content[at : at + 4] = struct.pack("<I", 4_000_000_000)
    path.write_bytes(content)
    assert "must not be larger" in refusal(path)


def test_an_array_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    content = _npy((2, 2), data=np.ones(4).tobytes())
    path = _archive(tmp_path / "twice.npz", ("x.npy", content), ("x.npy", content))
    assert "2 times" in refusal(path)


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "changed.npz"
    np.savez(path, x=GOOD)
    content = bytearray(path.read_bytes())
    at = content.index(GOOD.tobytes())
    content[at] ^= 1
    path.write_bytes(content)
    assert "damaged" in refusal(path)


@pytest.mark.parametrize("keep", [0.05, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_refused(keep: float, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, x=GOOD)
    content = buffer.getvalue()
    path = tmp_path / "cut.npz"
    path.write_bytes(content[: int(len(content) * keep)])
    assert "npz" in refusal(path)


@pytest.mark.parametrize(
    "content", [b"round,worker,seconds\n0,a,1\n", b"PK\3\4", b"\x93NUMPY\1\0", b"\0" * 99]
)
def test_what_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "false.npz"
    path.write_bytes(content)
    assert "not a complete npz file" in refusal(path)


def test_an_encrypted_array_is_refused(tmp_path: Path) -> None:
    path = _archive(tmp_path / "secret.npz", ("x.npy", _npy((2, 2), data=np.ones(4).tobytes())))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    assert "damaged" in refusal(path)
