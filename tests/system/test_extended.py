"""A finished run on a real server that goes on, from another directory and without its options being said again."""

import pytest

from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from tests.system.journeys import Place, finished

pytestmark = pytest.mark.slow


def test_a_finished_run_goes_on_from_another_directory_as_it_began(journey: Place) -> None:
    script, elsewhere = journey.path / "mine.sql", journey.path / "elsewhere"
    script.write_text("SELECT 1;\n")
    elsewhere.mkdir()
    done = finished(journey.run("first", "--set", "load.script=mine.sql", "--resolution", "0.001%"))
    assert done.returncode == 0, done.stderr
    journey.here = elsewhere
    again = journey.pgassay("resume", "../runs/first")
    assert again.returncode == 2
    assert "--more 10min" in again.stderr
    again = journey.pgassay("resume", "../runs/first", "--blocks", "5..6")
    assert again.returncode == 0, again.stderr
    assert "block 6 of at most 6: " in again.stderr
    run = Run.open(journey.runs / "first")
    assert max(trial.block for trial in run.trials) == 6
    assert [entry.kind for entry in run.journal if entry.kind in (Kind.FINISHED, Kind.EXTENDED)] == [
        Kind.FINISHED, Kind.EXTENDED, Kind.FINISHED,
    ]  # fmt: skip
    (resumed,) = (entry for entry in run.journal if entry.kind == Kind.RESUMED)
    assert (resumed.data["allow_busy"], resumed.data["allow_volatile"]) == (True, True)
    sound = journey.pgassay("check", "../runs/first")
    assert sound.returncode == 0, sound.stdout
    beyond = journey.pgassay("resume", "../runs/first", "--blocks", "5..11")
    assert beyond.returncode == 2
    assert "planned for at most 10 blocks" in beyond.stderr
    assert journey.left_behind() == []
