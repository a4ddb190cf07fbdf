"""sysbench's output of a database test as a foreign run.

What is printed is read where the load reads it (`load.sysbench`); a text without the totals is no run. A log
may hold several runs, and what `prepare` and `cleanup` said between them. Every line that sysbench prints before a run
starts is a setting, but for what the random numbers begin with.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pgassay.importing.reader import (
    ABORTED,
    FILE,
    FOLDER,
    ForeignFile,
    ForeignRun,
    Mark,
    Options,
    Reader,
    Reading,
    rates,
    read_each,
    response,
    unwrapped,
)
from pgassay.load import sysbench as summary
from pgassay.record.values import Reason
from pgassay.study.responses import Better, Response, Scale
from pgassay.untrusted import REAL, WHOLE

RESPONSES = (
    response("tps"),
    response("qps"),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    Response("latency_p95_ms", "95th percentile of latency", "ms", Better.LOWER),
    Response("latency_p99_ms", "99th percentile of latency", "ms", Better.LOWER),
    Response("latency_max_ms", "greatest latency", "ms", Better.LOWER),
    Response("ignored_errors_share", "share of transactions that failed", "share", Better.LOWER, Scale.DIFFERENCE),
)


class SysbenchReader(Reader):
    """sysbench's standard output, with its errors or without."""

    name = "sysbench"
    suggested = ("threads", "statements", "rate", "options", "version", FOLDER, FILE)

    def recognises(self, file: ForeignFile, options: Options) -> bool:
        return _FIRST.search(file.text) is not None and _RUNS.search(file.text) is not None

    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        for file in files:
            yield file.path, read_outputs(str(file.path), file.text)


_FIRST = re.compile(r"sysbench \d+\.\d+|Running the test with following options:")
_RUNS = re.compile(r"^[^\"'=\n]{0,80}?(?:sysbench \d+\.\d+[.\d]*\S*(?: \(|: |$)|Running the test with)", re.MULTILINE)
_MARKS = (
    Mark(re.compile(r"sysbench \d+\.\d+")),
    Mark(re.compile(r"Running the test with following options:")),
    Mark(re.compile(r"Threads started!")),
    Mark(re.compile(rf"\[ *({WHOLE})s ?\] th(?:rea)?ds: "), often=True),
    Mark(re.compile(r"(?:SQL|OLTP test) statistics:")),
    Mark(re.compile(r"Threads fairness:")),
)
_HEADER = re.compile(r"Running the test with following options:\n(.*?)Threads started!", re.DOTALL)
_NO_SETTING = re.compile(
    r"Number of threads: |(?:Initializing )?[Rr]andom number generator|Initializing worker threads"
)
_RATE = re.compile(rf"Target transaction rate: ({REAL})/sec")


def read_outputs(place: str, text: str) -> Reading | str:
    if "Checkpoint report:" in text:
        return "holds reports of --report-checkpoints, which look like results and are those of a part of the run"
    loaded = False

    def read_part(where: str, part: str) -> Reading | str:
        """A run that follows `prepare` is the first after the load."""
        nonlocal loaded
        found = read_sysbench(where, part)
        if isinstance(found, Reading) and loaded:
            runs = (replace(run, fields={**run.fields, "after_load": "yes"}) for run in found.runs)
            found = replace(found, runs=tuple(runs))
        loaded = isinstance(found, str) and _LOADED.search(part) is not None
        return found

    return read_each(place, unwrapped(text, _FIRST), _MARKS, read_part)


_LOADED = re.compile(r"^(?:Creating table '|Inserting \d+ records into )", re.MULTILINE)


def read_sysbench(place: str, text: str) -> Reading | str:
    totals, fatal = summary.parse_totals(text), summary.first_fatal(text)
    if totals is None:
        if fatal:
            return f"sysbench gave up without a result: {fatal}"
        if summary.ended_without_database(text):
            return "is sysbench's output of another test than a database's"
        if "Running the test" not in text and "Threads started!" not in text:
            return "is sysbench's output of prepare or cleanup"
        return "is sysbench's output without its totals: it is incomplete, or the program died"
    due = totals.transactions + totals.ignored_errors
    # What a transaction does, as coarsely as chance cannot change: sysbench does not print the name of its test.
    kinds = " and ".join(word for word, count in (("reads", totals.read), ("writes", totals.write)) if count)
    number = "several" if totals.read + totals.write + totals.other > 1.5 * due else "one"
    more = tuple(
        Response(name, f"{name[9:-3]}: percentile of latency", "ms", Better.LOWER)
        for name in totals.latencies
        if name.startswith("latency_p") and name not in {each.name for each in RESPONSES}
    )
    responses = (*RESPONSES, *more)
    known = {each.name for each in responses}
    run = ForeignRun(
        place=place,
        fields={
            "threads": str(totals.threads) if totals.threads else "",
            "statements": f"{kinds or 'neither reads nor writes'}, {number} a transaction",
            **_settings(text),
        },
        responses={
            "tps": totals.tps,
            "qps": totals.qps,
            **{name: value for name, value in totals.latencies.items() if name in known},
            "ignored_errors_share": totals.ignored_errors / due if due else None,
        },
        seconds=totals.seconds,
        problems=(Reason(ABORTED, fatal),) if fatal else (),
        series=rates("sysbench", ((each.elapsed_s, each.tps) for each in summary.parse_seconds(text))),
    )
    remark = "sysbench counts failed transactions separately, as ignored errors; its tps leaves them out"
    return Reading("sysbench", (run,), responses, remarks=(remark,) if totals.ignored_errors else ())


def _settings(text: str) -> dict[str, str]:
    """What else it prints of itself before the threads start: its version, a rate, and all other lines as one text."""
    banner, header = re.search(r"^sysbench (\d+\.\d.*?):? *$", text, re.MULTILINE), _HEADER.search(text)
    version = re.sub(r":  .*", "", banner[1]) if banner else ""
    found = {"version": version, "client_program": f"sysbench {version}"} if banner else {}
    lines = [line.strip() for line in header[1].splitlines() if line.strip()] if header else []
    if rate := next((match[1] for line in lines if (match := _RATE.match(line))), ""):
        found["rate"] = rate
    options = [line for line in lines if not _NO_SETTING.match(line) and not _RATE.match(line)]
    # Threads that begin at the same time print a line more than once, without an end between.
    options = [
        line
        for line in dict.fromkeys(options)
        if not any(len(line) > len(each) and line == each * (len(line) // len(each)) for each in options)
    ]
    return {**found, **({"options": "; ".join(options)} if options else {})}
