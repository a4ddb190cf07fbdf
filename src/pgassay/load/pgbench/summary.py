"""pgbench's summary (stdout) of versions 13 to 18 as one value; anything else is an explicit error, never a number.

The wording moved between versions: 13 prints tps twice (including and excluding connections), 14 one line and the
connection time, 15 adds failures and retries, 17 and later count failures into each script's own transactions.
"""

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
    (rf"latency average = {_NUMBER} ms(?: \(including failures\))?", (("latency_ms", float),)),
    (rf"latency stddev = {_NUMBER} ms", (("latency_stddev_ms", float),)),
    (
        rf"rate limit schedule lag: avg {_NUMBER} \(max {_NUMBER}\) ms",
        (("schedule_lag_ms", float), ("schedule_lag_max_ms", float)),
    ),
    (rf"initial connection time = {_NUMBER} ms", (("initial_connection_ms", float),)),
    (rf"tps = {_NUMBER} \((?:without initial connection time|excluding connections establishing)\)", (("tps", float),)),
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
    """The summary in `text`; raises `LoadError` when it is none, is cut short or says something twice differently."""
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
