"""Built-in studies run on this machine in their quick size, and nearly all of their trials count.

One block of each, with shorter windows and, where a block would take many minutes, with fewer levels. What a study
needs and this machine lacks is named by the skip. --allow-busy lets other programs be busy; what was written by none
of ours is judged here all the same. Studies of page sizes are not among them: their PostgreSQLs take minutes to build.
"""

import shutil

import pytest

from pgassay.lab.catalogue import every_factor
from pgassay.lab.checks import FOREIGN_WRITE_BYTES_MIN
from pgassay.lab.site import FOREIGN_SHARE_MAX
from pgassay.load import drivers
from pgassay.record.values import TrialRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve
from pgassay.study.model import Study
from pgassay.study.parsing import parse
from pgassay.study.responses import Status
from tests.drive.block import real
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished

pytestmark = [pytest.mark.system, pytest.mark.slow]

STUDIES: dict[str, tuple[str, ...]] = {
    "cache": (),
    "cores": (
        *("--set", "load.duration=3s", "--set", "load.scale=8"),
        *("--levels", "load.clients=1,2,4", "--levels", "load.script=tpcb-like"),
    ),
    "disk": (),
    "fillfactor": ("--set", "load.duration=6s"),
    "fillfactor-costs": (),
    "fillfactor-drive": (
        *("--set", "load.duration=6s", "--set", "load.rows=100000"),
        *("--levels", "load.scenario=oltp_update_non_index"),
    ),
    "fillfactor-sysbench": ("--set", "load.duration=2s"),
    "tpcc-fillfactor": (
        *("--set", "load.duration=4s"),
        *("--levels", "table.fillfactor=100,50", "--levels", "load.warehouses=1"),
    ),
    "wal-drive": ("--set", "load.duration=4s", "--levels", "load.threads=1"),
}
"""Each with what shortens a block of it."""


def study_of(name: str) -> Study:
    """The quick size, as it is shipped."""
    document = read(name, builtin.find(name)[1])
    return parse(name, resolve(name, document, Overrides(size="quick")), every_factor(), size="quick")


def require_tools(study: Study) -> None:
    """Skip by name without the load's program or a mount."""
    for arm in study.arms:
        levels = {name: level.typed for name, level in study.levels_of(arm).items()}
        driver = drivers.find(levels.get("load.driver", drivers.DEFAULT))
        if driver.program and shutil.which(driver.program) is None:
            pytest.skip(f"{driver.program} is not installed")
        if any(name.startswith("drive.") for name in levels):
            real.require(levels.get("drive.data", "image"), levels.get("drive.data.filesystem", "ext4"))


def counts(trial: TrialRecord) -> bool:
    """Is it valid, and was what the drive wrote written by the server and the load?"""
    share, written = trial.responses.get("foreign_write_share"), trial.counters.get("diskstats.written_bytes")
    by_others = (share or 0.0) > FOREIGN_SHARE_MAX and (share or 0.0) * (written or 0.0) > FOREIGN_WRITE_BYTES_MIN
    return trial.status is Status.VALID and not by_others


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.timeout(LONG_S + 60)
def test_nearly_all_trials_of_a_quick_study_count(name: str, journey: Place) -> None:
    require_tools(study_of(name))
    done = finished(
        journey.start(
            "run", name, "--quick", *STUDIES[name], "--blocks", "1", "--seed", "3", "--json",
            "--without-host-factors", "--out", str(journey.runs / name), *ANYWHERE,
        ),
        LONG_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trials = journey.record(name).trials
    assert len(trials) >= 2
    doubtful = [(trial.number, trial.status, trial.reasons, trial.responses) for trial in trials if not counts(trial)]
    assert len(doubtful) <= max(1, len(trials) // 5), doubtful
    assert journey.left_behind() == []
