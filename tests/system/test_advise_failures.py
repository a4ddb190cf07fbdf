"""A configuration with which a real server does not start costs one trial, fails alone, and leaves nothing behind."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from pgassay.advise.asking import settings_of
from pgassay.advise.laboratory import RealLaboratory
from pgassay.advise.space import Machine, space_of
from pgassay.advise.task import Question
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.record.reading import Run
from pgassay.study.responses import Status
from tests.system.conftest import Command
from tests.system.journeys import ANYWHERE, Place

pytestmark = pytest.mark.system
LOAD = {
    "driver": "pgbench", "script": "simple-update", "scale": "1", "clients": "1", "jobs": "1", "duration": "1s",
    "warmup": "0s", "checkpoint": "none",
}  # fmt: skip
CASES = Path(__file__).parents[1] / "cases"


def test_a_start_that_does_not_start_is_refused_in_the_servers_words_before_anything_is_measured(
    journey: Place,
    command: Command,
) -> None:
    conf = CASES / "14-preload" / "timescale.conf"
    words = ("--quick", "--from", str(conf), "--only", "work_mem,random_page_cost", "-s", "1", *ANYWHERE)
    done = command("advise", *words, "--out", str(journey.runs / "advice"))
    assert done.returncode == 2
    assert 'error: the start configuration fails: server did not start: could not access file "timescaledb"' in (
        done.stderr
    )
    assert "--from" in done.stderr, "the hint"
    assert not (journey.runs / "advice").exists()


@pytest.mark.timeout(600)
def test_what_does_not_start_or_has_no_memory_fails_alone_and_once(journey: Place) -> None:
    tables: dict[str, dict[str, object]] = {
        "max_locks_per_transaction": {"default": "64", "levels": ["64", "100000000"]},
        "wal_level": {"default": "replica", "levels": ["replica", "minimal"]},
    }
    space = space_of(settings_of(tables, ()), Machine(8 << 30, 2), {})
    start = space.start
    vast, refused = (
        start.with_values({"max_locks_per_transaction": "100000000"}),
        start.with_values({"wal_level": "minimal"}),
    )
    options = BenchOptions(data_directory=journey.data, allow_volatile=True, allow_busy=True)
    laboratory = RealLaboratory(
        journey.runs, Question(LOAD, "tps"), space, options, lambda study: nullcontext(Watcher())
    )
    found = laboratory.batch("screening-01", start, [vast, refused], 1)
    assert found[vast] is None, "no machine has so much memory"
    assert found[refused] is None, "PostgreSQL refuses it"
    value = found[start]
    assert value is not None
    assert value[0] > 0
    run = Run.open(journey.runs / "screening-01")
    failed = [each for each in run.trials if each.status is Status.OUTCOME]
    assert len(failed) == 2, "each was tried once"
    assert all(each.reasons for each in failed)
    again = laboratory.batch("screening-02", start, [start.with_values({"wal_level": "minimal"})], 2)
    assert again[start] is not None, "the machine works as before"
