"""What docs/ keeps of a run of power cuts: the figures of its report, none of the machine's paths, and the table."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import pytest

from benchmarks.cut_summary import NONE_KEPT, encode, long_runs, read, summary_of, times_of
from pgassay.analysis.power_cuts import sequence_upper
from pgassay.record.power_cuts import CutRecord
from pgassay.record.reading import Run
from pgassay.testing.planted import make_run
from tests.report.cut_runs import BLOCKS, CUTS, SOUND, make_cuts


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_cuts(tmp_path_factory.mktemp("made") / "run")


def test_a_summary_has_the_figures_of_the_report(run: Run) -> None:
    safe, *others = summary_of(run).arms
    made = BLOCKS * CUTS
    assert (safe.cuts, safe.epochs, safe.blocks, safe.damaged_cuts) == (made, made, BLOCKS, 0)
    assert safe.upper == sequence_upper(0, made)
    assert safe.verdict.startswith(f"safe: 0 of {made} cuts")
    assert safe.draws == {"all": made, "nothing": 0, "prefix": 0, "independent": 0}
    assert (safe.pages, safe.torn, safe.compared, safe.checked) == (made, made, made, 0)
    assert (safe.recovery.count, safe.recovery.median_ms, safe.recovery.p99_ms) == (made, SOUND.recovery_ms, None)
    damaged = {each.name: each for each in others if each.damaged_cuts}
    assert damaged
    for each in damaged.values():
        assert sum(count for kind, count in each.verdicts.items() if kind != "sound") == each.damaged_cuts
        assert each.damaged_epochs <= each.epochs
    torn = next(each for each in damaged.values() if "damaged_page" in each.verdicts)
    assert torn.recovery.count == torn.cuts - torn.damaged_cuts, "one that did not recover has no time"


def test_a_summary_is_read_as_it_was_written(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "night.json"
    path.write_text(encode(summary_of(run)), encoding="utf-8")
    assert read(path) == summary_of(run)
    path.write_text('{"study": "power-cut"}', encoding="utf-8")
    with pytest.raises(msgspec.ValidationError):
        read(path)


def test_paths_of_the_machine_stay_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/var/lib/postgresql/data"
    trials = tuple(replace(each, settings={"data_directory": path, "work_mem": "4MB"}) for each in run.trials)
    monkeypatch.setattr(Run, "trials", trials)
    written = encode(summary_of(run))
    assert path not in written
    assert str(run.path) not in written
    assert json.loads(written)["arms"][0]["settings"] == {"work_mem": "4MB"}


def test_percentiles_are_by_rank_and_need_a_hundred() -> None:
    hundred = [float(each) for each in range(1, 101)]
    assert asdict(times_of(hundred)) == {"count": 100, "median_ms": 50.5, "p99_ms": 99.0, "longest_ms": 100.0}
    assert times_of([*hundred, 101.0]).p99_ms == 100.0
    assert times_of(hundred[:99]).p99_ms is None
    assert times_of([]).longest_ms is None


def test_the_page_has_a_row_for_each_treatment_of_each_run_that_is_kept(run: Run, tmp_path: Path) -> None:
    assert long_runs(tmp_path) == [NONE_KEPT]
    summary = summary_of(run)
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(encode(summary), encoding="utf-8")
    lines = long_runs(tmp_path)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert [row[0] for row in rows[2:]] == ["a"] * len(summary.arms) + ["b"] * len(summary.arms)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert rows[2][2] == f"{BLOCKS * CUTS}"
    assert [line.split(":")[0] for line in lines if line.startswith("*")] == ["* a", "* b"]
    assert f"seed {summary.seed}, ended: blocks.max is reached" in lines[-1]


def test_a_run_without_cuts_has_no_summary(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no power was cut"):
        summary_of(Run.open(make_run(tmp_path / "run").path))


def test_a_cut_that_told_nothing_has_no_time(tmp_path: Path) -> None:
    def unmounted(_: object) -> list[CutRecord]:
        return [SOUND, replace(SOUND, number=0, cut_ms=0.0, verdict="damaged_filesystem", recovery_ms=None)]

    first, *_ = summary_of(make_cuts(tmp_path / "run", unmounted)).arms
    assert (first.cuts, first.still.count) == (2 * BLOCKS, BLOCKS)
