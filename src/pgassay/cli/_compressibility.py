"""`pgassay drive compressibility`: what a compressing drive would make of a cluster's files, which are only read.

No emulated drive and no server are needed. Each 4 KiB block is compressed alone, as such drives do (the crate codec);
docs/drives.md says what is estimated and from what.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.cli.parser import whole
from pgassay.cli.printing import SUCCESS
from pgassay.study.units import format_bytes, format_size

if TYPE_CHECKING:
    from pgassay.compressibility import Estimate, RelaidTable, Weighed

FORMAT = 1
_CONFIDENCE = 1.96
_KINDS = ("table", "index", "TOAST", "sequence", "catalogue", "unnamed", "WAL", "WAL, recycled", "other")
_WORDS = {"table": "tables", "index": "indexes", "sequence": "sequences", "catalogue": "system catalogues"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument(
        "cluster", metavar="DIR|DSN", help="a data directory, or a connection string of a server on this machine"
    )
    parser.add_argument(
        "--codec", default="zstd-1", metavar="A,B,…", help="zstd-1 (default), zstd-N, deflate-1, deflate-6, lz4, none"
    )
    parser.add_argument(
        "--granularity",
        default="1B,512B",
        metavar="A,B,…",
        help="what sizes are rounded up to: 1B is packed, 4kB saves zeros only (default: 1B,512B)",
    )
    parser.add_argument("--fillfactor", default="75", metavar="A,B,…", help="what tables would then cost (default: 75)")
    parser.add_argument("--sample", default="1GB", metavar="SIZE", help="how much is read at most (default: 1GB)")
    parser.add_argument("--whole", action="store_true", help="read everything")
    parser.add_argument("--jobs", type=whole(1), metavar="N", help="threads (default: one a core)")
    parser.add_argument("--top", type=whole(0), default=20, metavar="N", help="relations listed, largest first")
    parser.add_argument("--json", action="store_true", help="print everything, every relation, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Read a sample of the files, compress it, print."""
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
    print(as_json(found) if arguments.json else as_text(found, arguments.top), end="")
    return SUCCESS


def as_json(estimate: "Estimate") -> str:
    """Everything, with stable names; bytes unrounded, null for what is not known."""
    methods = _methods(estimate)
    plain = {
        "format": FORMAT,
        "estimated": "from the contents of files; no drive was measured",
        "directory": str(estimate.cluster.directory),
        "postgres_major": estimate.cluster.major,
        "scope": estimate.cluster.source,
        "bytes": sum(one.part.bytes for one in estimate.parts),
        "read_bytes": sum(one.read_bytes for one in estimate.parts),
        "parts": [_part(one, methods) for one in estimate.parts],
        "fillfactors": [_table(table, methods) for table in estimate.tables],
        "tables_left_out": estimate.tables_left_out,
    }
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def _methods(estimate: "Estimate") -> list[tuple[str, int]]:
    return [(codec, bytes_) for codec in estimate.request.codecs for bytes_ in estimate.request.granularities]


def _stored(stored: Sequence[float], methods: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [
        {"codec": codec, "granularity_bytes": granularity, "stored_bytes": value}
        for (codec, granularity), value in zip(methods, stored, strict=True)
    ]


def _part(one: "Weighed", methods: Sequence[tuple[str, int]]) -> dict[str, Any]:
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


def as_text(estimate: "Estimate", top: int) -> str:
    """By kind, the largest relations, and what FILLFACTOR would cost."""
    return "\n".join(_lines(estimate, top)) + "\n"


def _lines(estimate: "Estimate", top: int) -> Iterator[str]:
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
    kinds: dict[str, list[Weighed]] = defaultdict(list)
    for one in estimate.parts:
        kinds[one.part.kind].append(one)
    rows = [("", *heads)]
    rows += [_row(_WORDS.get(kind, kind), kinds[kind]) for kind in _KINDS if kind in kinds]
    rows.append(_row("all", estimate.parts))
    yield from _columns(rows)
    relations = [one for one in estimate.parts if one.part.kind in ("table", "index", "TOAST", "unnamed")]
    if relations and top:
        yield ""
        yield from _columns([("largest relations", *heads), *(_row(_label(one), [one]) for one in relations[:top])])
        if len(relations) > top:
            yield f"and {len(relations) - top} more (--top, --json)"
    if estimate.tables:
        yield ""
        yield from _fillfactors(estimate, top)


def _label(one: "Weighed") -> str:
    name = one.part.name
    if name is None:
        return one.part.label
    of = f" of {name.of}" if name.of and one.part.kind == "TOAST" else ""
    return f"{name.database}: {name.label} ({one.part.kind}{of})"


def _row(label: str, ones: "Sequence[Weighed]") -> tuple[str, ...]:
    size = sum(one.part.bytes for one in ones)
    zeros = sum(one.zero_share * one.part.bytes for one in ones) / size if size else 0.0
    cells = [format_size(size), f"{zeros * 100:.0f} %"]
    for index in range(len(ones[0].stored)):
        stored = sum(one.stored[index] for one in ones)
        error = sum(one.standard_errors[index] ** 2 for one in ones) ** 0.5
        cells += [format_size(round(stored)), _ratio(size, stored, error)]
    return (label, *cells)


def _ratio(size: float, stored: float, error: float) -> str:
    """With its 95 % interval where a sample leaves one that shows."""
    if not stored:
        return "-"
    half = _CONFIDENCE * error / stored * size / stored
    return f"{size / stored:.2f}" + (f" ±{half:.2f}" if half >= 0.005 else "")


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


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([f"{row[0]:<{widths[0]}}", *cells]).rstrip()
