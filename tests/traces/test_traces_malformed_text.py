"""Every malformed CSV and JSON-lines file is refused by one sentence with file, place, value and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.errors import TableError
from tailcut.traces import read_table

HEADER = "round,worker,seconds\n"
FULL = "round,worker,seconds,observed,node\n"

CSV = {
    "empty": ("", ["empty"]),
    "blank lines only": ("\n\n", ["header"]),
    "header only": (HEADER, ["no rows"]),
    "header only, no line end": (HEADER.strip(), ["no rows"]),
    "no seconds": ("round,worker,time\n0,a,1\n", ["'seconds'", "'time'"]),
    "no round": ("worker,seconds\na,1\n", ["'round'"]),
    "no worker": ("round,seconds\n0,1\n", ["'worker'"]),
    "no header": ("0,a,1.5\n0,b,2.5\n", ["'round'", "'1.5'"]),
    "semicolons": ("round;worker;seconds\n0;a;1\n", ["'round'", "round;worker;seconds"]),
    "column twice": ("round,worker,seconds,seconds\n0,a,1,2\n", ["'seconds'", "2 times"]),
    "zero": (HEADER + "0,a,1\n0,b,0\n", ["row 3", "'seconds'", "> 0", "0.0"]),
    "minus zero": (HEADER + "0,a,-0.0\n0,b,1\n", ["row 2", "-0.0"]),
    "negative": (HEADER + "0,a,-1.5\n0,b,1\n", ["row 2", "'seconds'", "-1.5"]),
    "nan": (HEADER + "0,a,1\n0,b,NaN\n", ["row 3", "'seconds'", "nan"]),
    "inf": (HEADER + "0,a,1\n0,b,inf\n", ["row 3", "'seconds'", "inf"]),
    "overflow": (HEADER + "0,a,1\n0,b,1e999\n", ["row 3", "'seconds'", "inf"]),
    "underflow": (HEADER + "0,a,1\n0,b,1e-999\n", ["row 3", "'seconds'", "0.0"]),
    "text in seconds": (HEADER + "0,a,1\n0,b,fast\n", ["row 3", "'seconds'", "'fast'"]),
    "unit in seconds": (HEADER + "0,a,1\n0,b,12ms\n", ["row 3", "'seconds'", "'12ms'", "unit"]),
    "bool in seconds": (HEADER + "0,a,true\n0,b,1\n", ["row 2", "'seconds'", "'true'"]),
    "decimal comma": (HEADER + '0,a,1\n0,b,"1,5"\n', ["row 3", "'seconds'", "'1,5'"]),
    "no round value": (HEADER + "0,a,1\n,b,1\n", ["row 3", "'round'", "missing"]),
    "no worker value": (HEADER + "0,a,1\n0,,1\n", ["row 3", "'worker'", "missing"]),
    "no seconds value": (HEADER + "0,a,1\n0,b,\n", ["row 3", "'seconds'", "missing"]),
    "spaces for a value": (HEADER + "0,a,1\n0,b,  \n", ["row 3", "'seconds'", "missing"]),
    "no observed value": (FULL + "0,a,1,true,n\n0,b,1,,n\n", ["row 3", "'observed'", "missing"]),
    "node left out once": (FULL + "0,a,1,1,n\n0,b,1,1,n\n1,a,1,1,\n", ["row 4", "'node'", "''", "'n'"]),
    "round with fraction": (HEADER + "0,a,1\n1.5,b,1\n", ["row 3", "'round'", "'1.5'"]),
    "round in words": (HEADER + "first,a,1\n", ["row 2", "'round'", "'first'"]),
    "round too large": (HEADER + "9223372036854775808,a,1\n", ["row 2", "'round'", "9223372036854775808"]),
    "bool in round": (HEADER + "true,a,1\n", ["row 2", "'round'", "'true'"]),
    "cell twice": (HEADER + "7,a,1\n7,b,1\n7,a,2\n", ["row 4", "row 2", "round 7", "'a'"]),
    "one worker": (HEADER + "0,a,1\n1,a,1\n", ["2 workers", "'a'"]),
    "short row": (HEADER + "0,a,1\n0,b\n0,c,1\n", ["row 3", "3 cells", "2"]),
    "long row": (HEADER + "0,a,1\n0,b,1,1\n", ["row 3", "3 cells", "4"]),
    "quote left open": (HEADER + '0,a,1\n0,"b,1\n0,c,1\n', ["row 3", "quote"]),
    "very long cell": (HEADER + "0,a,1\n0," + "b" * 200_000 + "\n", ["row 3", "too long"]),
    "two nodes": (
        FULL + "0,a,1,1,n0\n0,b,1,1,n1\n1,a,1,1,n1\n",
        ["row 4", "row 2", "'node'", "'n1'", "'n0'"],
    ),
    "observed in words": (FULL + "0,a,1,yes,n\n0,b,1,1,n\n", ["row 2", "'observed'", "'yes'"]),
    "observed is 2": (FULL + "0,a,1,1,n\n0,b,1,2,n\n", ["row 3", "'observed'", "'2'"]),
    "nothing observed": (FULL + "0,a,1,0,n\n0,b,1,false,n\n", ["'observed'", "no run time"]),
    "after blank lines": ("\n" + HEADER + "\n\n0,a,1\n\n0,b,-2\n", ["row 7", "-2.0"]),
    "after a quoted line break": (HEADER + '0,"a\nb",1\n0,c,-2\n', ["row 4", "-2.0"]),
    "worker with a line break, twice": (HEADER + '0,"a\nb",1\n0,c,1\n0,"a\nb",1\n', ["row 5", r"a\nb"]),
    "NUL in a name": (HEADER + "0,a\0b,1\n0,c,1\n", ["row 2", "'worker'", "NUL"]),
}

GOOD = '{"round": 0, "worker": "a", "seconds": 1}\n'


def _line(round_: str = "0", worker: str = '"b"', seconds: str = "1", more: str = "") -> str:
    return f'{{"round": {round_}, "worker": {worker}, "seconds": {seconds}{more}}}\n'


JSON = {
    "empty": ("", ["empty"]),
    "blank lines only": ("\n\n", ["no rows"]),
    "broken": (GOOD + '{"round": 0, "worker"\n', ["row 2", "valid JSON"]),
    "cut": (GOOD + GOOD.strip()[:-3], ["row 2", "valid JSON"]),
    "list": (GOOD + "[0, 1]\n", ["row 2", "object", "[0, 1]"]),
    "number": ("3\n", ["row 1", "object", "3"]),
    "null": ("null\n", ["row 1", "object"]),
    "one list of objects": ("[" + GOOD.strip() + "]\n", ["row 1", "object"]),
    "deeply nested": (GOOD + "[" * 100_000 + "\n", ["row 2", "valid JSON"]),
    "no seconds": ('{"round": 0, "worker": "a"}\n', ["'seconds'", "'worker'"]),
    "key twice": (GOOD + '{"round": 0, "round": 1, "worker": "b", "seconds": 1}\n', ["row 2", "'round'"]),
    "seconds left out": (GOOD + '{"round": 0, "worker": "b"}\n', ["row 2", "'seconds'", "missing"]),
    "null round": (GOOD + _line(round_="null"), ["row 2", "'round'", "missing"]),
    "null worker": (GOOD + _line(worker="null"), ["row 2", "'worker'", "missing"]),
    "empty worker": (GOOD + _line(worker='""'), ["row 2", "'worker'", "missing"]),
    "null seconds": (GOOD + _line(seconds="null"), ["row 2", "'seconds'", "missing"]),
    "observed left out once": (
        _line(worker="0", more=', "observed": true') + _line(),
        ["row 2", "'observed'", "missing"],
    ),
    "observed is 1": (
        _line(worker="0", more=', "observed": true') + _line(more=', "observed": 1'),
        ["row 2", "'observed'", "got 1"],
    ),
    "observed is text": (_line(more=', "observed": "true"') + GOOD, ["row 1", "'observed'", "'true'"]),
    "true seconds": (GOOD + _line(seconds="true"), ["row 2", "'seconds'", "True"]),
    "true round": (GOOD + _line(round_="true"), ["row 2", "'round'", "True"]),
    "true worker": (GOOD + _line(worker="true"), ["row 2", "'worker'", "True"]),
    "text seconds": (GOOD + _line(seconds='"1.5"'), ["row 2", "'seconds'", "'1.5'"]),
    "text round": (GOOD + _line(round_='"1"'), ["row 2", "'round'", "'1'"]),
    "round with fraction": (GOOD + _line(round_="1.5"), ["row 2", "'round'", "1.5"]),
    "round too large": (GOOD + _line(round_="9223372036854775808"), ["row 2", "9223372036854775808"]),
    "endless digits": (GOOD + _line(round_="9" * 5000), ["row 2", "valid JSON"]),
    "worker with fraction": (GOOD + _line(worker="0.5"), ["row 2", "'worker'", "0.5"]),
    "worker too large": (GOOD + _line(worker="9" * 20), ["row 2", "'worker'", "9" * 20, "64 bits"]),
    "half a character": (GOOD + _line(worker='"\\ud800"'), ["row 2", "'worker'", r"\ud800", "Unicode"]),
    "nested seconds": (GOOD + _line(seconds="[1, 2]"), ["row 2", "'seconds'", "[1, 2]"]),
    "nested worker": (GOOD + _line(worker='{"id": 3}'), ["row 2", "'worker'", "{'id': 3}"]),
    "nan": (GOOD + _line(seconds="NaN"), ["row 2", "'seconds'", "nan"]),
    "inf": (GOOD + _line(seconds="-Infinity"), ["row 2", "'seconds'", "-inf"]),
    "larger than any float": (GOOD + _line(seconds="9" * 400), ["row 2", "'seconds'", "inf"]),
    "zero": (GOOD + _line(seconds="0"), ["row 2", "'seconds'", "0.0"]),
    "after blank lines": ("\n" + GOOD + "\n\n" + _line(seconds="-2"), ["row 5", "-2.0"]),
    "cell twice": (GOOD + _line() + GOOD, ["row 3", "row 1", "'a'"]),
    "one worker": (GOOD, ["2 workers", "'a'"]),
    "two nodes": (
        GOOD.replace("}", ', "node": 0}') + _line(more=', "node": 0') + _line("1", more=', "node": "0"'),
        ["row 3", "row 2", "'node'", "'0'"],
    ),
}


def refusal(path: Path) -> str:
    """Return the error of `read_table`: one line with the file's name and a remedy."""
    with pytest.raises(TableError) as caught:
        read_table(path)
    message = str(caught.value)
    assert path.name in message
    assert "Remedy: " in message
    assert len(message.splitlines()) == 1
    assert "Traceback" not in message
    return message


@pytest.mark.parametrize("case", CSV)
def test_csv_is_refused(case: str, tmp_path: Path) -> None:
    text, expected = CSV[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode())
    message = refusal(path)
    assert all(part in message for part in expected), message


@pytest.mark.parametrize("case", JSON)
def test_json_lines_are_refused(case: str, tmp_path: Path) -> None:
    text, expected = JSON[case]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(text.encode())
    message = refusal(path)
    assert all(part in message for part in expected), message


@pytest.mark.parametrize("name", ["bad.csv", "bad.jsonl"])
@pytest.mark.parametrize("junk", [b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\xff\xfer\0o\0"])
def test_invalid_utf8_is_refused_with_its_line(name: str, junk: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"round,worker,seconds\r\n0,a,1\r\n0," + junk + b",1\r\n")
    message = refusal(path)
    assert "UTF-8" in message
    assert "row 3" in message


@pytest.mark.parametrize("index", [0, 1, 77_777, 150_000, 299_999])
@pytest.mark.parametrize("cell", ["-1", "x", ""])
def test_the_first_bad_row_of_many_is_found(index: int, cell: str, tmp_path: Path) -> None:
    lines = [f"{i // 3},{i % 3},0.5" for i in range(300_000)]
    for bad in {index, 299_999}:
        lines[bad] = f"{bad // 3},{bad % 3},{cell}"
    path = tmp_path / "long.csv"
    path.write_text(HEADER + "\n".join(lines) + "\n")
    assert f"row {index + 2}," in refusal(path)


def test_too_many_cells_are_refused_though_the_rows_are_few(tmp_path: Path) -> None:
    # One row per round and worker of its own: 15,000² cells from 15,000 rows.
    path = tmp_path / "sparse.csv"
    path.write_text(HEADER + "".join(f"{i},{i},1\n" for i in range(15_000)))
    message = refusal(path)
    assert "225000000" in message
    assert "200,000,000" in message
