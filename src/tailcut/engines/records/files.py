"""A run's folder: every file name in it, and the claim of one run to it.

run.json          the settings, and the workers that take part
rounds.jsonl      one line per closed round; what became of late gradients; how the run ended
now.json          the current state, replaced several times a second
stragglers.json   the report on slow workers, written at the end
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tailcut.errors import InputError

RUN, ROUNDS, NOW, STRAGGLERS = "run.json", "rounds.jsonl", "now.json", "stragglers.json"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder that holds the record of a run."""

    root: Path

    @property
    def run(self) -> Path:
        """Return the path of the run's settings."""
        return self.root / RUN

    @property
    def rounds(self) -> Path:
        """Return the path of the lines, round by round."""
        return self.root / ROUNDS

    @property
    def now(self) -> Path:
        """Return the path of the current state."""
        return self.root / NOW

    @property
    def stragglers(self) -> Path:
        """Return the path of the report on stragglers."""
        return self.root / STRAGGLERS

    @property
    def holds_run(self) -> bool:
        """Return whether any file of a run is there."""
        return any(file.exists() for file in (self.run, self.rounds, self.now, self.stragglers))

    def refuse_run(self) -> None:
        """Refuse a folder that holds a run already.

        Raises:
            InputError: it does.
        """
        if self.holds_run:
            raise InputError(self._taken())

    def claim(self, run: str) -> None:
        """Make the folder this run's; other files in it do no harm.

        Args:
            run: text of `run.json`.

        Raises:
            InputError: it holds a run already, or cannot be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.refuse_run()
            # Mode "x": of two runs that start at once one is refused.
            with self.run.open("x", encoding="utf-8") as file:
                file.write(run)
        except FileExistsError as error:
            # Also raised for the folder itself, where a file has its name.
            told = self._taken() if self.root.is_dir() else f"{self.root} is a file. Give a folder."
            raise InputError(told) from error
        except OSError as error:
            raise InputError(
                f"The run cannot be recorded in {self.root} ({reason(error)}). Give a folder that can be written."
            ) from error

    def _taken(self) -> str:
        return f"{self.root} holds a run already. Give another folder, such as {self._fresh()}."

    def _fresh(self) -> Path:
        """Return a folder beside it that does not exist."""
        names = (self.root.with_name(f"{self.root.name}-{number}") for number in count(2))
        return next(folder for folder in names if not folder.exists())


def reason(error: OSError) -> str:
    """Return why a file could not be written, without its path."""
    return error.strerror or str(error)
