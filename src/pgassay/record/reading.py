"""A run as a value, for reports and analyses: read without a lock, also while a runner still writes it.

Trials are read when first asked for, from the compacted index where it agrees with the journal and from their own
files for the rest. Series come as a polars frame. What cannot be read is an error for the lab, which goes on with the
run, and left out by name for a report: the other trials are as good as they were.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pgassay import untrusted
from pgassay.errors import UsageError
from pgassay.record import formats, trials
from pgassay.record.directory import HOST_FILE, STUDY_FILE, read_header, read_journal
from pgassay.record.disk import Disk, RealDisk
from pgassay.record.errors import CHECK, MISSING, DamagedError, as_record_error, damaged, reason_of
from pgassay.record.formats import RunHeader, TrialDecoder
from pgassay.record.journal import Entry, committed_in, require_all
from pgassay.record.values import TrialRecord
from pgassay.study.model import Study
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Response

if TYPE_CHECKING:
    import polars as pl

    from pgassay.record.series import Indexed

T = TypeVar("T")


class LeftOut(NamedTuple):
    trial: int
    reason: str


@dataclass(frozen=True)
class Run:
    """A run directory as it stood when it was opened; raises `RecordError` where a part cannot be read.

    With `leave_out` a trial that cannot be read is no error: it is missing in `trials` and named in `left_out`.
    """

    path: Path
    header: RunHeader
    journal: tuple[Entry, ...]
    disk: Disk
    leave_out: bool = False

    @classmethod
    def open(cls, path: Path, disk: Disk | None = None, *, leave_out: bool = False) -> "Run":
        """Read the header and the journal; a torn last line is ignored, since it may still be written."""
        disk = disk or RealDisk()
        path = path.absolute()
        with as_record_error(path, "read the run", CHECK):
            return cls(path, read_header(disk, path), read_journal(disk, path).entries, disk, leave_out)

    @property
    def responses(self) -> tuple[Response, ...]:
        return self.header.responses

    @cached_property
    def study_toml(self) -> str:
        with as_record_error(self.path, "read the study", CHECK):
            data = self.disk.read(self.path / STUDY_FILE)
        try:
            return data.decode()
        except UnicodeDecodeError as failure:
            raise damaged(self.path, f"{STUDY_FILE}: {failure}") from failure

    @cached_property
    def study(self) -> dict[str, Any]:
        """The resolved study, as plain TOML values."""
        try:
            return untrusted.toml(self.study_toml)
        except ValueError as failure:
            raise damaged(self.path, f"{STUDY_FILE}: {failure}") from failure

    @cached_property
    def asked(self) -> Study:
        """The study as a report reads it: names and levels as they were typed. Raises `DamagedError`."""
        try:
            return parse_recorded(self.header.study, self.study)
        except UsageError as failure:
            raise damaged(self.path, f"{STUDY_FILE}: {failure.message}") from failure

    @cached_property
    def host(self) -> dict[str, Any]:
        with as_record_error(self.path, "read the host's facts", CHECK):
            return formats.decode_host(self.disk.read(self.path / HOST_FILE), self.path)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The committed trials' numbers, in order; with `leave_out` those that have a directory."""
        with as_record_error(self.path, "list the trials", CHECK):
            present = trials.scan(self.disk, self.path).committed
        if not self.leave_out:
            require_all(self.path, self._journalled, present)
        return present

    @property
    def trials(self) -> tuple[TrialRecord, ...]:
        """Every committed trial that can be read, in order of number."""
        return self._trials[0]

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return self._trials[1]

    @cached_property
    def _trials(self) -> tuple[tuple[TrialRecord, ...], tuple[LeftOut, ...]]:
        found: list[TrialRecord] = []
        decoder = TrialDecoder()
        lost = [LeftOut(number, MISSING) for number in self._journalled.keys() - set(self.numbers)]
        with as_record_error(self.path, "read the trials", CHECK):
            for number in self.numbers:
                try:
                    found.append(self._trial(number, decoder))
                except (DamagedError, OSError) as failure:
                    if not self.leave_out:
                        raise
                    lost.append(LeftOut(number, reason_of(failure)))
        return tuple(found), tuple(sorted(lost))

    def trial_directory(self, number: int) -> Path:
        """The directory of a committed trial, with the raw output of every tool."""
        return trials.trial_path(self.path, number)

    def optional(self, name: str, what: str) -> bytes | None:
        """A file of the run (`what` in words) that not every run has; None without it. Raises `RecordError`."""
        if not self.disk.exists(self.path / name):
            return None
        with as_record_error(self.path, f"read {what}", CHECK):
            return self.disk.read(self.path / name)

    def of_trial(self, number: int, file: str, what: str, decode: Callable[[bytes], T]) -> T | None:
        """A file (`what` in words) that not every trial has, decoded; None without it. Raises `RecordError`."""
        name = f"{trials.DIRECTORY}/{number:06d}/{file}"
        data = self.optional(name, what)
        try:
            return None if data is None else decode(data)
        except ValueError as failure:
            raise damaged(self.path, f"{name}: {failure}") from failure

    def series(self) -> "pl.LazyFrame":
        """All trials' series, columns as in `series.SCHEMA`.

        Rows of one name are in order of trial, those of a trial in the order of its own file; rows of different names
        may come in any order.
        """
        from pgassay.record.series import scan

        return scan(self.disk, self._series_files, self.path)

    def gather(self, query: "Callable[[pl.LazyFrame], pl.LazyFrame]") -> "tuple[pl.DataFrame, tuple[LeftOut, ...]]":
        """What `query` gives on all series, and the trials whose series cannot be read.

        It must treat each trial for itself: if not all files can be read, it is asked of one trial after the other.
        Raises `DamagedError` for those without `leave_out`.
        """
        import polars as pl

        from pgassay.record.series import collected

        own = [(number, self.trial_directory(number) / trials.SERIES_FILE) for number in self.numbers]
        try:
            return collected(self.disk, self._series_files, self.path, query), ()
        except (DamagedError, OSError):
            tables, lost = [collected(self.disk, (), self.path, query)], []
            for number, path in own:
                try:
                    tables.append(collected(self.disk, (path,), self.path, query))
                except (DamagedError, OSError) as failure:
                    if not self.leave_out:
                        raise
                    lost.append(LeftOut(number, reason_of(failure)))
        return pl.concat(tables), tuple(lost)

    @property
    def _series_files(self) -> tuple[Path, ...]:
        found: dict[Path, None] = {}
        compacted = {known.series_file for known in self._index.values() if known.series_file}
        there = {name: self.path / name for name in compacted if self.disk.exists(self.path / name)}
        for number in self.numbers:
            known = self._index.get(number)
            whole = there.get(known.series_file or "") if known else None
            found[whole or self.trial_directory(number) / trials.SERIES_FILE] = None
        return tuple(found)

    @cached_property
    def _journalled(self) -> dict[int, str]:
        return committed_in(self.journal, self.path)

    @cached_property
    def _index(self) -> "dict[int, Indexed]":
        from pgassay.record.series import INDEX_FILE, read_index

        if not self.disk.exists(self.path / INDEX_FILE):
            return {}
        return read_index(self.disk, self.path, self._journalled)

    def _trial(self, number: int, decoder: TrialDecoder) -> TrialRecord:
        known = self._index.get(number)  # its rows are verified already
        where = f"{trials.DIRECTORY}/{number:06d}/{trials.TRIAL_FILE}"
        data = known.trial_json if known else self.disk.read(self.path / where)
        journalled = self._journalled.get(number)
        if known is None and journalled is not None and journalled != hashlib.sha256(data).hexdigest():
            raise damaged(self.path, f"{where} is not what was committed")
        return decoder.decode(data, self.path, where)
