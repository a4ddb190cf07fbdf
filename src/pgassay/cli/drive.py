"""`pgassay drive`: what runs have prepared, and what a load or a cluster would become on a drive.

`snapshots` lists what prepared data are kept for later runs, and removes the least recently used. `cut` runs the load
of a study under power cuts, on an emulated drive.

What is computed needs no drive. `simulate`: what a load becomes inside a modelled drive (`pgassay.flash`), as table or
JSON. A description is a TOML file, options, or both; a sweep runs every combination of the levels it names, on all
cores. `predict`: what the load of runs on emulated drives becomes on drives of terabytes. `compressibility`: what a
compressing drive would make of a cluster's files, which are only read. Each 4 KiB block is compressed alone, as such
drives do (the crate codec); docs/drives.md says what is estimated and from what.
"""

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli._runs import open_run
from pgassay.cli.parser import Action, add_options, whole
from pgassay.cli.printing import SUCCESS
from pgassay.cli.run import add_bench_options, add_size_options, add_study_options, read_study, run_document
from pgassay.errors import UsageError
from pgassay.record.calibrations import STUDY
from pgassay.study.units import format_at_most, format_bytes, format_size, parse_memory, share

if TYPE_CHECKING:
    from pgassay.compressibility import Estimate, PartEstimate, RelaidTable
    from pgassay.drive.snapshots import StoredSnapshot
    from pgassay.flash import Outcome, Simulation
    from pgassay.flash.prediction import Prediction
    from pgassay.lab.prediction import Predicted

FORMAT = 1
"""Of the JSON."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Action)
    kept = actions.add_parser("snapshots", help="prepared data that are kept for later runs, and what they take")
    kept.set_defaults(do=_snapshots)
    kept.add_argument(
        "--keep", metavar="SIZE", help="remove the least recently used until the others fit in SIZE: 20GB, 0"
    )
    kept.add_argument("--data-dir", type=Path, metavar="DIR", help="where they are kept")
    add_options(kept, "--json")
    power = actions.add_parser(
        "cut", help="cut the power of an emulated drive under a load, and check what a server recovers"
    )
    add_cut_arguments(power)
    power.set_defaults(do=cut)
    simulated = "simulate a load's write amplification and latency on a modelled drive"
    add_simulate(actions.add_parser("simulate", help=simulated))
    predicted = "simulate a run's load on drives of any size: write amplification, space, life"
    add_predict(actions.add_parser("predict", help=predicted))
    stored = "estimate what a compressing drive would store of an existing cluster"
    add_compressibility(actions.add_parser("compressibility", help=stored))


def run(arguments: argparse.Namespace) -> int:
    status: int = arguments.do(arguments)
    return status


def _snapshots(arguments: argparse.Namespace) -> int:
    """The snapshots, after removing what does not fit in `--keep`; raises `DriveError` while a run lives there."""
    from pgassay.drive import snapshots
    from pgassay.drive.root import find_root
    from pgassay.lab.places import default_directory

    directory = (arguments.data_dir or default_directory(os.environ)).absolute()
    roots = [root for place in (directory, directory / STUDY) if (root := find_root(place)) is not None]
    removed = []
    if arguments.keep is not None:
        limit = 0 if arguments.keep.strip() == "0" else parse_memory(arguments.keep)
        if limit < 0:
            raise UsageError(f'--keep cannot be "{arguments.keep}"', "give a size such as 20GB, or 0")
        removed = snapshots.trim(roots, limit)
    kept = snapshots.all_stored(roots)
    lines = [f"removed: {_line(each)}" for each in removed] + [_line(each) for each in kept]
    total = format_size(sum(each.size_bytes for each in kept))
    lines.append(f"{len(kept)} kept in {directory}, {total}" if kept else f"no snapshots in {directory}")
    plain = {"snapshots": [_snapshot_row(each) for each in kept], "removed": [_snapshot_row(each) for each in removed]}
    print(json.dumps(plain, indent=2) if arguments.json else "\n".join(lines))
    return SUCCESS


def _line(kept: "StoredSnapshot") -> str:
    used = datetime.fromtimestamp(kept.used_s, UTC)
    return f"{used:%Y-%m-%d %H:%M} UTC  {format_size(kept.size_bytes):>8}  {kept.what}".rstrip()


def _snapshot_row(kept: "StoredSnapshot") -> dict[str, Any]:
    used = datetime.fromtimestamp(kept.used_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"what": kept.what, "bytes": kept.size_bytes, "last_used_utc": used, "path": str(kept.path)}


BLOCKS = 5
"""The least of which a study makes a verdict; each brings a load of its own."""
BLOCKS_MAX = 1000
"""With `--risk-below` the bound ends the run, or its budget."""
CUT_S = 1.0
"""What a cut takes at most on a machine with two cores, for the length of a window that nobody gave."""
PGBENCH = "pgbench"
"""The load that can write a ledger."""
RATE_TPS = "200"
"""A load that nobody gave a rate leaves the CPUs to the servers that recover."""
CHECKPOINTS = ("server.max_wal_size", "server.checkpoint_timeout", "init.wal_segment_size")
"""Where none of these is given, checkpoints come every few seconds: without any in a window nothing is called safe."""
MAX_WAL_SIZE, ARCHIVE_TIMEOUT = "32MB", "5s"
"""The second one ends WAL segments, so that a load which writes little has checkpoints, too."""


def add_cut_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a built-in study's name, or a study file")
    parser.add_argument(
        "--cuts",
        type=whole(1),
        default=200,
        metavar="N",
        help=f"cuts of each treatment in {BLOCKS} blocks (default: 200)",
    )
    add_size_options(parser)
    add_study_options(parser)
    add_bench_options(parser)


def cut(arguments: argparse.Namespace) -> int:
    """Run the study with so many cuts, its load and drive replaced where they could not be cut."""
    from pgassay.design.risk import UNSAFE
    from pgassay.study import document

    name, written = read_study(arguments)
    each = ceil(arguments.cuts / BLOCKS)
    given = {option.partition("=")[0].strip() for option in (*arguments.set, *arguments.levels)}
    load = written.get("load")
    given |= {*document.names_in(written), *(f"load.{option}" for option in (load if isinstance(load, dict) else ()))}
    driver = load.get("driver", PGBENCH) if isinstance(load, dict) else PGBENCH
    usual = {
        **({"load.script": "ledger"} if driver == PGBENCH else {}),
        "load.rate": RATE_TPS,
        "drive.data": "ssd",
        "drive.cache": "volatile",
        "init.data_checksums": "on",
        **(
            {}
            if given.intersection(CHECKPOINTS)
            else {"server.max_wal_size": MAX_WAL_SIZE, "server.archive_timeout": ARCHIVE_TIMEOUT}
        ),
    }
    forced = [f"load.cuts={each}"]
    if not any(option.startswith("load.duration=") for option in arguments.set):
        forced.append(f"load.duration={max(10, ceil(each * CUT_S))}s")
    arguments.set = [*arguments.set, *forced, *(f"{key}={value}" for key, value in usual.items() if key not in given)]
    arguments.blocks = arguments.blocks or f"{BLOCKS}..{BLOCKS if arguments.risk_below is None else BLOCKS_MAX}"
    arguments.primary = arguments.primary or UNSAFE
    return run_document(name, written, arguments)


_NOTHING_COMPRESSED = (
    "nothing is compressed: each block of this input keeps its 4096 bytes",
    "hint: say what is left of a block, for example --compressed-to 40%",
)
# Options that are short for `--set KEY=VALUE`.
_SHORTCUTS = {
    "capacity": ("drive.user_bytes", "SIZE", "user capacity, such as 16GB"),
    "over-provisioning": ("drive.over_provisioning", "SHARE", "spare flash relative to user capacity: 7%%, 0.28"),
    "kind": ("drive.kind", "KIND", "page-mapped or compressing"),
    "policy": ("drive.policy", "POLICY", "greedy, cost-benefit, fifo, d-choices or random"),
    "pattern": ("input.pattern", "PATTERN", "uniform, sequential, zipf or hot-cold"),
    "compressed-to": ("input.compressed_to", "SHARE", "what is left of each block after compression: 40%%"),
    "used-share": ("run.used_share", "SHARE", "share of the drive that is in use: filled first, then written"),
    "drive-writes": ("run.drive_writes", "NUMBER", "how much is written after ageing at least, in capacities"),
    "accuracy": ("run.accuracy", "SHARE", "measure until write amplification is known within this: 0.5%%, the default"),
    "seed": ("run.seed", "NUMBER", "seed of everything random"),
}


def add_simulate(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(do=simulate)
    add = parser.add_argument
    add("file", nargs="?", type=Path, metavar="FILE", help="a description in TOML")
    for option, (key, value, text) in _SHORTCUTS.items():
        add(f"--{option}", dest=key, metavar=value, help=text)
    add("--timing", action="store_true", help="also simulate latencies, with the usual service times")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="any key of the description")
    add("--sweep", action="append", default=[], metavar="KEY=A,B,…", help="every combination of these levels")
    add("--jobs", type=whole(1), metavar="N", help="drives simulated at once (default: one a core)")
    add("--json", action="store_true", help="print everything as JSON")


def simulate(arguments: argparse.Namespace) -> int:
    from pgassay import flash

    shortcuts = {key: getattr(arguments, key) for key, _, _ in _SHORTCUTS.values()}
    settings = [f"{key}={value}" for key, value in shortcuts.items() if value is not None]
    document = flash.read(arguments.file, [*settings, *arguments.set], timing=arguments.timing)
    outcomes = flash.simulate_all(flash.points(document, arguments.sweep), arguments.jobs)
    if arguments.json:
        simulations = [{"levels": dict(one.levels), **one.simulation.as_dict()} for one in outcomes]
        print(json.dumps({"format": FORMAT, "simulations": simulations}, indent=2, allow_nan=False))
    else:
        print("\n".join(_one(outcomes[0].simulation) if len(outcomes) == 1 else _many(outcomes)))
    return SUCCESS


def _one(found: "Simulation") -> Iterator[str]:
    drive, health, measured = found.drive, found.health, found.measured
    policy, kind = drive.get("policy", "greedy"), drive.get("kind", "page-mapped")
    size = format_bytes(found.logical_bytes)
    yield f"simulated {kind} drive of {size}, {policy}, {found.pages_per_block} pages a block"
    yield f"usable flash over logical capacity {found.alpha:.4f}, all flash {_bytes(found.physical_bytes)}"
    yield from _states(found)
    yield ""
    life = "-"
    if found.drive_writes_per_day is not None:
        life = f"{found.drive_writes_per_day:.2f} for {found.life.years:g} years at {found.life.rated_cycles} cycles"
    rows = [
        ("write amplification", f"{_amplification(found.write_amplification)}{_interval(found, before=', 95 % ')}"),
        ("  by formula", _amplification(found.theory)),
        ("host writes", _bytes(measured["host_bytes_written"])),
        ("NAND writes", _bytes(measured["nand_bytes_written"])),
        ("  after compression", _bytes(measured["compressed_bytes_written"])),
        ("  garbage collection", _bytes(measured["gc_bytes_written"])),
        ("  wear levelling", _bytes(measured["wear_levelling_bytes_written"])),
        ("  padding", _bytes(measured["padding_bytes_written"])),
        ("erases of a block", "{min} … {max}, mean {avg:.1f}".format(**health["wear_leveling"])),
        ("compression ratio", f"{health['compression_ratio'] / 100:.2f}"),
        ("physical usage", f"{health['physical_usage_ratio']} %"),
        ("throttled writes", str(measured["throttled_writes"])),
        ("drive writes per day", life),
    ]
    yield from _columns(rows)
    if found.timing:
        yield ""
        yield from _latencies(found.timing)


def _states(found: "Simulation") -> Iterator[str]:
    """In what state the drive was, and what a reader must know before he believes the numbers."""
    run = found.run
    if found.stopped:
        yield f"stopped: {found.stopped}"
    elif found.settled:
        yield f"aged until write amplification settled: {_written(found, 'ageing'):.3g} drive writes"
    elif found.settled is not None:
        yield f"NOT settled after {_written(found, 'ageing'):.3g} drive writes of ageing: write amplification may drift"
        yield f"hint: age for longer with --set run.limit={2 * run.limit:g}, or take a larger drive, which is steadier"
    if found.accuracy_reached is False and not found.stopped:
        measured = f"{_written(found, 'measured'):.3g} drive writes"
        yield f"write amplification is NOT known to ± {100 * run.accuracy:.3g} % after {measured} of measuring"
    if _compresses_nothing(found):
        yield from _NOTHING_COMPRESSED


def _compresses_nothing(found: "Simulation") -> bool:
    host = found.measured["host_bytes_written"]
    return found.drive.get("kind") == "compressing" and 0 < host <= found.measured["compressed_bytes_written"]


def _written(found: "Simulation", phase: str) -> float:
    return sum(one.counters["host_bytes_written"] for one in found.windows if one.phase == phase) / found.logical_bytes


def _amplification(value: float | None) -> str:
    return "-" if value is None else f"{value:#.3g}".rstrip(".")


def _interval(found: "Simulation", before: str = "") -> str:
    known = found.write_amplification_interval
    return "" if known is None else f"{before}[{_amplification(known[0])}, {_amplification(known[1])}]"


def _latencies(timing: Mapping[str, Any]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("latency, µs", "mean", "p50", "p99", "p99.9", "max", "requests")]
    for name in ("reads", "writes"):
        if (one := timing[name]) is not None:
            times = [one[key] / 1000 for key in ("mean_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns")]
            rows.append((name, *(f"{time:.0f}" for time in times), str(one["count"])))
    yield from _columns(rows)
    seconds = timing["drained_ns"] / 1e9
    busy = sum(timing[key] for key in ("host_reads_ns", "gc_reads_ns", "programs_ns", "erases_ns"))
    if seconds > 0:
        yield f"{seconds:.3f} s of virtual time, dies busy {busy / 1e7 / seconds / timing['dies']:.0f} %"


def _many(outcomes: "Sequence[Outcome]") -> Iterator[str]:
    keys = list(outcomes[0].levels)
    timed = any(one.simulation.timing for one in outcomes)
    rows: list[tuple[str, ...]] = [
        (*(key.rpartition(".")[2] for key in keys), "WA", "95 % interval", "by formula", "GC / host", "DWPD", "settled")
    ]
    if timed:
        rows = [(*rows[0], "read p99, µs", "write p99, µs")]
    for one in outcomes:
        found, measured = one.simulation, one.simulation.measured
        host = measured["host_bytes_written"]
        settled = {True: "yes", False: "no", None: ""}[found.settled]
        cells = [
            *(one.levels[key] for key in keys),
            _amplification(found.write_amplification),
            _interval(found) or "-",
            _amplification(found.theory),
            _amplification(measured["gc_bytes_written"] / host if host else None),
            "-" if found.drive_writes_per_day is None else f"{found.drive_writes_per_day:.2f}",
            "stopped" if found.stopped else settled,
        ]
        for name in ("reads", "writes") if timed else ():
            latencies = found.timing[name] if found.timing else None
            cells.append(f"{latencies['p99_ns'] / 1000:.0f}" if latencies else "-")
        rows.append(tuple(cells))
    yield from _columns(rows)
    for one in outcomes:
        if one.simulation.stopped:
            where = ", ".join(f"{key}={level}" for key, level in one.levels.items())
            yield f"{where} stopped: {one.simulation.stopped}"
    if all(_compresses_nothing(one.simulation) for one in outcomes):
        yield from _NOTHING_COMPRESSED
    if any(one.simulation.accuracy_reached is False and not one.simulation.stopped for one in outcomes):
        yield "an interval is wider than the accuracy that was asked for: the limit of writes (run.limit) was reached"
    yield "simulated; docs/drives.md states every assumption"


def _bytes(count: int) -> str:
    for unit, size in (("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20)):
        if count >= size:
            return f"{count / size:.4g}{unit}"
    return f"{count / 1024:.4g}kB"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first column to the left, the others to the right, unless there are just two."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    align = "<" if len(widths) == 2 else ">"
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:{align}{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


_NOTE = "simulated from the writes that aged each drive; docs/published-studies.md states what is assumed"
_LINEAR = (
    "space is scaled linearly from one run: what does not grow with the data (an empty cluster, the least WAL, items)"
    " weighs too much in it, and the intervals of space are those between its blocks alone; runs at two or three scales"
    " tell it apart: pgassay drive predict RUN RUN RUN"
)


def add_predict(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(do=predict)
    add = parser.add_argument
    add("runs", metavar="RUN", type=Path, nargs="+", help="runs on emulated drives that were aged, at several scales")
    add("--data", metavar="SIZE", required=True, help="data of the baseline there: 740GB")
    add("--capacity", metavar="SIZE", required=True, help="of the drive: 3.2TB")
    add(
        "--over-provisioning", metavar="SHARE,…", default="7%", help="spare flash of the drive (default: 7%%): 7%%,28%%"
    )
    add("--superblock", metavar="SIZE", help="what it erases at once (default: a thousandth of it): 1GB")
    add("--live-share", metavar="SHARE", help="fill the drive up to this with cold data: 95%%")
    add("--wal", metavar="SIZE", help="what WAL takes there (default: the share recorded)")
    add("--writes-per-day", metavar="SIZE", help="what the host writes (default: one drive write)")
    add("--simulated", metavar="SIZE", help="how much of a larger drive is simulated (default: 1GB)")
    add_options(parser, "--json")


def predict(arguments: argparse.Namespace) -> int:
    """Simulate a run's load on larger drives and print it; raises `UsageError`."""
    from pgassay.flash.prediction import LEAST_SUPERBLOCK_BYTES, LEAST_SUPERBLOCKS, SIMULATED_BYTES
    from pgassay.lab.prediction import DriveQuestion, predictions

    data, capacity = parse_memory(arguments.data), parse_memory(arguments.capacity)
    daily = parse_memory(arguments.writes_per_day) if arguments.writes_per_day else capacity
    simulated = parse_memory(arguments.simulated) if arguments.simulated else SIMULATED_BYTES
    wal = parse_memory(arguments.wal) if arguments.wal else None
    given = {"--data": data, "--capacity": capacity, "--writes-per-day": daily, "--simulated": simulated}
    superblock = parse_memory(arguments.superblock) if arguments.superblock else None
    if wal is not None:
        given["--wal"] = wal
    for name, value in given.items():
        if value <= 0:
            raise UsageError(f"{name} must be above 0", "for example 740GB")
    largest = capacity // LEAST_SUPERBLOCKS
    if superblock is not None and not LEAST_SUPERBLOCK_BYTES <= superblock <= largest:
        raise UsageError(
            f"--superblock must be {format_size(LEAST_SUPERBLOCK_BYTES)} to {format_at_most(largest)} here",
            "a drive has at least 64 superblocks",
        )
    spare = [share("--over-provisioning", each) for each in arguments.over_provisioning.split(",")]
    live = share("--live-share", arguments.live_share) if arguments.live_share else None
    records = [open_run(path) for path in arguments.runs]
    asked = DriveQuestion(
        data, capacity, spare, live, simulated_bytes=simulated, superblock_bytes=superblock, wal_bytes=wal
    )
    found = list(predictions(records, asked))
    if arguments.json:
        print(json.dumps({"format": FORMAT, "simulated": [_predicted(each, daily) for each in found]}, indent=2))
        return SUCCESS
    for each in found:
        print("\n".join(_prediction(each, daily)))
    if len(records) == 1:
        print(_LINEAR)
    print(_NOTE)
    return SUCCESS


def _prediction(each: "Predicted", daily: int) -> Iterator[str]:
    from pgassay.report import formatting

    space = _with_interval(formatting.size, each.physical.value, each.physical.interval)
    yield f"{each.place.name}: {space} of flash ({each.physical.basis})"
    compression = _with_interval(formatting.number, each.compression.value, each.compression.interval)
    yield f"  compression {compression} ({each.compression.basis})"
    for drive, basis, alone in zip(each.drives, each.bases, each.recordings, strict=True):
        several = f"; {len(alone)} recordings: {', '.join(map(formatting.number, alone))}" if len(alone) > 1 else ""
        bracket = "" if basis is None else f" ({basis}, simulated{several})"
        yield (
            f"  over-provisioning {drive.target.over_provisioning * 100:.3g} %: write amplification {_known(drive)}"
            f"{bracket},"
            f" {formatting.number(drive.years(daily))} years at {formatting.size(daily)} a day"
            f" and {drive.target.rated_cycles:,} cycles"
        )
    if each.wal_share:
        yield f"  WAL takes {formatting.number(each.wal_share * 100)} % of it"
    for check in each.checks:
        of = f" of {check.run}" if len(each.checks) > 1 else ""
        settled, again = formatting.number(check.settled), formatting.number(check.again.write_amplification)
        error = "" if check.error is None else f" ({check.error * 100:+.1f} %)"
        yield f"  the recorded drive{of}: simulated {again}, settled at {settled} when it was aged{error}"


def _with_interval(shown: Callable[[float], str], value: float, interval: tuple[float, float] | None) -> str:
    return shown(value) if interval is None else f"{shown(value)} [{shown(interval[0])}, {shown(interval[1])}]"


def _known(drive: "Prediction") -> str:
    from pgassay.report import formatting

    if drive.write_amplification is None:
        return "not available: the drive runs out of space"
    settled = "" if drive.settled else ", not settled"
    return _with_interval(formatting.number, drive.write_amplification, drive.interval) + settled


def _predicted(each: "Predicted", daily: int) -> dict[str, Any]:
    return {
        **each.place._asdict(),
        "kind": each.kind,
        "physical_bytes": asdict(each.physical),
        "compression_ratio": asdict(each.compression),
        "drives": [
            {
                "capacity_bytes": drive.target.capacity_bytes,
                "over_provisioning": drive.target.over_provisioning,
                "superblock_bytes": drive.target.superblock_bytes,
                "write_amplification": drive.write_amplification,
                "interval": drive.interval,
                "basis": basis,
                "recordings": alone,
                "settled": drive.settled,
                "endurance_bytes": drive.endurance_bytes,
                "years": drive.years(daily),
            }
            for drive, basis, alone in zip(each.drives, each.bases, each.recordings, strict=True)
        ],
        "wal_share": each.wal_share,
        "recorded_drives": [
            {
                "run": check.run,
                "settled_write_amplification": check.settled,
                "simulated_write_amplification": check.again.write_amplification,
                "error": check.error,
            }
            for check in each.checks
        ],
    }


_CONFIDENCE = 1.96
_KINDS = ("table", "index", "TOAST", "sequence", "catalogue", "unnamed", "WAL", "WAL, recycled", "other")
_WORDS = {"table": "tables", "index": "indexes", "sequence": "sequences", "catalogue": "system catalogues"}


def add_compressibility(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(do=compressibility)
    add = parser.add_argument
    add("cluster", metavar="DIR|DSN", help="a data directory, or a connection string of a server on this machine")
    add("--codec", default="zstd-1", metavar="A,B,…", help="zstd-1 (default), zstd-N, deflate-1, deflate-6, lz4, none")
    add(
        "--granularity",
        default="1B,512B",
        metavar="A,B,…",
        help="what sizes are rounded up to: 1B is packed, 4kB saves zeros only (default: 1B,512B)",
    )
    add("--fillfactor", default="75", metavar="A,B,…", help="what tables would then cost (default: 75)")
    add("--sample", default="1GB", metavar="SIZE", help="how much is read at most (default: 1GB)")
    add("--whole", action="store_true", help="read everything")
    add("--jobs", type=whole(1), metavar="N", help="threads (default: one a core)")
    add("--top", type=whole(0), default=20, metavar="N", help="relations listed, largest first")
    add("--json", action="store_true", help="print everything, every relation, as JSON")


def compressibility(arguments: argparse.Namespace) -> int:
    from pgassay.compressibility import estimate, parse_request

    request = parse_request(
        arguments.cluster,
        codecs=arguments.codec,
        granularities=arguments.granularity,
        fillfactors=arguments.fillfactor,
        sample=None if arguments.whole else arguments.sample,
        jobs=arguments.jobs,
    )
    found = estimate(request)
    if not arguments.json:
        print("\n".join(_estimate(found, arguments.top)))
        return SUCCESS
    methods = _methods(found)
    plain = {
        "format": FORMAT,
        "estimated": "from the contents of files; no drive was measured",
        "directory": str(found.cluster.directory),
        "postgres_major": found.cluster.major,
        "scope": found.cluster.source,
        "bytes": sum(one.part.bytes for one in found.parts),
        "read_bytes": sum(one.read_bytes for one in found.parts),
        "parts": [_part(one, methods) for one in found.parts],
        "fillfactors": [_table(table, methods) for table in found.tables],
        "tables_left_out": found.tables_left_out,
    }
    print(json.dumps(plain, indent=2, allow_nan=False))
    return SUCCESS


def _methods(estimate: "Estimate") -> list[tuple[str, int]]:
    return [(codec, bytes_) for codec in estimate.request.codecs for bytes_ in estimate.request.granularities]


def _stored(stored: Sequence[float], methods: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [
        {"codec": codec, "granularity_bytes": granularity, "stored_bytes": value}
        for (codec, granularity), value in zip(methods, stored, strict=True)
    ]


def _part(one: "PartEstimate", methods: Sequence[tuple[str, int]]) -> dict[str, Any]:
    name = one.part.name
    stored = _stored(one.stored, methods)
    for entry, error in zip(stored, one.standard_errors, strict=True):
        entry["standard_error_bytes"] = error
        entry["ratio"] = one.part.bytes / entry["stored_bytes"] if entry["stored_bytes"] else None
    return {
        "kind": one.part.kind,
        "database": name.database if name else None,
        "schema": name.schema if name else None,
        "name": name.relation if name else one.part.label,
        "table": name.of if name else None,
        "bytes": one.part.bytes,
        "read_bytes": one.read_bytes,
        "zero_share": one.zero_share,
        "stored": stored,
    }


def _table(table: "RelaidTable", methods: Sequence[tuple[str, int]]) -> dict[str, Any]:
    name = table.part.name
    assert name is not None
    levels = [
        {"fillfactor": level.fillfactor, "bytes": level.logical_bytes, "stored": _stored(level.stored, methods)}
        for level in table.levels
    ]
    return {"database": name.database, "schema": name.schema, "name": name.relation, "levels": levels}


def _estimate(estimate: "Estimate", top: int) -> Iterator[str]:
    """By kind, the largest relations, and what FILLFACTOR would cost."""
    total = sum(one.part.bytes for one in estimate.parts)
    # Files whose length is no multiple of 4 KiB are read to the end of their last block.
    read = min(total, sum(one.read_bytes for one in estimate.parts))
    yield f"{estimate.cluster.directory}: PostgreSQL {estimate.cluster.major}, {estimate.cluster.source}"
    yield f"{format_size(total)}, of which {format_size(read)} ({read / total * 100:.0f} %) were read and compressed"
    yield "estimated from the contents of files, each 4kB block alone; no drive was measured"
    yield ""
    heads = ["size", "zeros"]
    for codec, granularity in _methods(estimate):
        heads += [f"{codec}, {'packed' if granularity == 1 else format_bytes(granularity)}", "ratio"]
    kinds: dict[str, list[PartEstimate]] = defaultdict(list)
    for one in estimate.parts:
        kinds[one.part.kind].append(one)
    rows = [("", *heads)]
    rows += [_size_row(_WORDS.get(kind, kind), kinds[kind]) for kind in _KINDS if kind in kinds]
    rows.append(_size_row("all", estimate.parts))
    yield from _columns(rows)
    relations = [one for one in estimate.parts if one.part.kind in ("table", "index", "TOAST", "unnamed")]
    if relations and top:
        yield ""
        yield from _columns(
            [("largest relations", *heads), *(_size_row(_label(one), [one]) for one in relations[:top])]
        )
        if len(relations) > top:
            yield f"and {len(relations) - top} more (--top, --json)"
    if estimate.tables:
        yield ""
        yield from _fillfactors(estimate, top)


def _label(one: "PartEstimate") -> str:
    name = one.part.name
    if name is None:
        return one.part.label
    of = f" of {name.of}" if name.of and one.part.kind == "TOAST" else ""
    return f"{name.database}: {name.label} ({one.part.kind}{of})"


def _size_row(label: str, ones: "Sequence[PartEstimate]") -> tuple[str, ...]:
    size = sum(one.part.bytes for one in ones)
    zeros = sum(one.zero_share * one.part.bytes for one in ones) / size if size else 0.0
    cells = [format_size(size), f"{zeros * 100:.0f} %"]
    for index in range(len(ones[0].stored)):
        stored = sum(one.stored[index] for one in ones)
        error = sum(one.standard_errors[index] ** 2 for one in ones) ** 0.5
        ratio = "-"
        if stored:  # with its 95 % interval where a sample leaves one that shows
            half = _CONFIDENCE * error / stored * size / stored
            ratio = f"{size / stored:.2f}" + (f" ±{half:.2f}" if half >= 0.005 else "")
        cells += [format_size(round(stored)), ratio]
    return (label, *cells)


def _fillfactors(estimate: "Estimate", top: int) -> Iterator[str]:
    """Each level's costs as a change against the same rows at 100."""
    heads = ["size at 100"]
    methods = _methods(estimate)
    for level in estimate.tables[0].levels[1:]:
        heads.append(f"size at {level.fillfactor}")
        heads += [f"{codec}, {'packed' if size == 1 else format_bytes(size)}" for codec, size in methods]
    rows = [("FILLFACTOR, tables reloaded", *heads)]
    for table in estimate.tables[:top]:
        name = table.part.name
        rows.append((f"{name.database}: {name.label}" if name else table.part.label, *_changes([table])))
    if len(estimate.tables) > 1:
        rows.append(("all of these" if len(estimate.tables) <= top else "all tables", *_changes(estimate.tables)))
    yield from _columns(rows)
    yield "stored bytes: against the same rows at 100; rows that are not known to be dead, free space of zeros"
    if estimate.tables_left_out:
        yield f"{estimate.tables_left_out} tables are too small to tell, or not among the largest"


def _changes(tables: "Sequence[RelaidTable]") -> Iterator[str]:
    def total(level: int, index: int | None = None) -> float:
        levels = [table.levels[level] for table in tables]
        return sum(each.logical_bytes if index is None else each.stored[index] for each in levels)

    yield format_size(round(total(0)))
    for level in range(1, len(tables[0].levels)):
        yield f"{format_size(round(total(level)))} {_change(total(level), total(0))}"
        for index in range(len(tables[0].levels[0].stored)):
            yield _change(total(level, index), total(0, index))


def _change(now: float, before: float) -> str:
    return f"{(now / before - 1) * 100:+.0f} %" if before else "-"
