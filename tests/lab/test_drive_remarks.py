"""What is said of a study's real drives before it runs: what they are declared to be, and what their proofs found."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pgassay.drive.options import DriveOptions
from pgassay.drive.smart import BelievedMounts
from pgassay.interfaces.drive_counters import Counted, DriveCounters, Trust
from pgassay.interfaces.places import Mount
from pgassay.lab import run
from pgassay.lab.arms import WAL_BYTES, ResolvedStudy, resolve
from pgassay.lab.drives import CONTENTS, ROLES, drive_remarks, known_in
from pgassay.record.disk import RealDisk
from pgassay.record.known import CounterProof, remember_proof
from pgassay.study.drives import Role
from pgassay.study.model import Claim
from tests.fakes.drive import FakeDrive
from tests.lab.simulation import fake_bench, fake_site, study_of

ON = "/dev/nvme0n1"
FOUND = Trust(16 << 30, "2026-01-02", "", Role.COMPRESSING)
ABOUT_DRIVES = Claim("less flash", "a paper", "tps", {"drive.data": "csd"}, {"drive.data": "ssd"}, high=1.0)
DECLARE = f"declare drive.data=compressing=device:{ON}"


class OneDrive:
    """Every device is a part of one drive, which counts just this."""

    def __init__(self, **counted: float) -> None:
        self._counted = counted

    def of(self, device: str) -> DriveCounters | None:
        return self._read

    def _read(self) -> Counted:
        return self._counted


def remarks(levels: dict[str, str], *claims: Claim, trust: Trust | None = FOUND, **more: Any) -> dict[str, str]:
    """Of a study with one arm on these drives, by code."""
    options = DriveOptions.from_levels(levels)
    mount = Mount(Path("/mnt"), Path("/mnt"), "ext4", more.get("device", ON), more.get("options", "rw"), 1, 1, False)
    arm = SimpleNamespace(setup=SimpleNamespace(drive=options), drive=SimpleNamespace(mount=lambda: mount))
    study = replace(study_of(), claims=claims, primary=more.get("primary", "tps"), secondary=())
    one_drive = OneDrive(**more.get("counted", {"host_bytes_written": 1.0}))
    smart = more.get("smart") or BelievedMounts(one_drive, lambda drive: trust)
    options_of_bench = {name: more[name] for name in ("servers", "snapshots_in") if name in more}
    bench = fake_bench(options=options_of_bench, counting=lambda: smart, data_directory=Path("/mnt"))
    resolved = SimpleNamespace(study=study, arms=(arm,))
    return dict(drive_remarks(cast("ResolvedStudy", resolved), bench))


@pytest.mark.parametrize(
    ("level", "claims", "trust", "said"),
    [
        (
            "normal=",
            (),
            FOUND,
            f"drive.data=normal=device:{ON} is declared otherwise than its proof of 2026-01-02 found",
        ),
        ("normal=", (), replace(FOUND, role=Role.NORMAL), ""),
        ("normal=", (), replace(FOUND, role=None), ""),
        ("normal=", (), None, ""),
        ("compressing=", (ABOUT_DRIVES,), FOUND, ""),
        ("", (ABOUT_DRIVES,), FOUND, DECLARE),
        ("", (), FOUND, ""),  # nobody asks what it is
        ("", (replace(ABOUT_DRIVES, treatment={"table.fillfactor": "75"}, against={}),), FOUND, ""),
    ],
)
def test_a_role_that_a_proof_found_is_told(
    level: str, claims: tuple[Claim, ...], trust: Trust | None, said: str
) -> None:
    found = remarks({"data": f"{level}device:{ON}"}, *claims, trust=trust).get(ROLES, "")
    assert said in found if said else not found


def test_directories_and_the_wal_have_a_role_too_and_another_hosts_drives_none() -> None:
    assert "drive.data=compressing=directory" in remarks({}, ABOUT_DRIVES)[ROLES]
    of_wal = replace(ABOUT_DRIVES, treatment={"drive.wal": "csd"}, against={})
    levels = {"data": "csd", "wal": "device:/dev/nvme1n1"}
    assert remarks(levels, of_wal)[ROLES].endswith("declare drive.wal=compressing=device:/dev/nvme1n1")
    assert ROLES not in remarks({}, ABOUT_DRIVES, servers={"": ["host=elsewhere"]})
    assert ROLES not in remarks({"data": "ssd"}, ABOUT_DRIVES), "what is emulated is known"


def test_later_runs_know_the_role_that_a_proof_found(tmp_path: Path) -> None:
    file = tmp_path / "counters.json"
    for drive, role in (("A", "compressing"), ("B", ""), ("C", "something of a later version")):
        remember_proof(RealDisk(), file, CounterProof(drive, ON, "2026-01-02T03:04:05Z", 16 << 30, "", role))
    known = known_in(file)
    roles = [trust.role for drive in "ABC" if (trust := known(drive)) is not None]
    assert roles == [Role.COMPRESSING, None, None]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_run_and_its_plan_say_it(dry_run: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "surroundings", lambda bench, mount, study: ())
    smart = BelievedMounts(OneDrive(host_bytes_written=1.0), lambda drive: FOUND)
    bench = fake_bench(options={"dry_run": dry_run}, counting=lambda: smart, data_directory=Path("/mnt"))
    study = replace(study_of(), claims=(ABOUT_DRIVES,))
    prepared = run.prepare(resolve(study, fake_site()), bench)
    (found,) = (each for each in prepared.remarks if each.code == ROLES)
    assert found.warning == found.recorded
    assert "its proof of 2026-01-02 found it compressing" in found.warning


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
        ({"data": f"device:{ON}"}, {}, (SNAPSHOTS, f"{DELETED} (drive.data.trim=on")),
        ({"data": f"device:{ON}", "data.trim": "on"}, {}, (SNAPSHOTS,)),
        ({"data": f"device:{ON}", "data.mount_options": "noatime,discard"}, {}, (SNAPSHOTS,)),
        ({}, {}, (SNAPSHOTS, f"{DELETED} (a mount with discard")),
        ({}, {"options": "rw,discard=async"}, (SNAPSHOTS,)),
        (
            {"data": "csd", "wal": f"device:{ON}"},
            {},
            ("drive of the WAL (device", f"{DELETED} (drive.wal.trim=on"),
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

    smart, same = BelievedMounts(Apart(physical_bytes=2.0)), BelievedMounts(OneDrive(physical_bytes=2.0))
    more: dict[str, Any] = {"primary": "physical_bytes", "snapshots_in": tmp_path / "not there yet"}
    trimmed = {"data": f"device:{ON}", "data.trim": "on"}
    assert CONTENTS not in remarks(trimmed, smart=smart, **more)
    assert SNAPSHOTS in remarks(trimmed, smart=same, **more)[CONTENTS], "another directory, but the same drive"
