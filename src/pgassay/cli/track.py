"""`pgassay track STUDY --git DIR --reference REF`: is PostgreSQL getting slower, commit by commit, over years?

Each call measures what is due beside the same reference commit, adds it to the history, says where its level changed,
and ends: cron or a systemd timer calls it. `--check` makes a regression an exit status.
"""

import argparse
import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli import messages
from pgassay.cli.commits import (
    TREES,
    add_commit_options,
    quiet_watch,
    require_own_options,
    study_of,
    subject_of,
    teller,
)
from pgassay.cli.parser import duration, whole
from pgassay.cli.run import bench_options
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.bench.running import Runner
    from pgassay.lab.run import WrittenStudy
    from pgassay.lab.track import History
    from pgassay.lab.track_record import Tracked
    from pgassay.postgres.builds.commits import Commit

COMMIT, NIGHT = "commit", "night"
FAILED = 1
"""Exit status of `--check` where a regression is not accepted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("--reference", required=True, metavar="REF", help="the commit or tag that all are set beside")
    parser.add_argument("--branch", default="HEAD", metavar="REF", help="whose commits are followed (default: HEAD)")
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
    from pgassay.host.accounts import choose
    from pgassay.host.runner import LocalRunner
    from pgassay.lab.track_record import Tracked
    from pgassay.postgres.builds.commits import commit_of

    require_own_options("track", arguments)
    subject, runner = subject_of(arguments), LocalRunner(choose())
    folder = Path(subject.repository)
    reference = commit_of(runner, folder, arguments.reference)
    commit_of(runner, folder, arguments.branch)
    name, written = study_of(arguments)
    asked = Tracked(
        study=name,
        document=written.document,
        repository=subject.repository,
        kind=subject.kind,
        file=subject.file,
        branch=arguments.branch,
        reference=reference,
    )
    out = (arguments.out or Path("runs") / f"track-{Path(name).stem}").absolute()
    try:
        return _conduct(asked, written, out, arguments, runner)
    except KeyboardInterrupt:
        messages.tell_track_interrupted(out)
        return messages.INTERRUPTED


def _conduct(
    asked: "Tracked", written: "WrittenStudy", out: Path, arguments: argparse.Namespace, runner: "Runner"
) -> int:
    from pgassay.lab import track_answer as answers
    from pgassay.lab.commit_blocks import CommitBlocks, machine_of
    from pgassay.lab.track import Track, read
    from pgassay.lab.track_record import TRACKS, accepted
    from pgassay.postgres.builds.commits import first_parents
    from pgassay.record.disk import RealDisk
    from pgassay.report.json_values import to_json

    disk, tell = RealDisk(), teller(arguments)
    if arguments.dry_run:
        TRACKS.require_same(disk, out, asked)
        line = _due(read(disk, out), asked, arguments, runner, tell)
        print(messages.commits_due([each.name for each in _chosen(line, arguments)]), end="")
        return messages.SUCCESS
    tell(f"history: {out}")
    with TRACKS.opened(disk, out, asked) as tracked:
        history = read(disk, out)
        line = _due(history, tracked, arguments, runner, tell)
        if arguments.accept:
            _accept(tracked, history, out, arguments.accept, runner)
        elif arguments.every == COMMIT or not history.measured_on(_now()):
            options, command = bench_options(arguments), ("pgassay", "track")
            source = CommitBlocks(written, tracked.subject, out / TREES, runner, options, quiet_watch, command)
            track = Track(
                tracked.reference, source, out, disk, blocks=arguments.each, machine=machine_of, now=_now, tell=tell
            )
            chosen = [*_unfinished(history, line, tracked, runner), *_chosen(line, arguments)]
            parents = first_parents(runner, Path(tracked.repository), chosen)
            track.measure(chosen, parents, _limit(arguments.limit_s))
            history = read(disk, out)
        waiting = len(history.due(line)) if arguments.every == COMMIT else 0
        answer = answers.answer_of(history, accepted(disk, out), waiting)
    plain = to_json(answers.plain(answer))
    print(plain if arguments.json else answers.headline(answer) if arguments.quiet else answers.text(answer))
    return FAILED if arguments.check and answer.worse else messages.SUCCESS


def _accept(tracked: "Tracked", history: "History", out: Path, name: str, runner: "Runner") -> None:
    from pgassay.lab.track_record import accept
    from pgassay.postgres.builds.commits import commit_of
    from pgassay.record.disk import RealDisk

    commit = commit_of(runner, Path(tracked.repository), name)
    if commit.sha not in {each.commit.sha for each in history.points}:
        raise messages.not_in_history(commit.name)
    accept(RealDisk(), out, commit)


def _due(
    history: "History", tracked: "Tracked", arguments: argparse.Namespace, runner: "Runner", tell: Callable[[str], None]
) -> "Sequence[Commit]":
    """The commits of the branch after the last one that was measured or skipped, oldest first."""
    from pgassay.postgres.builds.commits import after, commit_of

    folder = Path(tracked.repository)
    newest = commit_of(runner, folder, tracked.branch)
    if history.last is not None:
        try:
            found = after(runner, folder, history.last, tracked.branch)
        except UsageError:
            found = None  # gone with a branch that was rewritten
        if found is not None:
            return found
        tell(messages.branch_rewritten(history.last, tracked.branch))
        return (newest,)
    if arguments.since is None:
        return (newest,)
    found = after(runner, folder, arguments.since, tracked.branch)
    if found is None:
        raise messages.not_on_branch(arguments.since, tracked.branch)
    return found


def _unfinished(history: "History", line: "Sequence[Commit]", tracked: "Tracked", runner: "Runner") -> "list[Commit]":
    """Commits whose run was cut short and that are due no more, as far as the repository still has them."""
    from pgassay.postgres.builds.commits import commit_of

    found = []
    for name in history.unfinished:
        if not any(each.sha.startswith(name) for each in line):
            with contextlib.suppress(UsageError):
                found.append(commit_of(runner, Path(tracked.repository), name))
    return found


def _chosen(line: "Sequence[Commit]", arguments: argparse.Namespace) -> "Sequence[Commit]":
    return line[-1:] if arguments.every == NIGHT else line[: arguments.points]


def _limit(limit_s: float | None) -> Callable[[], bool]:
    end_s = None if limit_s is None else time.monotonic() + limit_s
    return lambda: end_s is not None and time.monotonic() >= end_s


def _now() -> datetime:
    return datetime.now(UTC)
