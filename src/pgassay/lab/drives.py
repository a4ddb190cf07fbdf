"""The drives of a workbench: attached once for each combination that a study asks for, given back together.

What a killed run left where they live is removed first: its servers here, the rest by the drive room itself.
"""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pgassay.bench.drive_counters import DATA, NAND_WRITTEN, WAL, DriveCounters, Trust
from pgassay.bench.lacking import Lacking
from pgassay.bench.places import Account
from pgassay.bench.running import Runner
from pgassay.bench.store import Drive, Needs
from pgassay.drive import named
from pgassay.drive.attacher import Attacher
from pgassay.drive.block.daemon import RealDaemon
from pgassay.drive.block.kernel import LinuxKernel
from pgassay.drive.block.preparation import Proof, Tell, tell_nobody
from pgassay.drive.options import DriveOptions, OneDrive
from pgassay.drive.root import Root, find_root
from pgassay.drive.smart import BelievedCounters, BelievedMounts, TrustOf, identity_of, never_proven
from pgassay.errors import PgassayError
from pgassay.host import accounts
from pgassay.host.runner import LocalRunner
from pgassay.host.storage import existing_ancestor, mount_of
from pgassay.lab.gone import end_killed
from pgassay.postgres import ownership
from pgassay.record import counter_proofs
from pgassay.record.counter_proofs import CounterProof
from pgassay.record.disk import RealDisk
from pgassay.record.errors import RecordError
from pgassay.study.drives import DriveKind, Role

HOST_WRITTEN, WAL_ALONE = "host_bytes_written", "wal_write_amplification"


@dataclass(frozen=True)
class DriveChoices:
    """What the user says of drives: where those without a place live, which devices may be overwritten, what stays."""

    directory: Path
    allow_volatile: bool = False
    keep_snapshots: bool = True
    owned: frozenset[Path] = frozenset()
    planned: bool = False
    """Only a plan is made: nothing is made, and nothing that a killed run left is removed."""
    snapshots_in: Path | None = None
    """Where directories and devices keep their snapshots; None for with their clones."""
    proofs: Path | None = None
    """The file of what known writes showed of drives' counters; None where nobody keeps one."""
    tell: Tell = tell_nobody
    """Hears how far a device is written over first."""


def attacher_of(places: DriveChoices, runner: Runner, account: Account, lacking: Lacking | None = None) -> Attacher:
    """What attaches drives on this machine, for the servers' account; it tells `lacking` of what is not there."""
    return Attacher(
        runner=runner,
        kernel=LinuxKernel(runner),
        program=RealDaemon(),
        account=account,
        mount_of=mount_of,
        allow_volatile=places.allow_volatile,
        keep_snapshots=places.keep_snapshots,
        owned=places.owned,
        planned=places.planned,
        snapshots_in=None if places.snapshots_in is None else places.snapshots_in.absolute(),
        lacking=lacking or Lacking(),
        known=never_proven if places.proofs is None else known_in(places.proofs),
        tell=places.tell,
    )


def known_in(file: Path) -> TrustOf:
    """What is known of drives' counters by the machine's file; raises `RecordError` where it cannot be read."""
    proofs = counter_proofs.read(RealDisk(), file)

    def known(drive: str) -> Trust | None:
        found = proofs.of(drive)
        if found is None:
            return None
        role = Role(found.role) if found.role in list(Role) else None
        return Trust(found.written_bytes, found.proven_utc[:10], found.problem, role)

    return known


NEEDED: Mapping[str, tuple[str, ...]] = {
    "host_bytes_per_transaction": (HOST_WRITTEN,),
    "nand_bytes_per_transaction": (NAND_WRITTEN,),
    "write_amplification": (HOST_WRITTEN, NAND_WRITTEN),
    "data_write_amplification": (HOST_WRITTEN, NAND_WRITTEN),
    WAL_ALONE: (HOST_WRITTEN, NAND_WRITTEN),
    "physical_bytes": ("physical_bytes",),
    "compression_ratio": ("logical_bytes", "physical_bytes"),
    "drive_writes": (HOST_WRITTEN, "capacity_bytes"),
}
"""Responses that a drive must count something for, and all that it must count."""


def keep_proof(file: Path, device: Path, proof: Proof) -> str:
    """Keep what a known write showed of a drive's counters; returns why it is not kept, or nothing."""
    drive = identity_of(device)
    if not drive:
        return "the drive has no serial number by which a later run would know it"
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = proof.trust(now[:10])
    new = CounterProof(drive, str(device), now, shown.written_bytes, shown.problem, str(shown.role or ""))
    try:
        counter_proofs.remember(RealDisk(), file, new)
    except RecordError as failure:
        return failure.message
    return ""


@dataclass(frozen=True)
class RealDrive:
    """A drive of a study that is not emulated, before a run: `owner` is a source (`DATA`, `WAL`), `device` its name.

    `counters` are None of an image and of a drive that does not answer.
    """

    owner: str
    asked: OneDrive
    device: str
    counters: BelievedCounters | None


def real_drives(options: DriveOptions, device: str, directory: Path, smart: BelievedMounts) -> tuple[RealDrive, ...]:
    """The drives of a treatment that are not emulated; they are asked, and nothing is written.

    `device` is the data's; `directory` is where drives without a place of their own live.
    """
    found = []
    for owner, drive in ((DATA, options.data), (WAL, options.wal)):
        if drive is None or drive.kind.emulated:
            continue
        named = device
        if owner == WAL:
            place = existing_ancestor(drive.path or directory)
            named = str(drive.path) if drive.kind is DriveKind.DEVICE else mount_of(place).device
        counters = None if drive.kind is DriveKind.IMAGE else smart.of(named)
        found.append(RealDrive(owner, drive, named, counters))
    return tuple(found)


def not_told(drives: Sequence[RealDrive], wanted: Sequence[str]) -> str:
    """Which of the `wanted` responses these drives of a treatment cannot tell, as words for users; empty where they
    tell all.

    Emulated drives count everything, images nothing; a drive that holds data and WAL counts once, as the data's.
    """
    found = []
    of_data: BelievedCounters | None = None
    for each in drives:
        if each.owner == WAL and each.counters is not None and each.counters is of_data:
            if WAL_ALONE in wanted:
                found.append(one_drive(each.asked.label, each.device, WAL_ALONE))
            continue
        of_data = each.counters
        told = frozenset() if each.counters is None else frozenset(each.counters())
        about = [name for name in wanted if not told.issuperset(NEEDED.get(name, ())) and _concerns(name, each.owner)]
        if about:
            said = not_reported(each.owner, each.asked.label, each.device, about)
            found.append(said + _because(each.counters, about))
    return "; ".join(found)


def _because(counters: BelievedCounters | None, about: Sequence[str]) -> str:
    """That the drive does count NAND writes, but is not believed."""
    failed = counters is not None and counters.trust is not None and counters.trust.problem
    of_nand = any(NAND_WRITTEN in NEEDED.get(name, ()) for name in about)
    return f" (its counters are {counters.words})" if counters is not None and failed and of_nand else ""


def _concerns(response: str, owner: str) -> bool:
    """Is the response one of this drive? Those of one drive alone start with its owner's word."""
    alone = {"data_write_amplification": DATA, WAL_ALONE: WAL}
    return alone.get(response, owner) == owner


def linux_kernel() -> LinuxKernel:
    """Loop devices and mounts of this machine, for drives that outlive a command."""
    return LinuxKernel(LocalRunner(accounts.choose()))


@dataclass
class Drives:
    """The drives attached so far. `held` protects what must not be interrupted; `given_back` collects every release,
    and `keep` hears of each directory where something would be left if we were killed.
    """

    places: DriveChoices
    attacher: Attacher
    held: Callable[[], AbstractContextManager[None]]
    given_back: ExitStack
    keep: Callable[[str], object]
    _attached: dict[DriveOptions, Drive] = field(default_factory=dict)

    def attach(self, options: DriveOptions, needs: Needs) -> Drive:
        """The drives that these options ask for, as one; attached at the first call. Raises `DriveError`."""
        if options not in self._attached:
            for each in options.drives:
                named = each.path if each.kind is DriveKind.DIRECTORY else None
                place = (named or self.places.directory).absolute()
                if self.places.planned:
                    _makeable(place)
                else:
                    _tidy(place)
                    self.keep(str(place))
            with self.held():
                drive = self.attacher.attach(options, self.places.directory.absolute(), needs)
                self._attached[options] = drive
                self.given_back.callback(drive.release)
        return self._attached[options]

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """What the drives under a cluster count of themselves, by source."""
        return {source: read for drive in self._attached.values() for source, read in drive.counters(directory).items()}


def _tidy(directory: Path) -> None:
    """Make the parents of a place for clusters, and end the servers that a killed run left there."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable_place(directory, error) from error
    for leftover in ownership.leftovers([directory]):
        ownership.end_leftover(leftover)


def _makeable(directory: Path) -> None:
    """Refuse a place whose parents could not be made, and make nothing."""
    try:
        there = existing_ancestor(directory.parent)
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if there != directory.parent.resolve() and not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unusable_place(directory, error) from error


def owned(names: Sequence[str]) -> frozenset[Path]:
    """`--i-own`, by their real names too: /dev/disk/by-id/… is a link."""
    return frozenset(path for name in names for path in (Path(name), Path(name).resolve()))


def remove_left(directory: Path) -> list[str]:
    """Remove what killed runs have left below `directory`, if we ever were there; returns what, a line each."""
    root = find_root(directory)
    return [] if root is None else remove_leftovers(directory, root)


def remove_leftovers(directory: Path, root: Root) -> list[str]:
    """Remove what killed runs have left below `directory`; returns what, a line each. Raises `DriveError`."""
    return [*end_killed(directory, root), *named.repair(root)]


def _unusable_place(place: Path, error: OSError) -> PgassayError:
    """For a directory for clusters that cannot be made."""
    return PgassayError(
        f'could not make "{place}" for clusters: {(error.strerror or str(error)).lower()}',
        "name a directory that this account may write in with --data-dir, or with $PGASSAY_DATA_DIR",
    )


def not_reported(owner: str, kind: str, device: str, responses: Sequence[str]) -> str:
    """For a real drive or an image that does not count what these responses are computed from."""
    return f"{_named(owner, kind, device)} does not report what is needed for {', '.join(responses)}"


def one_drive(kind: str, device: str, response: str) -> str:
    """For WAL apart from the data, but on the same real drive, whose counters are the data's."""
    return f"{_named(WAL, kind, device)} is one drive with the data and counts once, so no {response}"


def whole_drive(responses: Sequence[str], owner: str, kind: str, device: str, *, kept_here: bool, trim: str) -> str:
    """A real drive counts all that it holds: snapshots that are kept there, and what is deleted and not trimmed.

    `trim` is how the drive would be told of deleted files; empty where it is told.
    """
    held = ["all snapshots (--snapshots-in DIR keeps them on another drive)"] if kept_here else []
    held += [f"what earlier trials have deleted ({trim} tells it)"] if trim else []
    counted = f"{_named(owner, kind, device)} counts all that it holds"
    return f"{counted}, for {', '.join(responses)} also {' and '.join(held)}: ratios come out nearer to 1"


def _named(owner: str, kind: str, device: str) -> str:
    return f"the drive of {'the WAL' if owner == WAL else 'the data'} ({kind} on {device})"
