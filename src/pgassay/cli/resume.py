"""`pgassay resume RUN`: continue a run after Ctrl-C, kill -9 or a reboot.

The schedule is the one that would have been; committed trials are never touched. Place, PostgreSQL and what was allowed
stay: half a run on one drive or version and half on another would be no experiment. `--more` and `--blocks` move the
end, of a finished run too; looks were planned for twice the blocks, so that error rates hold (docs/statistics.md).
"""

import argparse
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli import _trust, fleet
from pgassay.cli._runs import add_form_options, require_thresholds
from pgassay.cli.parser import add_options, excluded
from pgassay.cli.postgres import add_build_options
from pgassay.cli.printing import warn
from pgassay.cli.run import add_owned_option, bench_options, conduct, finish, silent
from pgassay.cli.serve import live_pages, require_live
from pgassay.outgoing import visible
from pgassay.record.calibrations import STUDY

if TYPE_CHECKING:
    from pgassay.lab.run import More


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`; whether snapshots are kept, the run itself has recorded."""
    add = parser.add_argument
    parser.set_defaults(dry_run=False, discard_snapshots=False)
    add("run", metavar="RUN", type=Path, help="a run directory")
    add("--more", metavar="TIME", help="go on for this much longer, beyond the run's end too: 10min")
    add("--blocks", metavar="MIN..MAX", help="go on to this many blocks, beyond the run's end too")
    add("--pg-bindir", type=Path, metavar="DIR", help="the same PostgreSQL, if it is elsewhere now")
    add("--data-dir", type=Path, metavar="DIR", help="the same drive, if it is elsewhere now")
    add("--snapshots-in", type=Path, metavar="DIR", help="the same place of prepared data, if it is elsewhere now")
    add_owned_option(parser)
    add("--allow-busy", action="store_true", help="for records of earlier versions: the machine was busy at the start")
    add("--allow-volatile", action="store_true", help="for records of earlier versions: clusters on tmpfs or overlay")
    add_build_options(parser)
    add_options(parser, "--live", "--trust")
    add_form_options(parser)
    add_options(parser, "--check")
    fleet.add_fleet_options(parser)
    fleet.add_client_options(parser, named=False)


def run(arguments: argparse.Namespace) -> int:
    from pgassay.cli import calibrate
    from pgassay.lab.attached import bench_of
    from pgassay.lab.calibration import LABELS
    from pgassay.lab.catalogue import FactorCatalogue, every_factor
    from pgassay.lab.run import mark_resumed, options_of, reopen
    from pgassay.record.reading import Run
    from pgassay.study.parsing import parse_recorded

    require_live(arguments)
    record = Run.open(arguments.run)
    options = options_of(record.host, bench_options(arguments), record.header.command)
    allowed = {"allow_busy": options.allow_busy, "allow_volatile": options.allow_volatile}
    arguments = argparse.Namespace(**{**vars(arguments), **allowed})  # for the hosts of a fleet
    more = _more(arguments)
    known = FactorCatalogue((*every_factor().all(), *LABELS)) if record.header.study == STUDY else every_factor()
    study = parse_recorded(record.header.study, dict(record.study), known)
    executed = _trust.of_study(study, options.files, known)
    programs = [f"PostgreSQL's programs in {visible(str(options.bindir))}"] if options.bindir else []
    programs += [f"to restart the server: {visible(options.restart.text, keep='')}"] if options.restart else []
    _trust.require(arguments.run, chain(programs, executed), arguments)
    if record.header.study == STUDY:
        return calibrate.go_on(arguments, options)
    on_fleet = fleet.over_fleet(arguments)
    with ExitStack() as stack:
        clients = stack.enter_context(fleet.clients_of(arguments))
        bench = stack.enter_context(bench_of(replace(options, clients=clients)))
        reopened = reopen(arguments.run, bench, more)
        stack.enter_context(reopened.run)  # it is closed where the run does not go on, too
        for remark in reopened.prepared.remarks:
            warn(remark.warning)
        resolved = reopened.prepared.resolved
        require_thresholds(arguments, resolved.study.decide)
        hosts = None
        if on_fleet:
            found = fleet.fleet_of(arguments, resolved, record.study_toml, record.host)
            hosts = stack.enter_context(found)
        mark_resumed(reopened, hosts.files if hosts else None)
        stack.enter_context(live_pages(arguments.run.absolute(), arguments))
        status = conduct(resolved, reopened.run, quiet=silent(arguments), hosts=hosts)
    return finish(status, arguments.run.absolute(), arguments)


def _more(arguments: argparse.Namespace) -> "More | None":
    """How far the run goes on beyond its end; None where that was not asked. Raises `UsageError`."""
    from pgassay.lab.run import More
    from pgassay.study import units

    if arguments.more is None and arguments.blocks is None:
        return None
    if arguments.on is not None:
        raise excluded("--on", "--more" if arguments.blocks is None else "--blocks")
    seconds = None if arguments.more is None else units.seconds("--more", arguments.more, key="more")
    return More(seconds, None if arguments.blocks is None else units.blocks(arguments.blocks))
