from __future__ import annotations

from typing import Any

import pytest

from tailcut.rules import (
    AdaSync,
    Ahead,
    Backup,
    Bandit,
    Dbw,
    Deadline,
    Explore,
    Fair,
    Floor,
    MicroDeadline,
    Regression,
    Rule,
    Stopping,
    Valued,
    WaitAll,
    WarmUp,
)
from tailcut.testing import RuleSuite

RULES: dict[str, Rule[Any, Any]] = {
    "wait-all": WaitAll(),
    "backup, b": Backup(b=2),
    "backup, c": Backup(c=3),
    "backup, share": Backup(share=0.6),
    "deadline": Deadline(seconds=1.1),
    "ahead": Ahead(),
    "stopping": Stopping(),
    "stopping at every arrival": Stopping(skip=0.0),
    "bandit": Bandit(),
    "regression": Regression(),
    "regression, quick": Regression(window=4, lags=1),
    "micro, given": MicroDeadline(micro=8, threshold=1.2),
    "micro, learnt": MicroDeadline(micro=8, window=5),
    "micro, following": MicroDeadline(micro=8, follow=True),
    "dbw": Dbw(),
    "dbw, quick": Dbw(window=3, average=1),
    "adasync": AdaSync(),
    "adasync, quick": AdaSync(share=0.1, memory=1.0),
    "valued, ahead": Valued(Ahead()),
    "valued, stopping": Valued(Stopping()),
    "warm-up": WarmUp(Ahead()),
    "warm-up, impatient": WarmUp(Stopping(), factor=1.0),
    "floor": Floor(Stopping(), least=2),
    "floor, share": Floor(Backup(c=1), least=0.5),
    "explore": Explore(Backup(c=2), first=1),
    "fair, waiting": Fair(Backup(c=2), most_rounds=2),
    "fair, stale": Fair(Backup(c=2), most_rounds=2, how="stale"),
    "all wrapped, valued": Fair(Floor(Explore(WarmUp(Valued(Stopping()))), least=2), most_rounds=4),
    "all wrapped": Fair(Floor(Explore(WarmUp(Stopping())), least=2), most_rounds=4, how="stale"),
}


class TestRules(RuleSuite):
    @pytest.fixture(params=RULES.values(), ids=RULES.keys())
    def rule(self, request: pytest.FixtureRequest) -> Rule[Any, Any]:
        rule: Rule[Any, Any] = request.param
        return rule
