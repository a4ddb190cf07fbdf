"""Out of memory never hurts the machine: the kernel ends a backend of the trial's server, in the trial's own group.

That is one failed trial which the search learns from, and the next one runs.
"""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from pgassay.advise.asking import settings_of
from pgassay.advise.laboratory import RealLaboratory
from pgassay.advise.search import Search
from pgassay.advise.space import Limits, Machine, allowed, space_of
from pgassay.advise.task import Question
from pgassay.host import groups
from pgassay.host.changes import GROUP_PREFIX
from pgassay.lab.checks import KILLED
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.record.reading import Run
from pgassay.study.responses import Status
from tests.system.journeys import Place

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="a memory limit needs root"),
    pytest.mark.skipif(groups.memory_hierarchy() is None, reason="there are no control groups that limit memory"),
]
LIMIT = 160 << 20
SORT = "SELECT count(*) FROM (SELECT md5(n::text) AS word FROM generate_series(1, 1500000) AS n ORDER BY word) AS s;\n"
"""Without a limit of its own it takes some 200 MB; with a small work_mem it spills to files."""


@pytest.mark.alone  # it limits host.memory, and one pgassay at a time may
@pytest.mark.timeout(900)
def test_a_trial_that_the_kernel_ends_fails_alone_and_teaches_the_search(journey: Place) -> None:
    script = journey.path / "sort.sql"
    script.write_text(SORT)
    load = {
        "driver": "pgbench", "script": str(script), "scale": "1", "clients": "1", "jobs": "1", "duration": "2s",
        "warmup": "0s", "checkpoint": "none",
    }  # fmt: skip
    levels = {"work_mem": {"default": "4MB", "levels": ["4MB", "1GB"], "scale": "enum"}}
    space = space_of(settings_of(levels, ()), Machine(8 << 30, 2), {"shared_buffers": "32MB", "jit": "off"})
    start, vast = space.start, space.start.with_values({"work_mem": "1GB"})
    laboratory = RealLaboratory(
        journey.runs,
        Question(load, "tps", held={"host.memory": f"{LIMIT >> 20}MB"}),
        space,
        BenchOptions(data_directory=journey.data, allow_volatile=True, allow_busy=True),
        lambda study: nullcontext(Watcher()),
    )
    found = laboratory.batch("screening-01", start, [vast], 1)
    assert found[vast] is None
    assert found[start] is not None
    (failed,) = [each for each in Run.open(journey.runs / "screening-01").trials if each.status is Status.OUTCOME]
    assert any(reason.code == KILLED and "signal 9" in reason.detail for reason in failed.reasons), failed.reasons
    assert journey.servers() == []

    search = Search(space, Limits(8 << 30, 1), 1)
    for configuration, value in found.items():
        search.tell(configuration, value)
    assert search.ask([vast]) == start, "it is not proposed again"
    again = laboratory.batch("screening-02", start, [start.with_values({"jit": "on"})], 2)
    assert all(value is not None for value in again.values()), "the machine works as before"
    assert not allowed(vast, Limits(LIMIT, 1)), "an advice would not even have tried it"
    assert not [*Path("/sys/fs/cgroup").glob(f"**/{GROUP_PREFIX}{os.getpid()}-*")], "its group is gone"
