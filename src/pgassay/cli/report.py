"""`pgassay report RUN`: the HTML report and its figures, written anew from the record; JUnit and Markdown for CI."""

import argparse
from pathlib import Path

from pgassay.cli._runs import REPORT, open_run
from pgassay.cli._thresholds import add_check_option, add_weigh_option, require, status, weighed
from pgassay.cli.messages import nothing_to_check


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: RUN/report)")
    parser.add_argument(
        "--disk",
        metavar="RUN",
        type=Path,
        help="a disk study of this drive (default: the one that the run has kept)",
    )
    parser.add_argument("--no-figures", action="store_true", help="the page alone, without PNG and SVG files")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write the thresholds as a JUnit file, for CI")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the answer as Markdown, for CI")
    add_weigh_option(parser)
    add_check_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the page and its figures, print its path; returns the exit status. Raises `RecordError`."""
    from pgassay.report import junit, markdown, page
    from pgassay.report.collection import paused
    from pgassay.report.disk import measured_by
    from pgassay.report.findings import Findings

    with paused():
        disk = measured_by(open_run(arguments.disk)) if arguments.disk else None
        found = open_run(arguments.run)
        findings = Findings(found, disk, weighed(arguments))
        require(arguments, findings.limits)
        if arguments.junit and not findings.limits:
            raise nothing_to_check("--junit")
        path = page.write(findings, arguments.out or found.path / REPORT, pictures=not arguments.no_figures)
        if arguments.junit:
            junit.write(findings, arguments.junit)
        if arguments.markdown:
            arguments.markdown.write_text(markdown.render(findings), encoding="utf-8")
    print(path)
    return status(findings, check=arguments.check)
