"""Built-in studies run on this machine in their quick size, and nearly all of their trials count.

One block of each, with shorter windows and, where a block would take many minutes, with fewer levels. What a study
needs and this machine lacks is named by the skip. --allow-busy lets other programs be busy; what was written by none
of ours is judged here all the same. Studies of page sizes run on builds without optimisation, of two sizes; they stay
in the builds' cache, so that the first of these tests pays for the others.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pgassay.cli.postgres import builder
from pgassay.errors import PgassayError
from pgassay.lab.catalogue import every_factor
from pgassay.lab.checks import FOREIGN_WRITE_BYTES_MIN
from pgassay.lab.environment import FOREIGN_SHARE_MAX
from pgassay.lab.places import Building
from pgassay.load import drivers
from pgassay.postgres.builds.builder import Builder
from pgassay.postgres.builds.cache import VARIABLE
from pgassay.record.values import TrialRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve
from pgassay.study.model import Study
from pgassay.study.parsing import parse
from pgassay.study.responses import Status
from tests.drive.block import real
from tests.drive.loop import missing, mounted_image
from tests.postgres.builds.test_real_build import CFLAGS, CONSENT
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished

pytestmark = [pytest.mark.system, pytest.mark.slow]

STUDIES: dict[str, tuple[str, ...]] = {
    "cache": (),
    "checksums": ("--set", "load.duration=3s"),
    "commit-safety": ("--set", "load.duration=6s", "--set", "load.cuts=3"),
    "cores": (
        *("--set", "load.duration=3s", "--set", "load.scale=8"),
        *("--levels", "load.clients=1,2,4", "--levels", "load.script=tpcb-like"),
    ),
    "disk": (),
    "drive-speed": ("--set", "load.duration=6s"),
    "fillfactor": ("--set", "load.duration=6s"),
    "fillfactor-costs": (),
    "fillfactor-drive": (
        *("--set", "load.duration=6s", "--set", "load.rows=100000"),
        *("--levels", "load.scenario=oltp_update_non_index"),
    ),
    "fillfactor-sysbench": ("--set", "load.duration=2s"),
    "full-page-writes": ("--set", "load.duration=4s", "--levels", "load.scale=5"),
    "group-commit": ("--set", "load.duration=4s"),
    "power-cut": ("--set", "load.duration=10s", "--set", "load.cuts=4"),
    "random-page-cost": (),
    "recovery-time": ("--set", "load.duration=8s", "--set", "load.cuts=2"),
    "toast-compression": ("--set", "load.duration=2s"),
    "tpcc-fillfactor": (
        *("--set", "load.duration=4s"),
        *("--levels", "table.fillfactor=100,50", "--levels", "load.warehouses=1"),
    ),
    "wal-drive": ("--set", "load.duration=4s", "--levels", "load.threads=1"),
}
"""Each with what shortens a block of it."""
PAGE, WAL_BLOCK = "build.block_size", "build.wal_block_size"
BUILT: dict[str, tuple[str, ...]] = {
    "page-size": ("--levels", f"{PAGE}=8kB,4kB", "--set", "load.duration=4s"),
    "page-size-costs": ("--levels", f"{PAGE}=8kB,4kB", "--set", "load.transactions=2000"),
    "page-size-storage": ("--set", "load.duration=4s"),
    "page-size-wide": (
        *("--levels", f"{PAGE}=8kB", "--levels", f"{WAL_BLOCK}=8kB,64kB"),
        *("--levels", "load.row_bytes=100", "--levels", "load.script=simple-update"),
    ),
    "wal-block": ("--levels", f"{PAGE}=8kB", "--levels", f"{WAL_BLOCK}=8kB,64kB", "--set", "load.duration=4s"),
}
"""Those whose PostgreSQLs are built: with what shortens a block, and leaves pages of 4 and 8 kB or WAL blocks of 8 and
64 kB."""
VERSIONS: dict[str, tuple[str, ...]] = {
    "io-method": ("18",),
    "keys": ("18",),
    "versions": ("15", "18"),
    "volumes": ("18",),
}
"""Those whose PostgreSQLs are built because of their version, with the versions that their quick size has."""
BUILDS_S = 1800.0
"""For three builds and a block, on a machine that has other work."""
FILESYSTEM, DEVICE_BYTES = "xfs", 24 << 30


def study_of(name: str) -> Study:
    """The quick size, as it is shipped."""
    document = read(name, builtin.find(name)[1])
    return parse(name, resolve(name, document, Overrides(size="quick")), every_factor())


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


@contextmanager
def device_of_its_own(journey: Place) -> Iterator[None]:
    """The journey's data on a loop device where that can be: what others write to the machine's disk is not on it."""
    if missing(FILESYSTEM):
        yield
        return
    with mounted_image(FILESYSTEM, journey.path, DEVICE_BYTES) as journey.data:
        yield


def require_nearly_all(journey: Place, name: str, *more: str, patience_s: float) -> None:
    """Run a block of the study; nearly all of its trials count, and nothing stays."""
    with device_of_its_own(journey):
        done = finished(
            journey.start(
                "run", name, "--quick", *more, "--blocks", "1", "--seed", "3", "--json",
                "--without-host-factors", "--out", str(journey.runs / name), *ANYWHERE,
            ),
            patience_s,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert journey.left_behind() == []
    trials = journey.record(name).trials
    assert len(trials) >= 2
    doubtful = [(trial.number, trial.status, trial.reasons, trial.responses) for trial in trials if not counts(trial)]
    assert len(doubtful) <= max(1, len(trials) // 5), doubtful


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.timeout(LONG_S + 60)
def test_nearly_all_trials_of_a_quick_study_count(name: str, journey: Place) -> None:
    require_tools(study_of(name))
    require_nearly_all(journey, name, *STUDIES[name], patience_s=LONG_S)


@pytest.fixture(scope="module")
def ours() -> Builder:
    """What builds PostgreSQL here; its source is looked into once for all studies. Skips by name where it cannot."""
    found = builder(Building(allow_deb_src=bool(os.environ.get(CONSENT))))
    try:
        source = found.sources.identify(None, "")
        with found.cache.staging() as staging:
            found.toolchain.require(found.sources.unpack(source, staging / "tree"))
    except PgassayError as error:
        pytest.skip(f"no PostgreSQL can be built here: {error.message}")
    return found


@pytest.mark.parametrize("name", VERSIONS)
@pytest.mark.timeout(BUILDS_S + 60)
def test_nearly_all_trials_of_a_quick_study_of_a_version_count(
    name: str, journey: Place, ours: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_tools(study_of(name))
    for version in VERSIONS[name]:
        try:
            ours.sources.identify(None, version)
        except PgassayError as error:
            pytest.skip(f"no source of PostgreSQL {version} here: {error.message}")
    monkeypatch.setenv(VARIABLE, str(ours.cache.root))
    more = ("--set", f"build.cflags={CFLAGS}", *(["--allow-deb-src"] if os.environ.get(CONSENT) else []))
    require_nearly_all(journey, name, *more, patience_s=BUILDS_S)
    levels = {trial.levels["build.version"].read_back for trial in journey.record(name).trials}
    assert {(version or "").partition(".")[0] for version in levels} == {*VERSIONS[name]}


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.timeout(BUILDS_S + 60)
def test_nearly_all_trials_of_a_quick_study_of_built_servers_count(
    name: str, journey: Place, ours: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_tools(study_of(name))
    monkeypatch.setenv(VARIABLE, str(ours.cache.root))  # the builds outlive the journey's place
    more = (*BUILT[name], "--set", f"build.cflags={CFLAGS}", *(["--allow-deb-src"] if os.environ.get(CONSENT) else []))
    require_nearly_all(journey, name, *more, patience_s=BUILDS_S)
    trials = journey.record(name).trials
    assert {trial.levels["build.cflags"].read_back for trial in trials} == {CFLAGS}
    built = {
        tuple(trial.levels[size].read_back for size in (PAGE, WAL_BLOCK) if size in trial.levels) for trial in trials
    }
    assert len(built) == 2, built


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.timeout(BUILDS_S + 60)
def test_a_quick_study_of_page_sizes_is_counted_to_its_verdict(
    journey: Place, ours: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(ours.cache.root))
    done = finished(
        journey.start(
            "run", "page-size", "--quick", "--count", "--levels", f"{PAGE}=8kB,4kB", "--set", f"build.cflags={CFLAGS}",
            "--set", "load.scale=2", "--set", "load.transactions=100", "--seed", "3", "--json",
            "--out", str(journey.runs / "counted"), *ANYWHERE,
        ),
        BUILDS_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (verdict,) = [
        each for each in json.loads(done.stdout)["verdicts"] if each["response"] == "instructions_per_transaction"
    ]
    assert verdict["verdict"] == "better", "half a page is half of what a full-page image copies and checks"
    assert journey.left_behind() == []
