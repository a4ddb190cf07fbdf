"""`pgassay lint FILE|RUN…`: reasons why a benchmark cannot support its claim, each with its numbers and a remedy.

It judges what is published, not who published it: one's own run directory as well. See docs/report.md.
"""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay import outgoing
from pgassay.cli.parser import add_options, strict_status
from pgassay.errors import UsageError
from pgassay.importing.reader import ALL, Options, parse_given, parse_pattern, parse_roles
from pgassay.study.findings import Finding, Severity
from pgassay.study.responses import Better

if TYPE_CHECKING:
    from pgassay.analysis.lint import Needed
    from pgassay.importing.imported_run import Judged


SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|RUN", nargs="+", type=Path, help="files, folders, or a run directory")
    add_reading_options(parser)
    add = parser.add_argument
    add("--baseline", metavar="NAME=VALUE", default="", help="the treatment that claims are made against")
    add("--primary", metavar="RESPONSE", default="", help="the response that is claimed (default: the first)")
    add("--resolution", metavar="SHARE", help="the smallest effect that is claimed (default: 5%%, or the study's own)")
    add("--needed", action="store_true", help="say how many runs each difference would have taken")
    add_options(parser, "--strict", "--strict-from", "--json")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.analysis.lint import lint, needed
    from pgassay.importing import imported_run
    from pgassay.study import units

    options = parse_options(arguments)
    paths = arguments.files
    if len(paths) == 1 and (paths[0] / "run.json").is_file():
        judged = imported_run.of_run(paths[0], arguments.primary)
    else:
        judged = imported_run.of_files(paths, options, arguments.primary, arguments.baseline)
    if arguments.resolution:
        resolution = units.share("--resolution", arguments.resolution)
        judged = replace(judged, benchmark=replace(judged.benchmark, resolution=resolution))
    found = lint(judged.benchmark)
    takes = needed(judged.benchmark) if arguments.needed else ()
    if arguments.json:
        more = {"needed": [asdict(each) for each in takes]} if arguments.needed else {}
        print(json.dumps({**plain(judged, found), **more}, indent=2))
    else:
        print(text(judged, found), end="")
        print(outgoing.lines(map(_takes, takes)), end="")
        if arguments.needed and not takes:
            print("needed: nothing is compared, so no number of runs can be said")
    return strict_status(arguments, found)


def _takes(each: "Needed") -> str:
    from pgassay.analysis.lint import NEEDED_MOST
    from pgassay.analysis.numbers import percent, plural

    of = (
        "between these runs" if each.known else "between runs, which is usual for pgbench: these are too few to show it"
    )
    runs = f"more than {NEEDED_MOST}" if each.runs is None else str(each.runs)
    return (
        f"needed: {each.arm} against {each.against}: {100.0 * each.effect:+.3g} % takes {runs} runs of each, "
        f"there {'is' if each.there == 1 else 'are'} {each.there} {plural('run', each.there)} "
        f"(spread {percent(each.spread)} {of})"
    )


def text(judged: "Judged", found: tuple[Finding, ...]) -> str:
    """All findings, the gravest first, then what was not judged."""
    from pgassay.analysis.numbers import plural

    benchmark = judged.benchmark
    counted = f"{len(benchmark.runs)} {plural(benchmark.replicate, len(benchmark.runs))}"
    groups = f"{len(benchmark.groups)} {plural('treatment', len(benchmark.groups))}"
    lines = [f"{judged.kind}: {counted} of {groups}, {judged.response}"]
    order = tuple(reversed(Severity))
    for finding in sorted(found, key=lambda each: order.index(each.severity)):
        lines += ["", f"{finding.severity}: {finding.text} [{finding.code}]"]
        lines += [f"  evidence: {finding.evidence}", f"  remedy:   {finding.remedy}"]
    lines.append("")
    for place, reason in judged.left_out[:SHOWN]:
        lines.append(f"left out: {place}: {reason}")
    if len(judged.left_out) > SHOWN:
        lines.append(f"{len(judged.left_out) - SHOWN} more are left out; see all with --json")
    lines += [f"note: {remark}" for remark in judged.remarks]
    if not found:
        lines.append("no objection found; that does not prove it right")
    else:
        counts = {severity: sum(each.severity is severity for each in found) for severity in order}
        parts = [f"{count} {plural(severity, count)}" for severity, count in counts.items() if count]
        lines.append(f"{len(found)} {plural('reason', len(found))}: {', '.join(parts)}")
    return outgoing.lines(lines)


def plain(judged: "Judged", found: tuple[Finding, ...]) -> dict[str, object]:
    benchmark = judged.benchmark
    return {
        "format": 1,
        "source": judged.kind,
        "response": judged.response,
        "runs": len(benchmark.runs),
        "treatments": list(benchmark.groups),
        "resolution": benchmark.resolution,
        "findings": [
            {
                "code": each.code,
                "what": each.text,
                "evidence": each.evidence,
                "remedy": each.remedy,
                "severity": each.severity,
            }
            for each in found
        ],
        "left_out": [{"place": place, "reason": reason} for place, reason in judged.left_out],
        "remarks": list(judged.remarks),
    }


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--columns", metavar="ROLE=COLUMN,…", action="append", default=[],
        help=f"what columns and fields mean; roles: {', '.join(ALL)}")  # fmt: skip
    add("--header", metavar="A;B;C", default="", help="names for the columns of a table without a header line")
    add("--pattern", metavar="PATH", help="fields in the path, as in 'pg-{page_kB}/run-{run}/pgbench.log'")
    add("--treatment", metavar="NAME=VALUE[:FILES]", action="append", default=[],
        help="a level of every file, or of those that match FILES")  # fmt: skip
    add("--where", metavar="NAME=VALUE", action="append", default=[], help="take only runs whose field has this value")
    add("--better", choices=("higher", "lower"), help="which way a column of unknown name is better")
    add("--log-has", metavar="WHAT", choices=("lag", "retries"), action="append", default=[],
        help="extra columns of a pgbench log without its output: lag (--rate), retries (--max-tries)")  # fmt: skip


def parse_options(arguments: argparse.Namespace) -> Options:
    """What these options say about the files; raises `UsageError` for one that cannot be read."""
    filters = []
    for text in arguments.where:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise UsageError(f'--where wants NAME=VALUE, not "{text}"', "for example --where mode=rw")
        filters.append((name, value))
    return Options(
        roles=parse_roles(arguments.columns),
        header=arguments.header,
        pattern=parse_pattern(arguments.pattern) if arguments.pattern else None,
        given=tuple(map(parse_given, arguments.treatment)),
        where=tuple(filters),
        better=Better(arguments.better) if arguments.better else None,
        log_has=tuple(arguments.log_has),
    )
