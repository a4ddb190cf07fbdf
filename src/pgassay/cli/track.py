"""`pgassay track STUDY --git DIR --reference REF`: is PostgreSQL getting slower, commit by commit, over years?

Each call measures what is due against the same reference commit, adds it to the history, says where its level changed,
and ends: cron or a systemd timer calls it. `--check` makes a regression an exit status.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pgassay.cli import _trust
from pgassay.cli.parser import add_options, duration, excluded, whole
from pgassay.cli.printing import INTERRUPTED, SUCCESS
from pgassay.cli.run import (
    add_bench_options,
    add_size_options,
    bench_options,
    overrides,
    read_study,
    silent,
    study_defaults,
)
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.interfaces.running import Runner
    from pgassay.lab.commits import Subject
    from pgassay.lab.run import WrittenStudy
    from pgassay.lab.runner import Watcher
    from pgassay.lab.track import History, Tracked
    from pgassay.postgres.builds.commits import Commit
    from pgassay.study.model import Study


COMMIT, NIGHT = "commit", "night"
FAILED = 1
"""Exit status of `--check` where a regression is not accepted."""
SOURCE = "build.source="
TREES = "trees"
"""Below a history or a bisection: the files of a schema, commit by commit."""


def add_commit_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(**study_defaults())
    parser.add_argument("study", metavar="STUDY", help="a built-in study, or a study file: its baseline and its load")
    parser.add_argument(
        "--git", type=Path, metavar="DIR", help="a git repository: PostgreSQL's own (or --set build.source=git:DIR)"
    )
    inside = parser.add_mutually_exclusive_group()
    inside.add_argument("--extension", action="store_true", help="it is an extension's, which PGXS builds")
    inside.add_argument(
        "--schema", metavar="FILE", help="it is an application's; FILE in it makes schema and data (load.init)"
    )
    add_options(parser, "--set", "--count")
    parser.add_argument("--primary", metavar="RESPONSE", help="what to go by (default: the study's own)")
    add_size_options(parser)
    add_bench_options(parser)


def require_own_options(command: str, arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for an option of `run` that runs of commits cannot have."""
    if arguments.live:
        raise excluded(command, "--live")


def subject_of(arguments: argparse.Namespace) -> "Subject":
    """What the commits of the named repository are commits of; takes `build.source` out of what is held.

    Raises `UsageError`.
    """
    from pgassay.lab.commits import Subject, SubjectKind

    named = [each.removeprefix(SOURCE) for each in arguments.set if each.startswith(SOURCE)]
    arguments.set = [each for each in arguments.set if not each.startswith(SOURCE)]
    paths = [*([arguments.git] if arguments.git else []), *(Path(each.removeprefix("git:")) for each in named)]
    if len(paths) != 1 or any(not each.startswith("git:") for each in named):
        raise UsageError("no git repository is named, or more than one", "name one with --git DIR")
    folder = str(paths[0].expanduser().resolve())
    if arguments.schema is not None:
        path = PurePosixPath(arguments.schema)
        if path.is_absolute() or ".." in path.parts or not path.parts or arguments.schema.startswith("-"):
            raise UsageError(
                f'"{arguments.schema}" is no path inside the repository', "give it as git shows it: db/schema.sql"
            )
        return Subject(SubjectKind.SCHEMA, folder, str(path))
    return Subject(SubjectKind.EXTENSION if arguments.extension else SubjectKind.POSTGRESQL, folder)


def study_of(arguments: argparse.Namespace) -> "tuple[str, WrittenStudy]":
    """The study that is named, in the size that is asked for; raises `UsageError`."""
    from pgassay.lab.run import write_study

    name, document = read_study(arguments)
    written = write_study(name, document, overrides(arguments), without_host_factors=arguments.without_host_factors)
    _trust.require_study(arguments, written.study)
    return name, written


def quiet_watch(study: "Study") -> "AbstractContextManager[Watcher]":
    """A watcher of one run of two commits that prints nothing: the command's own lines do."""
    from pgassay.cli.progress import watcher_for

    return watcher_for(study, sys.stderr, quiet=True)


def teller(arguments: argparse.Namespace) -> Callable[[str], None]:
    """What prints progress on standard error, unless the output is for scripts."""
    quiet = silent(arguments)

    def tell(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    return tell


@dataclass(frozen=True)
class Branch:
    subject: "Subject"
    branch: str
    runner: "Runner"

    def point(self, name: str) -> "Commit":
        from pgassay.postgres.builds.commits import commit_of

        return commit_of(self.runner, Path(self.subject.repository), name)

    def due(self, history: "History", since: str | None, tell: Callable[[str], None]) -> "Sequence[Commit]":
        """The commits after the last one; the newest alone where a history begins or the branch was rewritten."""
        from pgassay.postgres.builds.commits import after

        newest = self.point(self.branch)
        if history.last is not None:
            with contextlib.suppress(UsageError):  # gone with a branch that was rewritten
                found = after(self.runner, Path(self.subject.repository), history.last, self.branch)
                if found is not None:
                    return found
            tell(
                f'"{self.branch}" no longer has {history.last}, the last measured commit: going on with the newest one'
            )
            return (newest,)
        if since is None:
            return (newest,)
        found = after(self.runner, Path(self.subject.repository), since, self.branch)
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
        from pgassay.postgres.builds.commits import first_parents

        return first_parents(self.runner, Path(self.subject.repository), points)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reference", required=True, metavar="REF", help="the commit or tag that all are set beside")
    parser.add_argument("--branch", metavar="REF", help="whose commits are followed (default: HEAD)")
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
    from pgassay.host.accounts import choose
    from pgassay.host.runner import LocalRunner
    from pgassay.lab.track import Tracked

    require_own_options("track", arguments)
    followed = Branch(subject_of(arguments), arguments.branch or "HEAD", LocalRunner(choose()))
    reference = followed.point(arguments.reference)
    followed.point(followed.branch)
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
        print(f"pgassay: interrupted; the same command goes on; what was measured is kept in {out}", file=sys.stderr)
        return INTERRUPTED


def _conduct(
    asked: "Tracked", followed: Branch, written: "WrittenStudy", out: Path, arguments: argparse.Namespace
) -> int:
    from pgassay.lab import track as answers
    from pgassay.lab.commits import CommitBlocks, least_of, machine_of
    from pgassay.lab.track import TRACKS, Track, accept, accepted, read
    from pgassay.record.disk import RealDisk
    from pgassay.report.json_values import to_json

    disk, tell = RealDisk(), teller(arguments)
    if arguments.dry_run:
        TRACKS.require_same(disk, out, asked)
        line = followed.due(read(disk, out), arguments.since, tell)
        print("".join(f"due: {each.name}\n" for each in _chosen(line, arguments)) or "no commit is due\n", end="")
        return SUCCESS
    tell(f"history: {out}")
    with TRACKS.opened(disk, out, asked) as tracked:
        history = read(disk, out)
        line = followed.due(history, arguments.since, tell)
        if arguments.accept:
            commit = followed.point(arguments.accept)
            if commit.sha not in {each.commit.sha for each in history.points}:
                raise UsageError(
                    f"{commit.name} is no measured commit of this history",
                    'see "points" of the same command with --json',
                )
            accept(disk, out, commit)
        elif arguments.every == COMMIT or not history.measured_on(_now()):
            options, command = bench_options(arguments), ("pgassay", "track")
            source = CommitBlocks(written, tracked.subject, out / TREES, followed.runner, options, quiet_watch, command)
            track = Track(
                tracked.reference, source, out, disk, blocks=arguments.each, machine=machine_of, now=_now, tell=tell
            )
            chosen = [*followed.unfinished(history, line), *_chosen(line, arguments)]
            end_s = None if arguments.limit_s is None else time.monotonic() + arguments.limit_s
            track.measure(chosen, followed.parents(chosen), lambda: end_s is not None and time.monotonic() >= end_s)
            history = read(disk, out)
        waiting = len(history.due(line)) if arguments.every == COMMIT else 0
        answer = answers.answer_of(history, accepted(disk, out), waiting, least_of(written.study))
    plain = to_json(answers.plain(answer))
    print(plain if arguments.json else answers.headline(answer) if arguments.quiet else answers.text(answer))
    return FAILED if arguments.check and answer.worse else SUCCESS


def _chosen(line: "Sequence[Commit]", arguments: argparse.Namespace) -> "Sequence[Commit]":
    return line[-1:] if arguments.every == NIGHT else line[: arguments.points]


def _now() -> datetime:
    return datetime.now(UTC)
