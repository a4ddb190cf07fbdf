"""`pgassay check RUN`: is the record whole and consistent, and does it lead to the decisions in its journal?"""

import argparse
import json
from pathlib import Path

from pgassay import outgoing
from pgassay.cli.parser import add_options
from pgassay.cli.printing import FAULT, SUCCESS
from pgassay.study.findings import Severity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    add_options(parser, "--json")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.lab.decisions import replay
    from pgassay.record.check import check

    findings = check(arguments.run)
    if not any(finding.severity is Severity.ERROR for finding in findings):
        findings += replay(arguments.run)
    if arguments.json:
        plain = [{"severity": each.severity, "where": each.where, "what": each.text} for each in findings]
        print(json.dumps(plain, indent=2))
    else:
        for finding in findings:
            print(outgoing.visible(f"{finding.severity}: {finding.where}: {finding.text}", keep=""))
        if not findings:
            print("the record is whole and consistent")
    return FAULT if any(finding.severity is Severity.ERROR for finding in findings) else SUCCESS
