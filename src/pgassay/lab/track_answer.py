"""What a history says, in words and as plain values: its steps with their intervals, and what it could have shown.

A step is named by the commit at which its level begins. Where commits before that one were not measured, the step lies
between two, and `pgassay bisect` finds which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite
from typing import Any

from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.tracking import POINTS_MIN, Course, Step
from pgassay.lab.track import History, Point
from pgassay.study.responses import Better

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
        """Steps that nobody has accepted."""
        return tuple(each for each in self.course.steps if each.at >= self.accepted)


def answer_of(history: History, accepted: str | None, waiting: int = 0) -> TrackAnswer:
    """`accepted` is a commit's hash; one that was not measured accepts nothing."""
    known = [place for place, each in enumerate(history.points) if accepted and each.commit.sha == accepted]
    return TrackAnswer(history, history.course, known[-1] + 1 if known else 0, waiting)


def headline(answer: TrackAnswer) -> str:
    """One sentence."""
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
    """The answer on a terminal."""
    history, course = answer.history, answer.course
    lines = [headline(answer)]
    if history.points:
        title = history.points[-1].primary.title
        for step in reversed(course.steps):
            known = "" if step in answer.open else ", accepted"
            lines.append(f"  {history.points[step.at].measured:%Y-%m-%d}  {_of_step(history, step, title)}{known}")
        level = course.levels[-1]
        lines.append(f"now: {_change(exp(level.mean))} against the reference, by {_commits(level.points)}")
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
    """For scripts."""
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
    change = _change(step.estimate, step.low, step.high)
    return f"{named(history.points, step.at)}: {title} {change}"


def named(points: Sequence[Point], at: int) -> str:
    """The commit of a point, or the two that a step lies between where commits between them were not measured."""
    new, old = points[at], points[at - 1]
    if new.parent == old.commit.sha:
        return new.commit.name
    return f"between {old.commit.name} and {new.commit.name}"


def _plain_step(history: History, step: Step) -> dict[str, Any]:
    points = history.points
    return {
        "commit": points[step.at].commit.sha,
        "after": points[step.at - 1].commit.sha,
        "direct": points[step.at].parent == points[step.at - 1].commit.sha,
        "estimate": step.estimate, "low": step.low, "high": step.high,
    }  # fmt: skip


def _change(*ratios: float) -> str:
    shown = [f"{100.0 * (each - 1.0):+.1f}" for each in ratios]
    return f"{shown[0]} %" if len(shown) == 1 else f"{shown[0]} % [{', '.join(shown[1:])}]"


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"
