"""Falls within a run, and what else differs between treatments: each reason with a neighbour that has it not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pgassay.analysis.benchmark import Benchmark, Run, Setup
from pgassay.analysis.lint import Needed, lint, needed


def found(*runs: Run, **more: Any) -> dict[str, str]:
    """Code to evidence, of what this file is about."""
    ours = ("collapse", "burst-credits", "stalled", "other-client", "unequal-durability", "after-load")
    return {each.code: each.evidence for each in lint(Benchmark(runs, **more)) if each.code in ours}


def course(*parts: tuple[int, float], noise: float = 0.03, every_s: float = 1.0) -> tuple[tuple[float, float], ...]:
    """Parts of so many reports at a rate, with noise."""
    rng = np.random.default_rng(7)
    rates = [rate * (1.0 + rng.normal(0.0, noise)) for count, rate in parts for _ in range(count)]
    return tuple((every_s * (place + 1), rate) for place, rate in enumerate(rates))


def of_course(*parts: tuple[int, float], **more: float) -> dict[str, str]:
    return found(Run("a", 1000.0, course=course(*parts, **more)))


def test_a_throughput_that_collapses() -> None:
    assert of_course((40, 5000.0), (20, 700.0), noise=0.2).keys() == {"collapse"}
    slowly = [(1, 5000.0 * 0.97**second) for second in range(100)]
    assert of_course(*slowly).keys() == {"collapse"}


def test_a_step_down_after_minutes_at_a_steady_rate() -> None:
    said = of_course((300, 3000.0), (120, 900.0))
    assert said.keys() == {"burst-credits"}
    assert "after 30" in said["burst-credits"]
    assert of_course((60, 3000.0), (24, 2200.0), every_s=5.0).keys() == {"burst-credits"}


@pytest.mark.parametrize(
    "parts",
    [
        [(420, 3000.0)],
        [(40, 5000.0), (8, 500.0), (40, 5000.0)],  # a checkpoint, after which it recovers
        [(20, 800.0), (100, 5000.0)],  # a cache that warms up
        [(60, 5000.0), (60, 4500.0)],  # within what runs differ by
        [(10, 5000.0), (10, 500.0)],  # too short
        [(300, 5000.0), (4, 500.0)],  # the last seconds
        [(30, 5000.0), (30, 800.0)] * 5,  # cycles of checkpoints
    ],
)
def test_ordinary_courses_have_neither(parts: Sequence[tuple[int, float]]) -> None:
    for noise in (0.0, 0.03, 0.2):
        assert of_course(*parts, noise=noise) == {}


def test_a_run_that_stands_still_has_its_own_reason() -> None:
    assert of_course((60, 5000.0), (20, 0.0)).keys() == {"stalled"}


def test_noise_alone_is_no_fall() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        rates = 1000.0 * np.exp(rng.normal(0.0, 0.3, 120))
        assert found(Run("a", 1.0, course=tuple(enumerate(map(float, rates))))) == {}


def client(treatment: str, program: str, condition: str = "") -> Run:
    return Run(treatment, 100.0, condition=condition, setup=Setup(client=program))


def test_another_client_between_treatments() -> None:
    said = found(client("a", "pgbench 16.2"), client("b", "pgbench 17.0"))
    assert said == {"other-client": "a: pgbench 16.2; b: pgbench 17.0"}
    assert found(client("a", "pgbench 16.2"), client("b", "sysbench 1.0.20")).keys() == {"other-client"}


def test_one_client_an_unknown_one_and_other_conditions() -> None:
    assert found(client("a", "pgbench 16.2"), client("b", "pgbench 16.2")) == {}
    assert found(client("a", "pgbench 16.2"), client("b", "")) == {}
    assert found(client("a", "pgbench 16", "x"), client("b", "pgbench 17", "y")) == {}
    assert (
        found(
            client("a", "pgbench 16"), client("a", "pgbench 17"), client("b", "pgbench 16"), client("b", "pgbench 17")
        )
        == {}
    )


def durable(**levels: str) -> Run:
    return Run(" ".join(levels.values()), 100.0, levels=levels, setup=Setup.of(levels))


def test_speed_that_was_bought_with_safety() -> None:
    said = found(durable(filesystem="ext4", fsync="on"), durable(filesystem="zfs", fsync="off"))
    assert said == {"unequal-durability": "ext4 on: fsync=on; zfs off: fsync=off"}
    fields = (
        Run("ours", 1.0, levels={"config": "ours"}, setup=Setup.of({"synchronous_commit": "off"})),
        Run("theirs", 1.0, levels={"config": "theirs"}, setup=Setup.of({"synchronous_commit": "on"})),
    )
    assert found(*fields).keys() == {"unequal-durability"}


def test_durability_alone_crossed_or_unknown() -> None:
    assert found(durable(fsync="on"), durable(fsync="off")) == {}
    assert found(durable(filesystem="ext4", fsync="on"), durable(filesystem="zfs", fsync="true")) == {}
    assert found(durable(filesystem="ext4", fsync="on"), durable(filesystem="zfs")) == {}
    crossed = [
        durable(**{"server.full_page_writes": full, "server.wal_compression": compressed})
        for full in ("on", "off")
        for compressed in ("off", "lz4")
    ]
    assert found(*crossed) == {}


def test_the_first_run_after_the_load() -> None:
    loaded, other = Setup(after_load=True), Setup()
    mixed = [Run("a", 1.0, setup=loaded, place="out.txt line 1"), *(Run("a", 1.0, setup=other) for _ in range(2))]
    assert found(*mixed)["after-load"].startswith("1 of 3 runs; a (out.txt line 1)")
    assert found(*(Run("a", 1.0, setup=loaded) for _ in range(3))) == {}
    assert found(*(Run("a", 1.0, setup=other) for _ in range(3))) == {}


def test_how_many_runs_a_claim_takes() -> None:
    """By hand: s = 0.01633, ln 1.03 = 0.02956; t(2n - 2) s sqrt(2 / n) is 0.0370 at n = 3 and 0.0283 at n = 4."""
    spread = (0.98, 1.0, 1.0, 1.02)
    runs = [Run(arm, 1000.0 * base * each) for arm, base in (("a", 1.0), ("b", 1.03)) for each in spread]
    (each,) = needed(Benchmark(tuple(runs)))
    assert (each.arm, each.against, each.there, each.known) == ("b", "a", 4, True)
    assert each.effect == pytest.approx(0.03)
    assert each.spread == pytest.approx(0.01633, abs=1e-5)
    assert each.runs == 4


def test_how_many_runs_it_takes_with_one_of_each_or_no_difference() -> None:
    (single,) = needed(Benchmark((Run("a", 100.0), Run("b", 110.0))))
    assert (single.known, single.spread, single.there) == (False, 0.0341, 1)
    assert single.runs == 3
    (none,) = needed(Benchmark((Run("a", 100.0), Run("a", 101.0), Run("b", 100.0), Run("b", 101.0))))
    assert none.runs is None
    assert needed(Benchmark((Run("a", 100.0), Run("b", 110.0, condition="x")))) == ()
    assert isinstance(single, Needed)
