"""`pgassay resume RUN`: go on with a run after Ctrl-C, kill -9 or a reboot.

The schedule is the one that would have been; committed trials are never touched.
"""

import argparse
from pathlib import Path

from pgassay.cli.postgres import add_build_options, building_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    parser.add_argument("--pg-bindir", type=Path, metavar="DIR", help="the PostgreSQL to use, if it was named before")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where the clusters live, if it was named before")
    parser.add_argument("--allow-busy", action="store_true", help="run although another PostgreSQL is busy")
    parser.add_argument("--allow-volatile", action="store_true", help="let clusters live on tmpfs or overlay")
    add_build_options(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Open, check, go on."""
    from pgassay.cli import calibrate, messages
    from pgassay.cli.conducting import conduct
    from pgassay.cli.neighbours import look
    from pgassay.lab.catalogue import every_factor
    from pgassay.lab.messages import finished_already
    from pgassay.lab.preflight import check
    from pgassay.lab.workbench import Wishes, Workbench
    from pgassay.record.directory import RunDirectory
    from pgassay.record.reading import Run
    from pgassay.study.parsing import parse

    found = Run.open(arguments.run)
    if found.header.study == calibrate.PLACE:
        raise messages.no_going_on(arguments.run)
    study = parse(found.header.study, found.study, every_factor())
    directory = RunDirectory.open(arguments.run)
    if directory.finished:
        directory.close()
        raise finished_already(arguments.run)
    wishes = Wishes(
        arguments.pg_bindir,
        arguments.data_dir,
        allow_volatile=arguments.allow_volatile,
        allow_busy=arguments.allow_busy,
        building=building_of(arguments, quiet=arguments.json),
    )
    with directory, Workbench(wishes) as bench:
        check(study, bench.site())
        remarks = look(bench, allowed=arguments.allow_busy)
        directory.resumed(remarks)
        return conduct(study, directory, bench, list(Run.open(arguments.run).trials), as_json=arguments.json)
