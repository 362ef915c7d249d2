"""Train on servers: carry out a plan on a running cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, final

import numpy as np

from tailcut.engines.records.listener import Listener, Several
from tailcut.engines.servers.beginning import beginning
from tailcut.engines.servers.computing import net_of
from tailcut.engines.servers.course import Course
from tailcut.engines.servers.crew import Done
from tailcut.engines.servers.driver import Driver
from tailcut.engines.servers.failures import ServersError, ShardLostError, sentence_of
from tailcut.engines.servers.hiring import Hiring
from tailcut.engines.servers.hooks import Hooks
from tailcut.engines.servers.keeping import Keeping, learnt_in
from tailcut.engines.servers.looks import Looks
from tailcut.engines.servers.making import Maker
from tailcut.engines.servers.pieces import Piece
from tailcut.engines.servers.plan import Plan, Result
from tailcut.engines.servers.reckoning import Reckoning
from tailcut.engines.servers.shards import Manifest, Shards
from tailcut.engines.servers.slices import Slices, Telling
from tailcut.engines.servers.waiting import Waiting
from tailcut.events import Settle
from tailcut.round import Rounds
from tailcut.types import RoundRecord, Seconds, WorkerId

Say = Callable[[str], None]


def train(
    ray: Any,
    plan: Plan,
    *,
    say: Say = lambda line: None,
    listener: Listener | None = None,
    heard: Callable[[Done], None] = lambda done: None,
    meanwhile: Callable[[Driver], None] = lambda driver: None,
    clock: Callable[[], Seconds] = time.monotonic,
) -> Result:
    """Carry a plan out.

    Args:
        ray: the package, connected to a cluster.
        plan: what to do.
        say: called with messages to the user.
        listener: records the run; None for no record.
        heard: called with every gradient as it arrives, unless its job was dropped.
        meanwhile: called several times a second; it may add and remove workers.
        clock: returns the time in seconds.

    Raises:
        ServersError: the cluster does not do what is asked of it.
        InputError: the checkpoints are of another run.
    """
    listener = listener or Several()
    try:
        training = _Training(ray, plan, say, listener, heard, meanwhile, clock)
    except BaseException:
        listener.give_up()
        raise
    try:
        return asyncio.run(training.carry_out())
    except ShardLostError as error:
        raise ServersError(str(error)) from error
    except Exception as error:
        told = sentence_of(error)
        if told is None:
            raise
        raise ServersError(told) from error


@final
class _Training:
    """The carrying out of one plan."""

    def __init__(
        self,
        ray: Any,
        plan: Plan,
        say: Say,
        listener: Listener,
        heard: Callable[[Done], None],
        meanwhile: Callable[[Driver], None],
        clock: Callable[[], Seconds],
    ) -> None:
        self._ray, self._plan, self._say, self._clock = ray, plan, say, clock
        self._listener, self._heard, self._meanwhile = listener, heard, meanwhile
        self._task = plan.setting.task()
        self._net = net_of(self._task, plan.setting.seed)
        self._slices = Slices(self._net.vector.numel(), plan.servers)
        self._reckoning = Reckoning(plan.recipe, plan.workers, plan.setting.batch)
        self._servers: list[Any] = []
        self._first = Piece(0, self._net.vector.cpu().numpy().copy(), {})
        self._hiring = Hiring(ray, plan)
        self._is_begun = False
        self._begun: dict[WorkerId, int] = {}
        self._found = Result()

    async def carry_out(self) -> Result:
        """Train from the first parameters, or those of the newest checkpoint, to the end."""
        try:
            first = self._restored()
            names, sizes = self._net.layout
            for number, piece in enumerate(self._slices.all):
                telling = Telling(tuple(names), tuple(sizes), self._task.noise_of, piece)
                self._servers.append(self._hiring.shard(number, telling))
            self._shards = Shards(self._servers, self._say, self._plan.patience)
            return await self._carried_out(first)
        finally:
            if not self._is_begun:
                # The run never began: its record must not be in the way of the next attempt.
                self._listener.give_up()
            for actor in self._servers:
                self._hiring.dismiss(actor)

    async def _carried_out(self, first: Manifest) -> Result:
        plan, get = self._plan, self._ray.get
        self._looks = Looks(
            self._task,
            plan.setting.seed,
            get,
            plan.target,
            plan.every,
            plan.updates,
            lambda look: self._say(str(look)),
        )
        folder = plan.checkpoints
        self._keeping = (
            None
            if folder is None
            else Keeping(folder, plan.keep_every, plan.identity, get, self._say, policy_name=plan.policy_name)
        )
        self._driver, self._is_begun = self._new_driver(first), True
        self._waiting = Waiting(plan.workers, plan.patience, self._say, self._clock)
        helpers = [self._looks.work(), *([self._keeping.work()] if self._keeping else [])]
        tasks = [asyncio.get_running_loop().create_task(each) for each in helpers]
        self._looks.begin(first)
        try:
            if first.version:
                # The run may have reached its target before it was interrupted.
                await self._looks.finish()
            if first.version < plan.updates and not self._looks.arrived:
                await self._driver.run(range(plan.workers))
            await self._looks.finish()
            self._see_to_looks()
        except asyncio.CancelledError:
            # Keep the newest version, so that an interrupted run can resume from it.
            self._driver.why = "It was interrupted."
            self._keep(self._driver.manifest, is_last=self._driver.version > first.version)
            raise
        except BaseException as error:
            self._driver.why = str(error) or type(error).__name__
            raise
        finally:
            if self._keeping is not None:
                await self._keeping.finish()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            self._listener.end(self._driver, self._clock())
        return self._result(self._shards.manifest or first)

    def _new_driver(self, first: Manifest) -> Driver:
        plan, hiring = self._plan, self._hiring
        return Driver(
            self._course,
            first,
            Maker(self._shards, self._reckoning),
            self._shards,
            hiring.worker,
            hiring.dismiss,
            begin_with=plan.workers if plan.begin_with is None else plan.begin_with,
            hooks=Hooks(
                after_update=self._after_update,
                keep=lambda manifest: self._keep(manifest, is_last=self._driver.over),
                skipped=self._skipped,
                restore=self._newest,
                back=self._back,
                heard=self._note,
                look=self._look,
                say=self._say,
            ),
            clock=self._clock,
        )

    def _look(self, driver: Driver) -> None:
        self._listener.look(driver, self._clock())
        self._see_to_looks()
        if driver.has_begun and driver.roster.there:
            self._waiting.over()
        else:
            self._waiting.look(driver.roster.there)
        self._meanwhile(driver)

    def _course(self, before: Course | None) -> Course:
        """Return the rounds; they continue with what the policy has learned and the workers' counts."""
        plan = self._plan
        overhead = 0.0 if before is None else before.overhead
        rounds = Rounds(plan.policy, plan.acceptance, plan.late_finish, overhead)
        begun = self._begun if before is None else before.begun
        learnt = None if before is None else before.learnt
        if before is None and plan.checkpoints is not None:
            learnt = learnt_in(plan.checkpoints, plan.policy, self._say, plan.policy_name)
        if learnt is not None:
            rounds.state = learnt
        return Course(rounds, self._closed, self._settled, begun)

    def _closed(self, record: RoundRecord) -> None:
        self._found.rounds.append(record)
        self._listener.round(record)

    def _settled(self, settle: Settle) -> None:
        self._found.settled.append(settle)
        self._listener.settled(settle)

    def _note(self, done: Done) -> None:
        self._found.computed[done.came.job.worker, done.came.job.version] = done.came.run_time
        self._heard(done)

    def _after_update(self, manifest: Manifest) -> bool:
        self._found.made.append(self._clock() - self._found.rounds[0].opened)
        self._looks.offer(manifest, self._found.made[-1])
        return self._looks.arrived or manifest.version >= self._plan.updates

    def _keep(self, manifest: Manifest, is_last: bool) -> None:
        if self._keeping is not None:
            driver = self._driver
            what = (manifest, self._reckoning.noise, driver.begun, lambda: driver.learnt)
            self._keeping.offer(*what, is_last=is_last)

    def _skipped(self, version: int, why: str) -> None:
        self._say(f"Version {version} is as the one before it: {why} The run goes on.")
        self._listener.skipped(version - 1, why)

    def _see_to_looks(self) -> None:
        """Raise the error of an evaluation that failed, so that the user learns the reason."""
        if self._looks.failed is not None:
            raise self._looks.failed

    def _back(self, version: int, why: str) -> None:
        # A round may have been closed whose update was never made.
        del self._found.rounds[len(self._found.made) :]
        self._looks.go_back(version)
        self._say(f"All go back to version {version}: {why}")
        self._listener.back(version, why)

    async def _newest(self) -> Manifest:
        if self._keeping is not None:
            await self._keeping.written()
        return self._restored()

    def _restored(self) -> Manifest:
        """Put the newest checkpoint, or the first parameters, into Ray's store and return the manifest."""
        found = beginning(self._plan, self._first, self._slices, self._ray.put, self._say)
        self._reckoning.noise, self._begun = found.noise, found.begun
        return found.manifest

    def _result(self, last: Manifest) -> Result:
        found, driver = self._found, self._driver
        found.looks = self._looks.taken
        found.begun, found.idle = driver.roster.begun, driver.roster.idle
        found.restored, found.skipped, found.returns = self._shards.restored, driver.skipped, driver.returns
        found.version = last.version
        found.parameters = np.concatenate(self._ray.get(list(last.parameters)))
        return found
