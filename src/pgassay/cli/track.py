"""`pgassay track STUDY --git DIR --reference REF`: is PostgreSQL getting slower, commit by commit, over years?

Each call measures what is due against the same reference commit, adds it to the history, says where its level changed,
and ends: cron or a systemd timer calls it. `--check` makes a regression an exit status.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pgassay.cli import _trust
from pgassay.cli.parser import add_options, duration, whole
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
    from pgassay.lab.commits import Subject
    from pgassay.lab.run import WrittenStudy
    from pgassay.postgres.builds.commits import Commit


COMMIT, NIGHT = "commit", "night"
FAILED = 1
"""Exit status of `--check` where a regression is not accepted."""
SOURCE = "build.source="
TREES = "trees"
"""Below a history or a bisection: the files of a schema, commit by commit."""


def add_commit_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    parser.set_defaults(**study_defaults())
    add("study", metavar="STUDY", help="a built-in study, or a study file: its baseline and its load")
    add("--git", type=Path, metavar="DIR", help="a git repository: PostgreSQL's own (or --set build.source=git:DIR)")
    inside = parser.add_mutually_exclusive_group()
    inside.add_argument("--extension", action="store_true", help="it is an extension's, which PGXS builds")
    inside.add_argument(
        "--schema", metavar="FILE", help="it is an application's; FILE in it makes schema and data (load.init)"
    )
    add_options(parser, "--set", "--count")
    add("--primary", metavar="RESPONSE", help="what to go by (default: the study's own)")
    add_size_options(parser)
    add_bench_options(parser)


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
                f'"{arguments.schema}" is not a path inside the repository', "give it as git shows it: db/schema.sql"
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


def notifier(arguments: argparse.Namespace) -> Callable[[str], None]:
    """What prints progress on standard error, unless the output is for scripts."""
    quiet = silent(arguments)

    def notify(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    return notify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--reference", required=True, metavar="REF", help="the commit or tag that every commit is compared with")
    add("--branch", metavar="REF", help="whose commits are followed (default: HEAD)")
    add(
        "--every",
        choices=(COMMIT, NIGHT),
        default=COMMIT,
        help="each commit since the last one, or the newest of a day",
    )
    add("--since", metavar="REF", help="begin a history after this commit (default: with the branch's newest)")
    add("--points", type=whole(1), default=20, metavar="N", help="commits measured by one call at most (default: 20)")
    add("--each", type=whole(2), default=5, metavar="N", help="blocks of each commit (default: 5)")
    add("--budget", dest="limit_s", type=duration, metavar="TIME", help="begin no commit after this time: 20min, 2h")
    add("--accept", metavar="REF", help="measure nothing; steps up to this measured commit are known and wanted")
    add("--check", action="store_true", help="exit status 1 on a regression that is not accepted")
    add_commit_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from pgassay.host.accounts import choose
    from pgassay.host.runner import LocalRunner
    from pgassay.lab import commits
    from pgassay.lab.runner import Watcher
    from pgassay.record.disk import RealDisk
    from pgassay.report.json_values import to_json

    subject, disk, notify = subject_of(arguments), RealDisk(), notifier(arguments)
    branch = commits.Branch(Path(subject.repository), arguments.branch or "HEAD", LocalRunner(choose()))
    reference = branch.commit(arguments.reference)
    branch.commit(branch.name)
    name, written = study_of(arguments)
    asked = commits.Tracked(
        study=name,
        document=written.document,
        repository=subject.repository,
        kind=subject.kind,
        file=subject.file,
        branch=branch.name,
        reference=reference,
    )
    out = (arguments.out or Path("runs") / f"track-{Path(name).stem}").absolute()

    def chosen(line: "Sequence[Commit]") -> "Sequence[Commit]":
        return line[-1:] if arguments.every == NIGHT else line[: arguments.points]

    if arguments.dry_run:
        commits.TRACKS.require_same(disk, out, asked)
        line = branch.due(commits.read(disk, out), arguments.since, notify)
        print("".join(f"due: {each.name}\n" for each in chosen(line)) or "no commit is due\n", end="")
        return SUCCESS
    notify(f"history: {out}")
    try:
        with commits.TRACKS.opened(disk, out, asked) as tracked:
            history = commits.read(disk, out)
            line = branch.due(history, arguments.since, notify)
            if arguments.accept:
                commit = branch.commit(arguments.accept)
                if commit.sha not in {each.commit.sha for each in history.points}:
                    raise UsageError(
                        f"{commit.name} is not a measured commit of this history",
                        'see "points" of the same command with --json',
                    )
                commits.accept(disk, out, commit)
            elif arguments.every == COMMIT or not history.measured_on(_now()):
                source = commits.CommitBlocks(
                    written, tracked.subject, out / TREES, branch.runner, bench_options(arguments),
                    lambda study: nullcontext(Watcher()), ("pgassay", "track"),
                )  # fmt: skip
                track = commits.Track(
                    tracked.reference, source, out, disk, blocks=arguments.each, machine=commits.machine_of,
                    now=_now, notify=notify,
                )  # fmt: skip
                points = [*branch.unfinished(history, line), *chosen(line)]
                end_s = None if arguments.limit_s is None else time.monotonic() + arguments.limit_s
                track.measure(points, branch.parents(points), lambda: end_s is not None and time.monotonic() >= end_s)
                history = commits.read(disk, out)
            waiting = len(history.due(line)) if arguments.every == COMMIT else 0
            least = commits.least_of(written.study)
            answer = commits.answer_of(history, commits.accepted(disk, out), waiting, least)
    except KeyboardInterrupt:
        print(f"pgassay: interrupted; the same command goes on; what was measured is kept in {out}", file=sys.stderr)
        return INTERRUPTED
    print(to_json(answer.plain()) if arguments.json else answer.headline() if arguments.quiet else answer.text())
    return FAILED if arguments.check and answer.worse else SUCCESS


def _now() -> datetime:
    return datetime.now(UTC)
