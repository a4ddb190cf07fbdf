"""`pgassay drive simulate`: what a load becomes inside a modelled drive, as a table, JSON or figures.

A description is a TOML file, options, or both; a sweep runs every combination of the levels it names, on all cores.
`pgassay.flash` simulates.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli.parser import whole
from pgassay.study.units import format_bytes

if TYPE_CHECKING:  # A command's options must be known without numpy.
    from pgassay.flash import Outcome, Simulation

FORMAT = 1
"""Of the JSON."""

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
    "trace": ("run.trace", "FILE", "a recorded load in place of the pattern"),
    "used-share": ("run.used_share", "SHARE", "share of the drive that is in use: filled first, then written"),
    "drive-writes": ("run.drive_writes", "NUMBER", "how much is written after ageing at least, in capacities"),
    "accuracy": ("run.accuracy", "SHARE", "measure until write amplification is known within this: 0.5%%, the default"),
    "seed": ("run.seed", "NUMBER", "seed of everything random"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a description in TOML")
    for option, (key, value, text) in _SHORTCUTS.items():
        parser.add_argument(f"--{option}", dest=key, metavar=value, help=text)
    parser.add_argument("--timing", action="store_true", help="also simulate latencies, with the usual service times")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any key of the description")
    parser.add_argument(
        "--sweep", action="append", default=[], metavar="KEY=A,B,…", help="every combination of these levels"
    )
    parser.add_argument("--jobs", type=whole(1), metavar="N", help="drives simulated at once (default: one a core)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write result.json and figures (HTML, PNG, SVG) there")


def run(arguments: argparse.Namespace) -> int:
    """Simulate each combination, print it and write figures; returns the exit status."""
    from pgassay import flash

    shortcuts = {key: getattr(arguments, key) for key, _, _ in _SHORTCUTS.values()}
    settings = [f"{key}={value}" for key, value in shortcuts.items() if value is not None]
    document = flash.read(arguments.file, [*settings, *arguments.set], timing=arguments.timing)
    points = flash.points(document, arguments.sweep)
    if arguments.out is not None:  # A place that cannot be written is refused before minutes are spent.
        arguments.out.mkdir(parents=True, exist_ok=True)
    outcomes = flash.simulate_all(points, arguments.jobs)
    if arguments.out is not None:
        (arguments.out / "result.json").write_text(_json(outcomes), encoding="utf-8")
        from pgassay.cli._simulated_figures import write

        write(outcomes, arguments.out)
    print(_json(outcomes) if arguments.json else _text(outcomes), end="")
    return 0


def _json(outcomes: "Sequence[Outcome]") -> str:
    """Everything, with stable names; numbers unrounded, null for what is not known."""
    plain = {
        "format": FORMAT,
        "simulations": [{"levels": dict(one.levels), **one.simulation.as_dict()} for one in outcomes],
    }
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def _text(outcomes: "Sequence[Outcome]") -> str:
    """One simulation in full, or several as a table."""
    lines = _one(outcomes[0].simulation) if len(outcomes) == 1 else _many(outcomes)
    return "\n".join(lines) + "\n"


def _one(found: "Simulation") -> Iterator[str]:
    drive, health, measured = found.drive, found.health, found.measured
    policy, kind = drive.get("policy", "greedy"), drive.get("kind", "page-mapped")
    size = format_bytes(found.logical_bytes)
    yield f"simulated {kind} drive of {size}, {policy}, {found.pages_per_block} pages a block"
    yield f"usable flash over logical capacity {found.alpha:.4f}, all flash {_bytes(found.physical_bytes)}"
    yield from _states(found)
    yield ""
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
        ("drive writes per day", _life(found)),
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
    """Drive writes of a phase."""
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
            _number(found.drive_writes_per_day, 2),
            "stopped" if found.stopped else settled,
        ]
        if timed:
            cells += [_p99(found.timing, "reads"), _p99(found.timing, "writes")]
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


def _p99(timing: Mapping[str, Any] | None, name: str) -> str:
    latencies = timing[name] if timing else None
    return f"{latencies['p99_ns'] / 1000:.0f}" if latencies else "-"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _life(found: "Simulation") -> str:
    per_day, life = found.drive_writes_per_day, found.life
    return "-" if per_day is None else f"{per_day:.2f} for {life.years:g} years at {life.rated_cycles} cycles"


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
