"""The bar, and what to show when work on several sources ends early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tailcut.cli.entry import INTERRUPTED, fail
from tailcut.errors import InputError
from tailcut.study.parallel import Interrupted
from tailcut.study.source import Source

Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class Finished(Generic[Facts]):
    """What was finished, and why the rest was not.

    Attributes:
        facts: one entry for each source that was finished; the last may be finished in part.
        total: how many sources there were.
        ended: what ended the work early; None if nothing did.
    """

    facts: tuple[Facts, ...]
    total: int
    ended: KeyboardInterrupt | InputError | None

    def say_why(self) -> None:
        """After what was finished is shown: say why there is not more, and end the program."""
        if isinstance(self.ended, InputError):
            raise self.ended
        if self.ended is None:
            return
        partly = isinstance(self.ended, Interrupted)
        whole = len(self.facts) - partly
        said = f" and {self.ended.said}" if isinstance(self.ended, Interrupted) else ""
        fail(
            f"Interrupted after {whole} of {self.total} sources{said}; what was finished is shown.",
            INTERRUPTED,
        )


Work: TypeAlias = Callable[[Source, "Told"], Facts]


def each_source(
    sources: Sequence[Source], steps: int, work: Work[Facts], show: Callable[[Facts], None]
) -> Finished[Facts]:
    """Work on one source after the other behind a bar; what was finished may have taken hours and is kept.

    Args:
        sources: in order.
        steps: how often `work` will report progress, all sources together.
        work: a source, and whom to tell what was finished, to its facts.
        show: called with the facts of each source as soon as they are there, while no bar is drawn.

    Raises:
        InputError: before anything was finished.
    """
    done: list[Facts] = []
    ended: KeyboardInterrupt | InputError | None = None
    with _progress(steps) as bar:
        try:
            for source in sources:
                done.append(work(source, Told(bar, source)))
                bar.pause(lambda: show(done[-1]))
        except Interrupted as reason:
            ended = reason
            done.append(reason.facts)
            bar.pause(lambda: show(done[-1]))
        except (KeyboardInterrupt, InputError) as reason:
            ended = reason
    if isinstance(ended, InputError) and not done:
        raise ended
    return Finished(tuple(done), len(sources), ended)


@dataclass(frozen=True, slots=True)
class Told:
    """The receiver of what was finished of one source: steps of the bar, and rows."""

    _bar: _Bar
    _source: Source

    def step(self, what: str) -> None:
        """Move the bar on and name what was finished."""
        self._bar.advance(f"{Path(self._source.name).name}: {what}")

    def row(self, said: str) -> None:
        """Print a line above the bar where somebody watches a terminal."""
        self._bar.leave(f"{Path(self._source.name).name}: {said}")


class _Bar:
    """A progress bar on standard error; nothing is drawn where standard error is no terminal."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def advance(self, what: str) -> None:
        self._progress.update(self._task, advance=1, description=what)

    def leave(self, line: str) -> None:
        if not self._progress.disable:
            self._progress.console.print(line, markup=False, highlight=False)

    def pause(self, show: Callable[[], None]) -> None:
        """Take the bar away while something is printed on standard output."""
        if self._progress.disable:
            show()
            return
        self._progress.stop()
        show()
        self._progress.start()


@contextmanager
def _progress(total: int) -> Iterator[_Bar]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    console = Console(stderr=True)
    # Where nobody watches it would leave an empty line.
    off = not console.is_interactive
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=off) as progress:
        yield _Bar(progress, total)
