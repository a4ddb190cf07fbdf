"""`pgassay check RUN`: is the record whole and consistent, and does it lead to the decisions that its journal tells?"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from pgassay.cli import messages
from pgassay.errors import PgassayError
from pgassay.study.findings import Finding, Severity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Check and print; exit status 0 if the record is sound."""
    from pgassay.record.check import check

    findings = check(arguments.run)
    if not any(finding.severity is Severity.ERROR for finding in findings):
        findings += _replayed(arguments.run)
    if arguments.json:
        print(json.dumps([_plain(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(f"{finding.severity}: {finding.where}: {finding.text}")
        if not findings:
            print("the record is whole and consistent")
    return messages.FAULT if any(finding.severity is Severity.ERROR for finding in findings) else messages.SUCCESS


def _replayed(path: Path) -> Iterator[Finding]:
    """Decisions that the same design would not make from the same record; nothing for calibrations and imported runs.

    Decisions of another rule cannot be made again. Another version may round otherwise, and records made before they
    told their rule may be of another, so for these what differs is a note.
    """
    from pgassay import __version__
    from pgassay.design.schedule import RULE
    from pgassay.importing.imported_run import FACTS
    from pgassay.lab.catalogue import every_factor
    from pgassay.lab.decisions import UNTOLD, disagreements, rules_of
    from pgassay.record.calibrations import STUDY
    from pgassay.record.check import CODE
    from pgassay.record.reading import Run
    from pgassay.study.parsing import parse

    run = Run.open(path)
    if run.header.study == STUDY or FACTS in run.host:
        return
    rules, version = rules_of(run.header, run.journal), run.header.program_version
    if rules - {RULE, UNTOLD}:
        text = messages.other_rule(version, sorted(rules - {RULE, UNTOLD}), RULE)
        yield Finding(CODE, Severity.NOTE, text, where="journal.jsonl")
        return
    try:
        study = parse(run.header.study, run.study, every_factor())
        lines = disagreements(study, run.header, run.trials, run.journal)
    except PgassayError as error:
        yield Finding(CODE, Severity.ERROR, messages.not_replayed(error.message), where="journal.jsonl")
        return
    if lines and (UNTOLD in rules or version != __version__):
        text = messages.older_decisions(version, lines, told=UNTOLD not in rules)
        yield Finding(CODE, Severity.NOTE, text, where="journal.jsonl")
        return
    for line in lines:
        yield Finding(CODE, Severity.ERROR, messages.other_decision(), where=f"journal.jsonl line {line}")


def _plain(finding: Finding) -> dict[str, str]:
    return {"severity": finding.severity, "where": finding.where, "what": finding.text}
