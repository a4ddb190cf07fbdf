"""`pgassay track STUDY --git DIR --reference REF`: is PostgreSQL getting slower, commit by commit, over years?

Each call measures what is due beside the same reference commit, adds it to the history, says where its level changed,
and ends: cron or a systemd timer calls it. `--check` makes a regression an exit status.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli._tracked import Followed, followed_of
from pgassay.cli.commits import (
    TREES,
    add_commit_options,
    quiet_watch,
    require_own_options,
    study_of,
    teller,
)
from pgassay.cli.parser import duration, whole
from pgassay.cli.printing import INTERRUPTED, SUCCESS
from pgassay.cli.run import bench_options
from pgassay.errors import UsageError

if TYPE_CHECKING:
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
    from pgassay.lab.track_record import Tracked

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
    from pgassay.lab import track_answer as answers
    from pgassay.lab.commit_blocks import CommitBlocks, machine_of
    from pgassay.lab.track import Track, read
    from pgassay.lab.track_record import TRACKS, accepted
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
    from pgassay.lab.track_record import accept
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
