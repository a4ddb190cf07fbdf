"""`pgassay bisect STUDY --good REF --bad REF --git DIR`: which commit of PostgreSQL changed it?

Builds only the commits that it needs, sets each beside the good one in paired blocks, and names the commit with its
effect. Called again with the same `--out` it goes on where it was cut short.
"""

import argparse
import sys
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli import messages
from pgassay.cli.parser import whole
from pgassay.cli.run import (
    add_bench_options,
    add_size_options,
    add_study_options,
    bench_options,
    overrides,
    read_study,
    silent,
)

if TYPE_CHECKING:
    from pgassay.lab.bisection_record import Question
    from pgassay.lab.runner import Watcher
    from pgassay.study.model import Study

SOURCE = "build.source="


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.set_defaults(**_unchanged())
    parser.add_argument("study", metavar="STUDY", help="a built-in study, or a study file: its baseline and its load")
    parser.add_argument("--good", required=True, metavar="REF", help="a commit or tag before the change")
    parser.add_argument("--bad", required=True, metavar="REF", help="one after it")
    parser.add_argument(
        "--git", type=Path, metavar="DIR", help="a git repository of PostgreSQL (or --set build.source=git:DIR)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="hold a factor at this level")
    parser.add_argument("--primary", metavar="RESPONSE", help="what to go by (default: the study's own)")
    parser.add_argument(
        "--first", type=whole(5), default=30, metavar="N", help="blocks of good against bad at most (default: 30)"
    )
    parser.add_argument("--most", type=whole(5), default=300, metavar="N", help="blocks in all at most (default: 300)")
    add_size_options(parser)
    add_bench_options(parser)


def _unchanged() -> dict[str, Any]:
    """What the options of `run` that change a study are where none was given."""
    parser = argparse.ArgumentParser(add_help=False)
    add_study_options(parser)
    return vars(parser.parse_args([]))


def run(arguments: argparse.Namespace) -> int:
    """Find the commit and print it; returns the exit status. Raises `PgassayError`."""
    from pgassay.host.accounts import choose
    from pgassay.host.runner import LocalRunner
    from pgassay.lab.bisection_record import Question
    from pgassay.lab.run import write_study
    from pgassay.postgres.builds.commits import between
    from pgassay.record.directory import unused_path

    for option in ("reboot_between_blocks", "live"):
        if getattr(arguments, option):
            raise messages.excluded("bisect", f"--{option.replace('_', '-')}")
    folder = _repository(arguments)
    commits = between(LocalRunner(choose()), folder, arguments.good, arguments.bad)
    name, document = read_study(arguments)
    size = "quick" if arguments.quick else "as-published" if arguments.as_published else ""
    written = write_study(
        name, document, overrides(arguments, size), without_host_factors=arguments.without_host_factors
    )
    asked = Question(name, written.document, str(folder), commits, arguments.first, arguments.most)
    if arguments.dry_run:
        print(messages.commits_between(commits[0].name, [each.name for each in commits[1:]]), end="")
        return messages.SUCCESS
    out = arguments.out.absolute() if arguments.out else unused_path("bisect", datetime.now(UTC)).absolute()
    try:
        return _conduct(asked, written, out, arguments)
    except KeyboardInterrupt:
        messages.tell_bisection_interrupted(out)
        return messages.INTERRUPTED


def _repository(arguments: argparse.Namespace) -> Path:
    """The repository that is named, once; takes `build.source` out of what is held."""
    named = [each.removeprefix(SOURCE) for each in arguments.set if each.startswith(SOURCE)]
    arguments.set = [each for each in arguments.set if not each.startswith(SOURCE)]
    paths = [*([arguments.git] if arguments.git else []), *(Path(each.removeprefix("git:")) for each in named)]
    if len(paths) != 1 or any(not each.startswith("git:") for each in named):
        raise messages.no_repository()
    found: Path = paths[0]
    return found.expanduser().resolve()


def _conduct(asked: "Question", written: Any, out: Path, arguments: argparse.Namespace) -> int:
    from pgassay.cli.progress import watcher_for
    from pgassay.lab import bisection_answer as answers
    from pgassay.lab.bisection import Bisection, Limits
    from pgassay.lab.bisection_record import keep_answer, opened
    from pgassay.lab.commit_blocks import CommitBlocks
    from pgassay.record.disk import RealDisk
    from pgassay.report.json_values import to_json

    quiet, disk = silent(arguments), RealDisk()

    def watch(study: "Study") -> "AbstractContextManager[Watcher]":
        return watcher_for(study, sys.stderr, quiet=True)

    def tell(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    tell(f"record: {out}")
    with opened(disk, out, asked) as question:
        source = CommitBlocks(written, Path(question.repository), bench_options(arguments), watch)
        limits = Limits(arguments.first, arguments.most)
        found = Bisection(question.commits, source, out, disk, limits, tell).run()
        plain = to_json(answers.plain(found))
        keep_answer(disk, out, plain + "\n")
    print(plain if arguments.json else answers.headline(found) if arguments.quiet else answers.text(found))
    return messages.SUCCESS
