"""The drives of one treatment as one: data and, where it has its own, WAL; kept, cloned and given back together.

The WAL directory moves to its drive after initdb and is found by the symbolic link `pg_wal` (manual, "initdb",
--waldir). Both halves of a snapshot carry one token, so that halves of two preparations are never put together.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from pgassay import copying
from pgassay.bench.drive_counters import DATA, SMART, SMART_WAL, WAL, DriveCounters, counts_nothing
from pgassay.bench.errors import DamagedError
from pgassay.bench.places import Account, Mount
from pgassay.bench.store import Ageing, Drive, DriveOutline, Trait
from pgassay.drive import messages
from pgassay.files import Directory, UntrustedError

LINK = "pg_wal"
TOKEN = "PGASSAY_DRIVE_SET"
_SUFFIX = "-wal"
"""Behind a name or key: the WAL's half of it, which may lie in the same place as the data's."""


class DriveSet:
    """Data and WAL on a drive of its own each, used as one drive."""

    def __init__(self, data: Drive, wal: Drive, account: Account) -> None:
        self._data = data
        self._wal = wal
        self._account = account
        self._places: dict[Path, Path] = {}

    @property
    def kind(self) -> str:
        """Both kinds, data first: `ssd+image`."""
        return f"{self._data.kind}+{self._wal.kind}"

    def mount(self) -> Mount:
        """The file system of the data's drive."""
        return self._data.mount()

    def snapshot_mount(self) -> Mount | None:
        """Where the data's snapshots are kept; those of the WAL are small."""
        return self._data.snapshot_mount()

    def wal(self) -> DriveOutline | None:
        """The WAL's drive."""
        return self._wal

    def workspace(self, name: str) -> Path:
        """A place on each drive; returns the data's. Neither stays if one cannot be made."""
        path = self._data.workspace(name)
        try:
            self._places[path] = self._wal.workspace(name + _SUFFIX)
        except BaseException:
            self._data.discard(path)
            raise
        return path

    def lay_out(self, directory: Path) -> None:
        """See `Drive`: the WAL goes to its own drive."""
        place = self._places[directory]
        token = secrets.token_hex(8) + "\n"
        with Directory.open(directory) as data, Directory.open(place) as wal:
            with data.inner(LINK) as made:
                copying.copy_into(made, wal, share=False)
            data.remove_tree(LINK)
            for folder in (data, wal):
                folder.replace(TOKEN, token, self._account.owner)
            data.link(LINK, place)

    def has_snapshot(self, key: str) -> bool:
        """Whether both drives keep a whole snapshot of this key."""
        return self._data.has_snapshot(key) and self._wal.has_snapshot(key + _SUFFIX)

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """See `Drive`; a half that stayed alone from before is dropped first."""
        if not self.has_snapshot(key):
            self.forget_snapshot(key)
        place = self._place_of(directory)
        if (directory / LINK).is_symlink():
            with Directory.open(directory) as data:
                data.unlink(LINK)
        self._wal.take_snapshot(key + _SUFFIX, place, what)
        self._data.take_snapshot(key, directory, what)
        del self._places[directory]

    def clone(self, key: str, name: str) -> Path:
        """A clone on each drive; returns the data's. Raises `DriveError` where the halves are of two snapshots."""
        path = self._data.clone(key, name)
        try:
            place = self._places[path] = self._wal.clone(key + _SUFFIX, name + _SUFFIX)
            if _token(path) != _token(place):
                self.discard(path)
                self.forget_snapshot(key)
                raise messages.halves_apart(key)
            if not os.path.lexists(path / LINK):
                with Directory.open(path) as data:
                    data.link(LINK, place)
        except BaseException:
            self.discard(path)
            raise
        return path

    def snapshot_files(self, key: str) -> Path | None:
        """None: the halves are on drives of their own."""
        return None

    def forget_snapshot(self, key: str) -> None:
        """Drop both halves; harmless where there is none."""
        self._data.forget_snapshot(key)
        self._wal.forget_snapshot(key + _SUFFIX)

    def how_cloned(self) -> str:
        """One word where both drives clone alike, else one for data and one for WAL."""
        words = (self._data.how_cloned(), self._wal.how_cloned())
        return words[0] if words[0] == words[1] else f"data by {words[0]}, WAL by {words[1]}"

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """See `Drive`: the WAL's drive under a name of its own. A half that counts nothing is there beside one that
        counts, too, so that this one is not taken for both."""
        if directory not in self._places:
            return {}
        found = dict(self._data.counters(directory))
        wal = self._wal.counters(self._places[directory])
        if DATA in wal:
            found[WAL] = wal[DATA]
        if SMART in wal and wal[SMART] is not found.get(SMART):  # one drive counts once, whatever lies on it
            found[SMART_WAL] = wal[SMART]
        if found and not wal:
            found[SMART_WAL] = counts_nothing
        if found and not {DATA, SMART} & set(found):
            found[SMART] = counts_nothing
        return found

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """See `Drive`: the WAL's drive under its own name."""
        if directory not in self._places:
            return {}
        wal = self._wal.traits(self._places[directory])
        renamed = {f"{WAL}.{name.removeprefix(DATA).removeprefix('.')}": trait for name, trait in wal.items()}
        return {**self._data.traits(directory), **renamed}

    def ageing(self) -> Ageing | None:
        """See `Drive`: both at once, if any is to be aged."""
        both = ((self._data.ageing(), ""), (self._wal.ageing(), _SUFFIX))
        found = [(ageing, suffix) for ageing, suffix in both if ageing is not None]
        return _AgeingOfBoth(found) if found else None

    def write_back(self, directory: Path) -> None:
        """See `Drive`: once where both are on one file system."""
        self._data.write_back(directory)
        place = self._places[directory]
        if place.stat().st_dev != directory.stat().st_dev:
            self._wal.write_back(place)

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """See `Drive`: both, also where one of them is not sound."""
        damaged = None
        try:
            self._data.discard(directory, check=check)
        except DamagedError as found:
            damaged = found
        place = self._places.pop(directory, None)
        if place is not None:
            self._wal.discard(place, check=check)
        if damaged is not None:
            raise damaged

    def release(self) -> None:
        """See `Drive`: both, whatever happens to one."""
        try:
            self._data.release()
        finally:
            self._wal.release()

    def _place_of(self, directory: Path) -> Path:
        if directory not in self._places:
            self._data.discard(directory)  # refuses what is not ours, in its own words
        return self._places[directory]


class _AgeingOfBoth:
    """See `bench.store.Ageing`; several as one, each with what stands behind its drive's keys."""

    def __init__(self, parts: list[tuple[Ageing, str]]) -> None:
        self._parts = parts

    def begin(self) -> None:
        for part, _ in self._parts:
            part.begin()

    def finish(self, key: str) -> None:
        for part, suffix in self._parts:
            part.finish(key + suffix)

    def abandon(self) -> None:
        for part, _ in self._parts:
            part.abandon()


def _token(folder: Path) -> str:
    """Empty where there is none: a set that was never laid out."""
    try:
        with Directory.open(folder) as opened:
            return opened.read(TOKEN).decode("ascii", "replace")
    except (OSError, UntrustedError):
        return ""
