"""A run as a value, for reports and analyses: read without a lock, also while a runner still writes it.

Trials are read when first asked for, from the compacted index where it agrees with the journal and from their own
files for the rest. Series come lazily, as a polars frame.
"""

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pgassay.record import formats, trials
from pgassay.record.directory import HOST_FILE, STUDY_FILE, read_header, read_journal
from pgassay.record.disk import Disk, RealDisk
from pgassay.record.errors import CHECK, damaged, saying
from pgassay.record.formats import RunHeader
from pgassay.record.journal import Entry
from pgassay.record.recovery import committed_in, require_all
from pgassay.record.values import Status, TrialRecord
from pgassay.study.responses import Response

if TYPE_CHECKING:
    import polars as pl

    from pgassay.record.compaction import Indexed


class Observation(NamedTuple):
    """One valid trial's value of one response; `treatment`, `condition` and `covariate` are labels."""

    block: int
    treatment: str
    condition: str
    covariate: str
    value: float


@dataclass(frozen=True)
class Run:
    """A run directory as it stood when it was opened; raises `RecordError` where a part cannot be read."""

    path: Path
    header: RunHeader
    journal: tuple[Entry, ...]
    disk: Disk

    @classmethod
    def open(cls, path: Path, disk: Disk | None = None) -> "Run":
        """Read the header and the journal; a torn last line is passed over, since it may be under way."""
        disk = disk or RealDisk()
        path = path.absolute()
        with saying(path, "read the run", CHECK):
            return cls(path, read_header(disk, path), read_journal(disk, path).entries, disk)

    @property
    def responses(self) -> tuple[Response, ...]:
        """The declarations of every response that a trial may carry."""
        return self.header.responses

    @cached_property
    def study_toml(self) -> str:
        """The resolved study, as text."""
        with saying(self.path, "read the study", CHECK):
            return self.disk.read(self.path / STUDY_FILE).decode(errors="replace")

    @cached_property
    def study(self) -> dict[str, Any]:
        """The resolved study, as plain TOML values."""
        try:
            return tomllib.loads(self.study_toml)
        except tomllib.TOMLDecodeError as failure:
            raise damaged(self.path, f"{STUDY_FILE}: {failure}") from failure

    @cached_property
    def host(self) -> dict[str, Any]:
        """The facts about the machine."""
        with saying(self.path, "read the host's facts", CHECK):
            return formats.decode_host(self.disk.read(self.path / HOST_FILE), self.path)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The committed trials' numbers, in order."""
        with saying(self.path, "list the trials", CHECK):
            present = trials.scan(self.disk, self.path).committed
        require_all(self.path, self._journalled, present)
        return present

    @cached_property
    def trials(self) -> tuple[TrialRecord, ...]:
        """Every committed trial, in order of number."""
        with saying(self.path, "read the trials", CHECK):
            return tuple(self._trial(number) for number in self.numbers)

    def trial_directory(self, number: int) -> Path:
        """Where a trial's raw output is."""
        return trials.trial_path(self.path, number)

    def series(self) -> "pl.LazyFrame":
        """All trials' series, columns as in `series.SCHEMA`.

        Rows of one name are in order of trial, those of a trial in the order of its own file; rows of different names
        may come in any order.
        """
        from pgassay.record.series import scan

        found: dict[Path, None] = {}
        compacted = {known.series_file for known in self._index.values() if known.series_file}
        there = {name: self.path / name for name in compacted if self.disk.exists(self.path / name)}
        for number in self.numbers:
            known = self._index.get(number)
            whole = there.get(known.series_file or "") if known else None
            found[whole or self.trial_directory(number) / trials.SERIES_FILE] = None
        return scan(self.disk, list(found), self.path)

    def trial_series(self, number: int) -> "pl.LazyFrame":
        """One trial's series, from its own file."""
        from pgassay.record.series import scan

        return scan(self.disk, [self.trial_directory(number) / trials.SERIES_FILE], self.path)

    def observations(self, response: str) -> Iterator[Observation]:
        """A row for every valid trial that has a value for this response, in order of number."""
        for trial in self.trials:
            value = trial.responses.get(response)
            if trial.status is Status.VALID and value is not None:
                yield Observation(trial.block, trial.treatment, trial.condition, trial.covariate, value)

    @cached_property
    def _journalled(self) -> dict[int, str]:
        return committed_in(self.journal, self.path)

    @cached_property
    def _index(self) -> "dict[int, Indexed]":
        from pgassay.record.compaction import INDEX_FILE, read_index

        if not self.disk.exists(self.path / INDEX_FILE):
            return {}
        return read_index(self.disk, self.path, self._journalled)

    def _trial(self, number: int) -> TrialRecord:
        known = self._index.get(number)  # its rows are verified already
        where = f"{trials.DIRECTORY}/{number:06d}/{trials.TRIAL_FILE}"
        data = known.trial_json if known else self.disk.read(self.path / where)
        journalled = self._journalled.get(number)
        if known is None and journalled is not None and journalled != hashlib.sha256(data).hexdigest():
            raise damaged(self.path, f"{where} is not what was committed")
        return formats.decode_trial(data, self.path, where)
