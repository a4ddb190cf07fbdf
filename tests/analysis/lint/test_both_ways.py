"""Each reason on two benchmarks that differ in nothing else: one has it, the other does not."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pgassay.analysis.benchmark import Benchmark, Run, Setup
from pgassay.analysis.lint import lint

DOCUMENT = Path(__file__).parents[3] / "docs" / "report.md"
ORDERS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2), (2, 1, 0))
NOISE = (0.0, 0.7, -0.6, 0.4, -0.9, 0.3)


def sound() -> Benchmark:
    """Six blocks of three treatments, 20 % apart, in changing order, with a noise of 1 % that shows no pattern."""
    runs = [
        Run(
            f"t{arm}",
            1000.0 * (1.0 + 0.2 * arm) * (1.0 + 0.01 * NOISE[(block + 2 * arm) % 6]),
            3 * block + place,
            levels={"page": str(arm), "wal": str(arm // 2)},
            seconds=60.0,
            planned_s=60.0,
        )
        for block, arms in enumerate(ORDERS)
        for place, arm in enumerate(arms)
    ]
    return Benchmark(tuple(runs))


def change(number: int, **fields: object) -> Benchmark:
    runs = list(sound().runs)
    runs[number] = replace(runs[number], **fields)  # type: ignore[arg-type]
    return Benchmark(tuple(runs))


def revalued(value: Callable[[int, int, float], float]) -> Benchmark:
    """By treatment and repetition."""
    seen: dict[str, int] = {}
    runs = []
    for run in sound().runs:
        repetition = seen[run.treatment] = seen.get(run.treatment, -1) + 1
        runs.append(replace(run, value=value(int(run.treatment[1:]), repetition, run.value or 0.0)))
    return Benchmark(tuple(runs))


def moved_together() -> Benchmark:
    return Benchmark(tuple(replace(run, levels={**run.levels, "wal": run.levels["page"]}) for run in sound().runs))


def seconds_of_one_run() -> Benchmark:
    """Each value is followed by 99 seconds like it: the level wanders, and neighbours are alike."""
    wander = np.cumsum(np.random.default_rng(3).normal(0.0, 0.01, 600)).tolist()
    return Benchmark(tuple(Run("t0", 1000.0 + value, place) for place, value in enumerate(wander)))


def independent_runs() -> Benchmark:
    values = np.random.default_rng(3).normal(1000.0, 1.0, 600).tolist()
    return Benchmark(tuple(Run("t0", value, place) for place, value in enumerate(values)))


def ordered(positions: Callable[[int, int], int]) -> Benchmark:
    """Positions by treatment and block."""
    runs = [(run, block, arm) for run, (block, arm) in zip(sound().runs, _places(), strict=True)]
    return Benchmark(tuple(replace(run, position=positions(arm, block)) for run, block, arm in runs))


def climbing(step: float) -> Benchmark:
    """Three runs of each treatment; those of one climb."""
    return Benchmark(revalued(lambda arm, run, value: value if arm else 1000.0 + step * run).runs[:9])


def _places() -> list[tuple[int, int]]:
    return [(block, arm) for block, arms in enumerate(ORDERS) for arm in arms]


def close() -> Benchmark:
    return revalued(lambda arm, _, value: value / (1.0 + 0.2 * arm) * (1.0 + 0.001 * arm))


def by_condition(*, fixed: bool) -> Benchmark:
    """Two scales, the outer loop of the script; inside each the treatments in turn, or in changing order."""
    runs = []
    for scale in (0, 1):
        for run, (block, arm) in zip(sound().runs, _places(), strict=True):
            place = 3 * block + arm if fixed else run.position or 0
            runs.append(replace(run, position=100 * scale + place, condition=f"scale={scale}"))
    return Benchmark(tuple(runs))


def loaded(**setup: object) -> Benchmark:
    """The sound benchmark, and what its source told of the load."""
    runs = tuple(replace(run, setup=Setup(**setup)) for run in sound().runs)  # type: ignore[arg-type]
    return Benchmark(runs, response="tps")


def apart(first: Setup, others: Setup) -> Benchmark:
    """The first treatment was set up in one way, the others in another."""
    runs = (replace(run, setup=first if run.treatment == "t0" else others) for run in sound().runs)
    return Benchmark(tuple(runs))


def fell(after: float, seconds: int) -> Benchmark:
    """A run of 200 seconds at 1000 tps and some at another rate, which both go up and down by a few."""
    rates = [1000.0 + place % 5 for place in range(200)] + [after + place % 3 for place in range(seconds)]
    return change(4, course=tuple(enumerate(rates)))


def disk(database_bytes: float) -> Benchmark:
    return loaded(about_disk=True, database_bytes=database_bytes, memory_bytes=16e9)


PRESENT: dict[str, Benchmark] = {
    "scale-below-clients": loaded(tpc_b=True, scale=10.0, clients=64.0, threads=8.0),
    "rate-limited": loaded(rate_limited=True, rate=1000.0),
    "window-below-checkpoint": loaded(writes=True, checkpoint_timeout_s=300.0),
    "few-threads": loaded(clients=64.0, threads=1.0),
    "one-machine": loaded(same_machine=True),
    "data-in-memory": disk(1.5e9),
    "aborted": change(4, aborted="Run was aborted; the above results are incomplete"),
    "short": change(4, seconds=12.0),
    "stalled": change(4, course=((10.0, 900.0), (20.0, 0.0), (30.0, 0.0), (40.0, 0.0))),
    "collapse": fell(200.0, 40),
    "burst-credits": fell(700.0, 100),
    "other-client": apart(Setup(client="pgbench 17.2"), Setup(client="pgbench 18.0")),
    "unequal-durability": apart(Setup(durability=(("fsync", "on"),)), Setup(durability=(("fsync", "off"),))),
    "after-load": apart(Setup(after_load=True), Setup()),
    "missing": change(4, value=None),
    "confounded": moved_together(),
    "pseudo-replicates": seconds_of_one_run(),
    "first-run": revalued(lambda _, repetition, value: value * (0.8 if repetition == 0 else 1.0)),
    "monotone": revalued(lambda _, repetition, value: 1000.0 + 40.0 * repetition + 0.0 * value),
    "trend": climbing(60.0),
    "fixed-order": ordered(lambda arm, block: 3 * block + arm),
    "too-few": Benchmark(sound().runs[:12]),
    "noisy": revalued(lambda _, repetition, value: value * (1.0 + 0.3 * NOISE[repetition])),
    "below-resolution": close(),
}
"""What is wrong with each is all that is wrong with it, but for what follows from it (see `FOLLOWS`)."""

ABSENT: dict[str, Benchmark] = {
    "scale-below-clients": loaded(tpc_b=True, scale=64.0, clients=64.0, threads=8.0),
    "rate-limited": loaded(rate_limited=True, rate=5000.0),  # fell behind: its speed is the server's own
    "window-below-checkpoint": loaded(writes=True, cycles=1.0, checkpoint_timeout_s=300.0),
    "few-threads": loaded(clients=64.0, threads=8.0),
    "one-machine": loaded(clients=64.0),
    "data-in-memory": disk(64e9),
    "confounded": change(0),  # page tells t0, t1 and t2 apart, wal only t2
    "pseudo-replicates": independent_runs(),
    "trend": climbing(15.0),
    "short": change(4, seconds=58.0),
    "stalled": change(4, course=((10.0, 0.0), (20.0, 0.0), (30.0, 0.0), (40.0, 900.0), (50.0, 0.0), (60.0, 0.0))),
    "collapse": fell(200.0, 15),  # a checkpoint at the end
    "burst-credits": fell(900.0, 100),
    "other-client": apart(Setup(client="pgbench 17.2"), Setup(client="pgbench 17.2")),
    "unequal-durability": apart(Setup(durability=(("fsync", "on"),)), Setup()),
    "after-load": apart(Setup(after_load=True), Setup(after_load=True)),
    "fixed-order": by_condition(fixed=False),
    "too-few": Benchmark(sound().runs[:15]),
    "noisy": replace(revalued(lambda _, repetition, value: value * (1.0 + 0.3 * NOISE[repetition])), resolution=0.5),
}
"""Near misses; the other reasons have the sound benchmark as theirs."""

FOLLOWS = {"noisy", "below-resolution", "too-few", "trend", "first-run"}
"""A benchmark that climbs is also noisy; runs that are left out leave too few."""


def codes(benchmark: Benchmark) -> set[str]:
    return {finding.code for finding in lint(benchmark)}


def test_every_reason_that_the_page_names_is_here() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z-]+)` \| (?:error|warning|note)[^|]* \|", text, re.MULTILINE)
    assert set(named) == set(PRESENT)


def test_the_sound_benchmark_has_no_reason() -> None:
    assert codes(sound()) == set()


@pytest.mark.parametrize("code", PRESENT)
def test_a_reason_is_found_where_it_is(code: str) -> None:
    found = codes(PRESENT[code])
    assert code in found
    assert found - {code} <= FOLLOWS
    (finding,) = [each for each in lint(PRESENT[code]) if each.code == code]
    assert re.search(r"\d|always move together|fsync=off", finding.evidence)
    assert finding.remedy


@pytest.mark.parametrize("code", PRESENT)
def test_a_reason_is_not_found_where_it_is_not(code: str) -> None:
    assert code not in codes(ABSENT.get(code, sound()))


def test_an_order_that_is_fixed_inside_every_condition_is_fixed() -> None:
    (finding,) = [each for each in lint(by_condition(fixed=True)) if each.code == "fixed-order"]
    rounds = "6 rounds in the same order, t0, scale=0 always first"
    assert finding.evidence == f"in each of 2 conditions; in the first: {rounds}"


def test_a_last_round_that_was_cut_short_hides_no_order() -> None:
    fixed = sorted(PRESENT["fixed-order"].runs, key=lambda run: run.position or 0)
    assert "fixed-order" in codes(Benchmark(tuple(fixed[:-1])))
    assert "fixed-order" not in codes(Benchmark(tuple(fixed[:5]))), "one whole round is none that repeats itself"


def test_reports_that_are_one_number_show_a_rate() -> None:
    """What nobody says was limited; a few transactions a report may be the same number by chance."""

    def reported(*tps: float) -> Benchmark:
        course = tuple((10.0 * place, each) for place, each in enumerate(tps, start=1))
        return Benchmark(tuple(replace(run, course=course) for run in sound().runs), response="tps")

    assert codes(reported(91.0, *[90.0] * 6, 40.0)) == {"rate-limited"}
    assert codes(reported(91.0, *[90.0] * 5, 90.1, 40.0)) == set()
    assert codes(reported(0.4, *[0.5] * 6, 0.1)) == set()
    assert codes(reported(91.0, *[90.0] * 4, 40.0)) == set()


def test_a_throughput_of_nothing_is_no_value() -> None:
    assert "missing" in codes(replace(change(4, value=0.0), response="tps"))
    assert "missing" not in codes(replace(change(4, value=0.0), response="failed_share"))


@pytest.mark.parametrize(
    "said",
    [
        "storage=local",
        "mount=/mnt/a",
        "raid=RAID 10",
        "raid=raid5",
        "fs=xfs",
        "volume=gp3",
        "where=/mnt/fast/db",
        "filesystem=zfs",
    ],
)
def test_words_for_storage_are_known(said: str) -> None:
    name, _, value = said.partition("=")
    assert Setup.of({name: value}).about_disk
    assert not Setup.of({"clients": "8", "script": "<builtin: TPC-B (sort of)>", "version": "16.4"}).about_disk
