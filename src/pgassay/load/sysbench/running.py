"""What became of a sysbench run: its problems by exit status and words, its seconds as samples.

Shared by its own oltp_* tests and by scripts of others that it plays (sysbench-tpcc).
"""

from collections.abc import Mapping

from pgassay.bench.counters import Sample
from pgassay.bench.load import LoadResult, Moment
from pgassay.bench.running import Completed
from pgassay.load import watching
from pgassay.load.sysbench import summary
from pgassay.load.sysbench.command import PROGRAM


def result(
    done: Completed,
    totals: summary.Totals | None,
    responses: Mapping[str, float | None],
    problems: Mapping[str, str],
    began: Moment,
    ended: Moment,
    duration_s: int | None,
    source: str,
) -> LoadResult:
    """The whole of it; `problems` are those that were seen while it ran, `began` and `ended` monotonic and wall ns."""
    return LoadResult(
        status=done.status,
        began=began,
        ended=ended,
        transactions=totals.transactions if totals else 0,
        responses=responses,
        series=series(done.stdout, began, ended[0], source),
        problems=problems or told(done, totals) or watching.short(PROGRAM, duration_s, ended[0] - began[0]),
        read_back={"load.threads": str(totals.threads)} if totals and totals.threads else {},
    )


def told(done: Completed, totals: summary.Totals | None) -> dict[str, str]:
    """What exit status and words tell."""
    text = f"{done.stdout}\n{done.stderr}"
    fatal = summary.first_fatal(text)
    if done.status < 0:
        died = f"sysbench was ended by signal {-done.status}"
        return {"killed": f"{died}: {fatal}" if fatal else died}
    if fatal:
        return {"aborted": fatal}
    if done.status:
        lines = [line for line in text.strip().splitlines() if line.strip()]
        return {"refused": lines[-1] if lines else "no message"}
    if totals is None:
        return {"no_summary": "sysbench's output has no totals"}
    return {} if totals.transactions else {"no_transactions": "no transaction was processed"}


def series(text: str, began: Moment, finished_ns: int, source: str) -> tuple[Sample, ...]:
    """Samples at the end of each second, counted from the start of the program."""
    samples = []
    for second in summary.parse_seconds(text):
        moment = began[0] + second.elapsed_s * 10**9, began[1] + second.elapsed_s * 10**9
        if moment[0] > finished_ns:
            break
        samples += [
            Sample(*moment, source, "tps", "1/s", second.tps),
            Sample(*moment, source, "qps", "1/s", second.qps),
            Sample(*moment, source, "writes", "1/s", second.writes),
            Sample(*moment, source, f"latency_p{second.percentile}_ms", "ms", second.latency_ms),
            Sample(*moment, source, "failed", "1/s", second.errors),
        ]
    return tuple(samples)
