"""The proof gets its blocks on a machine where trials take longer than was forecast."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from pgassay.advise.asking import settings_of
from pgassay.advise.budget import BLOCKS_MIN
from pgassay.advise.laboratory import Question, RealLaboratory
from pgassay.advise.space import Machine, space_of
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.study.document import Document
from pgassay.study.quantities import seconds
from pgassay.testing.planted import make_run


class AskedError(Exception):
    """A study would begin."""


@pytest.mark.parametrize(("budget_s", "longer"), [(1.0, True), (1e6, False)])
def test_a_study_has_time_for_its_least_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget_s: float, longer: bool
) -> None:
    asked: list[Document] = []

    def measured(self: RealLaboratory, name: str, wanted: Document) -> Findings:
        asked.append(wanted)
        raise AskedError

    monkeypatch.setattr(RealLaboratory, "_measured", measured)
    make_run(tmp_path / "screening-01")
    took_s = max(each.length_s for each in Run.open(tmp_path / "screening-01").trials)
    assert took_s > 0
    space = space_of(settings_of({}, ["work_mem", "jit"]), Machine(8 << 30, 2), {})
    laboratory = RealLaboratory(
        tmp_path, Question({"driver": "pgbench"}, "tps"), space, BenchOptions(), lambda study: nullcontext(Watcher())
    )
    other = space.start.with_values({"jit": "off"})
    with pytest.raises(AskedError):
        laboratory.study("elimination", space.start, [other], 1, budget_s)
    [document] = asked
    given_s = seconds("budget", document["design"]["budget"])
    assert (given_s > budget_s) is longer
    assert given_s >= 0.9 * 2 * BLOCKS_MIN * took_s
