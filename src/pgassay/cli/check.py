"""`pgassay check RUN`: is the record whole and consistent, and are there trials to distrust?"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from pgassay.cli import messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Check and print; exit status 0 if the record is sound."""
    from pgassay.record.check import check

    findings = check(arguments.run)
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(f"{finding.severity}: {finding.where}: {finding.what}")
        if not findings:
            print("the record is whole and consistent")
    return messages.FAULT if any(finding.severity == "error" for finding in findings) else messages.SUCCESS
