"""`pgassay compare-hosts RUN RUN …`: one study in several environments, and what differs between their hosts."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli import messages
from pgassay.cli._runs import open_run

if TYPE_CHECKING:
    from pgassay.report.environments import SideBySide


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="run directories; the first is the reference")
    parser.add_argument("--all", action="store_true", help="secondary responses and costs too")
    parser.add_argument("--json", action="store_true", help="as JSON, with all of them")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write a figure of the differences there (SVG, PNG, CSV, JSON)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print how the other runs differ from the first; returns the exit status. Raises `RecordError`."""
    from pgassay.report.collection import paused
    from pgassay.report.environments import side_by_side
    from pgassay.report.findings import Findings
    from pgassay.report.json_values import to_json

    with paused():
        found = side_by_side([Findings(open_run(path)) for path in arguments.runs])
    if arguments.out is not None:
        _draw(found, arguments.out, everything=arguments.all)
    if arguments.json:
        print(to_json({"format": 1, **asdict(found)}))
        return messages.SUCCESS
    print(text(found, everything=arguments.all), end="")
    return messages.SUCCESS


def _draw(found: "SideBySide", folder: Path, *, everything: bool) -> None:
    """Write the figure as hosts.svg and .png with its numbers; says so where nothing can be drawn."""
    from pgassay.report.charts import specified
    from pgassay.report.environments import drawing
    from pgassay.report.files import write_data, write_pictures
    from pgassay.report.page import DrawnFigure

    drawn = drawing(found, everything=everything)
    if drawn is None:
        print(messages.NOTHING_TO_DRAW, file=sys.stderr)
        return
    figure = DrawnFigure("hosts", drawn.title, drawn.caption, {**specified(drawn.chart), "description": drawn.title})
    folder.mkdir(parents=True, exist_ok=True)
    write_data((), (figure,), folder)
    write_pictures((figure,), folder)


def text(found: "SideBySide", *, everything: bool) -> str:
    """As text: each run's differences from the first, then what differs between their hosts."""
    from pgassay.report import words

    first, *others = found.runs
    lines: list[str] = []
    for number, other in enumerate(others):
        lines.append(f"{other} against {first}")
        title = ""
        for row in found.rows:
            each = row.differences[number]
            if each is None or not (row.primary or everything):
                continue
            if row.response.title != title:
                title = row.response.title
                lines.append(f"  {title}{'' if row.primary else ' (secondary)'}")
            if each.low == each.low:
                shown = words.interval(each.estimate, each.low, each.high, each.scale, row.response)
                mark = "" if each.told_apart else "  cannot be distinguished"
            else:
                shown, mark = "one trial has no interval", "  not judged yet"
            lines.append(f"    {row.place}: {shown}  {each.trials[0]} and {each.trials[1]} trials{mark}")
        lines.append("")
    for title, facts in (("What differs in the hosts", found.hosts), ("What was held differently", found.studies)):
        if facts:
            lines.append(title)
            lines += [f"  {fact.name}: {' | '.join(map(_shown, fact.values))}" for fact in facts]
            lines.append("")
    if not found.hosts:
        lines += ["the records show no difference between the hosts", ""]
    lines.append(
        "note: intervals are for independent samples, 95 % for all of the primary's comparisons together; an hour or a "
        "cluster that a run shares throughout is not in them"
    )
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    return "not recorded" if value is None else str(value)
