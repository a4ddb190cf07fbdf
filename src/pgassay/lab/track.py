"""A history of commits: each measured once against the same reference commit, in the same blocks, and kept for years.

What is due follows from what is there: the loop holds no state. Each point is a run of its own below `points/`, and
once it has ended a small file next to it has its contrasts, so that a history of thousands is read at once. Killed and
called again, it goes on with the run that was cut short.

`track.json` is written before the first point and never changed: points of another study or reference are no part of
the same history.

A step is named by the commit at which its level begins. Where commits before that one were not measured, the step lies
between two, and `pgassay bisect` finds which.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import exp, inf, isfinite
from pathlib import Path
from typing import Any

import msgspec

from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.commits import POINTS_MIN, Course, Step, course_of
from pgassay.errors import UsageError
from pgassay.lab.commits import (
    NO_VALID_BLOCK,
    SKIPPED,
    Blocks,
    CommitsQuestion,
    Pair,
    QuestionFile,
    UnmeasuredError,
    commit_skipped,
    log_ratio,
    percent,
)
from pgassay.postgres.builds.commits import Commit
from pgassay.record.disk import Disk, keep_file
from pgassay.study.responses import Better, Response, Scale

ACCEPTED = "accepted"


@dataclass(frozen=True, kw_only=True)
class Tracked(CommitsQuestion):
    branch: str
    reference: Commit

    @property
    def what(self) -> str:
        return f"{self.study} on {self.branch} against {self.reference.sha[:12]} of {self.subject.what}"

    @property
    def key(self) -> tuple[Any, ...]:
        return *super().key, self.branch, self.reference.sha


TRACKS = QuestionFile(Tracked, "track.json", "history")


def accept(disk: Disk, folder: Path, commit: Commit) -> None:
    """From now on steps up to this commit are known and wanted."""
    keep_file(disk, folder / ACCEPTED, f"{commit.sha}\n".encode())


def accepted(disk: Disk, folder: Path) -> str | None:
    path = folder / ACCEPTED
    return disk.read(path).decode(errors="replace").strip() if disk.exists(path) else None


FORMAT = 1
POINTS = "points"
POINT = ".json"
_GIVEN_UP = b"its run was cut short, and the commit is asked for no more\n"
"""Why a commit whose run was cut short is not gone on with."""

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

    def due(self, line: Sequence[Commit]) -> tuple[Commit, ...]:
        """Of a line of commits, oldest first, those after the last one that was measured or skipped."""
        done = [place for place, each in enumerate(line) if self.last is not None and each.sha.startswith(self.last)]
        return tuple(line[done[-1] + 1 :]) if done else tuple(line)

    def measured_on(self, day: datetime) -> bool:
        return any(each.measured.date() == day.date() for each in self.points)

    @property
    def machines(self) -> tuple[str, ...]:
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


@dataclass(frozen=True)
class Track:
    """One history below `folder`, every commit of it against `reference`."""

    reference: Commit
    source: Blocks
    folder: Path
    disk: Disk
    blocks: int = field(kw_only=True)
    machine: Machine = field(kw_only=True)
    now: Callable[[], datetime] = field(kw_only=True)
    tell: Callable[[str], None] = field(kw_only=True, default=lambda text: None)

    def measure(
        self, commits: Sequence[Commit], parents: Mapping[str, str], enough: Callable[[], bool] = lambda: False
    ) -> None:
        """Measure these in this order, until `enough`; `parents` has the hash before each, by hash.

        A run that was cut short is gone on with where its commit is among them, and else given up. Raises
        `PgassayError` for what is no fault of a commit.
        """
        for name in read(self.disk, self.folder).unfinished:
            if not any(each.sha.startswith(name) for each in commits):
                keep_file(self.disk, _with_ending(self._path(name), SKIPPED), _GIVEN_UP)
        for commit in commits:
            if enough():
                break
            self._step(commit, parents.get(commit.sha, ""))

    def _step(self, commit: Commit, parent: str) -> None:
        path = self._path(commit.sha[:12])
        try:
            pairs = self.source.measure(self.reference, commit, self.blocks, path)
            point = self._point(commit, parent, pairs, path)
        except UnmeasuredError as error:
            keep_file(self.disk, _with_ending(path, SKIPPED), f"{error}\n".encode())
            self.tell(commit_skipped(commit.name, str(error)))
            return
        data = msgspec.json.encode(point)
        whole = _File(msgspec.Raw(data), hashlib.sha256(data).hexdigest())
        keep_file(self.disk, _with_ending(path, POINT), msgspec.json.encode(whole) + b"\n")
        change = percent(exp(point.mean))
        self.tell(f"measured: {commit.name}: {change} against the reference, {point.blocks} blocks")

    def _path(self, name: str) -> Path:
        """That of the commit's run: the one that is there, or the next number."""
        folder = self.folder / POINTS
        there = {each.partition(".")[0] for each in self.disk.list(folder)} if self.disk.exists(folder) else set()
        mine = [each for each in there if _hash(each) == name]
        number = max((int(each.partition("-")[0]) for each in there), default=0) + 1
        return folder / (mine[0] if mine else f"{number:06}-{name}")

    def _point(self, commit: Commit, parent: str, pairs: Sequence[Pair], path: Path) -> Point:
        primary = self.source.primary
        usable = [pair for pair in pairs if log_ratio(pair, primary.name) is not None]
        if not usable:
            raise UnmeasuredError(NO_VALID_BLOCK)
        known = {each.name: each for each in (*self.source.responses, primary) if each.scale is Scale.RATIO}
        contrasts = {}
        for name in known:
            found = [log_ratio(pair, name) for pair in usable]
            if all(each is not None for each in found):
                contrasts[name] = [each for each in found if each is not None]
        kept = {name: values for name, values in contrasts.items() if name == primary.name or known[name].cost}
        titles = {name: known[name].title for name in kept}
        return Point(commit, parent, self.now(), self.machine(path), primary, kept, len(usable), titles)


def _with_ending(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _hash(name: str) -> str:
    return name.partition("-")[2]


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


def _damaged_point(path: Path, detail: str) -> UsageError:
    return UsageError(
        f'"{path}" is no point of a history: {detail}', "its run is beside it: remove the file, and it is read again"
    )


_LISTED = 5


@dataclass(frozen=True)
class TrackAnswer:
    """A history with its course, and how many of its points are accepted."""

    history: History
    course: Course
    accepted: int
    waiting: int = 0
    """Commits that are due and were not measured this time."""

    @property
    def worse(self) -> tuple[Step, ...]:
        """Steps to the bad side that nobody has accepted."""
        better = self.history.points[-1].primary.better if self.history.points else Better.NEITHER
        if better is Better.NEITHER:
            return ()
        return tuple(each for each in self.open if (each.estimate < 1.0) == (better is Better.HIGHER))

    @property
    def open(self) -> tuple[Step, ...]:
        return tuple(each for each in self.course.steps if each.at >= self.accepted)


def answer_of(history: History, accepted: str | None, waiting: int = 0, least: float = 0.0) -> TrackAnswer:
    """`accepted` is a commit's hash; one that was not measured accepts nothing. Steps exceed the share `least`."""
    known = [place for place, each in enumerate(history.points) if accepted and each.commit.sha == accepted]
    course = course_of([each.mean for each in history.points], least)
    return TrackAnswer(history, course, known[-1] + 1 if known else 0, waiting)


def headline(answer: TrackAnswer) -> str:
    points = answer.history.points
    if not points:
        return "nothing is measured yet"
    title = points[-1].primary.title
    if answer.open:
        return _of_step(answer.history, answer.open[-1], title)
    if len(points) < POINTS_MIN:
        return f"{_commits(len(points))} measured: steps are looked for from {POINTS_MIN} on"
    since = " that is not accepted" if answer.course.steps else ""
    least = answer.course.smallest
    seen = f": one of {100.0 * least:.1f} % at the last two would have been shown" if isfinite(least) else ""
    return f"no step{since} in {title} over {_commits(len(points))}{seen}"


def text(answer: TrackAnswer) -> str:
    history, course = answer.history, answer.course
    lines = [headline(answer)]
    if history.points:
        title = history.points[-1].primary.title
        for step in reversed(course.steps):
            known = "" if step in answer.open else ", accepted"
            lines.append(f"  {history.points[step.at].measured:%Y-%m-%d}  {_of_step(history, step, title)}{known}")
        level = course.levels[-1]
        lines.append(f"now: {percent(exp(level.mean))} against the reference, by {_commits(level.points)}")
        if len(history.points) >= POINTS_MIN:
            lines.append(f"noise of a commit: {100.0 * course.noise:.1f} % (standard deviation)")
    if len(history.machines) > 1:
        lines.append(f"measured on {len(history.machines)} machines or kernels: {'; '.join(history.machines)}")
    if answer.waiting:
        lines.append(f"{_commits(answer.waiting)} due and not measured this time")
    hidden = len(history.skipped) - _LISTED
    lines += [f"skipped: {name}: {why}" for name, why in history.skipped[-_LISTED:]]
    return "\n".join([*lines, f"skipped before: {hidden} more"] if hidden > 0 else lines)


def plain(answer: TrackAnswer) -> dict[str, Any]:
    history, course = answer.history, answer.course
    points = history.points
    return {
        "format": 1,
        "response": points[-1].primary.name if points else None,
        "level": LEVEL,
        "regressions": [_plain_step(history, each) for each in answer.worse],
        "steps": [{**_plain_step(history, each), "accepted": each not in answer.open} for each in course.steps],
        "levels": [
            {"first": points[each.first].commit.sha, "points": each.points, "ratio": exp(each.mean)}
            for each in course.levels
        ],
        "noise": course.noise if isfinite(course.noise) else None,
        "smallest_step": course.smallest if course.smallest != inf else None,
        "points": [
            {
                "commit": each.commit.sha, "subject": each.commit.subject, "measured": each.measured.isoformat(),
                "machine": each.machine, "blocks": each.blocks, "ratio": exp(each.mean),
            }
            for each in points
        ],
        "skipped": [{"commit": name, "why": why} for name, why in history.skipped],
        "waiting": answer.waiting,
    }  # fmt: skip


def _of_step(history: History, step: Step, title: str) -> str:
    new, old = history.points[step.at], history.points[step.at - 1]
    direct = new.parent == old.commit.sha  # else commits between them were not measured
    where = new.commit.name if direct else f"between {old.commit.name} and {new.commit.name}"
    return f"{where}: {title} {percent(step.estimate, step.low, step.high)}"


def _plain_step(history: History, step: Step) -> dict[str, Any]:
    points = history.points
    return {
        "commit": points[step.at].commit.sha,
        "after": points[step.at - 1].commit.sha,
        "direct": points[step.at].parent == points[step.at - 1].commit.sha,
        "estimate": step.estimate, "low": step.low, "high": step.high,
    }  # fmt: skip


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"
