"""`pgassay calibrate`: one treatment again and again, to learn this machine's noise and what it can resolve when.

First one server after the other, then equal servers that take turns.

What it finds is kept in a run directory, and in a small file of the user's that `pgassay run` looks into for its plan.
Cut short, it goes on with `pgassay resume`.
"""

import argparse
import os
import secrets
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli.compare import add_load_options, load_of
from pgassay.cli.parser import add_options, timed, whole
from pgassay.cli.printing import INTERRUPTED, SUCCESS, warn
from pgassay.cli.run import run_path
from pgassay.errors import PgassayError, UsageError
from pgassay.record.calibrations import STUDY

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgassay.lab.run import Prepared
    from pgassay.lab.workbench import BenchOptions, Workbench
    from pgassay.record.calibrations import Calibration
    from pgassay.record.directory import RunDirectory

    Opened = Callable[[Workbench], tuple[Prepared, RunDirectory]]

BLOCKS_MAX = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_load_options(parser)
    add("--warmup", dest="load_warmup", metavar="TIME", help="warm-up before each run (default: 3s)")
    add("--budget", type=timed, default="15min", metavar="TIME", help="time for all of it (default: 15min)")
    add("--clusters", type=whole(0), default=3, metavar="N", help="initdb this many times (default: 3)")
    add("--runs", type=whole(0), default=2, metavar="N", help="runs after each restart (default: 2)")
    add("--blocks", type=whole(0), default=BLOCKS_MAX, metavar="N", help="restart each at most N times")
    add_options(parser, "--seed", "--pg-bindir", "--data-dir")
    add("--out", type=Path, metavar="RUN", help="the run directory to make")
    add("--show", type=Path, metavar="RUN", help="print what a calibration found; run nothing")
    add_options(parser, "--allow-busy", "--allow-volatile")
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.host.capacity import measure
    from pgassay.lab.arms import resolve
    from pgassay.lab.calibration import SEQUENTIAL_SHARE, document_of
    from pgassay.lab.places import default_directory
    from pgassay.lab.run import WrittenStudy, begin, prepare
    from pgassay.lab.workbench import BenchOptions
    from pgassay.study.parsing import parse
    from pgassay.study.units import seconds

    if arguments.show is not None:
        _show(arguments.show, as_json=arguments.json)
        return SUCCESS
    for option in ("clusters", "runs", "blocks"):
        if getattr(arguments, option) < 2:
            raise UsageError(f"--{option} must be at least 2", "with fewer, the sources of noise cannot be separated")
    seed = arguments.seed if arguments.seed is not None else secrets.randbelow(2**31)
    blocks = (min(5, arguments.blocks), arguments.blocks)
    budget = str(SEQUENTIAL_SHARE * seconds("[design]", arguments.budget))
    load = load_of(arguments, {"warmup": arguments.load_warmup} if arguments.load_warmup else {})
    document = document_of(load, arguments.clusters, arguments.runs, blocks, budget, seed)
    path = run_path(arguments, STUDY)
    # Clusters live in a directory of their own, so that removing them removes no snapshot of a study.
    place = arguments.data_dir or default_directory(os.environ)
    options = BenchOptions(
        arguments.pg_bindir,
        place / STUDY,
        allow_volatile=arguments.allow_volatile,
        allow_busy=arguments.allow_busy,
    )

    def begun(bench: "Workbench") -> "tuple[Prepared, RunDirectory]":
        environment = bench.environment()
        study = parse(STUDY, document, environment.catalogue)
        prepared = prepare(resolve(study, environment), bench)
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        capacities: dict[str, str | float] = {"measured_utc": today, **measure(prepared.checked.mount.path)}
        written = WrittenStudy(study, document, seed, {})
        return prepared, begin(prepared, written, path, ("pgassay", *sys.argv[1:]), capacities)

    return _conduct(path, options, begun, as_json=arguments.json)


def go_on(arguments: argparse.Namespace, options: "BenchOptions") -> int:
    """The rest of a calibration that was cut short, on the same clusters."""
    from pgassay.lab.run import mark_resumed, reopen
    from pgassay.record import calibrations
    from pgassay.record.disk import RealDisk

    def reopened(bench: "Workbench") -> "tuple[Prepared, RunDirectory]":
        found = reopen(arguments.run, bench)
        mark_resumed(found)
        return found.prepared, found.run

    kept = calibrations.read_from_run(RealDisk(), arguments.run)
    in_turns = kept is not None and kept.pending
    return _conduct(arguments.run, options, None if in_turns else reopened, as_json=arguments.json)


def _conduct(path: Path, options: "BenchOptions", opened: "Opened | None", *, as_json: bool) -> int:
    """One server after the other, unless that is done (None), then servers in turns; returns the exit status."""
    from pgassay.cli.progress import watcher_for
    from pgassay.lab.calibration import CalibrationBench, conduct, discard_clusters
    from pgassay.lab.machine import setting_of
    from pgassay.record.calibrations import TURNS
    from pgassay.record.reading import Run
    from pgassay.report.calibration import CalibrationFindings

    try:
        if opened is not None:
            with CalibrationBench(options) as bench:
                prepared, run = opened(bench)
                resolved = prepared.resolved
                for remark in prepared.remarks:
                    warn(remark.warning)
                with watcher_for(resolved.study, sys.stderr, quiet=as_json) as watcher:
                    conduct(resolved, run, watcher)
                setting = setting_of(resolved.arms[0], prepared.checked.mount)
                _keep(replace(CalibrationFindings(Run.open(path)).calibration(setting), pending=(TURNS,)), path)
        take_turns(path, options, quiet=as_json)
    except KeyboardInterrupt:
        if path.exists():
            print(f"pgassay: interrupted; continue with: pgassay resume {path}", file=sys.stderr)
            print(f"pgassay: what was measured so far: pgassay calibrate --show {path}", file=sys.stderr)
        return INTERRUPTED
    discard_clusters(options)
    _show(path, as_json=as_json)
    return SUCCESS


def _keep(found: "Calibration", path: Path) -> None:
    """Write what is known next to the run, and where it has a noise into the user's file."""
    from pgassay.lab.machine import user_file
    from pgassay.record import calibrations
    from pgassay.record.disk import RealDisk

    calibrations.write_to_run(RealDisk(), path, found)
    if found.noise:
        calibrations.remember(RealDisk(), user_file(), found)


def take_turns(path: Path, options: "BenchOptions", *, quiet: bool) -> None:
    """Measure equal servers in turns where that is pending."""
    from pgassay.cli.progress import watcher_for
    from pgassay.lab.calibration import play_turns
    from pgassay.record import calibrations
    from pgassay.record.disk import RealDisk
    from pgassay.record.reading import Run
    from pgassay.report.calibration import CalibrationFindings

    kept = calibrations.read_from_run(RealDisk(), path)
    if kept is None or calibrations.TURNS not in kept.pending:
        return
    refused = {}
    try:
        play_turns(Run.open(path), options, lambda study: watcher_for(study, sys.stderr, quiet=quiet))
    except PgassayError as error:
        refused[calibrations.TURNS] = error.message
    found = CalibrationFindings(Run.open(path)).calibration(kept.setting)
    _keep(replace(found, refused=refused, pending=()), path)


def _show(path: Path, *, as_json: bool) -> None:
    from pgassay.record.reading import Run
    from pgassay.report import calibration
    from pgassay.report.calibration import CalibrationFindings
    from pgassay.report.json_values import to_json

    run = Run.open(path)
    if run.header.study != STUDY:
        raise UsageError(f'"{path}" is not a calibration', f"pgassay show {path}")
    found = CalibrationFindings(run)
    if as_json:
        print(to_json(calibration.document(found)))
        return
    print(calibration.render(found))
    print(f"record: {run.path}")
