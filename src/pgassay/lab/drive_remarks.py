"""What is said of the real drives of a study before it runs: what they cannot tell, what a proof found of them.

Known now, not after hours: warnings of a run and of its plan, which the record keeps.
"""

from collections.abc import Sequence

from pgassay.drive.options import DriveOptions
from pgassay.lab import drive_messages
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.drives import NEEDED, RealDrive, not_told, real_drives
from pgassay.lab.workbench import Workbench
from pgassay.study.drives import DATA, WAL, DriveKind
from pgassay.study.model import Study

DRIVES, ROLES = "drives", "drive_roles"
"""The codes of the remarks: what drives do not tell, what they are declared to be and are not."""
_OPTION = {"drive": DATA, "drive_wal": WAL}
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
    found: dict[str, dict[str, None]] = {}
    for options, arm in first.items():
        place = options, arm.drive.mount().device, bench.data_directory, smart
        drives = real_drives(*place)
        for code, said in ((DRIVES, [not_told(*place, wanted)]), (ROLES, roles(drives, claimed))):
            found.setdefault(code, {}).update(dict.fromkeys(filter(None, said)))
    return tuple((code, "; ".join(said)) for code, said in found.items() if said)


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
            found.append(drive_messages.other_role(option, f"{declared}={bare}", trust))
        if declared is None and option in claimed:
            found.append(drive_messages.undeclared_role(option, bare, trust))
    return found


def claimed_drives(study: Study) -> frozenset[str]:
    """The options of those drives whose kind a published claim of the study speaks of."""
    levels = (named for claim in study.claims for named in (claim.treatment, claim.against, *claim.than))
    kinds = (DriveKind.SSD, DriveKind.CSD)
    return frozenset(name for named in levels for name in (DATA, WAL) if named.get(name) in kinds)


def _declared(options: DriveOptions) -> bool:
    """Is a drive declared to be what published studies speak of?"""
    return any(each is not None and each.place is not None and each.place.role for each in (options.data, options.wal))
