"""The proof gets its blocks on a machine where trials take longer than was forecast."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pgassay.advise.advice_page import configurations
from pgassay.advise.asking import settings_of
from pgassay.advise.budget import BLOCKS_MIN
from pgassay.advise.laboratory import RealLaboratory
from pgassay.advise.question import Question, document, names_of
from pgassay.advise.space import Machine, space_of
from pgassay.errors import PgassayError, UsageError
from pgassay.lab.run import WrittenStudy, journalled, write_study
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.record.directory import RunDirectory
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.study.document import Document
from pgassay.study.model import ALTERNATE
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


@pytest.mark.parametrize(("setting", "took_s"), [({"shared_buffers": "1GB"}, 10.0), ({"jit": "off"}, 16.0)])
def test_a_study_goes_by_trials_that_were_played_as_its_own_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: dict[str, str], took_s: float
) -> None:
    """Servers that differ in shared buffers take no turns, and those of the screening that did took longer."""
    asked: list[Document] = []

    def measured(self: RealLaboratory, name: str, wanted: Document) -> Findings:
        asked.append(wanted)
        raise AskedError

    made = make_run(tmp_path / "screening-01").trials
    make_run(tmp_path / "screening-apart-01")

    def opened(path: Path) -> SimpleNamespace:
        apart = path.name == "screening-apart-01"
        regime, length_s = ({}, 10.0) if apart else ({"pairing": ALTERNATE}, 16.0)
        return SimpleNamespace(trials=[replace(each, regime=regime, timings_s={"window": length_s}) for each in made])

    monkeypatch.setattr(RealLaboratory, "_measured", measured)
    monkeypatch.setattr(Run, "open", opened)
    space = space_of(settings_of({}, ["shared_buffers", "jit"]), Machine(8 << 30, 2), {})
    laboratory = RealLaboratory(
        tmp_path, Question({"driver": "pgbench"}, "tps"), space, BenchOptions(), lambda study: nullcontext(Watcher())
    )
    with pytest.raises(AskedError):
        laboratory.study("confirmation", space.start, [space.start.with_values(setting)], 1, 1.0)
    assert seconds("budget", asked[0]["design"]["budget"]) == pytest.approx(2 * BLOCKS_MIN * 1.15 * took_s, abs=1)


def test_configurations_go_by_names_and_not_by_all_their_settings() -> None:
    space = space_of(settings_of({}, ["work_mem", "jit", "commit_delay"]), Machine(8 << 30, 2), {"jit": "on"})
    start = space.start
    best = start.with_values({"jit": "off", "work_mem": "64MB"})
    rule = start.with_values({"commit_delay": "250"})
    named = {start: "default", rule: "rule of thumb"}
    proof = [best, start, rule, best.with_values({"jit": "on"}), best.with_values({"commit_delay": "500"})]
    called = names_of(proof, start, named, against_first=True)
    assert called == ["advised", "start", "rule of thumb", "without jit", "with commit_delay"]
    search = [start, best, rule]
    assert names_of(search, start, named, against_first=False) == ["start", "candidate 1", "rule of thumb"]
    assert names_of([rule, start], start, named, against_first=True) == ["rule of thumb", "start"]
    written = document(Question({"driver": "pgbench"}, "tps"), space, "x", proof, {}, called)
    study = write_study("x", written).study
    assert [each.name for each in study.treatments] == called
    table = configurations(study)
    assert "advised" in str(table)
    assert "64MB" in str(table)


def test_an_objective_that_no_trial_tells_ends_the_advice_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and not when all of the screening has shown nothing."""
    findings = Findings(make_run(tmp_path / "screening-01", discarded=False))
    space = space_of(settings_of({}, ["work_mem", "jit"]), Machine(8 << 30, 2), {})
    others = [space.start.with_values(each) for each in ({"jit": "off"}, {"work_mem": "64MB"})]
    monkeypatch.setattr(RealLaboratory, "_measured", lambda self, name, wanted: findings)

    def asked(*objectives: str) -> RealLaboratory:
        question = Question({"driver": "pgbench"}, objectives[0], others=objectives[1:])
        return RealLaboratory(tmp_path, question, space, BenchOptions(), lambda study: nullcontext(Watcher()))

    found = asked("tps", "latency_p99_ms").vectors("screening-01", space.start, others, 1)
    assert all(values is not None and len(values) == 2 for values in found.values())
    with pytest.raises(UsageError, match="no trial of screening-01 has a value of physical_bytes"):
        asked("tps", "physical_bytes").vectors("screening-01", space.start, others, 1)


def test_a_run_that_stops_inside_an_advice_names_the_command_that_goes_on_with_the_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the hint of the run alone, `pgassay resume`, the screening would end, and the search would never go on."""

    def run(self: RealLaboratory, written: WrittenStudy, path: Path) -> None:
        make_run(path, finished=False)
        with journalled(RunDirectory.open(path)):
            raise PgassayError("could not free /dev/loop1: device busy")

    monkeypatch.setattr(RealLaboratory, "_run", run)
    space = space_of(settings_of({}, ["jit"]), Machine(8 << 30, 2), {})
    laboratory = RealLaboratory(
        tmp_path, Question({"driver": "pgbench"}, "tps"), space, BenchOptions(), lambda study: nullcontext(Watcher())
    )
    with pytest.raises(PgassayError) as caught:
        laboratory.batch("screening-01", space.start, [space.start.with_values({"jit": "off"})], 1)
    assert caught.value.message == "screening-01: could not free /dev/loop1: device busy"
    assert caught.value.hint == f"committed trials are kept; continue with: pgassay advise --resume {tmp_path}"
