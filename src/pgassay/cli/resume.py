"""`pgassay resume RUN`: go on with a run after Ctrl-C, kill -9 or a reboot.

The schedule is the one that would have been; committed trials are never touched. Place and PostgreSQL stay: half a run
on one drive or version and half on another would be no experiment.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli import messages
from pgassay.cli.postgres import add_build_options, building_of
from pgassay.cli.reboots import add_reboot_option, reboots_of
from pgassay.cli.run import add_owned_option
from pgassay.record.calibrations import STUDY

BUILT = "built"
"""How a PostgreSQL of the cache of builds says that it was found (`postgres.builds.builder.FOUND_BY`)."""

if TYPE_CHECKING:
    from pgassay.lab.workbench import Wishes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    parser.add_argument("--pg-bindir", type=Path, metavar="DIR", help="the same PostgreSQL, if it is elsewhere now")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="the same drive, if it is elsewhere now")
    add_owned_option(parser)
    parser.add_argument("--allow-busy", action="store_true", help="run although other programs are busy")
    parser.add_argument("--allow-volatile", action="store_true", help="let clusters live on tmpfs or overlay")
    add_build_options(parser)
    add_reboot_option(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Open, check, go on."""
    from pgassay.cli import calibrate
    from pgassay.cli.conducting import conduct, installations
    from pgassay.cli.neighbours import look, place
    from pgassay.design.schedule import RULE
    from pgassay.lab.arms import resolve
    from pgassay.lab.catalogue import every_factor
    from pgassay.lab.messages import finished_already
    from pgassay.lab.preflight import check
    from pgassay.lab.workbench import Workbench
    from pgassay.record.directory import RunDirectory
    from pgassay.record.reading import Run
    from pgassay.study.parsing import parse

    found = Run.open(arguments.run)
    if found.header.study == STUDY:
        return calibrate.go_on(arguments, found, wishes(arguments, found.host))
    study = parse(found.header.study, found.study, every_factor())
    directory = RunDirectory.open(arguments.run)
    if directory.finished:
        directory.close()
        raise finished_already(arguments.run)
    with directory, Workbench(wishes(arguments, found.host)) as bench:
        resolved = resolve(study, bench.site())
        require_same_postgres(found.host.get("postgres", []), installations(resolved))
        checked = check(resolved)
        remarks = {**look(bench, allowed=arguments.allow_busy), **place(checked.mount)}
        reboots = reboots_of(arguments, arguments.run.absolute(), bench)
        directory.resumed({"remarks": remarks, "rule": RULE})
        trials = list(Run.open(arguments.run).trials)
        status = conduct(resolved, directory, trials, as_json=arguments.json, reboots=reboots)
    if reboots is not None:
        reboots.reboot()
    return status


def wishes(arguments: argparse.Namespace, facts: Mapping[str, Any]) -> "Wishes":
    """Place and PostgreSQL as the run's own `facts` tell, unless the command line says where they are now.

    Whose a device is must be said again: after a reboot another one may have its name.
    """
    from pgassay.lab.workbench import Wishes

    facts_of_place = facts.get("place", {})
    place = facts_of_place.get("data_directory")
    named = [each["bindir"] for each in facts.get("postgres", []) if each.get("found_by") == "named"]
    return Wishes(
        arguments.pg_bindir or (Path(named[0]) if named else None),
        arguments.data_dir or (Path(place) if place else None),
        allow_volatile=arguments.allow_volatile,
        allow_busy=arguments.allow_busy,
        keep_snapshots=facts_of_place.get("keep_snapshots", True) is True,
        owned=tuple(arguments.i_own),
        building=building_of(arguments, quiet=arguments.json),
    )


def require_same_postgres(before: Sequence[Mapping[str, str]], now: Sequence[Mapping[str, str]]) -> None:
    """Raise `UsageError` when another version would serve the rest of the run, a minor one or a build included."""
    was, would = ({_identity(each) for each in found} for found in (before, now))
    if was and was != would:
        raise messages.other_postgres(was, would)


def _identity(found: Mapping[str, str]) -> str:
    """Its version; of a build also the key that its folder is named by: same version, another compiler or page size."""
    key = Path(found.get("bindir", "")).parent.name
    return f"{found['version']}, build {key}" if found.get("found_by") == BUILT else found["version"]
