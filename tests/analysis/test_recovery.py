"""Where a slowdown ends along a size, and which size is recommended."""

import random

import pytest

from pgassay.analysis.compare import compare
from pgassay.analysis.curves import recommend, recovery
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.study.responses import Better, Response

MB = 1 << 20
TIME = Response("probes_ms", "probes", "ms", Better.LOWER)


def ratios(centre: float, blocks: int = 8, spread: float = 0.03, seed: int = 1) -> list[float]:
    chance = random.Random(f"{centre}/{seed}")
    return [centre * (1 + chance.gauss(0, spread)) for _ in range(blocks)]


def test_it_recovers_where_every_larger_size_does() -> None:
    found = recovery(
        {16 * MB: ratios(3.0), 64 * MB: ratios(2.0), 256 * MB: ratios(1.02), 1024 * MB: ratios(1.0)}, blocks_max=12
    )
    assert (found.slow_to, found.recovered_from) == (64 * MB, 256 * MB)
    assert [point.size for point in found.points] == [16 * MB, 64 * MB, 256 * MB, 1024 * MB]
    assert found.points[0].low < 3.0 < found.points[0].high


def test_a_slow_size_above_a_quick_one_is_no_recovery_yet() -> None:
    found = recovery({16 * MB: ratios(1.0), 64 * MB: ratios(2.0), 256 * MB: ratios(1.0)}, blocks_max=12)
    assert (found.slow_to, found.recovered_from) == (64 * MB, 256 * MB)
    assert recovery({16 * MB: ratios(1.0), 64 * MB: ratios(2.0)}, blocks_max=12).recovered_from is None


def test_wide_intervals_and_few_blocks_say_nothing() -> None:
    wide = recovery({16 * MB: ratios(1.3, spread=0.5), 64 * MB: ratios(1.1, spread=0.4)}, blocks_max=12)
    assert (wide.slow_to, wide.recovered_from) == (None, None)
    few = recovery({16 * MB: ratios(3.0, blocks=4)}, blocks_max=12)
    assert (few.slow_to, few.points[0].high) == (None, float("inf"))
    assert few.points[0].ratio == pytest.approx(3.0, rel=0.1)
    assert recovery({}, blocks_max=12).points == ()
    assert recovery({16 * MB: [0.0] * 8}, blocks_max=12).points == (), "no time was measured"


def effects(centres: dict[int, float], best: int, spread: float = 0.01) -> dict[int, Effect]:
    seen = []
    chance = random.Random(7)
    for block in range(1, 9):
        shared = 1 + chance.gauss(0, 0.2)
        seen += [
            Observation(block, str(size), "", "", centre * shared * (1 + chance.gauss(0, spread)))
            for size, centre in centres.items()
        ]
    found = compare(seen, TIME, str(best), blocks_max=12, primary=True)
    return {int(each.treatment): each for each in found}


def test_the_smallest_size_that_is_good_enough_is_recommended() -> None:
    centres = {16: 3.0, 64: 1.5, 256: 1.02, 1024: 1.0}
    against_best = effects(centres, 1024)
    found = recommend(1024, against_best, 0.10)
    assert found is not None
    assert (found.size, found.best) == (256, 1024)
    assert (found.low, found.high) == (against_best[256].low, against_best[256].high), "by how much it may be worse"
    assert found.low < 1.02 < found.high < 1.10, "and so it is, as planted"
    strict = recommend(1024, effects(centres, 1024), 0.005)
    assert strict is not None
    assert (strict.size, strict.low, strict.high) == (1024, 1.0, 1.0)


def test_sizes_that_cannot_be_told_from_the_best_are_its_interval() -> None:
    found = recommend(1024, effects({16: 3.0, 256: 1.005, 1024: 1.0}, 1024, spread=0.02), 0.10)
    assert found is not None
    assert found.alike == (256, 1024)


def test_nothing_is_recommended_without_intervals() -> None:
    assert recommend(16, {}, 0.1) is None
