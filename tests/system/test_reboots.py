"""`--reboot-between-blocks` without a reboot: the unit's own command is what a boot would start, again and again."""

import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pgassay.record.reading import Run
from tests.system.journeys import ANYWHERE, TINY, Place

pytestmark = pytest.mark.system

UNIT = "etc/systemd/system/pgassay-continue.service"


def boot(unit: Path, journey: Place) -> "subprocess.CompletedProcess[str]":
    """What systemd would do with the unit."""
    (line,) = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    words = shlex.split(line.removeprefix("ExecStart="))
    assert words[1:5] == ["-P", "-m", "pgassay", "resume"]
    return journey.pgassay(*words[4:])


def blocks_of(run: Run) -> dict[int, int]:
    """How many arms each block has tried: what is discarded on a busy machine runs again."""
    return dict(Counter(block for block, _ in {(trial.block, trial.arm) for trial in run.trials}))


@pytest.mark.slow
def test_a_study_goes_on_after_every_block_and_takes_its_unit_away(
    journey: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = journey.path / "systemd"
    monkeypatch.setenv("PGASSAY_SYSTEMD_ROOT", str(root))
    unit, name = root / UNIT, "rebooted"
    words = ("run", "fillfactor", *TINY, "--blocks", "2..2", *ANYWHERE, "--out", str(journey.runs / name), "--json")
    first = journey.pgassay(*words, "--reboot-between-blocks")
    assert first.returncode == 0, first.stderr
    assert "rebooting" in first.stderr
    assert blocks_of(journey.record(name)) == {1: 2}
    assert unit.is_file()
    assert journey.left_behind() == []
    second = boot(unit, journey)
    assert second.returncode == 0, second.stderr
    assert "rebooting" not in second.stderr
    assert blocks_of(journey.record(name)) == {1: 2, 2: 2}
    assert journey.record(name).journal[-1].kind == "finished"
    assert [path for path in root.rglob("*") if not path.is_dir() or path.is_symlink()] == [], "the unit is gone"
