"""A history of commits: each measured once beside the same reference commit, in the same blocks, and kept for years.

What is due follows from what is there: the loop holds no state. Each point is a run of its own below `points/`, and
once it has ended a small file beside it has its contrasts, so that a history of thousands is read at once. Killed and
called again, it goes on with the run that was cut short.

`track.json` is written before the first point and never changed: points of another study or reference are no part of
the same history.

"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import exp, log
from pathlib import Path
from typing import Any

import msgspec

from pgassay.analysis.tracking import Course, course_of
from pgassay.errors import UsageError
from pgassay.lab.bisection import SKIPPED, Blocks, Pair, commit_skipped, no_valid_block
from pgassay.lab.commit_subject import CommitsQuestion, UnmeasuredError
from pgassay.lab.question import Kept, without_seed
from pgassay.postgres.builds.commits import Commit
from pgassay.record.disk import Disk, keep_file
from pgassay.study.responses import Response, Scale

ACCEPTED = "accepted"


@dataclass(frozen=True, kw_only=True)
class Tracked(CommitsQuestion):
    """The branch that is tracked, and the reference commit."""

    branch: str
    reference: Commit

    @property
    def what(self) -> str:
        """For people: study, branch and reference."""
        return f"{self.study} on {self.branch} against {self.reference.sha[:12]} of {self.subject.what}"

    @property
    def key(self) -> tuple[Any, ...]:
        """Everything: a history is of one study against one reference."""
        return self.study, without_seed(self.document), self.subject, self.branch, self.reference.sha


TRACKS = Kept(Tracked, "track.json", "history")


def accept(disk: Disk, folder: Path, commit: Commit) -> None:
    """From now on steps up to this commit are known and wanted."""
    keep_file(disk, folder / ACCEPTED, f"{commit.sha}\n".encode())


def accepted(disk: Disk, folder: Path) -> str | None:
    """The hash of the commit up to which steps are accepted."""
    path = folder / ACCEPTED
    return disk.read(path).decode(errors="replace").strip() if disk.exists(path) else None


FORMAT = 1
POINTS = "points"
POINT = ".json"
Machine = Callable[[Path], str]
"""Where a run was measured, in words that two hosts do not share."""


@dataclass(frozen=True)
class Point:
    """One measured commit. `contrasts` has for each response the log-ratios to the reference, block by block."""

    commit: Commit
    parent: str
    """The hash of the commit before it on its branch, empty where that is not known."""
    measured: datetime
    machine: str
    primary: Response
    contrasts: Mapping[str, Sequence[float]]
    blocks: int
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """The primary's mean log-ratio."""
        mine = self.contrasts[self.primary.name]
        return sum(mine) / len(mine)


@dataclass(frozen=True)
class _File:
    """A point as it is kept, with the checksum of its JSON."""

    point: msgspec.Raw
    sha256: str
    format: int = FORMAT


@dataclass(frozen=True)
class History:
    """All points in the order in which they were measured, and the commits that could not be."""

    points: tuple[Point, ...]
    skipped: tuple[tuple[str, str], ...]
    """Their abbreviated hashes, each with its reason."""
    unfinished: tuple[str, ...] = ()
    """The abbreviated hashes of commits whose run was cut short, or whose point was removed."""
    last: str | None = None
    """That of the last commit that was measured or skipped: what is due begins after it."""

    @property
    def course(self) -> Course:
        """Levels and steps of the primary."""
        return course_of([each.mean for each in self.points])

    def due(self, line: Sequence[Commit]) -> tuple[Commit, ...]:
        """Of a line of commits, oldest first, those after the last one that was measured or skipped."""
        done = [place for place, each in enumerate(line) if self.last is not None and each.sha.startswith(self.last)]
        return tuple(line[done[-1] + 1 :]) if done else tuple(line)

    def measured_on(self, day: datetime) -> bool:
        """Was any commit measured on this day (UTC)?"""
        return any(each.measured.date() == day.date() for each in self.points)

    @property
    def machines(self) -> tuple[str, ...]:
        """Every machine that has points, in the order of its first."""
        return tuple(dict.fromkeys(each.machine for each in self.points))


def read(disk: Disk, folder: Path) -> History:
    """What is kept there; raises `UsageError` for a point that is damaged."""
    names = sorted(disk.list(folder / POINTS)) if disk.exists(folder / POINTS) else []
    points, skipped = [], []
    for name in names:
        path = folder / POINTS / name
        if name.endswith(POINT):
            points.append(_decoded(disk.read(path), path))
        elif name.endswith(SKIPPED):
            skipped.append((_hash(name.removesuffix(SKIPPED)), disk.read(path).decode(errors="replace").strip()))
    ended = [name.removesuffix(POINT).removesuffix(SKIPPED) for name in names if name.endswith((POINT, SKIPPED))]
    open_ = [name for name in names if not name.endswith((POINT, SKIPPED)) and name not in ended]
    return History(tuple(points), tuple(skipped), tuple(map(_hash, open_)), _hash(ended[-1]) if ended else None)


class Track:
    """One history below `folder`, every commit of it beside `reference`."""

    def __init__(
        self,
        reference: Commit,
        source: Blocks,
        folder: Path,
        disk: Disk,
        *,
        blocks: int,
        machine: Machine,
        now: Callable[[], datetime],
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._reference = reference
        self._source = source
        self._folder = folder
        self._disk = disk
        self._blocks = blocks
        self._machine = machine
        self._now = now
        self._tell = tell

    def measure(
        self, commits: Sequence[Commit], parents: Mapping[str, str], enough: Callable[[], bool] = lambda: False
    ) -> None:
        """Measure these in this order, until `enough`; `parents` has the hash before each, by hash.

        A run that was cut short is gone on with where its commit is among them, and else given up. Raises
        `PgassayError` for what is no fault of a commit.
        """
        for name in read(self._disk, self._folder).unfinished:
            if not any(each.sha.startswith(name) for each in commits):
                keep_file(self._disk, _beside(self._path(name), SKIPPED), f"{_given_up()}\n".encode())
        for commit in commits:
            if enough():
                break
            self._step(commit, parents.get(commit.sha, ""))

    def _step(self, commit: Commit, parent: str) -> None:
        """Measure one, or learn that it cannot be done."""
        path = self._path(commit.sha[:12])
        try:
            pairs = self._source.measure(self._reference, commit, self._blocks, path)
            point = self._point(commit, parent, pairs, path)
        except UnmeasuredError as error:
            keep_file(self._disk, _beside(path, SKIPPED), f"{error}\n".encode())
            self._tell(commit_skipped(commit.name, str(error)))
            return
        keep_file(self._disk, _beside(path, POINT), _encoded(point))
        self._tell(
            f"measured: {commit.name}: {100.0 * (exp(point.mean) - 1.0):+.1f} % against the "
            f"reference, {point.blocks} blocks"
        )

    def _path(self, name: str) -> Path:
        """That of the commit's run: the one that is there, or the next number."""
        folder = self._folder / POINTS
        there = {each.partition(".")[0] for each in self._disk.list(folder)} if self._disk.exists(folder) else set()
        mine = [each for each in there if _hash(each) == name]
        number = max((int(each.partition("-")[0]) for each in there), default=0) + 1
        return folder / (mine[0] if mine else f"{number:06}-{name}")

    def _point(self, commit: Commit, parent: str, pairs: Sequence[Pair], path: Path) -> Point:
        primary = self._source.primary
        usable = [pair for pair in pairs if _log_ratio(pair, primary.name) is not None]
        if not usable:
            raise UnmeasuredError(no_valid_block())
        known = {each.name: each for each in (*self._source.responses, primary) if each.scale is Scale.RATIO}
        contrasts = {}
        for name in known:
            found = [_log_ratio(pair, name) for pair in usable]
            if all(each is not None for each in found):
                contrasts[name] = [each for each in found if each is not None]
        kept = {name: values for name, values in contrasts.items() if name == primary.name or known[name].cost}
        titles = {name: known[name].title for name in kept}
        return Point(commit, parent, self._now(), self._machine(path), primary, kept, len(usable), titles)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _hash(name: str) -> str:
    return name.partition("-")[2]


def _log_ratio(pair: Pair, name: str) -> float | None:
    one, other = pair.good.get(name), pair.other.get(name)
    return log(other / one) if one and other and one > 0.0 and other > 0.0 else None


def _encoded(point: Point) -> bytes:
    data = msgspec.json.encode(point)
    whole = _File(msgspec.Raw(data), hashlib.sha256(data).hexdigest())
    return msgspec.json.encode(whole) + b"\n"


def _decoded(data: bytes, path: Path) -> Point:
    try:
        whole = msgspec.json.decode(data, type=_File)
        if whole.format != FORMAT:
            raise _damaged_point(path, f"its format is {whole.format}, {FORMAT} is known")
        if hashlib.sha256(whole.point).hexdigest() != whole.sha256:
            raise _damaged_point(path, "its checksum is another")
        found = msgspec.json.decode(whole.point, type=Point)
    except msgspec.MsgspecError as error:
        raise _damaged_point(path, str(error).partition("\n")[0]) from None
    if not found.contrasts.get(found.primary.name):
        raise _damaged_point(path, f"it has no {found.primary.name}")
    return found


def _given_up() -> str:
    """Why a commit of a history whose run was cut short is not gone on with."""
    return "its run was cut short, and the commit is asked for no more"


def _damaged_point(path: Path, detail: str) -> UsageError:
    """A file of a history that cannot be read."""
    return UsageError(
        f'"{path}" is no point of a history: {detail}', "its run is beside it: remove the file, and it is read again"
    )
