"""A contradicted claim says why it may be so, with what was measured; others say nothing."""

import pytest

from pgassay.analysis.claims import Mark
from pgassay.report import text
from pgassay.report.findings import Findings
from tests.report.driven import make_driven


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_driven(tmp_path_factory.mktemp("driven") / "run"))


def test_only_contradicted_claims_have_a_reason(driven: Findings) -> None:
    marks = {judged.mark for judged in driven.claims}
    assert {Mark.CONTRADICTED, Mark.REPRODUCED} <= marks
    for judged in driven.claims:
        assert bool(judged.why) == (judged.mark is Mark.CONTRADICTED), judged.claim.text


def test_the_reason_holds_what_was_measured_of_the_claims_treatment(driven: Findings) -> None:
    (judged,) = (each for each in driven.claims if "1/3.91" in each.claim.text)
    assert judged.mark is Mark.CONTRADICTED, "planted: 230 MB of 500"
    assert "here tables shrink 2.20 times" in judged.why
    assert "measured beside it: " in judged.why
    assert f"why: {judged.why}" in text.render(driven)


def test_what_was_not_measured_says_so(driven: Findings) -> None:
    (judged,) = (each for each in driven.claims if "1/3.91" in each.claim.text)
    assert "indexes (not measured)" in judged.why
