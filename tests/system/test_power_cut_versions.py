"""Power cuts of each version of PostgreSQL that is on this machine: installed, or built by `pgassay postgres build`.

What differs between versions in a cut: amcheck checks tables since 14 (before, indexes alone), and the page header by
which a drive knows WAL. A version that is not there is skipped by name.
"""

from pathlib import Path

import pytest

from pgassay.cli.postgres import builder
from pgassay.interfaces.versions import parse_version
from pgassay.lab.power_cuts import WHOLE_EVERY
from pgassay.record.power_cuts import SOUND, power_cuts
from pgassay.record.reading import Run
from pgassay.testing import real as real_postgres
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished
from tests.system.test_power_cuts import STUDY

pytestmark = [pytest.mark.system, pytest.mark.slow]

MAJORS = (13, 14, 15, 16, 17, 18)
CUTS = 4
PAGE = 8192
"""Bytes; a build of another page size is another question."""
assert CUTS < WHOLE_EVERY, "the first cut and the last are whole"


def bindir_of(major: int) -> Path:
    """The programs of a version, installed or built; skips by name where this machine has neither."""
    cache = builder().cache
    plain = [each.recipe for each in cache.whole() if each.recipe.block_bytes == each.recipe.wal_block_bytes == PAGE]
    built = [cache.directory(each.key) / "bin" for each in plain if each.version.split(".")[0] == str(major)]
    found = [each.bindir for each in real_postgres.finder().all() if each.version.major == major]
    if not (found or built):
        pytest.skip(f"PostgreSQL {major} is not installed, nor built (pgassay postgres build --pg-version {major})")
    return (found + built)[0]


@pytest.mark.timeout(700)
@pytest.mark.parametrize("major", MAJORS)
def test_a_version_recovers_from_each_cut_and_is_damaged_without_fsync(journey: Place, major: int) -> None:
    real.require("ssd")
    bindir = bindir_of(major)
    study, out = journey.path / "cuts.toml", journey.runs / "cuts"
    study.write_text(STUDY, encoding="utf-8")
    words = ("--out", str(out), "--pg-bindir", str(bindir), "--set", f"load.cuts={CUTS}")
    done = finished(journey.start("run", str(study), *words, *ANYWHERE), LONG_S)
    assert done.returncode == 0, done.stderr
    run = Run.open(out)
    (facts,) = run.host["postgres"]
    version = parse_version(facts["version"])
    assert version is not None
    assert version.major == major
    found = {trial.levels["server.fsync"].typed: power_cuts(run, trial.number) for trial in run.trials}
    assert [(cut.verdict, cut.detail) for cut in found["on"] if cut.verdict != SOUND] == []
    assert all(cut.ledger for cut in found["on"])
    assert [cut.redo_bytes for cut in found["on"] if cut.redo_bytes is None] == [], "its log tells what was replayed"
    assert [cut.recovery_ms is not None for cut in found["on"]] == [True, *[False] * (len(found["on"]) - 2), True]
    assert found["off"][-1].verdict != SOUND, "what was never flushed lies in the page cache alone"
    assert left_behind(journey.data) == []
