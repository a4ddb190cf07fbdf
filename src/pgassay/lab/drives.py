"""The drives of a workbench: attached once for each combination that a study asks for, given back together.

What a killed run left where they live is removed first: its servers here, the rest by the drive room itself.

What real drives do not report, or hold, is said before a study runs: known now, not after hours. These remarks are
warnings of a run and of its plan, and the record keeps them.
"""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.drive.attacher import Attacher
from pgassay.drive.block.daemon import RealDaemon
from pgassay.drive.block.kernel import LinuxKernel
from pgassay.drive.directory import CountersOf
from pgassay.drive.options import DriveOptions, OneDrive
from pgassay.drive.root import RemovedError, find_root
from pgassay.drive.smart import SmartOfMounts
from pgassay.errors import PgassayError
from pgassay.host.storage import existing_ancestor, mount_of
from pgassay.interfaces.drive_counters import DATA, NAND_WRITTEN, WAL, DriveCounters
from pgassay.interfaces.places import Account, Mount
from pgassay.interfaces.running import Runner
from pgassay.interfaces.store import Drive, Needs
from pgassay.lab.cleanup import end_killed
from pgassay.lab.environment import Attach
from pgassay.postgres import ownership
from pgassay.study.drives import DATA as DATA_OPTION
from pgassay.study.drives import WAL as WAL_OPTION

if TYPE_CHECKING:
    from pgassay.lab.arms import ResolvedStudy
    from pgassay.lab.workbench import Workbench

HOST_WRITTEN, WAL_ALONE = "host_bytes_written", "wal_write_amplification"


def local_attacher(runner: Runner, account: Account) -> Attacher:
    return Attacher(
        runner=runner,
        kernel=LinuxKernel(runner),
        program=RealDaemon(),
        account=account,
        mount_of=mount_of,
        counting=SmartOfMounts(runner).of,
    )


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


@dataclass(frozen=True)
class RealDrive:
    """A drive of a study that is not emulated, before a run: `owner` is a source (`DATA`, `WAL`), `device` its name,
    `mount_options` those of its file system.

    `counters` are None of an image and of a drive that does not answer.
    """

    owner: str
    asked: OneDrive
    device: str
    mount_options: Sequence[str]
    counters: DriveCounters | None

    @property
    def words(self) -> str:
        return f"the drive of {'the WAL' if self.owner == WAL else 'the data'} ({self.asked.label} on {self.device})"


def real_drives(options: DriveOptions, mount: Mount, directory: Path, smart: CountersOf) -> tuple[RealDrive, ...]:
    """The drives of a treatment that are not emulated; they are asked, and nothing is written.

    `mount` is the data's; `directory` is where drives without a place of their own live.
    """
    found = []
    for owner, drive in ((DATA, options.data), (WAL, options.wal)):
        if drive is None or drive.kind.emulated:
            continue
        if drive.device is not None:
            device = mount.device if owner == DATA else str(drive.device)
            mounted = drive.filesystem.mount_options
        else:
            own = mount if owner == DATA else mount_of(drive.path or directory)
            device, mounted = own.device, tuple(own.options.split(","))
        counters = smart(device) if drive.kind.real else None
        found.append(RealDrive(owner, drive, device, mounted, counters))
    return tuple(found)


def not_told(drives: Sequence[RealDrive], wanted: Sequence[str]) -> str:
    """Which of the `wanted` responses these drives of a treatment do not report, as words for users; empty where they
    report all.

    Emulated drives count everything, images nothing; a drive that holds data and WAL counts once, as the data's.
    """
    found = []
    of_data: DriveCounters | None = None
    alone = {"data_write_amplification": DATA, WAL_ALONE: WAL}
    for each in drives:
        counters = each.counters
        if each.owner == WAL and counters is not None and counters is of_data:
            if WAL_ALONE in wanted:
                found.append(f"{each.words} is one drive with the data and counts once, so no {WAL_ALONE}")
            continue
        of_data = counters
        known = frozenset() if counters is None else frozenset(counters())
        mine = [name for name in wanted if alone.get(name, each.owner) == each.owner]
        about = [name for name in mine if not known.issuperset(NEEDED.get(name, ()))]
        if about:
            found.append(f"{each.words} does not report what is needed for {', '.join(about)}")
    return "; ".join(found)


@dataclass
class Drives:
    """The drives attached so far. Those without a place of their own live in `directory`; `held` protects what must not
    be interrupted; `given_back` collects every release, and `keep` hears of each directory where something would be
    left if we were killed.
    """

    directory: Path
    attacher: Attacher
    held: Callable[[], AbstractContextManager[None]]
    given_back: ExitStack
    keep: Callable[[str], object]
    _attached: dict[DriveOptions, Drive] = field(default_factory=dict)

    def attach(self, options: DriveOptions, needs: Needs) -> Drive:
        """The drives that these options ask for, as one; attached at the first call. Raises `DriveError`."""
        if options not in self._attached:
            for each in options.drives:
                place = (each.directory or self.directory).absolute()
                if self.attacher.planned:
                    _makeable(place)
                else:
                    _tidy(place)
                    self.keep(str(place))
            with self.held():
                drive = self.attacher.attach(options, self.directory.absolute(), needs)
                self._attached[options] = drive
                self.given_back.callback(drive.release)
        return self._attached[options]

    def ahead(self) -> Attach:
        """What attaches drives for a plan alone; those that are attached stay what they are."""
        ended: set[Path] = set()
        planned = replace(self, attacher=self.attacher.ahead(), _attached={})

        def end_killed_in(directory: Path) -> None:
            if directory not in ended:
                ended.add(directory)
                _end_killed(directory)

        def attach(options: DriveOptions, needs: Needs) -> Drive:
            if options in self._attached:
                return self._attached[options]
            for drive in options.drives:  # directories that a study names for its data and its WAL
                if drive.directory is not None:
                    end_killed_in(drive.directory.absolute())
            return planned.attach(options, needs)

        end_killed_in(self.directory.absolute())
        return attach

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """What the drives under a cluster count of themselves, by source."""
        return {source: read for drive in self._attached.values() for source, read in drive.counters(directory).items()}


def _tidy(directory: Path) -> None:
    """Make the parents of a place for clusters, and end the servers that a killed run left there."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable_place(directory, error) from error
    for cluster in ownership.leftovers(directory):
        ownership.end_leftover(cluster)


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


def _unusable_place(place: Path, error: OSError) -> PgassayError:
    return PgassayError(
        f'could not make "{place}" for clusters: {(error.strerror or str(error)).lower()}',
        "name a directory that this account may write in with --data-dir, or with $PGASSAY_DATA_DIR",
    )


def remove_left(directory: Path) -> list[str]:
    """Remove what killed runs have left below `directory`, if we ever were there; returns what, a line each.

    Raises `DriveError`.
    """
    root = find_root(directory)
    return [] if root is None else end_killed(directory, root)


DRIVES, CONTENTS = "drives", "drive_contents"
"""The codes of the remarks: what drives do not tell, what else they hold."""
_OF_CONTENTS = ("physical_bytes", "compression_ratio")
_OPTION = {DATA: DATA_OPTION, WAL: WAL_OPTION}
"""From a drive's source to the option that names it."""


def drive_remarks(resolved: "ResolvedStudy", bench: "Workbench") -> tuple[tuple[str, str], ...]:
    """What is to be said of the study's real drives, by code; they are asked, and nothing is written."""
    study = resolved.study
    wanted = [study.primary, *(each for each in study.secondary if each != study.primary)]
    if not NEEDED.keys() & set(wanted):
        return ()
    first = {arm.setup.drive: arm for arm in reversed(resolved.arms)}
    smart, elsewhere = bench.counting(), bench.options.snapshots_in
    keeper = None if elsewhere is None else smart(mount_of(elsewhere).device)
    found: dict[str, dict[str, None]] = {}
    for options, arm in first.items():
        mount = arm.drive.mount()
        drives = real_drives(options, mount, bench.data_directory, smart)
        said = {
            DRIVES: [not_told(drives, wanted)],
            CONTENTS: contents(drives, wanted, lambda drive: elsewhere is None or drive.counters is keeper),
        }
        for code, texts in said.items():
            found.setdefault(code, {}).update(dict.fromkeys(filter(None, texts)))
    return tuple((code, "; ".join(texts)) for code, texts in found.items() if texts)


def contents(drives: Sequence[RealDrive], wanted: Sequence[str], keeps: Callable[[RealDrive], bool]) -> list[str]:
    """Of which drives the contents are counted with more than one trial's data: a drive counts all that it holds.

    `keeps` says whether snapshots lie on a drive.
    """
    of_contents = [name for name in wanted if name in _OF_CONTENTS]
    found = []
    for each in drives if of_contents else ():
        if each.counters is None or "physical_bytes" not in each.counters():
            continue
        discarding = "a mount with discard"
        if each.asked.device is not None:
            discarding = f"{_OPTION[each.owner]}.mount_options=noatime,discard"
        held = ["all snapshots (--snapshots-in DIR keeps them on another drive)"] if keeps(each) else []
        if not any(option.partition("=")[0] == "discard" for option in each.mount_options):
            held.append(f"what earlier trials have deleted ({discarding} frees it)")
        if held:
            also = f"for {', '.join(of_contents)} also {' and '.join(held)}"
            found.append(f"{each.words} counts all that it holds, {also}: ratios come out nearer to 1")
    return found


def _end_killed(directory: Path) -> None:
    """Remove what a killed run left: its devices are in use, its clones take room.

    Whoever has no right to do so hears it when the drives are looked at.
    """
    root = find_root(directory)
    if root is not None and root.sessions.is_dir():
        with suppress(RemovedError, PermissionError):
            end_killed(directory, root)
