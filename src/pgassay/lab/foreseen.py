"""A look ahead where a study asks for devices: what would be refused is refused before the first is written over.

Drives are attached one by one, and writing a device over takes hours: a second one that is in use, or carries data of
others, or has too little room, must not be found after them. So every arm is looked at as a plan sees it first.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pgassay.bench.places import Mount
from pgassay.bench.store import Drive, Needs
from pgassay.drive.options import DriveOptions
from pgassay.drive.root import RemovedError, find_root
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.lab.drives import Drives
from pgassay.lab.gone import end_killed
from pgassay.lab.pairing import settled
from pgassay.lab.preflight import check
from pgassay.lab.site import Attach
from pgassay.study.drives import DriveKind
from pgassay.study.model import Study


def foresee(resolved: ResolvedStudy, refuse: Callable[[Mount, Study], object], *, begins: bool) -> None:
    """Raise `PgassayError` for all that would be refused; nothing is made or written over, but what a killed run left
    is removed.

    `refuse` raises for what speaks against the file system of the first arm; `begins`: whether servers take turns is
    still to be decided. Nothing is looked at without devices.
    """
    ahead = resolved.site.ahead
    if ahead is None or not any(_asks_for_device(arm.setup.drive) for arm in resolved.arms):
        return
    planned = resolve(resolved.study, replace(resolved.site, drive=ahead(), ahead=None))
    if begins:
        planned, _ = settled(planned)
    refuse(check(planned).mount, planned.study)


def _asks_for_device(options: DriveOptions) -> bool:
    return any(each.kind is DriveKind.DEVICE for each in options.drives)


@dataclass
class Foreseeing:
    """The drives of a workbench as they are attached, and ahead of that as a plan sees them."""

    drives: Drives
    _known: set[DriveOptions] = field(default_factory=set)

    def attach(self, options: DriveOptions, needs: Needs) -> Drive:
        """See `Drives.attach`."""
        found = self.drives.attach(options, needs)
        self._known.add(options)
        return found

    def ahead(self) -> Attach:
        """What attaches drives for a plan alone; those that are attached stay what they are."""
        places = self.drives.places
        ended = {places.directory.absolute()}
        _end_killed(places.directory.absolute())
        attacher = self.drives.attacher.ahead()
        planned = replace(self.drives, places=replace(places, planned=True), attacher=attacher, _attached={})

        def attach(options: DriveOptions, needs: Needs) -> Drive:
            if options in self._known:
                return self.drives.attach(options, needs)
            for path in _directories(options):
                if path not in ended:
                    ended.add(path)
                    _end_killed(path)
            return planned.attach(options, needs)

        return attach


def _directories(options: DriveOptions) -> Iterator[Path]:
    """Those that a study names for its data and its WAL."""
    for drive in options.drives:
        if drive.kind is DriveKind.DIRECTORY and drive.path is not None:
            yield drive.path.absolute()


def _end_killed(directory: Path) -> None:
    """Remove what a killed run left: its devices are in use, its clones take room.

    Whoever has no right to do so hears it when the drives are looked at.
    """
    root = find_root(directory)
    if root is not None and root.sessions.is_dir():
        with suppress(RemovedError, PermissionError):
            end_killed(directory, root)
