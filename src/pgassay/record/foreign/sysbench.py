"""What sysbench 1.0 prints of a database test (oltp_*, tpcc): its totals, its latencies and its seconds.

Errors go to the same place as results and the program may die between them: a FATAL line makes a run aborted, a text
without the totals is no run. See the sysbench manual, "General command line options".
"""

import re

from pgassay.record.foreign.units import response
from pgassay.record.foreign.values import ABORTED, ForeignRun, Reading, Second
from pgassay.record.values import Reason
from pgassay.study.responses import Better, Response, Scale

_BANNER = re.compile(r"^sysbench \d+\.\d+", re.MULTILINE)
_THREADS = re.compile(r"^Number of threads: (\d+)$", re.MULTILINE)
_TRANSACTIONS = re.compile(r"^ +transactions: +(\d+) +\(([\d.]+) per sec\.\)$", re.MULTILINE)
_QUERIES = re.compile(r"^ +queries: +(\d+) +\(([\d.]+) per sec\.\)$", re.MULTILINE)
_IGNORED = re.compile(r"^ +ignored errors: +(\d+) ", re.MULTILINE)
_TIME = re.compile(r"^ +total time: +([\d.]+)s$", re.MULTILINE)
_LATENCY = re.compile(r"^ +(avg|max|(\d+)(?:st|nd|rd|th) percentile): +([\d.]+)$", re.MULTILINE)
_FATAL = re.compile(r"^FATAL: (.*)$", re.MULTILINE)
_SECOND = re.compile(r"^\[ (\d+)s \] thds: \d+ tps: ([\d.]+) qps: ", re.MULTILINE)

RESPONSES = (
    response("tps"),
    response("qps"),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    Response("latency_p95_ms", "95th percentile of latency", "ms", Better.LOWER),
    Response("latency_p99_ms", "99th percentile of latency", "ms", Better.LOWER),
    Response("latency_max_ms", "greatest latency", "ms", Better.LOWER),
    Response("ignored_errors_share", "share of transactions that failed", "share", Better.LOWER, Scale.DIFFERENCE),
)
SUGGESTED = ("threads", "folder")


def is_sysbench(text: str) -> bool:
    """Does sysbench's banner stand in it?"""
    return _BANNER.search(text) is not None


def read_sysbench(place: str, text: str) -> Reading | str:
    """The one run of an output, or why there is none."""
    total, queries, seconds = _TRANSACTIONS.search(text), _QUERIES.search(text), _TIME.search(text)
    fatal = _FATAL.search(text)
    if total is None or queries is None or seconds is None:
        if fatal:
            return f"sysbench gave up without a result: {fatal[1]}"
        if _TIME.search(text):
            return "is sysbench's output of another test than a database's"
        return "is sysbench's output without its totals: it was cut short, or the program died"
    threads = _THREADS.search(text)
    errors = _IGNORED.search(text)
    ignored = int(errors[1]) if errors else 0
    due = int(total[1]) + ignored
    run = ForeignRun(
        place=place,
        fields={"threads": threads[1] if threads else ""},
        responses={
            "tps": float(total[2]),
            "qps": float(queries[2]),
            **_latencies(text),
            "ignored_errors_share": ignored / due if due else None,
        },
        seconds=float(seconds[1]),
        problems=(Reason(ABORTED, fatal[1]),) if fatal else (),
        series=tuple(_series(text)),
    )
    remark = "sysbench counts transactions that failed apart, as ignored errors; its tps is without them"
    return Reading("sysbench", (run,), RESPONSES, suggested=SUGGESTED, remarks=(remark,) if ignored else ())


def _latencies(text: str) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    block = text.partition("Latency (ms):")[2].partition("Threads fairness:")[0]
    for match in _LATENCY.finditer(block):
        word = {"avg": "latency_ms", "max": "latency_max_ms"}.get(match[1], f"latency_p{match[2]}_ms")
        if word in {each.name for each in RESPONSES}:
            found[word] = float(match[3])
    return found


def _series(text: str) -> list[Second]:
    """Whole intervals as they were reported; wall time is not told, so it counts from the start."""
    return [
        Second(int(match[1]) * 10**9, int(match[1]) * 10**9, "sysbench", "tps", "1/s", float(match[2]))
        for match in _SECOND.finditer(text)
    ]
