"""What is said of the real drives of a study before it runs: what they do not tell, what they are, what they hold.

Known now, not after hours: warnings of a run and of its plan, which the record keeps.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from pgassay.bench.drive_counters import DATA as SOURCE
from pgassay.bench.drive_counters import WAL as SOURCE_WAL
from pgassay.bench.places import Mount
from pgassay.drive.options import DriveOptions
from pgassay.drive.smart import BelievedMounts
from pgassay.host.storage import existing_ancestor, mount_of
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.drives import NEEDED, RealDrive, not_told, real_drives, whole_drive
from pgassay.lab.workbench import Workbench
from pgassay.study.drives import DATA, WAL, DriveKind
from pgassay.study.model import Study

DRIVES, ROLES, CONTENTS = "drives", "drive_roles", "drive_contents"
"""The codes of the remarks: what drives do not tell, what they are declared to be and are not, what else they hold."""
_OF_CONTENTS = ("physical_bytes", "compression_ratio")
_OPTION = {SOURCE: DATA, SOURCE_WAL: WAL}
"""From a drive's source to the option that names it."""


def drive_remarks(resolved: ResolvedStudy, bench: Workbench) -> tuple[tuple[str, str], ...]:
    """What is to be said of the study's real drives, by code; they are asked, and nothing is written."""
    study = resolved.study
    wanted = [study.primary, *(each for each in study.secondary if each != study.primary)]
    claimed = claimed_drives(study) if not bench.options.server else frozenset()
    first = {arm.setup.drive: arm for arm in reversed(resolved.arms)}
    if not (NEEDED.keys() & set(wanted) or claimed or any(map(_declared, first))):
        return ()
    smart = bench.counting()
    keeps = _keeps(bench.options.snapshots_in, smart)
    found: dict[str, dict[str, None]] = {}
    for options, arm in first.items():
        mount = arm.drive.mount()
        drives = real_drives(options, mount.device, bench.data_directory, smart)
        said = {
            DRIVES: [not_told(drives, wanted)],
            ROLES: roles(drives, claimed),
            CONTENTS: contents(drives, wanted, mount, bench.data_directory, keeps),
        }
        for code, texts in said.items():
            found.setdefault(code, {}).update(dict.fromkeys(filter(None, texts)))
    return tuple((code, "; ".join(texts)) for code, texts in found.items() if texts)


def roles(drives: Sequence[RealDrive], claimed: frozenset[str]) -> list[str]:
    """Where what a drive is declared to be is not what its proof found, or a claim asks and nobody declared it.

    `claimed` are the options of those drives that claims speak of.
    """
    found = []
    for each in drives:
        trust = None if each.counters is None else each.counters.trust
        if trust is None or trust.role is None:
            continue
        option, place = _OPTION[each.owner], each.asked.place
        declared = None if place is None else place.role
        bare = str(each.asked.kind) if each.asked.path is None else f"{each.asked.kind}:{each.asked.path}"
        if declared is not None and declared is not trust.role:
            found.append(
                f"{option}={f'{declared}={bare}'} is declared otherwise than its proof of {trust.on} "
                f"found it: {trust.role}"
            )
        if declared is None and option in claimed:
            found.append(
                f"claims are about drives, and nobody declared {option}={bare}: its proof of {trust.on} found it"
                f" {trust.role};"
                f" declare {option}={trust.role}={bare}"
            )
    return found


def contents(
    drives: Sequence[RealDrive],
    wanted: Sequence[str],
    mount: Mount,
    directory: Path,
    keeps: Callable[[RealDrive], bool],
) -> list[str]:
    """Of which drives the contents are counted with more than one trial's data: a drive counts all that it holds.

    `mount` is the data's, `directory` where drives without a place of their own live; `keeps` says whether snapshots
    lie on a drive.
    """
    of_contents = [name for name in wanted if name in _OF_CONTENTS]
    found = []
    for each in drives if of_contents else ():
        if each.counters is None or "physical_bytes" not in each.counters():
            continue
        kind, kept_here = each.asked.kind, keeps(each)
        trim = f"{_OPTION[each.owner]}.trim=on" if kind is DriveKind.DEVICE else "a mount with discard"
        if _told_of_deleted(each, mount if each.owner == SOURCE else None, directory):
            trim = ""
        if kept_here or trim:
            said = whole_drive(of_contents, each.owner, kind, each.device, kept_here=kept_here, trim=trim)
            found.append(said)
    return found


def _keeps(snapshots_in: Path | None, smart: BelievedMounts) -> Callable[[RealDrive], bool]:
    """Whether snapshots lie on a drive that counts: with their clones, if nowhere else."""
    if snapshots_in is None:
        return lambda each: True
    keeper = smart.of(mount_of(existing_ancestor(snapshots_in)).device)
    return lambda each: each.counters is keeper


def _told_of_deleted(each: RealDrive, mount: Mount | None, directory: Path) -> bool:
    """Does the drive hear of deleted files before a trial is measured? `mount` is None of the WAL's."""
    if each.asked.kind is DriveKind.DEVICE:
        return each.asked.trim or _discards(each.asked.filesystem.mount_options)
    found = mount or mount_of(existing_ancestor(each.asked.path or directory))
    return _discards(found.options.split(","))


def _discards(options: Sequence[str]) -> bool:
    return any(each == "discard" or each.startswith("discard=") for each in options)


def claimed_drives(study: Study) -> frozenset[str]:
    """The options of those drives whose kind a published claim of the study speaks of."""
    levels = (named for claim in study.claims for named in (claim.treatment, claim.against, *claim.than))
    kinds = (DriveKind.SSD, DriveKind.CSD)
    return frozenset(name for named in levels for name in (DATA, WAL) if named.get(name) in kinds)


def _declared(options: DriveOptions) -> bool:
    """Is a drive declared to be what published studies speak of?"""
    return any(each.place is not None and each.place.role for each in options.drives)
