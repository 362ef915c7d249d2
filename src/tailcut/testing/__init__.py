"""Conformance suites for rules, forecasters, clusters and tasks, for users that write their own.

Subclass a suite in a test file and return the object to test from one fixture; pytest does the rest:

    import pytest
    from tailcut.testing import RuleSuite

    class TestMyRule(RuleSuite):
        @pytest.fixture
        def rule(self):
            return MyRule(patience=3)

Several objects go through one suite with `@pytest.fixture(params=[…])`. Every rule, forecaster and cluster that
ships with tailcut passes these suites. Of all packages of tailcut only this one needs pytest.
"""

from tailcut.extras import require

require("tailcut.testing", "pytest")

import pytest  # noqa: E402

# Registered before the imports below, so that a failed assertion shows the compared values.
pytest.register_assert_rewrite(
    *(f"{__name__}.{part}" for part in ("clusters", "forecasters", "forecasts", "rules", "tasks"))
)

from tailcut.testing.clusters import ClusterSuite  # noqa: E402
from tailcut.testing.forecasters import ForecasterSuite  # noqa: E402
from tailcut.testing.forecasts import check_forecast  # noqa: E402
from tailcut.testing.rules import RuleSuite  # noqa: E402

__all__ = ["ClusterSuite", "ForecasterSuite", "RuleSuite", "check_forecast"]
