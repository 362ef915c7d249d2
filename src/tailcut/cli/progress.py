"""The bar, and what to show when work on several sources ends early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tailcut.cli.entry import INTERRUPTED, fail
from tailcut.errors import InputError
from tailcut.study.source import Source

Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class Finished(Generic[Facts]):
    """What was finished, and why the rest was not.

    Attributes:
        facts: one entry for each source that was finished.
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
        if self.ended is not None:
            fail(
                f"Interrupted after {len(self.facts)} of {self.total} sources; what was finished is shown.",
                INTERRUPTED,
            )


def each_source(
    sources: Sequence[Source], steps: int, work: Callable[[Source, Callable[[str], None]], Facts]
) -> Finished[Facts]:
    """Work on one source after the other behind a bar; what was finished may have taken hours and is kept.

    Args:
        sources: in order.
        steps: how often `work` will report progress, all sources together.
        work: a source, and whom to tell what was finished, to its facts.

    Raises:
        InputError: before anything was finished.
    """
    done: list[Facts] = []
    ended: KeyboardInterrupt | InputError | None = None
    with _progress(steps) as advance:
        try:
            for source in sources:
                done.append(work(source, lambda what, source=source: advance(source, what)))  # type: ignore[misc]
        except (KeyboardInterrupt, InputError) as reason:
            ended = reason
    if isinstance(ended, InputError) and not done:
        raise ended
    return Finished(tuple(done), len(sources), ended)


class _Advance:
    """Moves the bar and names what was finished."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def __call__(self, source: Source, what: str) -> None:
        self._progress.update(self._task, advance=1, description=f"{Path(source.name).name}: {what}")


@contextmanager
def _progress(total: int) -> Iterator[_Advance]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    console = Console(stderr=True)
    # Where nobody watches it would leave an empty line.
    off = not console.is_interactive
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=off) as progress:
        yield _Advance(progress, total)
