"""What every clock keeps: real and fake."""

import pytest

from pgassay.host.runner import SystemClock
from pgassay.interfaces.running import Clock
from pgassay.testing.fakes import FakeClock


@pytest.fixture(params=[FakeClock, SystemClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


def test_sleep_takes_at_least_its_time_on_both_clocks(clock: Clock) -> None:
    monotonic_ns, wall_ns = clock.monotonic_ns(), clock.wall_ns()
    clock.sleep(0.02)
    assert clock.monotonic_ns() - monotonic_ns >= 20_000_000
    assert clock.wall_ns() != wall_ns, "it may jump, but does not stand still"


def test_a_negative_sleep_is_none(clock: Clock) -> None:
    before_ns = clock.monotonic_ns()
    clock.sleep(-600.0)
    assert 0 <= clock.monotonic_ns() - before_ns < 600_000_000_000


def test_wall_time_is_a_date_of_our_century(clock: Clock) -> None:
    assert 1_600_000_000 < clock.wall_ns() / 1e9 < 4_000_000_000


def test_a_fake_jump_moves_only_the_wall_clock() -> None:
    clock = FakeClock()
    monotonic_ns, wall_ns = clock.monotonic_ns(), clock.wall_ns()
    clock.jump(-3600)
    assert (clock.monotonic_ns() - monotonic_ns, clock.wall_ns() - wall_ns) == (0, -3600 * 10**9)
