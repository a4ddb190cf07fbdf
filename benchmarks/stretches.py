"""What a transaction cost in the first seconds of a window, the next, and so on: does a trial change its own regime?

From the samples that a trial keeps anyway. A counter's value at an edge lies on the line between the two samples around
it; pgbench says how many transactions there were.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import log
from statistics import median

import numpy as np

from pgassay.bench.counters import Sample

NS = 10**9
COSTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "wal_bytes": (("wal", "wal_bytes"),),
    "full_page_images": (("wal", "wal_fpi"),),
    "checkpoints": (("checkpoints", "checkpoints_timed"), ("checkpoints", "checkpoints_requested")),
    "updates": (("tables", "n_tup_upd"),),
    "hot_updates": (("tables", "n_tup_hot_upd"),),
}
"""Name of a cost to the counters that it is the sum of."""

Stretch = dict[str, float]
"""`transactions`, and the growth of each of `COSTS`; a cost that cannot be told is missing."""


def stretches(samples: Iterable[Sample], seconds: float) -> list[Stretch]:
    """The whole stretches of `seconds` that the window has, in order."""
    kept: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for sample in samples:
        if sample.value is not None:
            kept.setdefault((sample.source, sample.name), []).append((sample.monotonic_ns, sample.value))
    rates = kept.get(("pgbench", "tps"), [])
    if not rates:
        return []
    ends = np.array([moment for moment, _ in rates], dtype=np.float64)
    began = ends[0] - NS
    count = int((ends[-1] - began) / NS // seconds)
    edges = began + np.arange(count + 1) * seconds * NS
    done = np.concatenate(([0.0], np.cumsum([rate for _, rate in rates])))
    grown = {"transactions": np.diff(np.interp(edges, np.concatenate(([began], ends)), done))}
    for name, counters in COSTS.items():
        if all(len(kept.get(each, ())) > 1 for each in counters):
            grown[name] = np.diff(sum(_at(edges, kept[each]) for each in counters))
    return [{name: float(values[place]) for name, values in grown.items()} for place in range(count)]


Cut = dict[tuple[str, str], dict[int, list[Stretch]]]
"""(length of trial, level) to block to the trial's stretches."""


@dataclass(frozen=True)
class Told:
    """Of one stretch: the log-ratio of WAL per transaction in each block, and medians of both levels in words."""

    wal_logs: list[float]
    text: str


def told(cut: Cut, length: str, base: str, other: str) -> Iterator[Told]:
    """Stretch by stretch, as far as any trial of this length goes."""
    ours, theirs = cut.get((length, base), {}), cut.get((length, other), {})
    for place in range(max(map(len, [*ours.values(), *theirs.values()]), default=0)):
        words, wal = [], []
        for level, blocks in ((base, ours), (other, theirs)):
            rows = {block: row[place] for block, row in blocks.items() if place < len(row)}
            words.append(f"{level}: {_words(list(rows.values()))}")
            wal.append({block: _per_transaction(row, "wal_bytes") for block, row in rows.items()})
        pairs = ((wal[0][block], wal[1][block]) for block in sorted(wal[0].keys() & wal[1].keys()))
        yield Told([log(b / a) for a, b in pairs if a and b], "; ".join(words))


def _words(rows: list[Stretch]) -> str:
    wal, images = (_middle(_per_transaction(row, cost) for row in rows) for cost in ("wal_bytes", "full_page_images"))
    return (
        f"{_middle(row['transactions'] for row in rows)} transactions with {wal} B of WAL and {images} images each,"
        f" HOT {_middle(map(_hot_share, rows))}, {_middle(row.get('checkpoints') for row in rows)} checkpoints"
    )


def _per_transaction(stretch: Stretch, cost: str) -> float | None:
    return stretch[cost] / stretch["transactions"] if cost in stretch and stretch["transactions"] > 0 else None


def _hot_share(stretch: Stretch) -> float | None:
    return stretch["hot_updates"] / stretch["updates"] if stretch.get("updates") else None


def _middle(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{median(known):.3g}" if known else "–"


def _at(edges: np.ndarray, samples: list[tuple[int, float]]) -> np.ndarray:
    moments, values = np.array(sorted(samples), dtype=np.float64).T
    return np.asarray(np.interp(edges, moments, values))
