"""`pgassay bisect STUDY --good REF --bad REF --git DIR`: which commit of PostgreSQL changed it?

Builds only the commits that it needs, compares them in paired blocks, and names the commit with its
effect. Called again with the same `--out` it goes on where it was cut short.
"""

import argparse
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from pgassay.cli.parser import whole
from pgassay.cli.printing import INTERRUPTED, SUCCESS
from pgassay.cli.run import bench_options
from pgassay.cli.track import TREES, add_commit_options, notifier, study_of, subject_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--good", required=True, metavar="REF", help="a commit or tag before the change")
    add("--bad", required=True, metavar="REF", help="one after it")
    add("--first", type=whole(5), default=30, metavar="N", help="blocks of good against bad at most (default: 30)")
    add("--most", type=whole(5), default=300, metavar="N", help="blocks in all at most (default: 300)")
    add_commit_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from pgassay.host.accounts import choose
    from pgassay.host.runner import LocalRunner
    from pgassay.lab.commits import ANSWER, BISECTIONS, Bisection, CommitBlocks, Limits, Question, least_of
    from pgassay.lab.runner import Watcher
    from pgassay.postgres.builds.commits import between
    from pgassay.record.directory import unused_path
    from pgassay.record.disk import RealDisk, keep_file
    from pgassay.report.json_values import to_json

    subject = subject_of(arguments)
    runner = LocalRunner(choose())
    commits = between(runner, Path(subject.repository), arguments.good, arguments.bad)
    name, written = study_of(arguments)
    asked = Question(
        study=name,
        document=written.document,
        repository=subject.repository,
        kind=subject.kind,
        file=subject.file,
        commits=commits,
        first=arguments.first,
        blocks=arguments.most,
    )
    if arguments.dry_run:
        print(f"good: {commits[0].name}")
        for each in commits[1:]:
            print(f"      {each.name}")
        return SUCCESS
    out = arguments.out.absolute() if arguments.out else unused_path("bisect", datetime.now(UTC)).absolute()
    disk, notify = RealDisk(), notifier(arguments)
    notify(f"record: {out}")
    try:
        with BISECTIONS.opened(disk, out, asked) as question:
            options, command = bench_options(arguments), ("pgassay", "bisect")
            source = CommitBlocks(
                written, question.subject, out / TREES, runner, options, lambda study: nullcontext(Watcher()), command
            )
            limits = Limits(arguments.first, arguments.most, least_of(written.study))
            found = Bisection(question.commits, source, out, disk, limits, notify).run()
            plain = to_json(found.plain())
            keep_file(disk, out / ANSWER, f"{plain}\n".encode())
    except KeyboardInterrupt:
        print(f"pgassay: interrupted; go on with the same command and --out {out}", file=sys.stderr)
        return INTERRUPTED
    print(plain if arguments.json else found.headline() if arguments.quiet else found.text())
    return SUCCESS
