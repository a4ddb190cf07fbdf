"""The regime of a window in words: how many checkpoint cycles it covered, and how much of the last one."""

import pytest

from pgassay.interfaces.probe import Sample
from pgassay.lab import regime
from pgassay.lab.regime import course_of


@pytest.mark.parametrize(
    ("mode", "cycles", "words"),
    [
        ("cycle", 2.0, "2 whole checkpoint cycles, by time"),
        ("wal", 5.0, "5 whole checkpoint cycles, short ones driven by WAL"),
        ("wal", 1.0, "only one whole checkpoint cycle in the window: mostly the burst after a checkpoint"),
        ("cycle", 0.0, "no whole checkpoint cycle in the window: mostly the burst after a checkpoint"),
        ("default", 3.0, "3 whole checkpoint cycles, by the server's own settings"),
        ("none", 3.0, "the burst after a checkpoint"),
        ("work", 1.0, "one whole checkpoint cycle of equal work, closed by a CHECKPOINT in the window"),
        ("cycle", None, "whole checkpoint cycles, by time; the number of cycles could not be read"),
    ],
)
def test_the_regime_says_what_was_covered(mode: str, cycles: float | None, words: str) -> None:
    assert regime.describe(mode, cycles) == words


def test_cycles_are_the_checkpoints_that_began_in_the_window() -> None:
    timed, asked = "checkpoints.checkpoints_timed", "checkpoints.checkpoints_requested"
    assert regime.cycles_covered({timed: 2.0, asked: 1.0}) == 3.0
    assert regime.cycles_covered({timed: 2.0, asked: None}) == 2.0
    assert regime.cycles_covered({timed: None}) is None
    assert regime.cycles_covered({}) is None


def test_the_part_of_a_cycle_at_the_end_of_a_window_is_told() -> None:
    second = 1_000_000_000

    def sample(moment_s: int, name: str, value: float | None) -> Sample:
        return Sample(moment_s * second, moment_s * second, "checkpoints", name, "count", value)

    begun = [sample(at, "checkpoints_timed", 1.0 + (at > 40) + (at > 70)) for at in range(5, 101)]
    asked = [sample(at, "checkpoints_requested", 7.0) for at in range(5, 101)]
    assert regime.unfinished([*begun, *asked], 10 * second, 90 * second) == pytest.approx(29 / 90)
    assert regime.unfinished([*begun, *asked], 10 * second, 63 * second) == pytest.approx(2 / 63)
    assert regime.unfinished([*begun, *asked], 75 * second, 20 * second) is None
    assert regime.unfinished([sample(at, "checkpoints_timed", None) for at in range(9)], 0, 9 * second) is None
    assert (
        regime.describe("cycle", 2.0, 0.31)
        == "2 whole checkpoint cycles, by time; 31% of the window in a cycle cut off"
    )
    assert regime.describe("cycle", 2.0, 0.05) == "2 whole checkpoint cycles, by time"


@pytest.mark.parametrize("slice_s", [0.2, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(("slowing", "course"), [(0.0, "flat"), (0.3, "slowing")])
def test_a_server_that_took_turns_is_judged_by_the_seconds_that_it_played(
    slice_s: float, slowing: float, course: str
) -> None:
    count = round(60 / slice_s)
    speeds = [1000.0 * (1 - slowing * (number * slice_s > 20)) + number % 2 for number in range(count)]
    moments = [number * 3 * 10**9 for number in range(count)]
    samples = [
        Sample(moment, moment, "slices", "tps", "1/s", speed) for moment, speed in zip(moments, speeds, strict=True)
    ]
    before = Sample(-(10**9), 0, "slices_warmup", "tps", "1/s", 1.0)
    found = course_of([before, *samples], slice_s)
    assert found["steadiness"] == course
    assert found["truncation_s"] == (0.0 if course == "flat" else pytest.approx(20, abs=5))
    assert course_of([before, *samples])["steadiness"] == "unknown", "by the clock two thirds of it are gaps"


def test_slices_without_a_value_are_missing_seconds() -> None:
    samples = [Sample(number * 10**9, 0, "slices", "tps", "1/s", None) for number in range(60)]
    assert course_of(samples, 1.0)["steadiness"] == "unknown"
