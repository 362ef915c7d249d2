"""The system that the search explores: a real controller, model workers, and the messages between them.

A reduction completes at one worker after another, so any worker may die between the first and the last of
them. Messages keep their order on each connection, and may arrive at any time. The last messages of a killed
worker may be lost or arrive; then the controller notices its death, at any time. A frozen worker takes no
step for a while.

Workers are not interchangeable: a controller prefers lower numbers if it has the choice, so states that
differ only in the numbers of workers are different states.
"""

from __future__ import annotations

from typing import final

from tailcut.testing.search import rules
from tailcut.testing.search.bounds import Bounds, Bug
from tailcut.testing.search.controllers import Controllers, Facts
from tailcut.testing.search.deeds import Deeds
from tailcut.testing.search.explore import BrokenRuleError
from tailcut.testing.search.logs import Logs
from tailcut.testing.search.scene import Numbered, Scene, Shared, State
from tailcut.testing.search.steps import TROUBLE, Step, possible
from tailcut.testing.search.tell import told
from tailcut.testing.search.workers import Phase, Worker, greets


@final
class World:
    """The system to explore.

    Args:
        bounds: limits of the search.
        bug: bug to put in; None for none.

    Attributes:
        controllers: all controllers met so far.
        logs: all logs met so far.

    Example:
        >>> from tailcut.testing.search.bounds import Troubles
        >>> from tailcut.testing.search.explore import explore
        >>> calm = Bounds(workers=2, total=1, troubles=Troubles(altogether=0, returns=0))
        >>> found = explore(World(calm), most_states=10_000)
        >>> found.whole, found.ends, found.violations
        (True, True, ())
    """

    def __init__(self, bounds: Bounds, bug: Bug | None = None) -> None:
        self.controllers, self.logs = Controllers(bounds, bug), Logs()
        self._bounds, self._bug = bounds, bug
        self._deeds = Deeds(bounds, bug, self.controllers, self.logs)
        self._shared, self._workers = Numbered[Shared](), Numbered[Worker]()
        self._sound: set[tuple[object, ...]] = set()

    def start(self) -> State:
        """Return the first state: all workers have said Hello, and have read the answers."""
        many = self._bounds.workers
        those = [greets(Worker(Phase.GREETS), number, many, self.logs) for number in range(many)]
        scene = Scene(self.controllers.first(1), Shared(self._bounds.troubles), those)
        for what in ("hear", "read"):
            for number in range(many):
                self._deeds.do(scene, Step(what, number))
        return self._packed(scene)

    def steps(self, state: State) -> list[Step]:
        """Return all steps that can happen next."""
        return possible(self._scene(state), self._facts(state), self._bounds, self._bug, self.logs)

    def after(self, state: State, step: Step) -> State:
        """Return the state after a step; raise BrokenRuleError if a rule forbids the step."""
        scene = self._scene(state)
        self._deeds.do(scene, step)
        return self._packed(scene)

    def is_trouble(self, step: Step) -> bool:
        """Return whether a step is a fault from outside."""
        return step.what in TROUBLE

    def check(self, state: State) -> None:
        """Raise BrokenRuleError if a state breaks a rule."""
        scene, facts = self._scene(state), self._facts(state)
        rules.check_reason(facts, scene.workers, self._bounds.total)
        # Most states differ in messages only: the members are checked once for all of them.
        seen = (state[0], scene.shared.kept, *((one.phase, one.log) for one in scene.workers))
        if seen not in self._sound:
            rules.check_members(facts, scene.workers, scene.shared.kept, self.logs)
            self._sound.add(seen)

    def check_end(self, state: State) -> None:
        """Raise BrokenRuleError if a state in which only faults can happen is no end of a run."""
        facts = self._facts(state)
        if facts.ended and not facts.deserted and not self._bounds.to_the_end:
            return
        rules.check_ended(self._facts(state), self._scene(state).workers, self._bounds.total, self.logs)

    def tell(self, state: State, step: Step) -> str:
        """Return a step as a sentence."""
        before = self._scene(state)
        try:
            after = self._scene(self.after(state, step))
        except BrokenRuleError:
            after = before
        return told(step, before, after, self._facts(state), self.logs)

    def _scene(self, state: State) -> Scene:
        """Return a state as objects."""
        those = [self._workers.values[number] for number in state[2:]]
        return Scene(state[0], self._shared.values[state[1]], those)

    def _facts(self, state: State) -> Facts:
        """Return the facts about the controller of a state."""
        return self.controllers.facts[state[0]]

    def _packed(self, scene: Scene) -> State:
        those = (self._workers.number(worker) for worker in scene.workers)
        return scene.controller, self._shared.number(scene.shared), *those
