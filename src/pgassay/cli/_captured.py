"""A capture as the load and the start of an advice: its scripts and data, the settings that its server had.

Its scripts are tried once on its data, as `pgassay ask` does, so that what cannot be played is known beforehand, and
how like the source's load it is.
"""

import argparse
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.capture.errors import CaptureError
from pgassay.cli import _trust
from pgassay.cli._rehearsals import tried
from pgassay.cli.compare import PGBENCH
from pgassay.cli.parser import excluded
from pgassay.cli.printing import warn
from pgassay.cli.run import silent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgassay.capture.asking import PreparedQuestion
    from pgassay.capture.format import Capture
    from pgassay.lab.workbench import Workbench

_VARIED = {"server.jit": ("on", "off")}
"""A study varies something; what an advice varies is found later, and no statement's answer hangs on either."""
_OWN = ("scale", "script", "variables")
"""Options of a load that a capture has of its own."""


@dataclass(frozen=True)
class Captured:
    """The load that plays a capture, its server's settings, and what is to be said beside every answer."""

    load: "Mapping[str, Any]"
    start: "Mapping[str, str]"
    remarks: tuple[str, ...]


def captured(path: Path, arguments: argparse.Namespace, usual: "Mapping[str, str]", bench: "Workbench") -> Captured:
    """The capture at `path`, with its scripts written and tried; options of the load on the command line go first.

    `usual` goes before what is usual for a capture. Raises `UsageError` and `CaptureError`.
    """
    from pgassay.capture import asking, files, texts
    from pgassay.capture.question import Question
    from pgassay.lab.run import write_study

    given = {option: getattr(arguments, f"load_{option}") for _, _, option in PGBENCH}
    for short, _, option in PGBENCH:
        if given[option] is not None and option in _OWN:
            raise excluded(short, "a capture")
    if arguments.load_init is not None:
        raise excluded("--init", "a capture")
    if arguments.select_only or arguments.skip_some_updates:
        raise excluded("-S" if arguments.select_only else "-N", "a capture")
    capture = files.read(path)
    _trust.require(path, _trust.of_capture(path, capture.source.settings), arguments)
    if capture.data.physical is not None:
        raise CaptureError(
            f'"{path}" holds a server\'s files, on which advise does not search yet',
            "capture again with --data dump; pgassay ask compares any settings on the files",
        )
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    question = Question(_VARIED)
    written = asking.write(path, capture, question, [bench.installation()], bench.runner, stamp)
    remarks = list(written.warnings.values())
    if not silent(arguments):
        print(texts.played(written.load), end="")
    if not arguments.dry_run:
        found = tried(write_study("advise", written.document()).study, written, bench)
        written = found.written
        remarks += _unlike(capture, found.load, arguments)
        if found.failures:
            remarks.append(texts.fail_with(found.failures.values()))
    for each in remarks:
        warn(each)
    return _of(written, {**usual, **{name: value for name, value in given.items() if value is not None}}, remarks)


def _unlike(capture: "Capture", load: Any, arguments: argparse.Namespace) -> list[str]:
    from pgassay.capture import likeness, texts

    if load is None or capture.load is None:
        return []
    alike = likeness.compare(capture.load, load)
    if not silent(arguments):
        print(texts.likeness(alike), end="")
    return [texts.unlike(alike)] if alike.unlike else []


def _of(written: "PreparedQuestion", options: "Mapping[str, str]", remarks: list[str]) -> Captured:
    document = written.document()
    load = {**document["load"], **options}
    if "transactions" in options:
        load.pop("duration", None)
    fixed: Mapping[str, str] = document["fixed"]
    start = {name.removeprefix("server."): value for name, value in fixed.items() if name.startswith("server.")}
    return Captured(load, start, tuple(remarks))
