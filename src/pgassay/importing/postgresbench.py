"""PostgresBench's JSON (github.com/ClickHouse/PostgresBench, `*/results/*.json`): a system with three pgbench runs.

Relied on: an object with `system` (text) and `results`, a list of objects with `tps`; used where there: `run`,
`machine`, `instance.type`, `cluster_size`, `tuned`, `cloud`, `region`, `postgres_version`, `date`, of `benchmark` the
`workload`, `scale_factor`, `clients`, `threads`, `duration` and `query_mode`, and of each run its latencies,
`transactions` and `failed_transactions`. Other keys are passed over.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pgassay import untrusted
from pgassay.importing.reader import (
    FAILED_TRANSACTIONS,
    FOLDER,
    ForeignFile,
    ForeignRun,
    LeftOut,
    Options,
    Reader,
    Reading,
    member,
    number,
    response,
)
from pgassay.record.values import Reason

RESPONSES = tuple(
    response(name) for name in ("tps", "latency_avg_ms", "latency_stddev_ms", "latency_p95_ms", "latency_p99_ms")
)
_TOP = ("system", "machine", "cluster_size", "tuned", "cloud", "region", "postgres_version", "date")
_BENCHMARK = ("workload", "scale_factor", "clients", "threads", "query_mode")


class PostgresBenchReader(Reader):
    """A result file of the PostgresBench board."""

    name = "PostgresBench"
    suggested = (
        *("system", "machine", "instance_type", "cluster_size", "tuned", "cloud", "region", "postgres_version"),
        FOLDER,
    )
    conditions = (*_BENCHMARK, "duration")

    def recognises(self, file: ForeignFile, options: Options) -> bool:
        return is_postgresbench(file.text)

    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        for file in files:
            yield file.path, read_postgresbench(str(file.path), file.text)


def is_postgresbench(text: str) -> bool:
    """Is it a JSON object with a system and results?"""
    document = _document(text)
    return isinstance(document, dict) and "system" in document and isinstance(document.get("results"), list)


def read_postgresbench(place: str, text: str) -> Reading:
    """The runs of one system, in the order in which they are listed."""
    document = _document(text)
    benchmark = member(document, "benchmark")
    fields = {name: str(document[name]) for name in _TOP if document.get(name) not in (None, "")}
    fields |= {name: str(benchmark[name]) for name in _BENCHMARK if benchmark.get(name) not in (None, "")}
    instance = member(document, "instance").get("type")
    if instance:
        fields["instance_type"] = str(instance)
    planned_s = number(benchmark.get("duration"))
    if planned_s is not None:
        fields["duration"] = f"{planned_s:g} s"
    runs: list[ForeignRun] = []
    left_out: list[LeftOut] = []
    for position, result in enumerate(document["results"], start=1):
        where = f"{place} result {position}"
        if not isinstance(result, dict):
            left_out.append(LeftOut(where, "is not an object"))
            continue
        runs.append(_run(where, {**fields, "run": str(result.get("run", position))}, result, planned_s))
    return Reading("PostgresBench", tuple(runs), RESPONSES, tuple(left_out), repetition="run", ordered=True)


def _run(place: str, fields: Mapping[str, str], result: Mapping[str, Any], planned_s: float | None) -> ForeignRun:
    responses = {each.name: number(result.get(each.name)) for each in RESPONSES}
    failed, done, tps = (number(result.get(name)) for name in ("failed_transactions", "transactions", "tps"))
    problems: tuple[Reason, ...] = ()
    if failed:
        problems = (Reason(FAILED_TRANSACTIONS, f"{failed:.0f} transactions failed"),)
    return ForeignRun(
        place=place,
        fields=fields,
        responses=responses,
        seconds=done / tps if done is not None and tps else None,
        planned_s=planned_s,
        problems=problems,
    )


def _document(text: str) -> Any:
    try:
        return untrusted.json(text)
    except ValueError:
        return None
