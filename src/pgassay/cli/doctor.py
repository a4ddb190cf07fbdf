"""`pgassay doctor`: is this machine fit to measure on? Each finding with its remedy; nothing is changed.

With `--repair`, what a killed pgassay left changed (huge pages, control groups …) is put back first.
"""

import argparse
import json
from pathlib import Path

from pgassay.cli import messages
from pgassay.study.findings import Finding, Severity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where the clusters would live")
    parser.add_argument("--repair", action="store_true", help="put back what a killed pgassay left changed")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Look and print; exit status 0 whatever is found."""
    import os

    from pgassay.host.changes import Ledger, LocalHost, boot_of
    from pgassay.host.doctor import examine
    from pgassay.host.doctor_checks import changes_owed
    from pgassay.lab.places import default_directory, state_directory

    ledger = Ledger(state_directory(os.environ), boot_of())
    if arguments.repair:
        for path in LocalHost(ledger).repair():
            messages.tell_put_back(path)
    places = [arguments.data_dir or default_directory(os.environ)]
    findings = [*examine(places), changes_owed(ledger), *plugin_findings()]
    if arguments.json:
        print(json.dumps([_plain(finding) for finding in findings], indent=2))
        return messages.SUCCESS
    width = max(len(finding.code) for finding in findings)
    for finding in findings:
        print(f"{finding.severity:<7}  {finding.code:<{width}}  {finding.text}")
        if finding.remedy:
            print(f"{'':<7}  {'':<{width}}  remedy: {finding.remedy}")
    return messages.SUCCESS


def plugin_findings() -> list[Finding]:
    """One finding for each plug-in of another package: its distribution and version, and why it is broken if it is."""
    from pgassay import plugins

    findings = []
    for group in plugins.Group:
        for plugin in plugins.installed(group):
            try:
                plugin.load(object)
            except plugins.PluginError as error:
                findings.append(Finding("plugins", Severity.ERROR, error.message, error.hint or ""))
                continue
            text = f'{group.noun} "{plugin.name}" of package {plugin.package} {plugin.version}'
            findings.append(Finding("plugins", Severity.OK, text))
    return findings or [Finding("plugins", Severity.OK, "no plug-ins are installed")]


def _plain(finding: Finding) -> dict[str, str]:
    return {"check": finding.code, "severity": finding.severity, "text": finding.text, "remedy": finding.remedy}
