"""`pgassay doctor`: is this machine fit to measure on? Each finding with its remedy; nothing is changed."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from pgassay.cli import messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where the clusters would live")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Look and print; exit status 0 whatever is found."""
    import os

    from pgassay.host.doctor import examine
    from pgassay.lab.workbench import default_directory

    findings = examine([arguments.data_dir or default_directory(os.environ)])
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
        return messages.SUCCESS
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        print(f"{finding.severity:<7}  {finding.check:<{width}}  {finding.text}")
        if finding.remedy:
            print(f"{'':<7}  {'':<{width}}  remedy: {finding.remedy}")
    return messages.SUCCESS
