"""What is printed and written: a table for people, JSON for scripts, figures for reports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pgassay.cli.simulate._sweep import Outcome
from pgassay.study.units import format_bytes

FORMAT = 1


def as_json(outcomes: Sequence[Outcome]) -> str:
    """Everything, with stable names; numbers unrounded, null for what is not known."""
    plain = {"format": FORMAT, "simulations": [{"levels": dict(one.levels), **one.found} for one in outcomes]}
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def as_text(outcomes: Sequence[Outcome]) -> str:
    """One simulation in full, or several as a table."""
    lines = _one(outcomes[0].found) if len(outcomes) == 1 else _many(outcomes)
    return "\n".join(lines) + "\n"


def write(outcomes: Sequence[Outcome], folder: Path) -> None:
    """`result.json`, and each figure as HTML, PNG and SVG, in a folder that exists."""
    from pgassay.cli.simulate import _figures

    (folder / "result.json").write_text(as_json(outcomes), encoding="utf-8")
    _figures.write(outcomes, folder)


def _one(found: Mapping[str, Any]) -> Iterator[str]:
    drive, health, measured = found["drive"], found["health"], found["measured"]
    policy, kind = drive.get("policy", "greedy"), drive.get("kind", "page-mapped")
    size = format_bytes(found["logical_bytes"])
    yield f"simulated {kind} drive of {size}, {policy}, {found['pages_per_block']} pages a block"
    yield f"usable flash over logical capacity {found['alpha']:.4f}, all flash {_bytes(found['physical_bytes'])}"
    if found["settled"] is not None and not found["stopped"]:
        yield f"aged until write amplification {'settled' if found['settled'] else 'DID NOT settle'}"
    if found["stopped"]:
        yield f"stopped: {found['stopped']}"
    yield ""
    rows = [
        ("write amplification", _number(found["write_amplification"], 4)),
        ("  by formula", _number(found["theory"], 4)),
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
        ("drive writes per day", _life(found["life"])),
    ]
    yield from _columns(rows)
    if found["timing"]:
        yield ""
        yield from _latencies(found["timing"])


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


def _many(outcomes: Sequence[Outcome]) -> Iterator[str]:
    keys = list(outcomes[0].levels)
    timed = any(one.found["timing"] for one in outcomes)
    rows: list[tuple[str, ...]] = [
        (*(key.rpartition(".")[2] for key in keys), "WA", "by formula", "GC / host", "DWPD", "settled")
    ]
    if timed:
        rows = [(*rows[0], "read p99, µs", "write p99, µs")]
    for one in outcomes:
        found, measured = one.found, one.found["measured"]
        host = measured["host_bytes_written"]
        settled = {True: "yes", False: "no", None: ""}[found["settled"]]
        cells = [
            *(one.levels[key] for key in keys),
            _number(found["write_amplification"], 4),
            _number(found["theory"], 4),
            _number(measured["gc_bytes_written"] / host if host else None, 4),
            _number(found["life"]["drive_writes_per_day"], 2),
            "stopped" if found["stopped"] else settled,
        ]
        if timed:
            cells += [_p99(found["timing"], "reads"), _p99(found["timing"], "writes")]
        rows.append(tuple(cells))
    yield from _columns(rows)
    for one in outcomes:
        if one.found["stopped"]:
            where = ", ".join(f"{key}={level}" for key, level in one.levels.items())
            yield f"{where} stopped: {one.found['stopped']}"
    yield "simulated; docs/flash-model.md states every assumption"


def _p99(timing: Mapping[str, Any] | None, name: str) -> str:
    latencies = timing[name] if timing else None
    return f"{latencies['p99_ns'] / 1000:.0f}" if latencies else "-"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _life(life: Mapping[str, Any]) -> str:
    per_day = life["drive_writes_per_day"]
    return "-" if per_day is None else f"{per_day:.2f} for {life['years']:g} years at {life['rated_cycles']} cycles"


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
