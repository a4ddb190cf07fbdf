"""`pgassay show RUN`: the answer on one screen, or all of it; as text, JSON or CSV, also while a run goes on.

`pgassay show RUN RUN …` compares runs of one study from several environments, and says what differs between their
hosts; of one run of a fleet `--by-host` compares the hosts.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay import outgoing
from pgassay.cli._runs import add_form_options, last_run, open_run, require_thresholds, shown, threshold_status, weighed
from pgassay.cli.parser import add_options, excluded
from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.report.environments import EffectRow, SideBySide


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "runs",
        metavar="RUN",
        nargs="*",
        type=Path,
        help="a run directory (default: the last of runs); several are compared with the first",
    )
    add_form_options(parser, csv=True)
    add_options(parser, "--weigh", "--check")
    add("--functions", action="store_true", help="only the functions that make the difference, where --count counted")
    add("--by-host", action="store_true", help="compare the hosts of one run of a fleet")


def run(arguments: argparse.Namespace) -> int:
    compares = arguments.by_host or len(arguments.runs) > 1
    for option in ("csv", "quiet", "weigh", "check", "functions") if compares else ():
        if getattr(arguments, option):
            raise UsageError(f"--{option} is for the answer of one run", "leave it out, or name one run")
    if arguments.functions and arguments.quiet:
        raise excluded("--functions", "--quiet")
    if arguments.by_host and len(arguments.runs) > 1:
        raise UsageError("--by-host is for one run", "leave it out, or name one run of a fleet")
    runs = arguments.runs or [last_run()]
    return _compare(runs, arguments) if compares else _show(runs[0], arguments)


def _show(path: Path, arguments: argparse.Namespace) -> int:
    from pgassay.record.reading import Run
    from pgassay.report import functions
    from pgassay.report.contents import document, write_csv
    from pgassay.report.findings import Findings, garbage_collection_paused
    from pgassay.report.json_values import to_json
    from pgassay.report.text import render

    with garbage_collection_paused():
        findings = Findings(Run.open(path, leave_out=True), weigh=weighed(arguments))
        require_thresholds(arguments, findings.limits)
        only = functions.NAME if arguments.functions else ""
        if only and not functions.SECTION.blocks(findings):
            raise UsageError(f'run "{path}" has no counts of two treatments', "run and compare count with --count")
        if arguments.csv:
            write_csv(findings, sys.stdout, only)
        elif arguments.json:
            print(to_json(document(findings, only)))
        else:
            print(render(findings, only) if only else shown(findings, arguments), end="")
    return threshold_status(findings, check=arguments.check)


def _compare(paths: Sequence[Path], arguments: argparse.Namespace) -> int:
    from pgassay.report.environments import side_by_side
    from pgassay.report.findings import Findings, garbage_collection_paused
    from pgassay.report.json_values import to_json

    with garbage_collection_paused():
        found = side_by_side([Findings(open_run(path)) for path in paths])
    if arguments.json:
        facts = {
            part: [{"name": name, "values": values} for name, values in each.items()]
            for part, each in (("hosts", found.hosts), ("studies", found.studies))
        }
        print(to_json({"format": 1, **vars(found), **facts}))
    else:
        print(text(found, everything=arguments.verbose), end="")
    return SUCCESS


def text(found: "SideBySide", *, everything: bool) -> str:
    """Each run's differences from the first, effects against each other, then what differs between the hosts."""
    lines = list(_differences(found, everything=everything))
    if found.effects:
        lines.append("Effects against the baseline, each in its own run")
        lines += [line for row in found.effects for line in _effects(found, row)]
        lines.append("")
    for title, facts in (("What differs in the hosts", found.hosts), ("What was held differently", found.studies)):
        if facts:
            lines.append(title)
            for name, values in facts.items():
                said = ("not recorded" if value is None else str(value) for value in values)
                lines.append(f"  {name}: {' | '.join(said)}")
            lines.append("")
    if not found.hosts:
        lines += ["the records show no difference between the hosts", ""]
    lines.append(
        "note: intervals are for independent samples, 95 % for all of the primary's comparisons together; an hour or a "
        "cluster that a run shares throughout is not in them"
    )
    return outgoing.lines(lines)


def _differences(found: "SideBySide", *, everything: bool) -> Iterator[str]:
    from pgassay.report import formatting

    first, *others = found.runs
    for number, other in enumerate(others):
        yield f"{other} against {first}"
        title = ""
        for row in found.rows:
            each = row.differences[number]
            if each is None or not (row.primary or everything):
                continue
            if row.response.title != title:
                title = row.response.title
                yield f"  {title}{'' if row.primary else ' (secondary)'}"
            if each.low == each.low:
                shown = formatting.interval(each.estimate, each.low, each.high, each.scale, row.response)
                mark = "" if each.told_apart else "  cannot be distinguished"
            else:
                shown, mark = "one trial has no interval", "  not judged yet"
            yield f"    {row.place}: {shown}  {each.trials[0]} and {each.trials[1]} trials{mark}"
        yield ""


def _effects(found: "SideBySide", row: "EffectRow") -> Iterator[str]:
    """An effect in each environment, and how much it differs from the first one's."""
    from pgassay.report import formatting

    yield f"  {row.place}"
    response = row.response
    for number, (name, effect) in enumerate(zip(found.runs, row.effects, strict=True)):
        if effect is None:
            continue
        own = formatting.interval(effect.estimate, effect.low, effect.high, response.scale, response)
        line = f"    {name}: {own}  {formatting.counted(effect.blocks, 'block')}"
        other = row.differences[number - 1] if number else None
        if other is None:
            yield line
        elif other.low == other.low:
            shown = formatting.interval(other.estimate, other.low, other.high, other.scale, response)
            mark = "" if other.told_apart else "  cannot be distinguished"
            yield f"{line}; by that of {found.runs[0]}: {shown}{mark}"
        else:
            yield f"{line}; one block has no interval"
