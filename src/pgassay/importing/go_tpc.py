"""go-tpc's output as a foreign run, in both of its styles: `--output json`, and plain lines, its default.

A plain line is `[Summary] NEW_ORDER - Takes(s): 10.0, Count: 4433, TPM: 26653.5, …`, with the same names as in JSON, so
it is turned into JSON and read where the load reads it (`load.go_tpc`). The number of threads is not printed,
but each thread says at the end that it stopped, and these lines are counted: go-tpc counts a transaction that the end
cut short as failed, one for each thread at most, and these are no failures.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pgassay.importing.reader import ForeignFile, Options, Reader
from pgassay.importing.values import ABORTED, FILE, FOLDER, ForeignRun, Reading, Second
from pgassay.load import go_tpc
from pgassay.record.values import Reason

_PLAIN = re.compile(r"^\[(Summary|Current)\] ([A-Z_]+)\s+- (Takes\(s\): .*)$", re.MULTILINE)
_RATE = re.compile(r"^tpmC: ([0-9.]+)", re.MULTILINE)
_JSON = re.compile(r'^\[\{.*"Prefix":"\[(Summary|Current)\] ?"', re.MULTILINE)
_STOPPED = re.compile(r"run worker (\d+) stopped")


class GoTpcReader(Reader):
    """The output of `go-tpc tpcc run`."""

    name = "go-tpc"
    suggested = ("threads", FOLDER, FILE)

    def recognises(self, file: ForeignFile, options: Options) -> bool:
        """Whether it holds a line of results that only go-tpc prints."""
        return is_go_tpc(file.text)

    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        """For each file its path and its run, or the reason why it has none."""
        for file in files:
            yield file.path, read_go_tpc(str(file.path), file.text)


def is_go_tpc(text: str) -> bool:
    """Whether the text has a line of results in one of go-tpc's two styles."""
    return bool(_JSON.search(text) or _PLAIN.search(text))


def read_go_tpc(place: str, text: str) -> Reading | str:
    """The one run of an output, or the reason why there is none."""
    said = go_tpc.parse(text if _JSON.search(text) else _as_json(text))
    failure = go_tpc.first_failure(text)
    if not go_tpc.count_committed(said.summary):
        if failure:
            return f"go-tpc gave up without a result: {failure}"
        return "is go-tpc's output without its summary: it is incomplete, or the program died"
    threads = len(set(_STOPPED.findall(text)))
    values = go_tpc.of_run(said, threads)
    run = ForeignRun(
        place=place,
        fields={"threads": str(threads) if threads else ""},
        responses=values,
        seconds=_length_s(said.summary),
        problems=(Reason(ABORTED, failure),) if failure else (),
        series=tuple(_series(said.seconds)),
    )
    remark = (
        "go-tpc's output does not say its threads, so transactions that were interrupted at the end count as failed"
    )
    return Reading("go-tpc", (run,), go_tpc.RESPONSES, remarks=() if threads else (remark,))


def _as_json(text: str) -> str:
    """Plain lines as the JSON of the other style: neighbours of one prefix are the transactions of one interval."""
    rows: list[list[dict[str, str]]] = []
    for prefix, operation, rest in _PLAIN.findall(text):
        row = dict(part.split(": ", 1) for part in rest.split(", ") if ": " in part)
        row |= {"Prefix": f"[{prefix}] ", "Operation": operation}
        last = rows[-1] if rows else []
        if last and last[0]["Prefix"] == row["Prefix"] and all(each["Operation"] != operation for each in last):
            last.append(row)
        else:
            rows.append([row])
    rate = _RATE.search(text)
    found = [*rows, *([[{"tpmC": rate[1]}]] if rate else [])]
    return "\n".join(json.dumps(each) for each in found)


def _length_s(operations: Sequence[go_tpc.Operation]) -> float | None:
    """How long transactions were made: the number of the commonest by its rate, which is printed with more digits."""
    commonest = max(operations, key=lambda each: each.count)
    return commonest.count * 60 / commonest.per_minute if commonest.per_minute else None


def _series(intervals: Sequence[Sequence[go_tpc.Operation]]) -> Iterator[Second]:
    """Each interval's rate at its end, which is a whole number of seconds (go-tpc's `--interval`)."""
    moment_ns = 0
    for operations in intervals:
        moment_ns += max(1, round(_length_s(operations) or 0.0)) * 10**9
        rate = sum(each.per_minute for each in operations if not each.failed) / 60
        yield Second(moment_ns, moment_ns, "go-tpc", "tps", "1/s", rate)
