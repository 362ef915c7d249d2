"""Work is spread over processes. Each of them imports this file, so it imports little."""

from __future__ import annotations

import pytest

from tailcut.errors import InputError
from tailcut.study.parallel import Job, each_done

pytestmark = pytest.mark.processes


def square(number: int) -> int:
    if number == 13:
        raise InputError("Thirteen is not squared here.")
    return number * number


@pytest.mark.parametrize("processes", [1, 2])
def test_work_is_spread_and_its_errors_are_sentences(processes: int) -> None:
    jobs = [Job(number, square, (number,)) for number in range(5)]
    assert dict(each_done(jobs, processes)) == {number: number**2 for number in range(5)}
    with pytest.raises(InputError, match="Thirteen"):
        list(each_done([*jobs, Job(13, square, (13,))], processes))
