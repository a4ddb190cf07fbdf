"""Each reason on a benchmark that has it, and on one that does not; published numbers where there are any."""

from math import exp
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.benchmark import Benchmark, Run
from pgassay.analysis.lint import lint
from pgassay.study.findings import Finding


def benchmark(values: dict[str, list[float]], *, rounds: bool = False, **more: Any) -> Benchmark:
    """Runs treatment by treatment, or (rounds) repetition by repetition in the same order."""
    runs = [Run(treatment, value) for treatment, column in values.items() for value in column]
    if rounds:
        runs = [Run(t, column[i]) for i in range(len(next(iter(values.values())))) for t, column in values.items()]
    return Benchmark(tuple(Run(run.treatment, run.value, place) for place, run in enumerate(runs)), **more)


def unordered(values: dict[str, list[float]], **more: Any) -> Benchmark:
    return Benchmark(tuple(Run(t, value) for t, column in values.items() for value in column), **more)


def codes(found: tuple[Finding, ...]) -> set[str]:
    return {finding.code for finding in found}


def sound() -> Benchmark:
    """Eight blocks of three treatments in random order, large effects, no pattern."""
    rng = np.random.default_rng(12)
    runs, place = [], 0
    for _ in range(8):
        for arm in rng.permutation(3):
            runs.append(Run(f"t{arm}", 1000 * (1 + 0.2 * int(arm)) * exp(rng.normal(0, 0.02)), place, seconds=60.0))
            place += 1
    return Benchmark(tuple(runs))


def test_a_sound_benchmark_gives_no_reason() -> None:
    assert lint(sound()) == ()


def test_the_truncated_runs_of_a_published_study_are_found() -> None:
    """pg-block-bench-pgbench, xeon, 1 kB pages: a run of 0.07 s among runs of 1800 s (no space left on device)."""
    runs = (
        Run(
            "1kB",
            7413.59,
            seconds=0.065404,
            planned_s=1800.0,
            aborted="Run was aborted; the above results are incomplete",
        ),
        Run("1kB", 63052.0, seconds=1800.0, planned_s=1800.0),
        Run("1kB", 64182.0, seconds=1800.0, planned_s=1800.0),
    )
    found = {finding.code: finding for finding in lint(Benchmark(runs))}
    assert {"aborted", "short", "too-few"} <= set(found)
    assert found["short"].evidence == "1 of 3 runs; 1kB ran 0.0654 s of 1800 s"
    assert "incomplete" in found["aborted"].evidence


def test_monotone_triples_are_judged_together() -> None:
    """PostgresBench: 11 of 15 triples monotone has the chance 0.0018 when a third is expected."""
    values = {f"up{k}": [100.0, 110.0, 120.0] for k in range(11)} | {
        f"mixed{k}": [110.0, 100.0, 120.0] for k in range(4)
    }
    found = {finding.code: finding for finding in lint(unordered(values))}
    assert "11 of 15 treatments (by chance 5.0, p = 0.0018)" in found["monotone"].evidence
    assert stats.binom.sf(10, 15, 1 / 3) == pytest.approx(0.0018, abs=5e-5)
    one = unordered({"falls": [14790.0, 13300.0, 8571.0], "other": [110.0, 100.0, 120.0]})
    assert "monotone" not in codes(lint(one))  # one of two proves nothing


def test_a_first_run_that_is_always_lowest() -> None:
    """Eight of eight: (1/3)^8 = 1.5e-4, as in the published xeon results."""
    rng = np.random.default_rng(1)
    values = {f"c{k}": [91.0, *rng.normal(100.0, 1.0, 2).tolist()] for k in range(8)}
    found = {finding.code: finding for finding in lint(unordered(values))}
    assert "lowest in 8 of 8 treatments (by chance 2.7, p = 0.00015)" in found["first-run"].evidence
    assert "= 0.9" in found["first-run"].evidence


def test_fixed_orders_are_told_apart_from_random_ones() -> None:
    values = {"a": [100.0, 101.0, 99.0, 100.0, 102.0], "b": [120.0, 121.0, 119.0, 122.0, 118.0]}
    one = {f.code: f for f in lint(benchmark(values))}
    other = {f.code: f for f in lint(benchmark(values, rounds=True))}
    assert "follow each other: a first, b last" in one["fixed-order"].evidence
    assert "5 rounds in the same order" in other["fixed-order"].evidence
    assert "fixed-order" not in codes(lint(unordered(values)))


def test_too_few_runs_say_what_they_could_tell() -> None:
    (finding,) = [
        f for f in lint(unordered({"a": [100.0, 102.0, 98.0], "b": [130.0, 127.0, 132.0]})) if f.code == "too-few"
    ]
    assert finding.evidence.startswith(
        "2 of 2 treatments, as few as 3 runs; at their spread of 2 % a difference below "
    )
    single = lint(unordered({"a": [100.0], "b": [130.0]}))
    assert [f.evidence for f in single if f.code == "too-few"] == ["2 of 2 treatments, as few as 1 run"]


def test_an_effect_inside_its_welch_interval_is_below_the_resolution() -> None:
    a, b = [100.0, 104.0, 97.0, 103.0, 99.0], [101.0, 105.0, 99.0, 102.0, 100.0]
    (finding,) = lint(unordered({"a": a, "b": b}))
    assert finding.code == "below-resolution"
    welch = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    assert welch.pvalue > 0.05
    half = (welch.confidence_interval().high - welch.confidence_interval().low) / 2
    told = float(finding.evidence.split("±")[1].split(" ")[0])
    assert told == pytest.approx(100 * (exp(half) - 1), abs=0.2)
    clear = lint(unordered({"a": a, "b": [1.5 * value for value in b]}))
    assert clear == ()


def test_seconds_are_no_replicates() -> None:
    rng = np.random.default_rng(5)
    walk = [1000.0]
    for _ in range(199):
        walk.append(1000.0 + 0.7 * (walk[-1] - 1000.0) + float(rng.normal(0, 20)))
    (finding,) = [f for f in lint(unordered({"a": walk})) if f.code == "pseudo-replicates"]
    assert "200 values count as" in finding.evidence
    named = lint(unordered({"a": [1.0, 2.0, 1.5, 1.2, 1.8]}, replicate="second"))
    assert "pseudo-replicates" in codes(named)
    independent = unordered({"a": rng.normal(1000.0, 20.0, 200).tolist()})
    assert "pseudo-replicates" not in codes(lint(independent))


def test_factors_that_moved_together() -> None:
    runs = tuple(
        Run(f"{size}", 100.0 + place, levels={"block_size": size, "wal_block_size": size})
        for place, size in enumerate(("4kB", "8kB", "16kB"))
    )
    (finding,) = [f for f in lint(Benchmark(runs)) if f.code == "confounded"]
    assert finding.evidence.startswith("block_size and wal_block_size always move together")


def test_runs_without_a_value_are_named() -> None:
    found = lint(Benchmark((Run("a", None), Run("a", float("nan")), *(Run("a", 100.0 + k) for k in (3, 1, 2, 5, 4)))))
    assert [(f.code, f.evidence) for f in found] == [("missing", "2 of 7 runs, the first of a")]


def test_every_finding_has_evidence_in_numbers_and_a_remedy() -> None:
    values = {f"c{k}": [91.0, 95.0, 100.0] for k in range(8)}
    found = lint(benchmark(values))
    assert len(found) >= 4
    for finding in found:
        assert any(character.isdigit() for character in finding.evidence)
        assert finding.remedy
