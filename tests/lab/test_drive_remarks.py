"""What is said of a study's real drives before it runs: what they hold besides a trial's data."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pgassay.drive.options import DriveOptions
from pgassay.interfaces.drive_counters import DriveCounters
from pgassay.interfaces.places import Mount
from pgassay.lab import run
from pgassay.lab.arms import WAL_BYTES, ResolvedStudy, resolve
from pgassay.lab.drives import CONTENTS, drive_remarks
from tests.fakes.drive import FakeDrive
from tests.lab.simulation import fake_bench, fake_site, study_of

ON = "/dev/nvme0n1"


class OneDrive:
    """Every device is a part of one drive, which counts just this."""

    def __init__(self, **counted: float) -> None:
        self._read = lambda: counted

    def of(self, device: str) -> DriveCounters | None:
        return self._read


def remarks(levels: dict[str, str], **more: Any) -> dict[str, str]:
    """Of a study with one arm on these drives, by code."""
    options = DriveOptions.from_levels(levels)
    mount = Mount(Path("/mnt"), Path("/mnt"), "ext4", more.get("device", ON), more.get("options", "rw"), 1, 1, False)
    arm = SimpleNamespace(setup=SimpleNamespace(drive=options), drive=SimpleNamespace(mount=lambda: mount))
    study = replace(study_of(), primary=more.get("primary", "tps"), secondary=())
    smart = more.get("smart") or OneDrive(**more["counted"])
    options_of_bench = {name: more[name] for name in ("snapshots_in",) if name in more}
    bench = fake_bench(options=options_of_bench, counting=lambda: smart.of, data_directory=Path("/mnt"))
    resolved = SimpleNamespace(study=study, arms=(arm,))
    return dict(drive_remarks(cast("ResolvedStudy", resolved), bench))


def test_a_run_is_told_of_all_places_that_may_be_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record once kept the last of them."""
    monkeypatch.setattr(run, "surroundings", lambda bench, mount, study: ())
    monkeypatch.setattr(run, "drive_remarks", lambda resolved, bench: ())
    free = 2 * 16_000_000 + WAL_BYTES + 1
    places = {f"directory:/{name}": FakeDrive(Path(f"/{name}"), free_bytes=free) for name in "ab"}
    design = {"baseline": {"drive.data": "directory:/a"}}
    study = study_of(factors={"drive.data": list(places)}, design=design, load={"checkpoint": "none"})
    environment = fake_site(drive=lambda wanted, needs: places[str(wanted.data.place)])
    (remark,) = run.prepare(resolve(study, environment), fake_bench()).remarks
    assert remark.code == "room"
    assert '"/a" has ' in remark.recorded
    assert '"/b" has ' in remark.recorded


SNAPSHOTS, DELETED = "--snapshots-in DIR", "what earlier trials have deleted"
HOLDING = {"host_bytes_written": 1.0, "physical_bytes": 2.0}


@pytest.mark.parametrize(
    ("levels", "more", "said"),
    [
        ({"data": f"device:{ON}"}, {}, (SNAPSHOTS, f"{DELETED} (drive.data.mount_options=noatime,discard")),
        ({"data": f"device:{ON}", "data.mount_options": "noatime,discard"}, {}, (SNAPSHOTS,)),
        ({}, {}, (SNAPSHOTS, f"{DELETED} (a mount with discard")),
        ({}, {"options": "rw,discard=async"}, (SNAPSHOTS,)),
        (
            {"data": "csd", "wal": f"device:{ON}"},
            {},
            ("drive of the WAL (device", f"{DELETED} (drive.wal.mount_options="),
        ),
        ({"data": "csd"}, {}, ()),
        ({}, {"counted": {"host_bytes_written": 1.0}}, ()),
        ({}, {"primary": "write_amplification"}, ()),
    ],
)
def test_what_a_real_drive_holds_beside_a_trials_data_is_said(
    levels: dict[str, str], more: dict[str, Any], said: tuple[str, ...]
) -> None:
    """Ratios of space, 75 by 100, are of all snapshots and of what was deleted else, and no claim holds."""
    found = remarks(levels, **{"primary": "physical_bytes", "counted": HOLDING, **more}).get(CONTENTS, "")
    assert all(each in found for each in said)
    assert bool(said) == bool(found)
    assert (DELETED in found) == any(DELETED in each for each in said)


def test_snapshots_on_another_drive_are_not_counted(tmp_path: Path) -> None:
    class Apart(OneDrive):
        def of(self, device: str) -> DriveCounters | None:
            return self._read if device == ON else None

    smart, same = Apart(physical_bytes=2.0), OneDrive(physical_bytes=2.0)
    more: dict[str, Any] = {"primary": "physical_bytes", "snapshots_in": tmp_path / "not there yet"}
    trimmed = {"data": f"device:{ON}", "data.mount_options": "discard"}
    assert CONTENTS not in remarks(trimmed, smart=smart, **more)
    assert SNAPSHOTS in remarks(trimmed, smart=same, **more)[CONTENTS], "another directory, but the same drive"
