from __future__ import annotations

from pathlib import Path

import pytest
from report_facts import MakePolicy, MakeSource, bound, odd_sources, policy, source

from tailcut.report import write_page
from tailcut.study.facts import Comparison, SourceFacts


@pytest.fixture
def make_source() -> MakeSource:
    return source


@pytest.fixture
def make_policy() -> MakePolicy:
    return policy


@pytest.fixture
def make_bound() -> MakePolicy:
    return bound


@pytest.fixture
def comparison() -> Comparison:
    return Comparison("tailcut compare trace.csv", (source(),))


@pytest.fixture(params=list(odd_sources()))
def odd_source(request: pytest.FixtureRequest) -> SourceFacts:
    return odd_sources()[request.param]


@pytest.fixture(scope="session")
def usual_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the usual source, drawn once for all who only read it."""
    file: Path = tmp_path_factory.mktemp("usual") / "page.html"
    write_page(Comparison("tailcut compare trace.csv", (source(),)), file)
    return file.read_text(encoding="utf-8")
