"""Time to a target with the published policy, against plain waiting, a fixed cutoff and Elfving's formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from tailcut.study.grid.config import Arm
from tailcut.study.parallel import Job
from tailcut.study.reproduce.bdsgd import CLOSED, PUBLISHED, WHOSE
from tailcut.study.reproduce.curves import accuracy_plot, arms_sheet, edges
from tailcut.study.reproduce.experiment import Bench, Experiment, Kept
from tailcut.study.reproduce.findings import Claim, Finding
from tailcut.study.reproduce.judge import ACCURACY, SECONDS, compared
from tailcut.study.reproduce.timings import model_jobs, published
from tailcut.study.reproduce.trainings import Contest

SYNC, STATIC = "wait-all", "static, tuned"


def arms(bench: Bench, cluster: str) -> tuple[Arm, ...]:
    """Return the arms; all are synchronous, with a rate in proportion to the accepted share."""
    shares = (0.9, 0.8, 0.7, 0.6, 0.5)
    return (
        Arm("bayes", ("bayes",)),
        Arm(PUBLISHED, (published(bench, cluster),)),
        Arm(CLOSED, (published(bench, cluster, closed=True),)),
        Arm("elfving", ("elfving",)),
        Arm("empirical", ("empirical",)),
        Arm(STATIC, tuple(f"backup:share={share}" for share in shares)),
        Arm("backup", ("backup",)),
        Arm(SYNC, ("wait-all",)),
    )


@final
@dataclass(frozen=True, slots=True)
class Training(Experiment):
    """The experiment on times to a target: one contest of arms."""

    contest: Contest
    key: str = "training"

    def jobs(self, kept: Kept) -> list[Job[str, Any]]:
        """Return the training of the published model if it is missing, then the jobs of the contest."""
        contest = self.contest
        return model_jobs(contest.bench, (contest.cluster,)) or contest.jobs(kept)

    def finding(self, kept: Kept) -> Finding:
        """Find the arms that reach the target first."""
        contest = self.contest
        return Finding(
            key=self.key,
            title="Time to a target",
            setting=(
                f"{contest.bench.what} in virtual time on {contest.cluster}, SGD with momentum, the rate of an update "
                "in proportion to its gradients; base rates, and the share of the tuned static cutoff, are tuned per "
                f"arm on other seeds. {contest.seeds} seeds, the same run times and data for all. The paper trained "
                f"larger nets. {edges((contest,), kept)}"
            ).strip(),
            claims=_claims(contest, kept),
            sheets=(arms_sheet(contest, kept),),
            plots=(accuracy_plot(contest, kept),),
        )


def _claims(contest: Contest, kept: Kept) -> tuple[Claim, ...]:
    def sooner(text: str, whose: str, one: str, other: str) -> Claim:
        verdict = compared(SECONDS, (one, contest.seconds(one, kept)), (other, contest.seconds(other, kept)))
        return Claim(text, verdict.holds, verdict.figure, whose)

    final = compared(
        ACCURACY, (PUBLISHED, contest.finals(PUBLISHED, kept)), (SYNC, contest.finals(SYNC, kept))
    )
    fixed = "Deciding during the round (bayes) reaches it sooner than the best fixed cutoff."
    return (
        sooner("bdsgd reaches the target sooner than waiting for all.", WHOSE, PUBLISHED, SYNC),
        sooner("bdsgd reaches it sooner than a fixed cutoff of 96 %.", WHOSE, PUBLISHED, "backup"),
        sooner("bdsgd reaches it sooner than Elfving's formula.", WHOSE, PUBLISHED, "elfving"),
        Claim(
            "After the same virtual time bdsgd has the better test accuracy than waiting for all.",
            final.holds,
            final.figure,
            WHOSE,
        ),
        sooner("bdsgd reaches it sooner than the best fixed cutoff.", "question 4", PUBLISHED, STATIC),
        sooner(
            "bdsgd reaches it sooner than a plain empirical distribution.",
            "question 5",
            PUBLISHED,
            "empirical",
        ),
        sooner(
            "bdsgd reaches it sooner than waiting for all when cut workers are imputed.",
            "question 6",
            CLOSED,
            SYNC,
        ),
        sooner(
            "Deciding during the round (bayes) reaches it sooner than bdsgd.", "tailcut", "bayes", PUBLISHED
        ),
        sooner(fixed, "tailcut", "bayes", STATIC),
    )
