"""The figure of single latencies: quantiles of trials, by values."""

import base64
import json
from dataclasses import replace
from math import log10
from pathlib import Path

import pytest

from pgassay._core import LatencySketch
from pgassay.record.latencies import FILE
from pgassay.record.values import LevelRecord
from pgassay.report.findings import Findings
from pgassay.report.measurements import NOT_KEPT
from pgassay.report.measurements import latency_distribution as distribution
from pgassay.report.measurements import latency_rows as rows_of
from pgassay.report.section import Drawing
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run
from tests.report.blocks import body

FAST_US, SLOW_US = {"100": 1000, "75": 800, "50": 2000}, 50_000
SECONDS = 8


def with_latencies(path: Path) -> Findings:
    """In each second of each valid trial 99 fast transactions and a slow one; the fast ones' latency is the level's."""
    run = make_run(path)
    for trial in run.trials:
        second, whole = LatencySketch(), LatencySketch()
        for sketch, seconds in ((second, 1), (whole, SECONDS)):
            sketch.record(FAST_US[trial.treatment.partition("=")[2]], 99 * seconds)
            sketch.record(SLOW_US, seconds)
        one, every = (base64.b64encode(each.to_bytes()).decode() for each in (second, whole))
        kept = {"format": 1, "start_us": 0, "interval_us": 1_000_000, "first_wall_ns": 0, "total": every,
                "intervals": [one] * SECONDS}  # fmt: skip
        if trial.status is Status.VALID:
            (run.trial_directory(trial.number) / FILE).write_text(json.dumps(kept))
    return Findings(run)


def test_quantiles_are_those_of_the_trials(tmp_path: Path) -> None:
    rows = rows_of(with_latencies(tmp_path / "run"))
    medians = {row["treatment"]: row["latency_ms"] for row in rows if row["share"] == f"{100 * (1 - 10**-0.3):.6g} %"}
    assert medians == {
        f"table.fillfactor={level}": pytest.approx(fast / 1e3, rel=0.004) for level, fast in FAST_US.items()
    }
    assert {row["trials"] for row in rows} == {8}
    assert max(row["nines"] for row in rows) == pytest.approx(1.9, abs=0.05), "800 transactions show no 99.9 %"


def test_latencies_by_a_slower_clock_are_told_by_it(tmp_path: Path) -> None:
    findings = with_latencies(tmp_path / "run")
    usual = [row["latency_ms"] for row in rows_of(findings)]
    slower = {"drive.data": "ssd", "drive.timing": "sata-ssd", "drive.dilation": "4"}
    levels = {name: LevelRecord(level, level) for name, level in slower.items()}
    dilated = Findings(findings.run)
    trials = tuple(replace(each, levels={**each.levels, **levels}) for each in findings.trials)
    dilated.__dict__["trials"] = trials
    assert [row["latency_ms"] for row in rows_of(dilated)] == [pytest.approx(each / 4) for each in usual]


def test_quantiles_are_drawn_with_their_ends(tmp_path: Path) -> None:
    findings = with_latencies(tmp_path / "run")
    shown = distribution(findings)
    assert isinstance(shown, Drawing)
    lines = shown.chart.to_dict()["data"]["values"]
    assert all(row["low"] <= row["latency_ms"] <= row["high"] for row in lines)
    assert all(abs(float(row["share"][:-2]) - 100 * (1 - 10 ** -row["nines"])) < 0.01 for row in lines)
    assert log10(2) == pytest.approx(0.30103, abs=1e-5), "where the axis says 50 %"


def test_a_load_that_keeps_none_says_so_once(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    assert distribution(findings) == NOT_KEPT


def test_a_run_that_counted_shows_no_time(tmp_path: Path) -> None:
    """Under an instrument all times are long; what is shown of a timed run shows that the words are looked for."""
    timed = with_latencies(tmp_path / "run")
    counted = Findings(timed.run)
    regime = {"counted": "a fake", "window_s": None, "warmup_s": None}
    counted.__dict__["trials"] = tuple(
        replace(each, regime={**each.regime, **regime}, responses={**each.responses, "tps": None})
        for each in timed.trials
    )
    for words in ("8 s a trial", "window 8 s", "each trial&#39;s speed", "explains the speed"):
        assert words.lower() in body(timed).lower(), words
        assert words.lower() not in body(counted).lower(), words
    assert distribution(counted) is None
    of_tps = [each.text for each in counted.claims if each.claim.response == "tps" and not each.claim.untestable]
    assert {text.partition(": ")[2] for text in of_tps} == {"this run did not measure tps"}
