"""`pgassay diagnose RUN`: what stops the load, for each combination of a study, with the numbers that say so."""

import argparse
from pathlib import Path

from pgassay import outgoing
from pgassay.cli._runs import open_run
from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    parser.add_argument(
        "--disk",
        metavar="RUN",
        type=Path,
        help="a disk study of this drive (default: the one that the run has kept)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print; exit status 0 whatever the verdict."""
    from pgassay.report.disk import is_disk, measured_by
    from pgassay.report.findings import Findings, paused
    from pgassay.report.json_values import to_json

    with paused():
        disk = measured_by(open_run(arguments.disk)) if arguments.disk else None
        findings = Findings(open_run(arguments.run), disk)
        found = findings.bottlenecks
        if not found:
            disk_study = any(map(is_disk, findings.trials))
            raise (_disk_study_alone if disk_study else _nothing_to_diagnose)(arguments.run)
        if arguments.json:
            plain = {"format": 1, "run": str(findings.run.path), "capacities": findings.disk, "arms": found}
            print(to_json(plain))
            return SUCCESS
    told = []
    for each in found:
        told.append(f"{each.place}: {each.diagnosis.text}")
        for candidate in each.diagnosis.candidates:
            told.append(f"  {candidate.cause:<15}  {candidate.strength:4.0%}  {'; '.join(candidate.evidence)}")
    missing = dict.fromkeys(reason for each in found for reason in each.diagnosis.missing)
    print(outgoing.lines((*told, *(f"note: {reason}" for reason in missing))), end="")
    return SUCCESS


def _nothing_to_diagnose(path: Path) -> UsageError:
    """No rate, or nothing that could explain it."""
    return UsageError(
        f'"{path}" has no valid trial with a rate and its costs', "imported runs have no costs and no waits"
    )


def _disk_study_alone(path: Path) -> UsageError:
    """There is no load on a server to diagnose."""
    return UsageError(
        f'"{path}" measured a drive without a database: nothing but the drive limits it',
        f"use its capacities to diagnose another run: pgassay diagnose RUN --disk {path}",
    )
