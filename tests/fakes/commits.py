"""Blocks of commits without a build or a server: a planted history, drawn by a seed, and kept by path as runs are.

A killed step left nothing, a finished one is read again: `measured` counts only what was really drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from random import Random

from pgassay.lab.commits import Pair, UnmeasuredError
from pgassay.postgres.builds.commits import Commit
from pgassay.study.responses import Better, Response

TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)
CPU = Response("cpu_us", "CPU time of a transaction", "us", Better.LOWER, cost=True)


def history(count: int) -> tuple[Commit, ...]:
    """A good commit and so many after it; their hashes differ in the first digits, as real ones do."""
    return tuple(Commit(f"{place:08x}" + "0" * 32, f"change {place}") for place in range(count + 1))


@dataclass
class FakeBlocks:
    """`log_speeds` by hash (0 where it has none); commits of `broken` do not build; `kill_at` dies at that block."""

    log_speeds: Mapping[str, float]
    noise: float = 0.01
    broken: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    kill_at: int | None = None
    measured: int = 0
    builds: list[str] = field(default_factory=list)
    runs: dict[Path, tuple[Pair, ...]] = field(default_factory=dict)

    @property
    def primary(self) -> Response:
        """Transactions per second."""
        return TPS

    @property
    def responses(self) -> Sequence[Response]:
        """And a cost that moves with it."""
        return (TPS, CPU)

    def measure(self, good: Commit, other: Commit, blocks: int, path: Path) -> tuple[Pair, ...]:
        """Draw, or give again what was drawn."""
        if path in self.runs:
            return self.runs[path]
        self.builds += [each.sha for each in (good, other) if each.sha not in self.builds]
        if other.sha in self.broken:
            raise UnmeasuredError(self.broken[other.sha])
        if self.kill_at is not None and self.measured + blocks > self.kill_at:
            raise KeyboardInterrupt
        source = Random(f"{self.seed}/{path.name}")
        self.runs[path] = tuple(self._pair(good, other, source) for _ in range(blocks))
        self.measured += blocks
        return self.runs[path]

    def _pair(self, good: Commit, other: Commit, source: Random) -> Pair:
        gone = self.log_speeds.get(other.sha, 0.0) - self.log_speeds.get(good.sha, 0.0)
        ratio = exp(gone + source.gauss(0.0, self.noise))
        return Pair({"tps": 1000.0, "cpu_us": 100.0}, {"tps": 1000.0 * ratio, "cpu_us": 100.0 / ratio})
