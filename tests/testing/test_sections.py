"""Every section of ours keeps the contract of sections, on a run of one factor and on one that has a curve."""

import pytest

from pgassay.report.contents import SECTIONS
from pgassay.report.findings import Findings
from pgassay.report.section import Section
from pgassay.testing.contracts import SectionContract
from tests.report.scaled import make_scaled


class TestSections(SectionContract):
    @pytest.fixture(params=SECTIONS, ids=[section.name for section in SECTIONS])
    def section(self, request: pytest.FixtureRequest) -> Section:
        section: Section = request.param
        return section


class TestSectionsOfACurve(TestSections):
    @pytest.fixture(scope="class")
    @classmethod
    def findings(cls, tmp_path_factory: pytest.TempPathFactory) -> Findings:
        return Findings(make_scaled(tmp_path_factory.mktemp("scaled") / "run"))
