"""`pgassay doctor`: is this machine fit to measure on? Each finding with its remedy; nothing is changed.

With `--repair`, what a killed pgassay left changed (huge pages, control groups, settings and databases of a user's own
server) is put back first, and what its runs left (servers, drives, mounts) is removed.
"""

import argparse
import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli.parser import Command, add_options, strict_status
from pgassay.cli.printing import paint, warn
from pgassay.errors import PgassayError, UsageError
from pgassay.study.findings import Finding, Severity

if TYPE_CHECKING:
    from pgassay.host.changes import Ledger
    from pgassay.scratch import Left

_REPAIR = "pgassay doctor --repair"
_NO_FITNESS = ("plugins", "left_files", "counting")

COLOURS = {Severity.OK: "32", Severity.NOTE: "36", Severity.WARNING: "01;35", Severity.ERROR: "01;31"}
"""Of the word that begins each line; warnings and errors as on standard error."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where the clusters would live")
    parser.add_argument("--repair", action="store_true", help="put back or remove what a killed pgassay left")
    add_options(parser, "--strict", "--strict-from", "--json")


def run(arguments: argparse.Namespace) -> int:
    import os

    from pgassay import scratch
    from pgassay.drive.sessions import killed_runs
    from pgassay.host import accounts
    from pgassay.host.changes import Ledger
    from pgassay.host.doctor import changes_owed, client_clock, examine
    from pgassay.host.keeper import orphans
    from pgassay.host.storage import mount_of
    from pgassay.interfaces.proc import boot_id
    from pgassay.lab.machine import known_clock
    from pgassay.lab.places import default_directory
    from pgassay.load.responses import IMPOSSIBLE_US
    from pgassay.postgres.attached import attachment
    from pgassay.scratch import state_directory

    ledger = Ledger(state_directory(os.environ), boot_id())
    place = (arguments.data_dir or default_directory(os.environ)).absolute()
    ours = {os.geteuid(), accounts.choose().uid}
    if arguments.repair:
        _repair(ledger, place, ours)
    known = known_clock(mount_of(place))
    clock = client_clock(known[0], IMPOSSIBLE_US, known[1])
    owed = (changes_owed(ledger), *attachment.owed(ledger.path.parent))
    left = (killed_runs(place), left_processes(orphans(ours)), *left_files(scratch.left))
    findings = [*examine([place]), clock, *owed, *left, counting(), *plugin_findings()]
    if arguments.json:
        plain = [
            {"check": each.code, "severity": each.severity, "text": each.text, "remedy": each.remedy}
            for each in findings
        ]
        print(json.dumps(plain, indent=2))
        return strict_status(arguments, findings)
    width = max(len(finding.code) for finding in findings)
    for finding in findings:
        paint(f"{finding.severity:<7}", COLOURS[finding.severity], sys.stdout)
        print(f"  {finding.code:<{width}}  {finding.text}")
        if finding.remedy:
            print(f"{'':<7}  {'':<{width}}  remedy: {finding.remedy}")
    print(fitness(findings))
    return strict_status(arguments, findings)


def fitness(findings: Sequence[Finding]) -> str:
    """The last line: is the machine fit to measure on, and what decides that. Plug-ins and leftovers do not."""
    mine = [each for each in findings if each.code not in _NO_FITNESS]
    comparisons = "fit for comparisons, since servers that take turns share what disturbs them, not for single numbers"
    for severity, said in ((Severity.ERROR, "not fit to measure on"), (Severity.WARNING, comparisons)):
        if found := list(dict.fromkeys(each.code for each in mine if each.severity is severity)):
            return f"{said}, because of {', '.join(found)}"
    return "fit to measure on: no check found a problem"


def _repair(ledger: "Ledger", place: Path, accounts: Collection[int]) -> None:
    """Put back and remove what killed processes left, processes first: those of the user ids `accounts`."""
    from pgassay import scratch
    from pgassay.host.changes import LocalHost
    from pgassay.host.keeper import end_orphans, orphans
    from pgassay.lab.drives import remove_left
    from pgassay.postgres.attached import attachment

    for mark in orphans(accounts):
        end_orphans(mark)
        _say("removed", f"processes of the killed run {mark.partition('-')[0]}")
    for path in LocalHost(ledger).repair():
        _say("put back", path)
    done, failed = attachment.repair(ledger.path.parent)
    for what in done:
        _say("put back", what)
    for error in failed:
        warn(error.message, error.hint)
    for name in remove_left(place):
        _say("removed", name)
    removed, kept = scratch.remove_left()
    for each in removed:
        _say("removed", f'{each.kind}: "{each.path}"')
    for each, why in kept:
        warn(f'{each.kind}: "{each.path}" was not removed: {why}')


def left_processes(found: Mapping[str, Collection[int]]) -> Finding:
    if not found:
        return Finding("left_processes", Severity.OK, "killed runs have left no process")
    pids = ", ".join(str(pid) for each in found.values() for pid in sorted(each))
    return Finding("left_processes", Severity.WARNING, f"killed runs left processes: {pids}", _REPAIR)


def left_files(look: "Callable[[], Sequence[Left]]") -> list[Finding]:
    """`left_files`: temporary places of killed processes, one finding for each kind."""
    try:
        found = look()
    except PgassayError as error:
        return [Finding("left_files", Severity.ERROR, error.message, error.hint or "")]
    if not found:
        return [Finding("left_files", Severity.OK, "killed processes have left no temporary files")]
    kinds: dict[str, list[Left]] = {}
    for each in found:
        kinds.setdefault(each.kind, []).append(each)
    return [
        Finding(
            "left_files",
            Severity.WARNING,
            f"killed processes left these ({kind}): " + ", ".join(sorted(f'"{each.path}"' for each in places)),
            _REPAIR,
        )
        for kind, places in sorted(kinds.items())
    ]


def counting() -> Finding:
    """What can count instructions here: Valgrind, and the processor's own counters where they really do."""
    from pgassay import children
    from pgassay.count import PROGRAM, REMEDY
    from pgassay.hardware_counter import HardwareCounter

    try:
        HardwareCounter().require()
        hardware = "load.count = hardware uses the processor's own counters"
    except UsageError as error:
        hardware = error.message
    if children.which(PROGRAM) is None:
        return Finding("counting", Severity.NOTE, f"--count has no Valgrind to count with; {hardware}", REMEDY)
    return Finding("counting", Severity.OK, f"--count uses Valgrind; {hardware}")


def plugin_findings() -> list[Finding]:
    """One finding for each plug-in of another package: its distribution and version, and why it is broken if it is."""
    from pgassay import plugins

    findings = []
    for group in plugins.Group:
        installed = plugins.installed(group)
        kind, taken = _required()[group] if installed else (object, ())
        for plugin in installed:
            try:
                plugin.load(kind)
                if plugin.name in taken:
                    raise plugin.name_taken()
            except plugins.PluginError as error:
                findings.append(Finding("plugins", Severity.ERROR, error.message, error.hint or ""))
                continue
            text = f'{group.noun} "{plugin.name}" of {plugin.origin}'
            findings.append(Finding("plugins", Severity.OK, text))
    return findings or [Finding("plugins", Severity.OK, "no plug-ins are installed")]


def _required() -> dict[str, tuple[type, Collection[str]]]:
    """The class of each group's objects, and the names that are ours."""
    from pgassay.cli import COMMANDS
    from pgassay.drive.block.image import PluginDrive
    from pgassay.importing.files import READERS
    from pgassay.importing.reader import Reader
    from pgassay.interfaces.factor import Factor
    from pgassay.interfaces.load import Driver
    from pgassay.interfaces.probe import Probe
    from pgassay.load.drivers import BUILT_IN
    from pgassay.plugins import Group
    from pgassay.probe.registry import PROBES
    from pgassay.report.contents import SECTIONS
    from pgassay.report.section import Section

    return {
        Group.FACTORS: (Factor, ()),
        Group.LOADS: (Driver, [each.name for each in BUILT_IN]),
        Group.PROBES: (Probe, [each.name for each in PROBES]),
        Group.DRIVES: (PluginDrive, ()),
        Group.SECTIONS: (Section, [each.name for each in SECTIONS]),
        Group.IMPORTERS: (Reader, [each.name for each in READERS]),
        Group.COMMANDS: (Command, COMMANDS),
    }


def _say(done: str, what: str) -> None:
    print(f"pgassay: {done}: {what}", file=sys.stderr)
