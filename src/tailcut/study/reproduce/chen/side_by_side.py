"""Synchronous, asynchronous, softsync and backup workers side by side, each at its best learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from tailcut.study.grid.config import Arm
from tailcut.study.parallel import Job
from tailcut.study.reproduce.chen import WHOSE
from tailcut.study.reproduce.curves import accuracy_plot, arms_sheet, edges
from tailcut.study.reproduce.experiment import Experiment, Kept
from tailcut.study.reproduce.findings import Claim, Finding
from tailcut.study.reproduce.judge import ACCURACY, SECONDS, Measure, compared
from tailcut.study.reproduce.trainings import Contest

SYNC, ASYNC, BACKUP = "sync", "async", "backup"
SOFT, SOFT_PLAIN = "softsync, rate / staleness", "softsync"
STOPPING, BAYES = "stopping", "bayes"


def arms(few: tuple[float, ...]) -> tuple[Arm, ...]:
    """Return the arms; `few` are rates to try for arms of many updates, where trials take long."""
    shares = (0.98, 0.96, 0.92, 0.84, 0.7)
    return (
        Arm(ASYNC, ("async",), "linear", few),
        Arm(SOFT_PLAIN, ("softsync:k=4",), "linear", few, "plain"),
        # Each gradient's rate is divided by its staleness, about 4; the rule is not stacked on the linear one.
        Arm(SOFT, ("softsync:k=4",), "fixed", tuple(0.5 * rate for rate in few), "inverse"),
        Arm(BAYES, ("bayes",), "linear"),
        Arm(STOPPING, ("stopping",), "linear"),
        Arm(SYNC, ("wait-all",), "linear"),
        Arm(BACKUP, tuple(f"backup:share={share}" for share in shares), "linear"),
    )


@final
@dataclass(frozen=True, slots=True)
class SideBySide(Experiment):
    """The experiment that compares the arms, one contest for each cluster."""

    contests: tuple[Contest, ...]
    key: str = "side-by-side"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return the jobs of all clusters."""
        return [job for contest in self.contests for job in contest.jobs(kept)]

    def finding(self, kept: Kept) -> Finding:
        """Find the arms that reach the target first, and the final accuracy of each."""
        first = self.contests[0]
        return Finding(
            key=self.key,
            title="Sync, async, softsync and backup workers side by side",
            setting=(
                f"{first.bench.what} in virtual time, RMSProp as in the paper, the rate of an update in "
                "proportion to its gradients; base rates, and the share that backup waits for, are tuned per arm on "
                f"other seeds. {first.seeds} seeds, the same run times and data for all. No decay of the rate and no "
                f"average of the weights, which the paper had. {edges(self.contests, kept)}"
            ).strip(),
            claims=tuple(claim for contest in self.contests for claim in _claims(contest, kept)),
            sheets=tuple(arms_sheet(contest, kept) for contest in self.contests),
            plots=tuple(accuracy_plot(contest, kept) for contest in self.contests),
        )


def _claims(contest: Contest, kept: Kept) -> tuple[Claim, ...]:
    where = contest.cluster

    def judged(text: str, whose: str, measure: Measure, one: str, other: str) -> Claim:
        values = contest.finals if measure is ACCURACY else contest.seconds
        verdict = compared(measure, (one, values(one, kept)), (other, values(other, kept)))
        return Claim(f"{text} ({where}).", verdict.holds, verdict.figure, whose)

    sooner = "reaches the target sooner than"
    return (
        judged(f"Backup {sooner} plain synchronous SGD", WHOSE, SECONDS, BACKUP, SYNC),
        judged(f"Backup {sooner} asynchronous SGD", WHOSE, SECONDS, BACKUP, ASYNC),
        judged("Backup ends at a better test accuracy than async", WHOSE, ACCURACY, BACKUP, ASYNC),
        judged("Plain sync ends at a better test accuracy than async", WHOSE, ACCURACY, SYNC, ASYNC),
        judged(f"Softsync {sooner} async", "question 14", SECONDS, SOFT, ASYNC),
        judged(f"Backup {sooner} softsync", "question 14", SECONDS, BACKUP, SOFT),
        judged(
            f"Deciding during the round {sooner} the best fixed backups", "tailcut", SECONDS, BAYES, BACKUP
        ),
    )
