"""The progress bar, and the results that are kept when work on several sources ends early."""

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
    """The results of the finished sources, and the reason why the others are missing.

    Attributes:
        facts: one entry for each source that was finished; the last may be finished in part.
        total: number of sources, finished or not.
        ended: the exception that ended the work early; None if all sources were finished.
    """

    facts: tuple[Facts, ...]
    total: int
    ended: KeyboardInterrupt | InputError | None

    def say_why(self) -> None:
        """End the program with the reason why sources are missing, if any are; call it after the results."""
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
    """Work on one source after the other, with a progress bar; keep finished results if the work ends early.

    Args:
        sources: the sources, in the order of work.
        steps: number of times `work` will report progress, for all sources together.
        work: computes the facts of a source, and reports its progress to a `Told`.
        show: called with the facts of each source as soon as they are there, while no bar is drawn.

    Raises:
        InputError: `work` raised it before any source was finished.
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
    """The progress reports of one source: steps of the bar, and finished rows."""

    _bar: _Bar
    _source: Source

    def step(self, what: str) -> None:
        """Advance the bar by one step and name what was finished."""
        self._bar.advance(f"{Path(self._source.name).name}: {what}")

    def row(self, said: str) -> None:
        """Print a line above the bar if standard error is a terminal."""
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
        """Remove the bar while `show` prints on standard output."""
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
    # Without a terminal the bar would leave an empty line.
    off = not console.is_interactive
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=off) as progress:
        yield _Bar(progress, total)
