"""What a replay came to: its responses, what went wrong, by second, and by statement; pure.

Latencies count from when a call was due, so that those that waited behind a slow one are charged for it. Calls that
failed have none: they are counted, apart from those that failed in the source, too.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pgassay.bench.counters import Sample
from pgassay.bench.load import LoadResult
from pgassay.bench.slices import Slice
from pgassay.load import responses as shared
from pgassay.load.player import LogFacts
from pgassay.study.responses import Better, Response, Scale

FILE = "replay.json"
FORMAT = 1
_NAMED = 3
_LEFT_OUT = {
    "commands": "calls of commands that are not played, or of sessions without a name",
    "without_parameters": "calls whose parameters were not logged",
    "half_calls": "calls of transactions that begin before the log",
    "calls_beyond": "calls of sessions beyond load.sessions",
    "unread": "records that cannot be read",
    "foreign": "records in another language than English",
    "torn": "logs whose last record is not whole",
}
_TEXT_MAX = 80

RESPONSES: tuple[Response, ...] = (
    Response("tps", "calls per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    Response("latency_stddev_ms", "standard deviation of latency", "ms", Better.LOWER),
    *shared.LATENCIES,
    Response("lateness_ms", "mean lateness behind the log's schedule", "ms", Better.LOWER, Scale.DIFFERENCE),
    Response("lateness_p99_ms", "99th percentile of lateness", "ms", Better.LOWER, Scale.DIFFERENCE),
    Response("lateness_max_ms", "greatest lateness", "ms", Better.LOWER, Scale.DIFFERENCE),
    Response("failed_share", "share of calls that failed, and did not in the log", "share", Better.LOWER,
             Scale.DIFFERENCE),
)  # fmt: skip


@dataclass(frozen=True)
class PlayedStatement:
    """A statement without its constants as a replay counted it: calls that were answered, from sending to answer."""

    text: str
    calls: int
    exec_ms: float
    rows: int


def statements_of(kept: bytes) -> tuple[PlayedStatement, ...]:
    """Those of a file that `encode` wrote."""
    return tuple(
        PlayedStatement(each["text"], each["calls"], each["exec_ms"], each["rows"])
        for each in json.loads(kept)["statements"]
    )


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return shared.complete(RESPONSES, found)


def of_slice(played: Slice, seconds: float) -> dict[str, float | None]:
    """The responses of the stretch, which took so many seconds until its last answer."""
    found = shared.of_slices([played], seconds)
    late = played.lateness
    if late.count:
        p99_ns = late.quantile_ns(0.99)
        found["lateness_ms"] = late.sum_ns / late.count / 1e6
        found["lateness_p99_ms"] = None if p99_ns is None else p99_ns / 1e6
        found["lateness_max_ms"] = late.most_ns / 1e6
    return complete(found)


def problems_of(facts: LogFacts, played: Slice, failures: float) -> dict[str, str]:
    """What went wrong, code to detail; failures of a share up to `failures` are a response, and no problem."""
    problems = {}
    if played.aborted:
        more = f" (and {len(played.aborted) - 1} more sessions)" if len(played.aborted) > 1 else ""
        problems["aborted"] = played.aborted[0] + more
    elif played.unsent:
        last_ms = played.lateness.most_ns / 1e6
        problems["fell_behind"] = (
            f"{played.unsent} of {facts.calls} calls were not answered in time: the server cannot keep up with the log"
            f" at this speed (calls were sent up to {last_ms / 1e3:.1f} s late)"
        )
    failed = sum(played.failed.values())
    due = played.transactions + failed
    if failed > failures * due:
        problems["failed_transactions"] = (
            f"{failed} of {due} calls failed ({failed / due:.1%}) that did not in the log: {named(facts, played)}"
        )
    if not played.transactions and not problems:
        problems["no_transactions"] = "no call was answered"
    return problems


def named(facts: LogFacts, played: Slice) -> str:
    """The failures that come most often: SQLSTATE, how often, the server's words, and the statement."""
    worst = sorted(played.failures, key=lambda each: -each.count)
    parts = [
        _way(each.count, each.code, each.message, facts.statements[each.statement][:_TEXT_MAX])
        for each in worst[:_NAMED]
    ]
    return "; ".join(parts) + (f"; and {len(worst) - _NAMED} other ways" if len(worst) > _NAMED else "")


def _way(count: int, code: str, message: str, text: str) -> str:
    return f"{count} with {code} ({message}) in {text}"


def series(played: Slice, source: str, offset_ns: int, closed_ns: int) -> tuple[Sample, ...]:
    """Samples at the end of each whole second: calls answered, their mean latency, and how late calls were sent."""
    samples = []
    for number, second in enumerate(played.seconds, start=1):
        at_ns = played.opened_ns + number * 10**9
        if at_ns > closed_ns:
            break
        latency_ms = second.latency_sum_ns / second.answered / 1e6 if second.answered else None
        late_ms = second.lateness_sum_ns / second.sent / 1e6 if second.sent else None
        for name, unit, value in (
            ("tps", "1/s", float(second.answered)),
            ("latency_ms", "ms", latency_ms),
            ("lateness_ms", "ms", late_ms),
        ):
            samples.append(Sample(at_ns, at_ns + offset_ns, source, name, unit, value))
    return tuple(samples)


def told(kept: bytes, result: LoadResult) -> str:
    """A replay in a few lines: what was played and how late, what failed here alone, what of the log was left out."""
    found = json.loads(kept)
    ways = [(each["text"], way) for each in found["statements"] for way in each["failures"]]
    failed = sum(way["count"] for _, way in ways)
    late_ms = result.responses["lateness_p99_ms"] or 0.0
    lasted_s = (result.finished_monotonic_ns - result.started_monotonic_ns) / 1e9
    lines = [
        f"replay: {result.transactions + failed + found['failed_alike']} calls of {found['sessions']} sessions in"
        f" {lasted_s:.0f} s; 99 % were sent at most {late_ms:.1f} ms late; {failed} failed that did not in the log"
    ]
    worst = sorted(ways, key=lambda each: -each[1]["count"])
    lines += [f"  {_way(way['count'], way['code'], way['message'], text)}" for text, way in worst[:_NAMED]]
    lines += [f"  left out: {count} {_LEFT_OUT[name]}" for name, count in found["left_out"].items()
              if count and name in _LEFT_OUT]  # fmt: skip
    return "\n".join(lines) + "\n"


def encode(facts: LogFacts, played: Slice) -> bytes:
    """The file beside a trial's results: what of the log was played, and each statement with its times and failures."""
    failures: dict[int, list[dict[str, object]]] = {}
    for each in played.failures:
        failures.setdefault(each.statement, []).append(
            {"code": each.code, "message": each.message, "count": each.count}
        )
    statements = [
        {
            "text": text,
            "calls": latencies.count,
            "latency_ms": latencies.sum_ns / latencies.count / 1e6 if latencies.count else None,
            "exec_ms": times.sum_ns / 1e6,
            "rows": times.rows,
            "failures": failures.get(number, []),
        }
        for number, (text, latencies, times) in enumerate(
            zip(facts.statements, played.scripts, played.statements, strict=True)
        )
    ]
    kept = {
        "format": FORMAT,
        "sessions": facts.sessions,
        "calls": facts.calls,
        "left_out": asdict(facts.left_out),
        "failed_alike": played.failed_alike,
        "unsent": played.unsent,
        "statements": statements,
    }
    return json.dumps(kept, indent=1).encode()
