"""Golden cases: numbers that were published or posted, each with its place, and what our lint must say of them."""

from pgassay.analysis.benchmark import Benchmark, Run
from pgassay.analysis.lint import lint
from pgassay.study.findings import Severity

# github.com/tvondra/pg-block-bench-pgbench, xeon/20220406-fpw/results.csv: 1 kB data pages, 4 kB WAL blocks, scale
# 7500, read-write; tps and seconds of runs 1 to 3. In the third's log: "could not extend file … No space left on
# device" and "pgbench: fatal: Run was aborted; the above results are incomplete."
TRUNCATED = ((63052.550308, 1800.060782), (64182.290781, 1786.064398), (7413.595072, 0.065404))

# The same file, scale 7500, read-write, tps of runs 1 to 3 of eight builds whose three runs were whole.
RUN_ONE_LOWEST = {
    "8 kB, WAL 8 kB": (38084.032755, 41846.934833, 41237.429941),
    "32 kB, WAL 8 kB": (14902.404579, 17660.443586, 16746.474929),
    "4 kB, WAL 64 kB": (45130.980929, 47657.390456, 48186.713095),
    "32 kB, WAL 1 kB": (13358.824947, 16012.073805, 16745.191024),
    "4 kB, WAL 1 kB": (52642.388982, 56229.419766, 54715.297832),
    "16 kB, WAL 64 kB": (24340.187396, 26610.221639, 26602.909765),
    "4 kB, WAL 8 kB": (54620.533128, 57947.935554, 58844.436719),
    "32 kB, WAL 32 kB": (14858.498083, 17790.345271, 17590.801394),
}

# github.com/ClickHouse/PostgresBench, one of crunchy's results of 2026: tps of runs 1 to 3, 600 s each.
FALLING = (14790.0, 13300.0, 8571.0)

# github.com/TPC-Council/HammerDB issue 822: NOPM of six runs of three hours, same configuration, same machine.
UNSTABLE = (134092.0, 129852.0, 206136.0, 198488.0, 123287.0, 195082.0)


def found(benchmark: Benchmark) -> dict[str, str]:
    return {finding.code: finding.evidence for finding in lint(benchmark)}


def test_the_run_of_seven_hundredths_of_a_second_is_named_without_anybody_telling_the_plan() -> None:
    runs = tuple(Run("1 kB", tps, place, seconds=seconds) for place, (tps, seconds) in enumerate(TRUNCATED, start=1))
    assert found(Benchmark(runs))["short"] == "1 of 3 runs; 1 kB ran 0.0654 s of 1786.1 s"
    (finding,) = [finding for finding in lint(Benchmark(runs)) if finding.code == "short"]
    assert finding.severity is Severity.ERROR


def test_the_truncated_run_does_not_spoil_the_spread_of_the_others() -> None:
    runs = tuple(Run("1 kB", tps, seconds=seconds) for tps, seconds in TRUNCATED)
    assert "as few as 2 runs; at their spread of 1.3 %" in found(Benchmark(runs))["too-few"]


def test_run_one_is_flagged_in_the_published_page_size_results() -> None:
    """Eight of eight has the chance 1.5e-4 among exchangeable runs; run 1 reaches 0.92 of the others."""
    runs = tuple(Run(build, tps) for build, column in RUN_ONE_LOWEST.items() for tps in column)
    evidence = found(Benchmark(runs))["first-run"]
    assert evidence.startswith("run 1 is lowest in 8 of 8 treatments (by chance 2.7, p = 0.00015); ")
    assert 0.90 < float(evidence.rpartition("= ")[2]) < 0.93


def test_the_falling_triple_is_a_note_and_not_a_proof() -> None:
    benchmark = Benchmark(tuple(Run("crunchy", tps) for tps in FALLING))
    (finding,) = [finding for finding in lint(benchmark) if finding.code == "trend"]
    assert finding.severity is Severity.NOTE
    assert finding.evidence.startswith("crunchy: 14790 → 13300 → 8571, -42 % from first to last")
    assert "monotone" not in found(benchmark), "one of three orders of three is one way"


def test_a_small_climb_is_no_reason() -> None:
    """PostgresBench, crunchy 16 vCPU: 10857 → 10891 → 11113, +2.4 %: what three identical runs may well do."""
    assert "trend" not in found(Benchmark(tuple(Run("a", tps) for tps in (10857.029230, 10890.637379, 11113.469249))))


def test_nothing_is_said_of_order_when_nobody_knows_it() -> None:
    runs = tuple(Run(build, tps) for build, column in RUN_ONE_LOWEST.items() for tps in column)
    unknown = found(Benchmark((*runs, *(Run("crunchy", tps) for tps in FALLING)), ordered=False))
    assert not {"first-run", "monotone", "trend", "fixed-order"} & set(unknown)


def test_six_runs_that_differ_by_two_thirds_tell_nothing_below_a_third() -> None:
    evidence = found(Benchmark(tuple(Run("one VM", nopm) for nopm in UNSTABLE)))["noisy"]
    assert (
        "6 runs from 123287 to 206136, spread 24 %: they cannot show effects below 37 %, and 5 % is asked for"
        in evidence
    )
    assert "noisy" not in found(Benchmark(tuple(Run("a", nopm) for nopm in UNSTABLE), resolution=0.4))


def test_what_n_runs_tell_is_the_t_interval_of_two_means() -> None:
    """By hand: s = 0.2416 on the log scale, t(10) = 2.228, so exp(2.228 × 0.2416 × sqrt(2 / 6)) − 1."""
    from math import exp, log, sqrt
    from statistics import stdev

    from scipy import stats  # type: ignore[import-untyped]

    half = stats.t.ppf(0.975, 10) * stdev(map(log, UNSTABLE)) * sqrt(2 / 6)
    assert f"below {100 * (exp(half) - 1):.0f} %" in found(Benchmark(tuple(Run("a", x) for x in UNSTABLE)))["noisy"]
