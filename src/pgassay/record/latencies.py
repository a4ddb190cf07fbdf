"""Single latencies of a trial as its directory keeps them: counts in buckets, for the whole window and each second.

`pgbench_latency.json` has them since the first release, as sketches that the load wrote (docs/record.md); where servers
took turns, its seconds are those that the server was at work. A log-linear histogram with 128 buckets an octave (Tene's
HdrHistogram) tells a latency within 0.4 %; its bytes are described in crates/python/src/latency_sketch/encoding.rs.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgassay import untrusted
from pgassay.record.reading import Run

FILE = "pgbench_latency.json"
_VERSION, _BITS = 1, 7
_MOMENTS = 4
"""Numbers between the count and the buckets: least, greatest, sum, sum of squares."""


@dataclass(frozen=True)
class Buckets:
    """Filled buckets in rising order: the middle of each in µs, and how many latencies it holds."""

    middle_us: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def mean_us(self) -> float | None:
        """The mean, within half a bucket's width; None without a latency."""
        total = int(self.counts.sum())
        return float((self.middle_us * self.counts).sum()) / total if total else None

    def slowed(self, times: int) -> "Buckets":
        """As a clock tells them that is so many times slower."""
        return Buckets(self.middle_us / times, self.counts)

    def quantile_us(self, share: float) -> float:
        """The nearest rank's bucket; there must be one."""
        wanted = np.ceil(share * self.counts.sum() * (1.0 - 1e-15))
        return float(self.middle_us[np.searchsorted(np.cumsum(self.counts), max(1.0, wanted))])


@dataclass(frozen=True)
class Latencies:
    """Of one trial: the whole window, and (second, latencies) for stretches of `interval_s` from its start on.

    `scripts` are those of each script by its place from 0, where there were several.
    """

    whole: Buckets
    seconds: tuple[tuple[float, Buckets], ...]
    interval_s: float
    scripts: Mapping[int, Buckets] = field(default_factory=dict)

    def slowed(self, times: int) -> "Latencies":
        if times == 1:
            return self
        whole, scripts = self.whole.slowed(times), {place: each.slowed(times) for place, each in self.scripts.items()}
        seconds = tuple((moment, each.slowed(times)) for moment, each in self.seconds)
        return Latencies(whole, seconds, self.interval_s, scripts)


def latencies(run: Run, number: int) -> Latencies | None:
    """What is kept of a trial; None where its load keeps no single latencies, or the file cannot be read."""
    path = run.trial_directory(number) / FILE
    if not run.disk.exists(path):
        return None
    try:
        return _latencies(untrusted.json(run.disk.read(path)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # a figure may lack a trial; results do not hang on it


def _latencies(kept: dict[str, Any]) -> Latencies | None:
    whole = buckets_of(base64.b64decode(kept["total"]))
    if not whole.counts.size:
        return None
    interval_s = kept["interval_us"] / 1e6
    start_us, first_ns = kept.get("start_us"), kept.get("first_wall_ns")
    began = (first_ns / 1e3 - start_us) / 1e6 if start_us is not None and first_ns is not None else 0.0
    every = (buckets_of(base64.b64decode(each)) for each in kept["intervals"])
    seconds = tuple((began + place * interval_s, each) for place, each in enumerate(every))
    scripts = {int(place): buckets_of(base64.b64decode(each)) for place, each in kept.get("scripts", {}).items()}
    return Latencies(whole, seconds, interval_s, scripts)


def buckets_of(sketch: bytes) -> Buckets:
    """The buckets of a sketch; raises `ValueError` for bytes that are none."""
    if not sketch or sketch[0] != _VERSION:
        raise ValueError("not a latency sketch of a known version")
    raw = np.frombuffer(sketch, np.uint8, offset=1)
    last = np.flatnonzero(raw < 0x80)  # of each LEB128 number
    if not last.size or last[-1] != raw.size - 1:
        raise ValueError("a latency sketch that is cut short")
    body = raw[last[_MOMENTS] + 1 :] if last.size > 1 + _MOMENTS else raw[:0]
    numbers = _numbers(body)
    if numbers.size % 2:
        raise ValueError("a latency sketch that is cut short")
    places = np.cumsum(numbers[0::2])
    octave = np.maximum((places >> _BITS) - 1, 0)
    least = np.where(places < 2 << _BITS, places, ((places & (1 << _BITS) - 1) + (1 << _BITS)) << octave)
    return Buckets(least + ((1 << octave) - 1) / 2.0, numbers[1::2])


def _numbers(raw: NDArray[np.uint8]) -> NDArray[np.int64]:
    """All LEB128 numbers of these bytes, each below 2^63."""
    if not raw.size:
        return np.zeros(0, np.int64)
    ends = np.flatnonzero(raw < 0x80)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    shifts = 7 * (np.arange(raw.size) - np.repeat(starts, lengths))
    found: NDArray[np.int64] = np.add.reduceat((raw & 0x7F).astype(np.int64) << shifts, starts)
    return found
