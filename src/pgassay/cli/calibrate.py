"""`pgassay calibrate`: one treatment again and again, to learn this machine's noise and what it can resolve when.

First one server after the other, then equal servers that take turns, as usual and in real time where that is allowed.

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

from pgassay.cli.compare import PGBENCH, USUAL, add_load_options
from pgassay.cli.parser import timed, whole
from pgassay.cli.printing import INTERRUPTED, SUCCESS, warn
from pgassay.cli.run import run_path
from pgassay.errors import PgassayError, UsageError
from pgassay.record.calibrations import STUDY

if TYPE_CHECKING:
    from pgassay.lab.run import Prepared
    from pgassay.lab.workbench import BenchOptions
    from pgassay.record.calibrations import Calibration
    from pgassay.record.directory import RunDirectory

BLOCKS_MAX = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    add_load_options(parser)
    parser.add_argument("--warmup", dest="load_warmup", metavar="TIME", help="warm-up before each run (default: 3s)")
    parser.add_argument(
        "--budget", type=timed, default="15min", metavar="TIME", help="time for all of it (default: 15min)"
    )
    parser.add_argument("--clusters", type=whole(0), default=3, metavar="N", help="initdb this many times (default: 3)")
    parser.add_argument("--runs", type=whole(0), default=2, metavar="N", help="runs after each restart (default: 2)")
    parser.add_argument("--blocks", type=whole(0), default=BLOCKS_MAX, metavar="N", help="restart each at most N times")
    parser.add_argument("--seed", type=whole(0), metavar="N", help="seed of the order and the load (default: random)")
    parser.add_argument(
        "--pg-bindir", type=Path, metavar="DIR", help="the PostgreSQL to use (default: the first found)"
    )
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where the clusters live")
    parser.add_argument("--out", type=Path, metavar="RUN", help="the run directory to make")
    parser.add_argument("--show", type=Path, metavar="RUN", help="print what a calibration found; run nothing")
    parser.add_argument("--allow-busy", action="store_true", help="run although other programs are busy")
    parser.add_argument("--allow-volatile", action="store_true", help="allow clusters on tmpfs or overlay")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Calibrate, or show an earlier calibration; returns the exit status. Raises `PgassayError`."""
    if arguments.show is not None:
        _show(arguments.show, as_json=arguments.json)
        return SUCCESS
    for option, least in (("clusters", 2), ("runs", 2), ("blocks", 2)):
        if getattr(arguments, option) < least:
            raise UsageError(
                f"{f'--{option}'} must be at least {least}", "with fewer, the sources of noise cannot be separated"
            )
    return _calibrate(arguments)


def _calibrate(arguments: argparse.Namespace) -> int:
    from pgassay.host.capacity import measure
    from pgassay.lab.arms import resolve
    from pgassay.lab.calibration import SEQUENTIAL_SHARE, CalibrationBench, document_of
    from pgassay.lab.run import WrittenStudy, begin, prepare
    from pgassay.study.parsing import parse
    from pgassay.study.quantities import seconds

    seed = arguments.seed if arguments.seed is not None else secrets.randbelow(2**31)
    blocks = (min(5, arguments.blocks), arguments.blocks)
    budget = str(SEQUENTIAL_SHARE * seconds("[design]", arguments.budget))
    document = document_of(_load(arguments), arguments.clusters, arguments.runs, blocks, budget, seed)
    path = run_path(arguments, STUDY)
    options = _bench_options(arguments)
    with CalibrationBench(options) as bench:
        site = bench.site()
        study = parse(STUDY, document, site.catalogue)
        prepared = prepare(resolve(study, site), bench)
        _warn(prepared)
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        capacities: dict[str, str | float] = {"measured_utc": today, **measure(prepared.checked.mount.path)}
        written = WrittenStudy(study, document, seed, {})
        directory = begin(prepared, written, path, ("pgassay", *sys.argv[1:]), capacities)
        status = _conduct(prepared, directory, quiet=arguments.json)
    return _end(status, path, options, as_json=arguments.json)


def go_on(arguments: argparse.Namespace, options: "BenchOptions") -> int:
    """The rest of a calibration that was cut short, on the same clusters."""
    from pgassay.lab.calibration import CalibrationBench
    from pgassay.lab.run import mark_resumed, reopen
    from pgassay.record import calibrations
    from pgassay.record.disk import RealDisk

    status, found = SUCCESS, calibrations.read_beside_run(RealDisk(), arguments.run)
    if found is None or not found.pending:
        with CalibrationBench(options) as bench:
            reopened = reopen(arguments.run, bench)
            _warn(reopened.prepared)
            mark_resumed(reopened)
            status = _conduct(reopened.prepared, reopened.run, quiet=arguments.json)
    return _end(status, arguments.run, options, as_json=arguments.json)


def _warn(prepared: "Prepared") -> None:
    for remark in prepared.remarks:
        warn(remark.warning)


def _conduct(prepared: "Prepared", run: "RunDirectory", *, quiet: bool) -> int:
    """Run one server after the other to the end and keep what it found; returns the exit status."""
    from pgassay.cli.progress import watcher_for
    from pgassay.lab.calibration import conduct
    from pgassay.lab.machine import setting_of
    from pgassay.record.calibrations import WAYS
    from pgassay.record.reading import Run
    from pgassay.report.calibration import CalibrationFindings

    resolved = prepared.resolved
    with watcher_for(resolved.study, sys.stderr, quiet=quiet) as watcher:
        try:
            conduct(resolved, run, watcher)
        except KeyboardInterrupt:
            _tell_calibration_interrupted(run.path)
            return INTERRUPTED
    setting = setting_of(resolved.arms[0], prepared.checked.mount)
    _keep(replace(CalibrationFindings(Run.open(run.path)).calibration(setting), pending=WAYS), run.path)
    return SUCCESS


def _keep(found: "Calibration", path: Path) -> None:
    """Write what is known beside the run, and into the user's file where it tells a noise."""
    from pgassay.lab.machine import user_file
    from pgassay.record import calibrations
    from pgassay.record.disk import RealDisk

    calibrations.write_beside_run(RealDisk(), path, found)
    if found.noise:
        calibrations.remember(RealDisk(), user_file(), found)


def take_turns(path: Path, options: "BenchOptions", *, quiet: bool) -> int:
    """Measure every way of taking turns that is pending, each kept as soon as it is known; returns the exit status."""
    from pgassay.cli.progress import watcher_for
    from pgassay.lab.calibration import play_turns
    from pgassay.record import calibrations
    from pgassay.record.disk import RealDisk
    from pgassay.record.reading import Run
    from pgassay.report.calibration import CalibrationFindings

    kept = calibrations.read_beside_run(RealDisk(), path)
    refused = dict(kept.refused) if kept is not None else {}
    while kept is not None and kept.pending:
        way, *rest = kept.pending
        try:
            play_turns(Run.open(path), way, options, lambda study: watcher_for(study, sys.stderr, quiet=quiet))
        except KeyboardInterrupt:
            _tell_calibration_interrupted(path)
            return INTERRUPTED
        except PgassayError as error:
            refused[way] = error.message
        found = CalibrationFindings(Run.open(path)).calibration(kept.setting)
        kept = replace(found, refused=refused, pending=tuple(rest))
        _keep(kept, path)
    return SUCCESS


def _end(status: int, path: Path, options: "BenchOptions", *, as_json: bool) -> int:
    from pgassay.lab.calibration import discard_clusters

    if status == SUCCESS:
        status = take_turns(path, options, quiet=as_json)
    if status == SUCCESS:
        discard_clusters(options)
        _show(path, as_json=as_json)
    return status


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


def _load(arguments: argparse.Namespace) -> dict[str, str]:
    load = {"driver": arguments.load, "script": "select-only" if arguments.select_only else "simple-update", **USUAL}
    for option in (*(option for _, _, option in PGBENCH), "init", "warmup"):
        value = getattr(arguments, f"load_{option}")
        if value is not None:
            load[option] = value
    if "transactions" in load:
        load.pop("duration")
    return load


def _bench_options(arguments: argparse.Namespace) -> "BenchOptions":
    """Clusters live in a directory of their own, so that removing them removes no snapshot of a study."""
    from pgassay.lab.places import default_directory
    from pgassay.lab.workbench import BenchOptions

    place = arguments.data_dir or default_directory(os.environ)
    return BenchOptions(
        arguments.pg_bindir,
        place / STUDY,
        allow_volatile=arguments.allow_volatile,
        allow_busy=arguments.allow_busy,
    )


def _tell_calibration_interrupted(path: Path) -> None:
    """Ctrl-C during a calibration: said on standard error, not an error."""
    print(f"pgassay: interrupted; continue with: pgassay resume {path}", file=sys.stderr)
    print(f"pgassay: what was measured so far: pgassay calibrate --show {path}", file=sys.stderr)
