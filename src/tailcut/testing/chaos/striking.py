"""Arms the faults of a plan one after another, carries out those from outside, and ends those that last."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tailcut.testing.chaos.disk import empty, fill
from tailcut.testing.chaos.faults import ANYBODY, CONTROLLER, OUTSIDE, SHARE, Fault, Plan
from tailcut.testing.chaos.folder import Folder
from tailcut.testing.chaos.processes import Process
from tailcut.testing.chaos.view import View
from tailcut.types import Seconds

SETTLED, ONWARD = 0.3, 3
"""Seconds and versions after a fault before the view can show whether all workers take part."""
BEAT: Seconds = 0.1
"""Period of a throttled process, in seconds: it runs for a share of it, and is stopped for the rest."""


@dataclass(slots=True)
class _Lasting:
    """A fault that lasts for some time: its process is stopped, or throttled."""

    process: Process
    since: Seconds
    until: Seconds
    throttles: bool

    def see_to(self, now: Seconds) -> bool:
        """Stop or continue the process as due now; return whether the fault is over."""
        if now >= self.until:
            self.process.tell(signal.SIGCONT)
            return True
        if self.throttles:
            runs = (now - self.since) % BEAT < SHARE * BEAT
            self.process.tell(signal.SIGCONT if runs else signal.SIGSTOP)
        return False


@final
class Striking:
    """The faults of a plan.

    Args:
        plan: the plan with the faults.
        folder: folder of the run.
        tell: called with a line of text for each fault carried out.

    Attributes:
        missed: number of faults that were armed and never struck.
    """

    def __init__(self, plan: Plan, folder: Folder, tell: Callable[[str], None] = lambda text: None) -> None:
        self.missed = 0
        self._folder, self._tell, self._patience = folder, tell, plan.patience
        self._to_come = list(plan.faults)
        self._least = min(3, plan.workers // 2) if plan.spares_holders else 0
        self._armed: dict[int, tuple[Fault, Seconds]] = {}
        self._lasting: list[_Lasting] = []
        self._last: Seconds | None = None
        self._filled: Seconds | None = None
        self._struck: tuple[Seconds, int] | None = None

    @property
    def over(self) -> bool:
        """Return whether no fault is still to come, armed, or lasting."""
        return not (self._to_come or self._armed or self._lasting or self._filled)

    def is_settled(self, view: View, now: Seconds) -> bool:
        """Return whether all workers take part, and did so after the last fault."""
        if self._struck is None:
            return view.is_calm
        at, version = self._struck
        return view.is_calm and now >= at + SETTLED and view.newest >= version + ONWARD

    def look(self, view: View, now: Seconds) -> None:
        """End faults that are over, carry out those that are due, and arm the next ones."""
        self._lasting = [each for each in self._lasting if not each.see_to(now)]
        if self._filled is not None and now >= self._filled:
            self._empty()
        for fault, until in list(self._armed.values()):
            self._see_to(fault, until, view, now)
        if not self._is_safe(view):
            # If all workers with the state die, the run can only be resumed: such plans do not test that.
            self._hold(now)
            return
        while self._to_come and self._is_due(self._to_come[0], view, now):
            fault, self._last = self._to_come.pop(0), now
            self._armed[fault.number] = (
                fault,
                now + (fault.delay if fault.point == OUTSIDE else self._patience),
            )
            if fault.point != OUTSIDE:
                self._folder.arm(fault, view.newest + fault.gap)

    def close(self) -> None:
        """Continue all stopped processes, and free the disk."""
        for each in self._lasting:
            each.process.tell(signal.SIGCONT)
        if self._filled is not None:
            self._empty()

    def _is_safe(self, view: View) -> bool:
        """Return whether so many workers take part that some may be killed."""
        return view.taking_part >= self._least

    def _hold(self, now: Seconds) -> None:
        """Put back armed faults that have not struck yet: they are armed again later."""
        for fault, _ in self._armed.values():
            self._folder.disarm(fault)
        self._to_come = [*(fault for fault, _ in self._armed.values() if self._waits(fault)), *self._to_come]
        self._armed = {number: each for number, each in self._armed.items() if not self._waits(each[0])}
        self._last = now

    def _waits(self, fault: Fault) -> bool:
        return not self._folder.has_struck(fault)

    def _is_due(self, fault: Fault, view: View, now: Seconds) -> bool:
        if not view.newest:
            return False
        if self._last is not None and now < self._last + fault.pause:
            return False
        return not fault.calm or (not (self._armed or self._lasting) and self.is_settled(view, now))

    def _see_to(self, fault: Fault, until: Seconds, view: View, now: Seconds) -> None:
        if fault.point == OUTSIDE:
            if now >= until:
                del self._armed[fault.number]
                self._strike(fault, view, now)
        elif self._folder.has_struck(fault):
            del self._armed[fault.number]
            self._struck = now, view.newest
            self._tell(f"{now:.2f} {fault}")
            if fault.deed == "stop":
                stopped = Process.now(self._folder.struck_by(fault))
                self._lasting.append(_Lasting(stopped, now, now + fault.seconds, throttles=False))
        elif now >= until:
            del self._armed[fault.number]
            self._folder.disarm(fault)
            self.missed += 1

    def _strike(self, fault: Fault, view: View, now: Seconds) -> None:
        if fault.deed == "fill":
            self._fill(fault, view, now)
            return
        found = dict(sorted(view.pids.items())[:1]) if fault.victim == ANYBODY else view.pids
        victim = next(iter(found), 0) if fault.victim == ANYBODY else fault.victim
        pid = view.controller if fault.victim == CONTROLLER else found.get(victim)
        if pid is None:
            self.missed += 1
            return
        self._struck = now, view.newest
        self._folder.note_struck(fault, victim, pid, view.newest, now)
        self._tell(f"{now:.2f} {fault}")
        if fault.deed == "kill":
            for each in [pid, *(self._other(also, view) for also in fault.also)]:
                if each is not None:
                    Process.now(each).tell(signal.SIGKILL)
            return
        process = Process.now(pid)
        process.tell(signal.SIGSTOP)
        self._lasting.append(_Lasting(process, now, now + fault.seconds, fault.deed == "throttle"))

    def _other(self, whom: int, view: View) -> int | None:
        return view.controller if whom == CONTROLLER else view.pids.get(whom)

    def _fill(self, fault: Fault, view: View, now: Seconds) -> None:
        """Fill the disk that the engine writes to."""
        self._struck = now, view.newest
        self._folder.note_struck(fault, CONTROLLER, 0, view.newest, now)
        self._tell(f"{now:.2f} {fault}")
        self._filled = now + fault.seconds
        fill(self._folder.disk)

    def _empty(self) -> None:
        self._filled = None
        empty(self._folder.disk)
