"""`pgassay import FILE…`: others' results as a run directory, so that they get the same analysis and report.

pgbench's outputs and logs, sysbench's outputs, HammerDB's SQLite file, PostgresBench's JSON, or a table with named
columns. The dispatcher imports this module by its name, so a keyword for a name does no harm.
"""
# ruff: noqa: N999

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli import _foreign_files, messages
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.record.foreign.judging import Placed
    from pgassay.record.foreign.values import Reading
    from pgassay.record.formats import RunHeader

SHOWN = 10
"""Of what was left out, as many are printed; the record keeps all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="files, or folders of them")
    _foreign_files.add_arguments(parser)
    add = parser.add_argument
    add("--baseline", metavar="NAME=VALUE", default="", help="the treatment to compare with (default: the first)")
    add("--primary", metavar="RESPONSE", default="", help="the response that verdicts are about (default: the first)")
    add("--resolution", metavar="SHARE", default="2%", help="the smallest effect of interest (default: 2%%)")
    add("--title", metavar="TEXT", default="", help="the report's title")
    add("--out", type=Path, metavar="RUN", help="the run directory to make (default: runs/imported-UTC)")
    add("--json", action="store_true", help="print what was imported as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Read, judge, write."""
    from pgassay.record.foreign import blocks, judging, seconds
    from pgassay.record.foreign.messages import no_such_response, with_left_out
    from pgassay.record.foreign.writing import Source, write_run

    reading, roles = _foreign_files.gather(arguments.files, _foreign_files.parse_options(arguments), compared=True)
    names = [response.name for response in reading.responses]
    primary = arguments.primary or names[0]
    if primary not in names:
        raise no_such_response(primary, names)
    runs, ordered = judging.in_time(reading.runs, reading.ordered)
    remarks = reading.remarks
    if roles.second:
        remarks = (*remarks, *seconds.remarks(runs))
        runs = seconds.as_runs(runs, roles)
    placed = judging.place(runs, roles, primary)
    numbers, choice = blocks.assign(placed, roles.block)
    remarks = (*remarks, choice.value)
    source = Source(
        files=tuple(map(str, arguments.files)),
        kind=reading.kind,
        ordered=ordered,
        left_out=tuple((each.place, each.reason) for each in reading.left_out),
        remarks=remarks,
    )
    path = (arguments.out or Path("runs", f"imported-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")).absolute()
    try:
        study = _study_toml(arguments, reading, placed, primary, numbers, choice.value)
    except UsageError as error:
        raise with_left_out(error, source.left_out) from None
    if arguments.out is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    write_run(path, _header(reading), study, source, list(zip(numbers, placed, strict=True)))
    _tell(path, reading, placed, remarks, as_json=arguments.json)
    return messages.SUCCESS


def _header(reading: "Reading") -> "RunHeader":
    from pgassay import __version__
    from pgassay.record.formats import RunHeader

    return RunHeader(
        study="imported",
        started_utc=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seed=0,
        responses=reading.responses,
        command=("pgassay", *sys.argv[1:]),
        program_version=__version__,
    )


def _study_toml(
    arguments: argparse.Namespace, reading: "Reading", placed: "Sequence[Placed]", primary: str, numbers: Sequence[int],
    choice: str,
) -> str:  # fmt: skip
    from pgassay.record.foreign.documents import LABEL, study_document
    from pgassay.study import document
    from pgassay.study.recorded import parse_recorded

    measured = {name for each in placed for name, value in each.run.responses.items() if value is not None}
    made = study_document(
        placed,
        title=arguments.title or f"Imported: {arguments.files[0].name}",
        question=f"{LABEL} ({reading.kind}); {choice}",
        primary=primary,
        secondary=[each.name for each in reading.responses if each.name in measured and each.name != primary],
        baseline=arguments.baseline,
        blocks=max(numbers),
        resolution=arguments.resolution,
    )
    parse_recorded("imported", made)  # a resolution or a name that no report could read is refused now
    return document.write(made, f"The study that these runs answer, as far as their source tells; {LABEL}.")


def _tell(path: Path, reading: "Reading", placed: "Sequence[Placed]", remarks: Sequence[str], *, as_json: bool) -> None:
    outcomes = [each for each in placed if not each.counts]
    treatments = list(dict.fromkeys(each.labels[0] for each in placed))
    if as_json:
        told = {
            "format": 1,
            "run": str(path),
            "imported_as": reading.kind,
            "runs": len(placed),
            "treatments": treatments,
            "outcomes": [
                {"place": each.run.place, "reasons": [f"{reason.code}: {reason.detail}" for reason in each.reasons]}
                for each in outcomes
            ],
            "left_out": [{"place": each.place, "reason": each.reason} for each in reading.left_out],
            "remarks": list(remarks),
        }
        print(json.dumps(told, indent=2))
        return
    print(f"{reading.kind}: {len(placed)} runs of {len(treatments)} treatments imported, not measured by pgassay")
    for each in outcomes[:SHOWN]:
        reasons = "; ".join(f"{reason.code}: {reason.detail}" for reason in each.reasons)
        print(f"not counted as a result: {each.run.place}: {reasons}")
    _more(len(outcomes), "runs are not counted")
    for left in reading.left_out[:SHOWN]:
        print(f"left out: {left.place}: {left.reason}")
    _more(len(reading.left_out), "are left out")
    for remark in remarks:
        print(f"note: {remark}")
    print(f"record: {path}")


def _more(count: int, what: str) -> None:
    if count > SHOWN:
        print(f"{count - SHOWN} more {what}; all are in the record")
