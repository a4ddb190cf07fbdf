"""What every metronome keeps, the fake one and the real one: beats in order, each core and the flush told."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pgassay.host.runner import SystemClock
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.slices import Beat, Metronome
from pgassay.load.player import LocalMetronome
from pgassay.testing import real
from pgassay.testing.fakes import FakeClock
from tests.fakes.player import FakeMetronome

CORES = sorted(os.sched_getaffinity(0))[:2]
Made = Callable[[], Metronome]


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.system)])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Made]:
    if request.param == "fake":
        yield lambda: FakeMetronome(FakeClock(), CORES)
    else:
        yield lambda: LocalMetronome(CORES, real.runner(), SystemClock(), tmp_path)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_beats_follow_each_other_and_tell_every_core(made: Made) -> None:
    with closing(made()) as metronome:
        beats = [metronome.beat() for _ in range(3)]
    for each in beats:
        assert each.cores == tuple(CORES)
        assert all(value > 0 for value in (*each.arithmetic_ns, *each.memory_ns))
        assert each.flush_ns is not None
        assert each.began_ns + max(each.arithmetic_ns) <= each.ended_ns
    assert [each.began_ns for each in beats] == sorted(each.began_ns for each in beats)
    assert beats[0].ended_ns <= beats[1].began_ns


def test_a_closed_metronome_beats_no_more(made: Made) -> None:
    metronome = made()
    metronome.close()
    metronome.close()
    with pytest.raises(LoadError):
        metronome.beat()


def test_covariates_have_the_names_and_units_of_the_record() -> None:
    beat = Beat(0, 9, (0, 1), (400, 600), (2000, 4000), 1_500_000)
    assert beat.covariates() == {"metronome_ns": 500, "metronome_memory_ns": 3000, "metronome_flush_us": 1500}
    assert "metronome_flush_us" not in Beat(0, 9, (0,), (4,), (2,)).covariates()


@pytest.mark.system
def test_a_core_or_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    for core in (1000, 99999):
        with pytest.raises(LoadError, match="cannot work on a core"):
            LocalMetronome([core], real.runner(), SystemClock())
    with pytest.raises(LoadError, match="cannot make the metronome's file"):
        LocalMetronome(CORES, real.runner(), SystemClock(), tmp_path / "absent")
