"""Carries out steps: of the controller, of a worker, and faults from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from tailcut.engines.live.messages import FromWorker, Hello, Refused
from tailcut.testing.search import rules, workers
from tailcut.testing.search.bounds import Bounds, Bug, Troubles
from tailcut.testing.search.controllers import Controllers, Facts, Said
from tailcut.testing.search.explore import BrokenRuleError
from tailcut.testing.search.logs import Logs
from tailcut.testing.search.reading import reads
from tailcut.testing.search.scene import Scene
from tailcut.testing.search.steps import Step, living
from tailcut.testing.search.workers import OVER, Gradient, Phase, Worker


@final
class Deeds:
    """Carries out steps on a scene.

    Args:
        bounds: limits of the search.
        bug: bug to put in; None for none.
        controllers: store of controllers.
        logs: store of logs.
    """

    def __init__(self, bounds: Bounds, bug: Bug | None, controllers: Controllers, logs: Logs) -> None:
        self._bounds, self._bug, self._controllers, self._logs = bounds, bug, controllers, logs
        self._by_name: dict[str, Callable[[Scene, Step], None]] = {
            "hear": self._hear,
            "notice": self._notice,
            "tick": self._tick,
            "silence": self._silence,
            "arrive": self._arrive,
            "read": self._read,
            "complete": self._complete,
            "complete after all": self._complete_after_all,
            "break off": self._break_off,
            "stall": self._stall,
            "pull": self._pull,
            "copy": self._copy,
            "look up": self._look_up,
            "renew": self._renew,
            "hang up": self._hang_up,
            "kill": self._kill,
            "return": self._return,
            "cut": self._cut,
            "restart": self._restart,
            "take over": self._take_over,
            "publish": self._publish,
        }

    def do(self, scene: Scene, step: Step) -> None:
        """Carry out a step; raise BrokenRuleError if a rule forbids it."""
        self._by_name[step.what](scene, step)
        scene.tidy()

    # -- the controller -----------------------------------------------------------------------------------------

    def _hear(self, scene: Scene, step: Step) -> None:
        worker = scene.workers[step.worker]
        message, rest = worker.outbox[0], worker.outbox[1:]
        scene.workers[step.worker] = worker._replace(outbox=rest)
        if not self._is_stale(message, scene):
            self._moved(scene, *self._controllers.hear(scene.controller, message))

    def _is_stale(self, message: FromWorker, scene: Scene) -> bool:
        """Return whether a message other than Hello was sent to an earlier controller."""
        return (
            not isinstance(message, Hello) and message.term < self._controllers.facts[scene.controller].term
        )

    def _notice(self, scene: Scene, step: Step) -> None:
        self._moved(scene, *self._controllers.lost(scene.controller, step.worker))

    def _tick(self, scene: Scene, step: Step) -> None:
        self._moved(scene, *self._controllers.tick(scene.controller))

    def _silence(self, scene: Scene, step: Step) -> None:
        left = scene.shared.left
        self._spend(scene, left._replace(silences=left.silences - step.number), step.number)
        self._tick(scene, step)

    def _moved(self, scene: Scene, controller: int, said: Said) -> None:
        before, scene.controller = self._controllers.facts[scene.controller], controller
        new, shared = scene.send(said), scene.shared
        if new is not None:
            if shared.begun >= self._bounds.most_epochs:
                why = f"Epoch {new.epoch} begins, of term {new.term}: this is one too many for so little trouble."
                raise BrokenRuleError("endless", why)
            rules.check_new(new, shared, scene.workers, self._logs)
            if before.epoch == 0 and before.term > 1:
                rules.check_taken_over(new, scene.workers, shared.given_up, self._logs)
            # If all workers that had a version are gone, the others continue from the version they have.
            kept = shared.kept if living(shared.kept_by, scene.workers) else shared.published
            shared = shared._replace(begun=shared.begun + 1, given_up=frozenset(), kept=kept)
        facts = self._controllers.facts[controller]
        scene.shared = rules.published(facts, shared, scene.workers, self._logs)

    # -- workers ------------------------------------------------------------------------------------------------

    def _arrive(self, scene: Scene, step: Step) -> None:
        scene.workers[step.worker] = workers.arrives(scene.workers[step.worker], step.worker, self._logs)

    def _read(self, scene: Scene, step: Step) -> None:
        number, before = step.worker, scene.workers[step.worker]
        me = reads(before, number, self._bounds.workers, self._logs)
        if me.phase is Phase.GREETS and len(me.outbox) > len(before.outbox):
            me = reads(self._resumed(before, scene), number, self._bounds.workers, self._logs)
        scene.workers[number] = me
        if me.inside is not None:
            if me.gradient is Gradient.NONE:
                raise BrokenRuleError(
                    "nonsense", f"Worker {number} is to reduce, but has brought no gradient."
                )
            scene.join(number, me.inside, me.gradient is Gradient.SPOILT)

    def _complete(self, scene: Scene, step: Step) -> None:
        number, me = step.worker, scene.workers[step.worker]
        close = me.inside or me.haunts
        assert close is not None
        spoilt = scene.reduction(close).spoilt
        me = scene.workers[number] = workers.completes(me, number, close, spoilt, self._logs)
        if spoilt:
            why = f"Version {close.version + 1} is made of a gradient that an attempt before had changed."
            raise BrokenRuleError("spoilt", why)
        there = self._controllers.facts[scene.controller].there
        is_newer = self._logs.length(me.log) > self._logs.length(scene.shared.kept)
        if self._bug is Bug.EARLY_CHECKPOINT and number in there and is_newer:
            scene.shared = scene.shared._replace(kept=me.log, kept_by=frozenset(there))

    def _complete_after_all(self, scene: Scene, step: Step) -> None:
        phase = scene.workers[step.worker].phase
        self._complete(scene, step)
        if phase is not Phase.WAITS:
            scene.workers[step.worker] = scene.workers[step.worker]._replace(phase=phase)

    def _break_off(self, scene: Scene, step: Step) -> None:
        number, me = step.worker, scene.workers[step.worker]
        assert me.inside is not None
        scene.break_off(number, me.inside)
        gradient = Gradient.SPOILT if self._bug is Bug.IN_PLACE else me.gradient
        haunts = me.inside if self._bug is Bug.NO_PROMISE else None
        me = workers.stops(me._replace(gradient=gradient), number, self._logs)
        scene.workers[number] = me._replace(haunts=haunts)

    def _pull(self, scene: Scene, step: Step) -> None:
        me = scene.workers[step.worker]
        scene.workers[step.worker] = workers.pulls(me, step.worker, step.number, self._logs)

    def _copy(self, scene: Scene, step: Step) -> None:
        me = scene.workers[step.worker]
        assert me.new is not None
        log = self._logs.start(step.number, me.new.base)
        scene.workers[step.worker] = workers.copies(me, step.worker, log, self._logs)

    def _look_up(self, scene: Scene, step: Step) -> None:
        """Let a message call a worker away from pulling or copying."""
        number, me = step.worker, scene.workers[step.worker]
        if any(isinstance(message, Refused) for message in me.inbox):
            me = workers.gone(me)
        else:
            # A worker known as a joiner waits for the next epoch without another Hello.
            me = me._replace(phase=Phase.WAITS if me.built else Phase.GREETS, goal=workers.NOWHERE)
        scene.workers[number] = me

    def _renew(self, scene: Scene, step: Step) -> None:
        """Let a worker say Hello on its new connection: unread messages were lost with the old one."""
        me = self._resumed(scene.workers[step.worker]._replace(inbox=()), scene)
        scene.workers[step.worker] = workers.greets(me, step.worker, self._bounds.workers, self._logs)

    def _resumed(self, me: Worker, scene: Scene) -> Worker:
        """Return a worker about to say Hello, with the newest checkpoint if its state is behind that."""
        is_kept = self._bounds.checkpoints and me.phase is not Phase.DONE
        if not is_kept or self._bug is Bug.BEHIND_CHECKPOINT:
            return me
        return workers.resumes(me, scene.shared.published, self._logs)

    def _hang_up(self, scene: Scene, step: Step) -> None:
        me = scene.workers[step.worker]
        ended = Worker(Phase.ENDED, me.process, log=me.log)
        scene.workers[step.worker] = ended if me.phase is Phase.DONE else workers.gone(me)

    # -- faults -------------------------------------------------------------------------------------------------

    def _spend(self, scene: Scene, left: Troubles, many: int = 1) -> None:
        scene.shared = scene.shared._replace(left=left._replace(altogether=left.altogether - many))

    def _stall(self, scene: Scene, step: Step) -> None:
        left = scene.shared.left
        self._spend(scene, left._replace(stalls=left.stalls - 1))
        self._break_off(scene, step)

    def _kill(self, scene: Scene, step: Step) -> None:
        left = scene.shared.left
        self._spend(scene, left._replace(deaths=left.deaths - 1))
        scene.workers[step.worker] = workers.gone(scene.workers[step.worker], step.number)

    def _return(self, scene: Scene, step: Step) -> None:
        left, kept_by = scene.shared.left, scene.shared.kept_by - {step.worker}
        scene.shared = scene.shared._replace(left=left._replace(returns=left.returns - 1), kept_by=kept_by)
        log = scene.shared.published
        again = Worker(
            Phase.GREETS, scene.workers[step.worker].process + 1, log=log, since=self._logs.length(log)
        )
        scene.workers[step.worker] = workers.greets(again, step.worker, self._bounds.workers, self._logs)

    def _cut(self, scene: Scene, step: Step) -> None:
        left = scene.shared.left
        self._spend(scene, left._replace(cuts=left.cuts - 1))
        scene.workers[step.worker] = scene.workers[step.worker]._replace(renewed=True, outbox=())
        self._notice(scene, step)

    def _restart(self, scene: Scene, step: Step) -> None:
        left = scene.shared.left
        self._spend(scene, left._replace(restarts=left.restarts - 1))
        self._take_over(scene, step)

    def _take_over(self, scene: Scene, step: Step) -> None:
        """Put a replacement in the place of a controller that has ended."""
        facts = self._controllers.facts[scene.controller]
        scene.workers = [one._replace(outbox=(), renewed=one.phase not in OVER) for one in scene.workers]
        scene.controller = self._controllers.first(facts.term + 1, facts.deserted)
        given_up = facts.lost | facts.joining
        if facts.deserted:
            # It has lost all workers, but had only given up those that were not in its last epoch.
            given_up = frozenset(number for number in given_up if not _was_in(scene.workers[number], facts))
        scene.shared = scene.shared._replace(given_up=given_up)

    def _publish(self, scene: Scene, step: Step) -> None:
        """Publish the checkpoint of a version that all workers had reported."""
        scene.shared = scene.shared._replace(published=scene.shared.kept)


def _was_in(worker: Worker, facts: Facts) -> bool:
    """Return whether a worker knows that it was in the last epoch of a controller."""
    new = worker.new
    return new is not None and (new.term, new.epoch) == (facts.term, facts.begun)
