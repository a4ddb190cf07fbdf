"""The proof gets its blocks on a machine where trials take longer than was forecast."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pgassay.advise.asking import settings_of
from pgassay.advise.budget import BLOCKS_MIN, amounts
from pgassay.advise.laboratory import RealLaboratory, play_once
from pgassay.advise.report import configurations
from pgassay.advise.space import Limits, Machine, space_of
from pgassay.advise.task import Question, Task, document, names_of
from pgassay.errors import PgassayError, UsageError
from pgassay.lab.run import WrittenStudy, journalled, write_study
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.record.directory import RunDirectory
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.study.document import Document
from pgassay.study.model import ALTERNATE
from pgassay.study.units import seconds
from pgassay.testing.planted import make_run


class AskedError(Exception):
    """A study would begin."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """The studies that a laboratory would run; each ends in `AskedError`."""
    found: list[Document] = []

    def measured(self: RealLaboratory, name: str, wanted: Document) -> Findings:
        found.append(wanted)
        raise AskedError

    monkeypatch.setattr(RealLaboratory, "_measured", measured)
    return found


@pytest.mark.parametrize(("budget_s", "longer"), [(1.0, True), (1e6, False)])
def test_a_study_has_time_for_its_least_blocks(
    tmp_path: Path, asked: list[Document], budget_s: float, longer: bool
) -> None:
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


def test_no_run_of_an_advice_has_more_time_than_is_left_for_all(tmp_path: Path, asked: list[Document]) -> None:
    make_run(tmp_path / "screening-01")
    space = space_of(settings_of({}, ["work_mem", "jit"]), Machine(8 << 30, 2), {})

    def laboratory(budget_s: float) -> RealLaboratory:
        question = Question({"driver": "pgbench"}, "tps")
        watching = lambda study: nullcontext(Watcher())  # noqa: E731
        return RealLaboratory(tmp_path, question, space, BenchOptions(), watching, budget_s=budget_s)

    spent_s = laboratory(1.0).spent_s("screening-01")
    other = space.start.with_values({"jit": "off"})
    for left_s, given_s in ((40.0, 40.0), (1e6, 650.0), (-3.0, 1.0)):
        with pytest.raises(AskedError):
            laboratory(spent_s + left_s).points("confirmation", space.start, [other], 1, 5, 500.0)
        assert seconds("budget", asked.pop()["design"]["budget"]) == given_s
    assert laboratory(spent_s + 40.0).left_s("screening-01") == spent_s + 40.0, "its own time is not gone before it"
    late = laboratory(spent_s - 3.0)
    with pytest.raises(UsageError, match="the budget was used up before search-01"):
        late.batch("search-01", space.start, [other], 1)
    with pytest.raises(AskedError):
        laboratory(spent_s + 3.0).batch("search-01", space.start, [other], 1)
    make_run(tmp_path / "confirmation")
    with pytest.raises(AskedError):
        late.batch("taken-lines-01", space.start, [other], 1)  # what was proved is not lost


def test_a_block_that_is_played_for_its_pace_is_of_the_start_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[WrittenStudy, Path]] = []

    def run_study(written: WrittenStudy, path: Path, options: BenchOptions, watcher: Watcher) -> None:
        ran.append((written, path))
        make_run(path)

    monkeypatch.setattr("pgassay.advise.laboratory.run_study", run_study)
    names = ["work_mem", "jit", "shared_buffers"]
    space = space_of(settings_of({}, names), Machine(8 << 30, 2), {})
    steps = amounts(3600.0, 1.0, len(names), finalists=1)
    for turned, tried in ((("jit",), "jit"), ((), "shared_buffers")):
        task = Task(space, Limits(8 << 30, 1), steps, True, 0.05, 1, turned=turned)
        took_s = play_once(
            task, Question({"driver": "pgbench"}, "tps"), BenchOptions(), lambda study: nullcontext(Watcher())
        )
        written, path = ran.pop()
        assert took_s > 0
        assert not path.exists()
        assert (written.study.design.blocks_min, written.study.design.blocks_max) == (1, 1)
        assert len(written.study.arms) == 2
        assert {name for each in written.study.treatments for name in each.levels} >= {f"server.{tried}"}


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

    found = asked("tps", "latency_p99_ms").batch("screening-01", space.start, others, 1)
    assert all(values is not None and len(values) == 2 for values in found.values())
    with pytest.raises(UsageError, match="no trial of screening-01 has a value of physical_bytes"):
        asked("tps", "physical_bytes").batch("screening-01", space.start, others, 1)


def test_a_run_that_stops_inside_an_advice_names_the_command_that_goes_on_with_the_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the hint of the run alone, `pgassay resume`, the screening would end, and the search would never go on."""

    def run_study(written: WrittenStudy, path: Path, *options: object) -> None:
        make_run(path, finished=False)
        with journalled(RunDirectory.open(path)):
            raise PgassayError("could not free /dev/loop1: device busy")

    monkeypatch.setattr("pgassay.advise.laboratory.run_study", run_study)
    space = space_of(settings_of({}, ["jit"]), Machine(8 << 30, 2), {})
    laboratory = RealLaboratory(
        tmp_path, Question({"driver": "pgbench"}, "tps"), space, BenchOptions(), lambda study: nullcontext(Watcher())
    )
    with pytest.raises(PgassayError) as caught:
        laboratory.batch("screening-01", space.start, [space.start.with_values({"jit": "off"})], 1)
    assert caught.value.message == "screening-01: could not free /dev/loop1: device busy"
    assert caught.value.hint == f"committed trials are kept; continue with: pgassay advise --resume {tmp_path}"
