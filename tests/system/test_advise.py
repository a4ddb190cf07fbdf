"""`pgassay advise` on a real PostgreSQL: a plan of few settings, a batch in which one configuration is refused."""

from contextlib import nullcontext

import pytest

from pgassay.advise import refusals
from pgassay.advise.asking import settings_of
from pgassay.advise.laboratory import Question, RealLaboratory
from pgassay.advise.space import Machine, space_of
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from tests.system.journeys import ANYWHERE, Place

pytestmark = pytest.mark.system
TINY = ("-s", "1", "-c", "1", "-j", "1", "-T", "1", "--only", "commit_delay,commit_siblings", *ANYWHERE)


def test_a_plan_says_what_is_tried_and_what_is_not(journey: Place) -> None:
    done = journey.pgassay("advise", *TINY, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "2 settings: commit_delay, commit_siblings" in done.stdout


@pytest.mark.slow
def test_what_postgresql_refuses_costs_its_place_and_not_the_batch(journey: Place) -> None:
    space = space_of(settings_of({}, ["work_mem", "jit"]), Machine(8 << 30, 2), {})
    load = {"driver": "pgbench", "scale": 1, "clients": 1, "duration": "1s", "warmup": "0s"}
    options = BenchOptions(data_directory=journey.data, allow_busy=True, allow_volatile=True)
    folder = journey.runs / "advise"
    folder.mkdir()
    told: list[str] = []
    laboratory = RealLaboratory(
        folder, Question(load, "tps"), space, options, lambda study: nullcontext(Watcher()), tell=told.append
    )
    refused, other = (space.start.with_values({"jit": each}) for each in ("maybe", "off"))
    found = laboratory.batch("search-01", space.start, [refused, other], 1)
    assert found[refused] is None
    assert (folder / "search-01").is_dir()
    assert len(told) == 1
    assert "PostgreSQL refuses jit = 'maybe'" in refusals.known(folder)[refused]
    assert laboratory.batch("search-01", space.start, [refused, other], 1) == found, "gone on with, it is the same"
