"""`pgassay diagnose RUN`: what stops the load, for each combination of a study, with the numbers that say so."""

import argparse
from pathlib import Path

from pgassay import outgoing
from pgassay.cli._runs import open_run
from pgassay.cli.parser import add_options
from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    add_options(parser, "--disk", "--json")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.report.drives import is_disk, measured_by
    from pgassay.report.findings import Findings, paused
    from pgassay.report.json_values import to_json

    with paused():
        disk = measured_by(open_run(arguments.disk)) if arguments.disk else None
        findings = Findings(open_run(arguments.run), disk)
        found = findings.bottlenecks
        if not found:
            if any(map(is_disk, findings.trials)):
                raise UsageError(
                    f'"{arguments.run}" measured a drive without a database: nothing but the drive limits it',
                    f"use its capacities to diagnose another run: pgassay diagnose RUN --disk {arguments.run}",
                )
            raise UsageError(
                f'"{arguments.run}" has no valid trial with a rate and its costs',
                "imported runs have no costs and no waits",
            )
        if arguments.json:
            plain = {"format": 1, "run": str(findings.run.path), "capacities": findings.disk, "arms": found}
            print(to_json(plain))
            return SUCCESS
    lines = []
    for each in found:
        lines.append(f"{each.place}: {each.diagnosis.text}")
        for candidate in each.diagnosis.candidates:
            lines.append(f"  {candidate.cause:<15}  {candidate.strength:4.0%}  {'; '.join(candidate.evidence)}")
    missing = dict.fromkeys(reason for each in found for reason in each.diagnosis.missing)
    print(outgoing.lines((*lines, *(f"note: {reason}" for reason in missing))), end="")
    return SUCCESS
