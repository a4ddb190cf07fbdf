"""pgbench's progress report and errors (stderr), versions 13 to 18; pure.

`progress: 1.0 s, 3611.7 tps, lat 1.097 ms stddev 0.525, 0 failed`: 15 adds the failures, -R a lag, -L what was skipped,
--max-tries what was retried. The last second may be missing; a second without a transaction has `NaN` for its latency.
"""

import math
import re
from dataclasses import dataclass

_NUMBER = r"(-?nan|-?NaN|\d+(?:\.\d+)?)"
_PROGRESS = re.compile(
    rf"progress: {_NUMBER} s, {_NUMBER} tps, lat {_NUMBER} ms stddev {_NUMBER}"
    rf"(?:, (\d+) failed)?(?:, lag {_NUMBER} ms)?(?:, (\d+) skipped)?(?:, (\d+) retried, (\d+) retries)?"
)
_ABORTED = re.compile(r"pgbench: error: client \d+ (?:script \d+ )?aborted.*")
_GIVEN_UP = re.compile(r"pgbench: (?:error|fatal): Run was aborted.*")
_WRONG = re.compile(r"pgbench: (?:error|fatal): .*")


@dataclass(frozen=True)
class Progress:
    """One second: `elapsed_s` since the run began, its tps, latencies (None without transactions) and failures."""

    elapsed_s: float
    tps: float
    latency_ms: float | None
    latency_stddev_ms: float | None
    failed: int | None
    lag_ms: float | None
    skipped: int | None


def parse_progress(text: str) -> tuple[Progress, ...]:
    """Every whole progress line in order; other lines (NOTICEs, errors) are passed over."""
    return tuple(_progress(match) for match in map(_PROGRESS.fullmatch, text.splitlines()) if match)


def _progress(match: re.Match[str]) -> Progress:
    elapsed_s, tps, latency, stddev, failed, lag, skipped = match.groups()[:7]
    return Progress(
        elapsed_s=float(elapsed_s),
        tps=float(tps),
        latency_ms=_finite(latency),
        latency_stddev_ms=_finite(stddev),
        failed=None if failed is None else int(failed),
        lag_ms=None if lag is None else _finite(lag),
        skipped=None if skipped is None else int(skipped),
    )


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def first_abort(text: str) -> str | None:
    """The first client's own words when clients were aborted, else pgbench's; None when nothing was."""
    lines = text.splitlines()
    for pattern in (_ABORTED, _GIVEN_UP):
        for line in lines:
            if pattern.fullmatch(line):
                return line.removeprefix("pgbench: ")
    return None


def first_error(text: str) -> str | None:
    """The first line that pgbench itself calls an error."""
    for line in text.splitlines():
        if _WRONG.fullmatch(line):
            return line.removeprefix("pgbench: ")
    return None
