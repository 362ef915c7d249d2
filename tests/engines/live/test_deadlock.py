"""Some workers wait in step() and the others in a collective of their own: the controller asks where they are."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Any

import pytest
import torch
from hub_scripts import applied, arrived, hello, hub
from test_controller_serve import running, waiting

from tailcut.engines.live.controller.deadlock import CONFIRM, QUIET, Deadlock
from tailcut.engines.live.controller.hub import Hub
from tailcut.engines.live.data.log import UpdateLog
from tailcut.engines.live.data.serving import UpdateServer
from tailcut.engines.live.keys import Key
from tailcut.engines.live.messages import Here, New, Where
from tailcut.engines.live.worker.inbox import Inbox
from tailcut.engines.live.worker.link import Link
from tailcut.engines.live.worker.whereabouts import Whereabouts, here
from tailcut.rules import Backup
from waiting import until

ASKED = Where(1, 1)


def computing(line: int = 7) -> Here:
    return Here(1, 1, "train.py", line, "main", "", False)


def reducing(line: int = 9) -> Here:
    return Here(1, 1, "train.py", line, "main", "all_reduce", True)


def in_step() -> Here:
    return Here(1, 1, "train.py", 12, "main", "step", False)


def told(it: Hub, answers: dict[int, Here], until: float, search: Deadlock) -> list[tuple[float, str]]:
    """Return the reports within `until` seconds without other messages; workers answer the search at once."""
    found = []
    for tick in range(round(10 * until)):
        now = it.places.last_heard + tick / 10
        for worker in search.to_ask(it.places, now):
            said = search.heard(worker, answers[worker], it.places, now) if worker in answers else None
            found += [] if said is None else [(tick / 10, said)]
    return found


def test_workers_that_wait_for_each_other_are_told_of_once_with_the_place_of_each() -> None:
    it, search = hub(workers=3), Deadlock(300.0)
    it.handle(arrived(1), 5.0)
    [(when, said)] = told(it, {0: reducing(), 1: in_step(), 2: reducing()}, 200.0, search)
    assert QUIET + CONFIRM <= when <= QUIET + CONFIRM + 0.2
    assert said.startswith(
        "Workers wait for each other, and nothing can move: workers 0 and 2 are in all_reduce(), at train.py:9 (main); "
        "worker 1 waits in step(), at train.py:12 (main)."
    )
    assert "opt.every(k)" in said
    assert "after 300 s of silence (max_wait)" in said


def test_a_worker_in_step_of_another_optimizer_is_told_of() -> None:
    """Worker 1 was restarted and entered one run a step ahead of the other; both policies wait for all."""
    it, search = hub(workers=3), Deadlock(300.0)
    it.handle(arrived(0), 5.0)
    it.handle(arrived(2), 5.0)
    other = Here(1, 1, "train.py", 30, "main", "step", False)
    [(_, said)] = told(it, {0: in_step(), 1: other, 2: in_step()}, 200.0, search)
    assert (
        "workers 0 and 2 wait in step(), at train.py:12 (main); worker 1 waits in step(), at train.py:30"
        in said
    )
    assert "With several optimizers use a policy that goes on without late workers, such as bayes." in said
    assert "after 300 s of silence (max_wait)" in said


def test_a_worker_that_computes_for_long_is_no_deadlock() -> None:
    it, search = hub(workers=3), Deadlock(300.0)
    it.handle(arrived(1), 5.0)
    assert told(it, {0: computing(), 1: in_step(), 2: computing()}, 200.0, search) == []
    # One of those that the collective waits for comes to it when it has computed.
    assert told(it, {0: computing(), 1: in_step(), 2: reducing()}, 200.0, search) == []


def test_collectives_one_after_another_are_none() -> None:
    it, search = hub(workers=2), Deadlock(300.0)
    it.handle(arrived(1), 5.0)
    lines = iter(range(1000))
    for tick in range(2000):
        now = 5.0 + tick / 10
        for worker in search.to_ask(it.places, now):
            where = in_step() if worker == 1 else reducing(next(lines))
            assert search.heard(worker, where, it.places, now) is None


def test_a_meeting_is_none_and_nobody_is_asked_while_something_is_heard() -> None:
    it, search = hub(workers=2), Deadlock(300.0)
    assert told(it, {0: reducing(), 1: reducing()}, 200.0, search) == [], "nobody waits in step()"
    it = hub(Backup(c=1), workers=2)
    for version in range(20):
        it.handle(arrived(0, version), 2.0 * version)
        it.handle(applied(0, version + 1), 2.0 * version + 1.0)
        assert search.to_ask(it.places, 2.0 * version + 1.9) == ()


def test_a_worker_that_does_not_answer_proves_nothing_and_what_was_said_before_neither() -> None:
    it, search = hub(workers=3), Deadlock(300.0)
    it.handle(arrived(1), 5.0)
    assert told(it, {0: reducing(), 1: in_step()}, 100.0, search) == []
    it, search = hub(workers=2), Deadlock(300.0)
    it.handle(arrived(1), 0.0)
    for worker in search.to_ask(it.places, QUIET):
        search.heard(worker, reducing() if worker == 0 else in_step(), it.places, QUIET)
    it.handle(arrived(0), QUIET + 0.1)
    it.handle(applied(0, 1), QUIET + 0.2)
    it.handle(arrived(1, 1), QUIET + 0.3)
    answers = {0: reducing(), 1: in_step()}
    [(when, _)] = told(it, answers, 100.0, search)
    assert when >= QUIET + CONFIRM, "two answers in one silence"


def function(name: str, module: str, body: str, **given: object) -> Callable[[], object]:
    """A function of a module, in the third line of its file."""
    names: dict[str, Any] = {"__name__": module, **given}
    exec(compile(f"def {name}():\n\n    {body}", "train.py", "exec"), names)
    made: Callable[[], object] = names[name]
    return made


@pytest.mark.parametrize("caller", ["torch.distributed.c10d_logger", "tailcut.engines.live.worker.optimizer"])
def test_a_worker_tells_where_the_script_is_and_what_it_has_called(caller: str) -> None:
    """Frames of torch and tailcut are not shown, and torch's wrapper is not the collective. tailcut has its own."""
    reached, ends, where = SimpleQueue[None](), SimpleQueue[None](), SimpleQueue[Whereabouts]()
    block = "reached.put(None); ends.get()"
    inside = function("all_reduce", "torch.distributed.distributed_c10d", block, reached=reached, ends=ends)
    name = "wrapper" if caller.startswith("torch") else "step"
    script = function("main", "__main__", "inner()", inner=function(name, caller, "inner()", inner=inside))
    thread = threading.Thread(target=lambda: (where.put(Whereabouts()), script()), daemon=True)
    thread.start()
    reached.get(timeout=60.0)
    found = where.get(timeout=60.0)(ASKED)
    ends.put(None)
    thread.join(60.0)
    is_own = caller.startswith("torch")
    assert found == Here(1, 1, "train.py", 3, "main", "all_reduce" if is_own else "step", is_own)


def test_a_wait_for_a_collective_that_was_started_before_is_one() -> None:
    """The `wait` of `all_reduce(…, async_op=True)` has no frame of its own."""
    pending, where = torch._C.Future([]), SimpleQueue[Whereabouts]()
    script = function("main", "__main__", "pending.wait()", pending=pending)
    thread = threading.Thread(target=lambda: (where.put(Whereabouts()), script()), daemon=True)
    thread.start()
    tell = where.get(timeout=60.0)
    until(lambda: tell(ASKED).function == "main", "the script is reached")
    until(lambda: tell(ASKED).is_collective, "the script waits")
    found = tell(ASKED)
    pending.set_result(None)
    thread.join(60.0)
    assert found == Here(1, 1, "train.py", 3, "main", "wait", True)


def test_a_computation_is_no_wait() -> None:
    reached, ends, where = SimpleQueue[None](), SimpleQueue[None](), SimpleQueue[Whereabouts]()
    script = function(
        "main", "__main__", "reached.put(None); wait = ends.get(timeout=60.0)", reached=reached, ends=ends
    )
    thread = threading.Thread(target=lambda: (where.put(Whereabouts()), script()), daemon=True)
    thread.start()
    reached.get(timeout=60.0)
    found = where.get(timeout=60.0)(ASKED)
    ends.put(None)
    thread.join(60.0)
    assert (found.file, found.is_collective) == ("train.py", False)


def test_the_controller_asks_over_the_port_where_others_pull() -> None:
    key, said = Key.new(), queue.Queue[str]()
    began = time.monotonic()
    with ExitStack() as stack:
        opened = [
            stack.enter_context(UpdateServer(UpdateLog(), key=key, where=lambda asked, it=it: it))  # type: ignore[misc]
            for it in (reducing(), in_step())
        ]
        # The clock runs fast, so that no worker is heard for seconds.
        more = {
            "clock": lambda: 20.0 * (time.monotonic() - began),
            "key": key,
            "max_wait": 1e6,
            "say": said.put,
        }
        run = stack.enter_context(running(waiting(workers=2), **more))
        links = [stack.enter_context(Link(run.address, key)) for _ in opened]
        for worker, (link, server) in enumerate(zip(links, opened, strict=True)):
            link.send(hello(worker, 2, address=server.address))
        for link in links:
            assert isinstance(Inbox(link, 60.0, time.monotonic).next(), New)
        links[1].send(arrived(1))
        assert said.get(timeout=60.0).startswith(
            "Workers wait for each other, and nothing can move: worker 0 is in"
        )


def test_where_nothing_runs_any_more() -> None:
    assert here(ASKED, None) == Here(1, 1, "", 0, "", "", False)
    thread_of: list[Whereabouts] = []
    thread = threading.Thread(target=lambda: thread_of.append(Whereabouts()))
    thread.start()
    thread.join(60.0)
    assert thread_of[0](ASKED).file == ""
