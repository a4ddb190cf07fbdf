"""`pgassay track STUDY --git DIR --reference REF`: is PostgreSQL getting slower, commit by commit, over years?

Each call measures what is due beside the same reference commit, adds it to the history, says where its level changed,
and ends: cron or a systemd timer calls it. `--check` makes a regression an exit status.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pgassay.cli.commits import (
    TREES,
    add_commit_options,
    quiet_watch,
    require_own_options,
    study_of,
    subject_of,
    teller,
)
from pgassay.cli.parser import duration, excluded, whole
from pgassay.cli.printing import INTERRUPTED, SUCCESS
from pgassay.cli.run import bench_options
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.bench.running import Runner
    from pgassay.lab.commits import Subject
    from pgassay.lab.run import WrittenStudy
    from pgassay.lab.track import History, Tracked
    from pgassay.postgres.builds.commits import Commit
    from pgassay.postgres.find import Finder


INSTALLED = "installed"
"""What stands for the branch of an installed PostgreSQL."""


class Followed(Protocol):
    """Where the points of a history come from; every method raises `UsageError` for what is not there."""

    @property
    def subject(self) -> "Subject":
        """What the points are of."""

    @property
    def branch(self) -> str:
        """Its name, for the history's question."""

    def point(self, name: str) -> "Commit":
        """The point that a name stands for: a commit or tag, a version."""

    def require_reference(self, reference: "Commit") -> None:
        """Raise where the points cannot be set beside this one."""

    def due(self, history: "History", since: str | None, tell: Callable[[str], None]) -> "Sequence[Commit]":
        """What comes after the last point that was measured or skipped, oldest first."""

    def unfinished(self, history: "History", line: "Sequence[Commit]") -> "list[Commit]":
        """Points whose run was cut short and that are due no more, as far as they are still there."""

    def parents(self, points: "Sequence[Commit]") -> Mapping[str, str]:
        """The hash of what came right before each, by hash, where that is known."""


@dataclass(frozen=True)
class Branch:
    """The commits of a branch of a repository, along first parents."""

    subject: "Subject"
    branch: str
    runner: "Runner"

    @property
    def folder(self) -> Path:
        """Of the repository."""
        return Path(self.subject.repository)

    def point(self, name: str) -> "Commit":
        """A commit, by any name that git knows."""
        from pgassay.postgres.builds.commits import commit_of

        return commit_of(self.runner, self.folder, name)

    def require_reference(self, reference: "Commit") -> None:
        """Any commit serves where there is a branch."""
        self.point(self.branch)

    def due(self, history: "History", since: str | None, tell: Callable[[str], None]) -> "Sequence[Commit]":
        """The commits after the last one; the newest alone where a history begins or the branch was rewritten."""
        from pgassay.postgres.builds.commits import after

        newest = self.point(self.branch)
        if history.last is not None:
            try:
                found = after(self.runner, self.folder, history.last, self.branch)
            except UsageError:
                found = None  # gone with a branch that was rewritten
            if found is not None:
                return found
            tell(
                f'"{self.branch}" no longer has {history.last}, the last measured commit: going on with the newest one'
            )
            return (newest,)
        if since is None:
            return (newest,)
        found = after(self.runner, self.folder, since, self.branch)
        if found is None:
            raise UsageError(
                f'"{since}" is not on the line of first parents of "{self.branch}"',
                "name an older commit of that branch",
            )
        return found

    def unfinished(self, history: "History", line: "Sequence[Commit]") -> "list[Commit]":
        """As the repository still has them."""
        found = []
        for name in history.unfinished:
            if not any(each.sha.startswith(name) for each in line):
                with contextlib.suppress(UsageError):
                    found.append(self.point(name))
        return found

    def parents(self, points: "Sequence[Commit]") -> Mapping[str, str]:
        """First parents, as git has them."""
        from pgassay.postgres.builds.commits import first_parents

        return first_parents(self.runner, self.folder, points)


@dataclass(frozen=True)
class Package:
    """An installed PostgreSQL that is upgraded in its place: the one that is there now is the newest point."""

    subject: "Subject"
    finder: "Finder"
    branch: str = INSTALLED

    def point(self, name: str) -> "Commit":
        """An installed version: `17`, `17.5`."""
        from pgassay.lab.commits import installed_point

        return installed_point(self.finder, name)

    def require_reference(self, reference: "Commit") -> None:
        """Another version than the followed one: of one and the same nothing could be told apart."""
        from pgassay.lab.commits import require_different

        require_different(reference, self.point(self.subject.repository))

    def due(self, history: "History", since: str | None, tell: Callable[[str], None]) -> "Sequence[Commit]":
        """What is installed now, unless it was the last point; versions that came and went are lost."""
        newest = self.point(self.subject.repository)
        return () if history.last is not None and newest.sha.startswith(history.last) else (newest,)

    def unfinished(self, history: "History", line: "Sequence[Commit]") -> "list[Commit]":
        """None: what is no longer installed cannot be gone on with."""
        return []

    def parents(self, points: "Sequence[Commit]") -> Mapping[str, str]:
        """Not known: versions between two upgrades may have been left out."""
        return {}


def followed_of(arguments: argparse.Namespace) -> Followed:
    """What the options name; raises `UsageError`, also for options that do not go together."""
    from pgassay.host.accounts import choose
    from pgassay.host.clock import SystemClock
    from pgassay.host.runner import LocalRunner
    from pgassay.lab.commits import Subject, SubjectKind
    from pgassay.lab.places import local_finder

    account = choose()
    runner = LocalRunner(account)
    if arguments.installed is None:
        return Branch(subject_of(arguments), arguments.branch or "HEAD", runner)
    for option in ("git", "extension", "schema", "branch", "since"):
        if getattr(arguments, option):
            raise excluded("--installed", f"--{option}")
    finder = local_finder(runner, SystemClock(), account)
    return Package(Subject(SubjectKind.INSTALLED, arguments.installed), finder)


COMMIT, NIGHT = "commit", "night"
FAILED = 1
"""Exit status of `--check` where a regression is not accepted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("--reference", required=True, metavar="REF", help="the commit or tag that all are set beside")
    parser.add_argument("--branch", metavar="REF", help="whose commits are followed (default: HEAD)")
    parser.add_argument(
        "--installed",
        metavar="VERSION",
        help="follow the installed PostgreSQL of this version (17), upgrade by upgrade; --reference is another one",
    )
    parser.add_argument(
        "--every",
        choices=(COMMIT, NIGHT),
        default=COMMIT,
        help="each commit since the last one, or the newest of a day",
    )
    parser.add_argument(
        "--since", metavar="REF", help="begin a history after this commit (default: with the branch's newest)"
    )
    parser.add_argument(
        "--points", type=whole(1), default=20, metavar="N", help="commits measured by one call at most (default: 20)"
    )
    parser.add_argument("--each", type=whole(2), default=5, metavar="N", help="blocks of each commit (default: 5)")
    parser.add_argument(
        "--budget", dest="limit_s", type=duration, metavar="TIME", help="begin no commit after this time: 20min, 2h"
    )
    parser.add_argument(
        "--accept", metavar="REF", help="measure nothing; steps up to this measured commit are known and wanted"
    )
    parser.add_argument("--check", action="store_true", help="exit status 1 on a regression that is not accepted")
    add_commit_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure what is due and print the history; returns the exit status. Raises `PgassayError`."""
    from pgassay.lab.track import Tracked

    require_own_options("track", arguments)
    followed = followed_of(arguments)
    reference = followed.point(arguments.reference)
    followed.require_reference(reference)
    name, written = study_of(arguments)
    asked = Tracked(
        study=name,
        document=written.document,
        repository=followed.subject.repository,
        kind=followed.subject.kind,
        file=followed.subject.file,
        branch=followed.branch,
        reference=reference,
    )
    out = (arguments.out or Path("runs") / f"track-{Path(name).stem}").absolute()
    try:
        return _conduct(asked, followed, written, out, arguments)
    except KeyboardInterrupt:
        _tell_track_interrupted(out)
        return INTERRUPTED


def _conduct(
    asked: "Tracked", followed: Followed, written: "WrittenStudy", out: Path, arguments: argparse.Namespace
) -> int:
    from pgassay.host.accounts import choose
    from pgassay.host.runner import LocalRunner
    from pgassay.lab import track as answers
    from pgassay.lab.commits import CommitBlocks, machine_of
    from pgassay.lab.track import TRACKS, Track, accepted, read
    from pgassay.record.disk import RealDisk
    from pgassay.report.json_values import to_json

    disk, tell = RealDisk(), teller(arguments)
    if arguments.dry_run:
        TRACKS.require_same(disk, out, asked)
        line = followed.due(read(disk, out), arguments.since, tell)
        print(_commits_due([each.name for each in _chosen(line, arguments)]), end="")
        return SUCCESS
    tell(f"history: {out}")
    with TRACKS.opened(disk, out, asked) as tracked:
        history = read(disk, out)
        line = followed.due(history, arguments.since, tell)
        if arguments.accept:
            _accept(followed, history, out, arguments.accept)
        elif arguments.every == COMMIT or not history.measured_on(_now()):
            options, command = bench_options(arguments), ("pgassay", "track")
            runner = LocalRunner(choose())
            source = CommitBlocks(written, tracked.subject, out / TREES, runner, options, quiet_watch, command)
            track = Track(
                tracked.reference, source, out, disk, blocks=arguments.each, machine=machine_of, now=_now, tell=tell
            )
            chosen = [*followed.unfinished(history, line), *_chosen(line, arguments)]
            track.measure(chosen, followed.parents(chosen), _limit(arguments.limit_s))
            history = read(disk, out)
        waiting = len(history.due(line)) if arguments.every == COMMIT else 0
        answer = answers.answer_of(history, accepted(disk, out), waiting)
    plain = to_json(answers.plain(answer))
    print(plain if arguments.json else answers.headline(answer) if arguments.quiet else answers.text(answer))
    return FAILED if arguments.check and answer.worse else SUCCESS


def _accept(followed: Followed, history: "History", out: Path, name: str) -> None:
    from pgassay.lab.track import accept
    from pgassay.record.disk import RealDisk

    commit = followed.point(name)
    if commit.sha not in {each.commit.sha for each in history.points}:
        raise UsageError(
            f"{commit.name} is no measured commit of this history", 'see "points" of the same command with --json'
        )
    accept(RealDisk(), out, commit)


def _chosen(line: "Sequence[Commit]", arguments: argparse.Namespace) -> "Sequence[Commit]":
    return line[-1:] if arguments.every == NIGHT else line[: arguments.points]


def _limit(limit_s: float | None) -> Callable[[], bool]:
    end_s = None if limit_s is None else time.monotonic() + limit_s
    return lambda: end_s is not None and time.monotonic() >= end_s


def _now() -> datetime:
    return datetime.now(UTC)


def _tell_track_interrupted(path: Path) -> None:
    """Ctrl-C while a history is measured: said on standard error, not an error."""
    print(f"pgassay: interrupted; the same command goes on; what was measured is kept in {path}", file=sys.stderr)


def _commits_due(names: Sequence[str]) -> str:
    """What `track --dry-run` prints."""
    return "".join(f"due: {each}\n" for each in names) or "no commit is due\n"
