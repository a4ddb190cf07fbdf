"""`pgassay import FILE…`: others' results as a run directory, so that they get the same analysis and report.

pgbench's outputs and logs, sysbench's outputs, HammerDB's and BenchBase's results, or a table with named
columns. The dispatcher imports this module by its name, so a keyword for a name does no harm.
"""
# ruff: noqa: N999

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay import outgoing
from pgassay.cli.lint import add_reading_options, parse_options
from pgassay.cli.printing import SUCCESS

if TYPE_CHECKING:
    from pgassay.importing.imported_run import Imported

SHOWN = 10
"""Of what was left out, as many are printed; the record keeps all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="files, or folders of them")
    add_reading_options(parser)
    add = parser.add_argument
    add("--baseline", metavar="NAME=VALUE", default="", help="the treatment to compare with (default: the first)")
    add("--primary", metavar="RESPONSE", default="", help="the response that verdicts are about (default: the first)")
    add("--resolution", metavar="SHARE", default="2%", help="the smallest effect of interest (default: 2%%)")
    add("--title", metavar="TEXT", default="", help="the report's title")
    add("--out", type=Path, metavar="RUN", help="the run directory to make (default: runs/imported-UTC)")
    add("--json", action="store_true", help="print what was imported as JSON")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.importing.imported_run import Question, import_files
    from pgassay.record.directory import unused_path

    options = parse_options(arguments)
    path = arguments.out.absolute() if arguments.out else unused_path("imported", datetime.now(UTC))
    question = Question(arguments.baseline, arguments.primary, arguments.resolution, arguments.title)
    imported = import_files(arguments.files, options, question, path, ("pgassay", *sys.argv[1:]))
    if arguments.json:
        print(json.dumps(_plain(imported), indent=2))
    else:
        print(outgoing.lines(_lines(imported)), end="")
    return SUCCESS


def _plain(imported: "Imported") -> dict[str, object]:
    return {
        "format": 1,
        "run": str(imported.path),
        "imported_as": imported.kind,
        "runs": len(imported.placed),
        "treatments": list(imported.treatments),
        "outcomes": [
            {"place": each.run.place, "reasons": [f"{reason.code}: {reason.detail}" for reason in each.reasons]}
            for each in imported.outcomes
        ],
        "left_out": [{"place": each.place, "reason": each.reason} for each in imported.left_out],
        "remarks": list(imported.remarks),
    }


def _lines(imported: "Imported") -> Iterator[str]:
    """What was imported, for people; of long lists the first lines."""
    outcomes, left_out = imported.outcomes, imported.left_out
    counted = f"{len(imported.placed)} runs of {len(imported.treatments)} treatments"
    yield f"{imported.kind}: {counted} imported, not measured by pgassay"
    for each in outcomes[:SHOWN]:
        reasons = "; ".join(f"{reason.code}: {reason.detail}" for reason in each.reasons)
        yield f"not counted as a result: {each.run.place}: {reasons}"
    if len(outcomes) > SHOWN:
        yield f"{len(outcomes) - SHOWN} more runs are not counted; all are in the record"
    for left in left_out[:SHOWN]:
        yield f"left out: {left.place}: {left.reason}"
    if len(left_out) > SHOWN:
        yield f"{len(left_out) - SHOWN} more are left out; all are in the record"
    for remark in imported.remarks:
        yield f"note: {remark}"
    yield f"record: {imported.path}"
