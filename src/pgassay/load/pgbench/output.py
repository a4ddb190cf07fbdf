"""What pgbench prints, versions 9.4 to 18: its summary (stdout), and its progress and errors (stderr); pure.

It has no machine-readable output in any version. What is not understood is an explicit error, never a number. The
wording moved between versions: 13 prints tps twice (including and excluding connections), 14 one line and the
connection time, 15 adds failures and retries, 17 and later count failures into each script's own transactions. From 14
on tps with -C includes the connections. Before 10 a latency stands after a colon.

`progress: 1.0 s, 3611.7 tps, lat 1.097 ms stddev 0.525, 0 failed`: 15 adds the failures, -R a lag, -L what was skipped,
--max-tries what was retried. The last second may be missing; a second without a transaction has `NaN` for its latency.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pgassay.load import messages


@dataclass(frozen=True)
class ScriptSummary:
    """One script's block in a run of several: its name as echoed, weight, transactions and tps."""

    name: str
    weight: int = 1
    transactions: int | None = None
    tps: float | None = None
    latency_ms: float | None = None


@dataclass(frozen=True)
class Summary:
    """A whole summary. Counts are transactions; what a version or a run does not print is None.

    `tps` and the latencies are None when no transaction was processed. `processed` excludes failed and skipped ones.
    """

    transaction_type: str
    scale: int
    protocol: str
    clients: int
    threads: int
    processed: int
    duration_s: int | None = None
    transactions_per_client: int | None = None
    max_tries: int | None = None
    failed: int | None = None
    retried: int | None = None
    retries: int | None = None
    skipped: int | None = None
    late: int | None = None
    latency_ms: float | None = None
    latency_stddev_ms: float | None = None
    schedule_lag_ms: float | None = None
    schedule_lag_max_ms: float | None = None
    initial_connection_ms: float | None = None
    reconnection_ms: float | None = None
    tps: float | None = None
    scripts: tuple[ScriptSummary, ...] = field(default=())


_NUMBER = r"(\d+(?:\.\d+)?)"
_Fields = tuple[tuple[str, Callable[[str], object]], ...]
_Line = tuple[str, _Fields]

_LINES: tuple[_Line, ...] = (
    (r"transaction type: (.+)", (("transaction_type", str),)),
    (r"scaling factor: (\d+)", (("scale", int),)),
    (r"query mode: (simple|extended|prepared)", (("protocol", str),)),
    (r"number of clients: (\d+)", (("clients", int),)),
    (r"number of threads: (\d+)", (("threads", int),)),
    (r"maximum number of tries: (\d+)", (("max_tries", int),)),
    (r"duration: (\d+) s", (("duration_s", int),)),
    (r"number of transactions per client: (\d+)", (("transactions_per_client", int),)),
    (r"number of transactions actually processed: (\d+)(?:/\d+)?", (("processed", int),)),
    (r"number of failed transactions: (\d+) \(.*\)", (("failed", int),)),
    (r"number of transactions retried: (\d+) \(.*\)", (("retried", int),)),
    (r"total number of retries: (\d+)", (("retries", int),)),
    (r"number of transactions skipped: (\d+) \(.*\)", (("skipped", int),)),
    (r"number of transactions above the .+ ms latency limit: (\d+)/\d+ \(.*\)", (("late", int),)),
    (rf"latency average(?: =|:) {_NUMBER} ms(?: \(including failures\))?", (("latency_ms", float),)),
    (rf"latency stddev(?: =|:) {_NUMBER} ms", (("latency_stddev_ms", float),)),
    (
        rf"rate limit schedule lag: avg {_NUMBER} \(max {_NUMBER}\) ms",
        (("schedule_lag_ms", float), ("schedule_lag_max_ms", float)),
    ),
    (rf"initial connection time = {_NUMBER} ms", (("initial_connection_ms", float),)),
    (rf"average connection time = {_NUMBER} ms", (("reconnection_ms", float),)),
    (
        rf"tps = {_NUMBER} \((?:without initial connection time|excluding connections establishing"
        r"|including reconnection times)\)",
        (("tps", float),),
    ),
)
_COMPILED = tuple((re.compile(pattern), names) for pattern, names in _LINES)
_REQUIRED = ("transaction_type", "scale", "protocol", "clients", "threads", "processed")

_SCRIPT_LINES: tuple[_Line, ...] = (
    (r" - weight: (\d+) \(.*\)", (("weight", int),)),
    (rf" - (\d+) transactions \(.* of total, tps = {_NUMBER}\)", (("transactions", int), ("tps", float))),
    (
        rf" - number of transactions actually processed: (\d+) \(tps = {_NUMBER}\)",
        (("transactions", int), ("tps", float)),
    ),
    (rf" - latency average = {_NUMBER} ms", (("latency_ms", float),)),
)
_SCRIPT_COMPILED = tuple((re.compile(pattern), names) for pattern, names in _SCRIPT_LINES)
_SCRIPT_HEAD = re.compile(r"SQL script \d+: (.+)")


def parse_summary(text: str) -> Summary:
    """The summary in `text`; raises `LoadError` where it is incomplete, cut short or contradicts itself."""
    found: dict[str, object] = {}
    scripts: list[dict[str, object]] = []
    for line in text.splitlines():
        head = _SCRIPT_HEAD.fullmatch(line)
        if head:
            scripts.append({"name": head[1]})
        elif scripts:
            scripts[-1].update(_values(line, _SCRIPT_COMPILED))
        else:
            _merge(found, _values(line, _COMPILED))
    missing = [name for name in _REQUIRED if name not in found]
    if missing:
        raise messages.not_a_summary(f'no line for "{missing[0]}"')
    if found["processed"] and "tps" not in found:
        raise messages.not_a_summary("transactions were processed but there is no tps")
    if "duration_s" not in found and "transactions_per_client" not in found:
        raise messages.not_a_summary("neither a duration nor a number of transactions")
    parts = tuple(ScriptSummary(**script) for script in scripts)  # type: ignore[arg-type]
    return Summary(**found, scripts=parts)  # type: ignore[arg-type]


def _values(line: str, known: tuple[tuple[re.Pattern[str], _Fields], ...]) -> dict[str, object]:
    for pattern, names in known:
        match = pattern.fullmatch(line)
        if match:
            return {name: convert(match[number]) for number, (name, convert) in enumerate(names, start=1)}
    return {}


def _merge(found: dict[str, object], values: dict[str, object]) -> None:
    for name, value in values.items():
        if found.setdefault(name, value) != value:
            raise messages.not_a_summary(f'"{name}" stands there twice')


_REAL = r"(-?nan|-?NaN|\d+(?:\.\d+)?)"
_PROGRESS = re.compile(
    rf"progress: {_REAL} s, {_REAL} tps, lat {_REAL} ms stddev {_REAL}"
    rf"(?:, (\d+) failed)?(?:, lag {_REAL} ms)?(?:, (\d+) skipped)?(?:, (\d+) retried, (\d+) retries)?"
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
