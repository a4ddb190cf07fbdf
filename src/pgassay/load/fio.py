"""fio as a load: what the drive under the data directory can do by itself.

It works on a file of our own in the cluster's directory: the very file system under test. The server idles meanwhile,
and fio works in its place: under its memory limit, on its CPUs. The file is laid out by the warm-up and goes
with the trial's clone, also after a kill. It is written out whole first, as PostgreSQL's segments are: on blocks that
were only reserved an fdatasync has to write the file system's journal too. No shell is used, and every value is checked
before. An I/O stands where a transaction stands elsewhere: costs are per I/O.

Patterns are those of PostgreSQL and of a published study: random I/O with a share of reads, one sequential stream, WAL
(a write and an fdatasync in turn, through the page cache) and `reread`, which shows a cache beneath the guest.

An fdatasync's latencies are in `sync`, whose own count of I/Os is 0 in fio 3.33 although its histogram is full. Numbers
are from fio's histograms (format json+): percentiles within about 1 %.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.errors import UsageError
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.kinds import SWITCH, Kind, choice, not_a_choice, whole
from pgassay.interfaces.load import EMPTY_CLUSTER_BYTES, BaseLoad, Driver, LoadResult, Moment
from pgassay.interfaces.options import option
from pgassay.interfaces.probe import Sample
from pgassay.interfaces.running import Completed
from pgassay.interfaces.server import Server
from pgassay.load import program
from pgassay.load import responses as shared
from pgassay.load.options import OTHER_LOAD, ThreadedOptions, kind
from pgassay.load.sysbench import quantile_ms
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_bytes, parse_memory, parse_whole
from pgassay.study.work import IO

PROGRAM = "fio"
FILE = "pgassay_fio.tmp"
_LAYOUT_BYTES_PER_S = 5e6
"""Every drive worth measuring is faster; a layout that takes longer has hung."""
_SOURCE = "fio"
_LAYOUT = "layout"
SEQUENTIAL_READ, SEQUENTIAL_WRITE, SEQWR, WAL, REREAD = "read", "write", "seqwr", "wal", "reread"
_RANDOM = "random:"
WORDS = ("random:N% (N % reads)", SEQUENTIAL_READ, SEQUENTIAL_WRITE, SEQWR, WAL, REREAD)
IO_BYTES_MIN, IO_BYTES_MAX = 512, 16 << 20
FILE_BYTES_MIN = 16 << 20
PERCENTILES = "50:95:99:99.9"
HOT_BYTES = 16 << 20
"""The region that `reread` reads again and again: small enough for any cache beneath."""
_SEQUENTIAL = {SEQUENTIAL_READ: "read", SEQUENTIAL_WRITE: "write", SEQWR: "write", WAL: "write"}
_SEQWR = ("--fallocate=none", "--create_on_open=1", "--fsync=100", "--end_fsync=1")
"""What sysbench's seqwr does by default: the file grows as it is written, with an fsync every 100 writes."""


def parse_pattern(name: str, text: str) -> str:
    """`random:70%`, `random:70` or a word, in canonical form."""
    word = text.strip()
    if word.startswith(_RANDOM):
        number = parse_whole(word.removeprefix(_RANDOM).removesuffix("%"))
        if number is not None and number <= 100:
            return f"{_RANDOM}{number}%"
    elif word in WORDS[1:]:
        return word
    raise not_a_choice(name, text, WORDS)


IO_SIZE: Kind[int] = kind(
    lambda text: size if (size := parse_memory(text)) in range(IO_BYTES_MIN, IO_BYTES_MAX + 1, IO_BYTES_MIN) else None,
    format_bytes,
    "a multiple of 512 bytes up to 16MB",
    must="a multiple of 512 bytes up to 16MB",
    hint='for example "8kB"',
)
FILE_SIZE: Kind[int] = kind(
    lambda text: size if (size := parse_memory(text)) >= FILE_BYTES_MIN else None,
    format_bytes,
    f"a size of at least {format_bytes(FILE_BYTES_MIN)}",
    must=f"at least {format_bytes(FILE_BYTES_MIN)}",
    hint='for example "1GB"',
)


@dataclass(frozen=True, kw_only=True)
class FioOptions(ThreadedOptions):
    """A fio load: an access pattern, the size of an I/O, threads and depth."""

    driver = "fio"
    turns = OTHER_LOAD

    pattern: str = option(
        Kind(parse_pattern, str, ", ".join(WORDS)),
        default="random:100%",
        summary="access pattern: random with a share of reads, a stream, a new file, WAL (write, fdatasync), reread",
    )
    io_bytes: int = option(IO_SIZE, name="io_size", default=8192, unit="bytes", summary="fio --bs: the size of one I/O")
    depth: int = option(whole(), default=1, summary="fio --iodepth: I/Os under way in each thread")
    file_bytes: int = option(
        FILE_SIZE,
        name="file_size",
        default=1 << 30,
        unit="bytes",
        summary="fio --size: of the file that all threads share, in the cluster's folder",
        size=ModelSize(least_bytes=FILE_BYTES_MIN, step_bytes=1 << 20, data="file of 16MB"),
    )
    direct: bool = option(
        SWITCH, default=True, summary="fio --direct: around the page cache; WAL always goes through it"
    )
    engine: str = option(
        choice("auto", "psync", "libaio", "io_uring"),
        default="auto",
        summary="fio --ioengine; auto: psync at depth 1, else io_uring",
    )

    def __post_init__(self) -> None:
        if self.file_bytes < self.threads * self.io_bytes * 2:
            size = format_bytes(self.file_bytes)
            raise UsageError(
                f'"load.file_size" of {size} is too small for {self.threads} threads', "give a larger file"
            )

    def estimated_bytes(self) -> int:
        return EMPTY_CLUSTER_BYTES + self.file_bytes

    @property
    def trial_bytes(self) -> int:
        """fio's file, which the first run in each clone lays out."""
        return self.file_bytes

    @property
    def laid_out_bytes(self) -> int:
        """The same file, unless the load itself creates it."""
        return 0 if self.pattern == SEQWR else self.file_bytes

    @property
    def read_share(self) -> int | None:
        """Reads in percent of all I/Os; None for patterns that are not random."""
        if not self.pattern.startswith(_RANDOM):
            return None
        return int(self.pattern.removeprefix(_RANDOM).removesuffix("%"))

    @property
    def connections(self) -> int:
        return 0


def run_command(file: Path, options: FioOptions, seed: int, log_prefix: Path) -> list[str]:
    """Work on the file for the asked time; JSON with histograms on stdout, I/Os a second in `log_prefix`."""
    command = [
        PROGRAM, f"--filename={file}", f"--bs={options.io_bytes}", f"--ioengine={engine(options)}",
        f"--iodepth={options.depth}", f"--direct={int(options.direct and options.pattern != WAL)}", "--thread",
        "--group_reporting", "--randrepeat=1", "--allrandrepeat=1", f"--randseed={seed}", "--time_based",
        f"--percentile_list={PERCENTILES}",
        "--log_avg_msec=1000", "--per_job_logs=0", f"--write_iops_log={log_prefix}", "--output-format=json+",
    ]  # fmt: skip
    if options.pattern == REREAD:  # half the time over the whole file, no block twice; then in one small region
        each = [f"--numjobs={options.threads}", f"--runtime={max(1, (options.duration_s or 0) // 2)}", "--rw=randread"]
        fresh = ["--name=fresh", *each, f"--size={options.file_bytes}"]
        again = ["--name=repeated", "--stonewall", "--new_group", *each, f"--size={HOT_BYTES}", "--norandommap"]
        return [*command, *fresh, *again]
    command += ["--name=load", f"--numjobs={options.threads}", f"--runtime={options.duration_s}"]
    if options.read_share is not None:
        mix = ["--rw=randrw", f"--rwmixread={options.read_share}"]
        if options.read_share in (0, 100):
            mix = [f"--rw={'randread' if options.read_share else 'randwrite'}"]
        return [*command, f"--size={options.file_bytes}", *mix, "--norandommap"]
    part = options.file_bytes // options.threads // options.io_bytes * options.io_bytes
    command += [f"--rw={_SEQUENTIAL[options.pattern]}", f"--size={part}", f"--offset_increment={part}"]
    if options.pattern == SEQWR:
        return [*command, *_SEQWR]
    return [*command, "--fdatasync=1"] if options.pattern == WAL else command


def engine(options: FioOptions) -> str:
    """`psync` is what a PostgreSQL backend does; deeper queues need an asynchronous one."""
    if options.engine != "auto":
        return options.engine
    return "psync" if options.depth == 1 else "io_uring"


_NS_PER_MS = 1e6
STALLS_MS: Mapping[str, float] = {"stalls_100ms": 100.0, "stalls_1s": 1000.0}
"""What counts as a stall, by the response that counts it."""
_LOWER, _HIGHER = Better.LOWER, Better.HIGHER


_PERCENTILES = {"50.000000": "p50", "95.000000": "p95", "99.000000": "p99"}
_WORDS = {
    "": "mean latency of",
    "_p50": "median latency of",
    "_p95": "95th percentile of the latency of",
    "_p99": "99th percentile of the latency of",
    "_max": "greatest latency of",
}


RESPONSES: tuple[Response, ...] = (
    Response("iops", "reads and writes per second", "1/s", _HIGHER),
    Response("bytes_per_s", "bytes read and written per second", "bytes", _HIGHER),
    Response("read_iops", "reads per second", "1/s", _HIGHER, Scale.DIFFERENCE),
    Response("write_iops", "writes per second", "1/s", _HIGHER, Scale.DIFFERENCE),
    Response("flushes_per_s", "fdatasyncs per second", "1/s", _HIGHER, Scale.DIFFERENCE),
    *(
        Response(f"io_latency{name}_ms", f"{said} an I/O", "ms", _LOWER)
        for name, said in _WORDS.items()
        if name != "_p50"
    ),
    Response("stalls_100ms", "reads and writes that took more than 100 ms", "count", _LOWER, Scale.DIFFERENCE),
    Response("stalls_1s", "reads and writes that took more than 1 s", "count", _LOWER, Scale.DIFFERENCE),
    *(
        Response(f"{kind}_latency{name}_ms", f"{said} {words}", "ms", _LOWER)
        for kind, words in (("read", "reads"), ("write", "writes"), ("flush", "fdatasyncs"))
        for name, said in _WORDS.items()
    ),
    Response("reread_speedup", "reads of a small region again, by reads of fresh blocks", "", Better.NEITHER),
)


@dataclass(frozen=True)
class Result:
    """One run: the responses, all I/Os, fio's error number, and the bytes written, None where that is not known."""

    responses: Mapping[str, float | None]
    operations: int
    error: int
    written_bytes: float | None = None


def parse(text: str) -> Result:
    """From fio's stdout, which may begin with warnings; raises `LoadError`."""
    start = text.find("{")
    if start < 0:
        raise _unrecognised("there is no JSON in it")
    try:
        document, _ = json.JSONDecoder().raw_decode(text[start:])
        jobs = document["jobs"]
        first = jobs[0]
        found = _rates(first)
        for each in ("read", "write"):  # percentiles are of completion: of submission fio keeps no histogram
            percentiles = first[each]["clat_ns"].get("percentile", {})
            found |= _latency(each, {**first[each]["lat_ns"], "percentile": percentiles})
        found |= _latency("flush", first["sync"]["lat_ns"])
        found |= _every(first)
        if len(jobs) > 1 and first["read"]["iops"]:
            found["reread_speedup"] = jobs[1]["read"]["iops"] / first["read"]["iops"]
        operations = sum(int(job[kind]["total_ios"]) for job in jobs for kind in ("read", "write"))
        written_bytes = float(sum(int(job["write"]["io_bytes"]) for job in jobs))
        error = next((int(job["error"]) for job in jobs if job["error"]), 0)
    except (ValueError, LookupError, TypeError) as problem:
        raise _unrecognised(f"{type(problem).__name__}: {problem}") from None
    return Result(shared.complete(RESPONSES, found), operations, error, written_bytes)


def _unrecognised(detail: str) -> LoadError:
    return LoadError(f"the output of fio has an unrecognised format: {detail}", "see fio.out in the trial")


def _rates(job: Mapping[str, Any]) -> dict[str, float | None]:
    read, write, sync = job["read"], job["write"], job["sync"]
    runtime_s = max(read["runtime"], write["runtime"]) / 1e3
    flushes = sync["lat_ns"].get("N", 0)
    return {
        "iops": read["iops"] + write["iops"],
        "bytes_per_s": float(read["bw_bytes"] + write["bw_bytes"]),
        "read_iops": read["iops"] if read["total_ios"] else None,
        "write_iops": write["iops"] if write["total_ios"] else None,
        "flushes_per_s": flushes / runtime_s if flushes and runtime_s else None,
    }


def _latency(kind: str, part: Mapping[str, Any]) -> dict[str, float | None]:
    if not part.get("N"):
        return {}
    percentiles = part.get("percentile", {})
    found: dict[str, float | None] = {
        f"{kind}_latency_ms": part["mean"] / _NS_PER_MS,
        f"{kind}_latency_max_ms": part["max"] / _NS_PER_MS,
    }
    for key, name in _PERCENTILES.items():
        if key in percentiles:
            found[f"{kind}_latency_{name}_ms"] = percentiles[key] / _NS_PER_MS
    return found


def _every(job: Mapping[str, Any]) -> dict[str, float | None]:
    """Reads and writes together; percentiles from both histograms."""
    parts = [job[kind] for kind in ("read", "write") if job[kind]["total_ios"]]
    count = sum(part["lat_ns"]["N"] for part in parts)
    if not count:
        return {}
    bins = Counter[int]()
    for part in parts:
        bins.update({int(edge): int(number) for edge, number in part["clat_ns"].get("bins", {}).items()})
    histogram = [(edge / _NS_PER_MS, bins[edge]) for edge in sorted(bins)]
    return {
        "io_latency_ms": sum(part["lat_ns"]["mean"] * part["lat_ns"]["N"] for part in parts) / count / _NS_PER_MS,
        "io_latency_max_ms": max(part["lat_ns"]["max"] for part in parts) / _NS_PER_MS,
        "io_latency_p95_ms": quantile_ms(histogram, 0.95),
        "io_latency_p99_ms": quantile_ms(histogram, 0.99),
        **{
            name: float(sum(times for value_ms, times in histogram if value_ms > edge_ms)) if histogram else None
            for name, edge_ms in STALLS_MS.items()
        },
    }


def per_second(text: str) -> Sequence[tuple[int, float, float]]:
    """(second, reads/s, writes/s) from an IOPS log averaged over a second: `msec, value, direction, …` a thread."""
    found: dict[int, list[float]] = {}
    for line in text.splitlines():
        cells = line.split(",")
        if len(cells) < 3:
            continue
        try:
            second, value, direction = round(int(cells[0]) / 1000), float(cells[1]), int(cells[2])
        except ValueError:
            continue
        if direction in (0, 1):
            found.setdefault(second, [0.0, 0.0])[direction] += value
    return [(second, *found[second]) for second in sorted(found)]  # type: ignore[misc]


class FioLoad(BaseLoad[FioOptions]):
    responses = RESPONSES

    def check(self) -> None:
        program.check(self.options.cores)
        if self.options.warmup_s < 1:
            raise UsageError(
                'the driver fio needs "load.warmup" of at least 1s', "the warm-up lays its file out, outside the window"
            )

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `output`. The first run in a clone lays the file out before its time."""
        options = self.options
        output.mkdir(parents=True, exist_ok=True)
        file = Path(str(server.query("SHOW data_directory")[0][0])) / FILE
        before = program.problem(options.cores, server) or self._lay_out(server, file, output)
        now = self.tools.clock.monotonic_ns(), self.tools.clock.wall_ns()
        run = program.Run(Completed((PROGRAM,), 1, "", ""), before, now, now)
        if not before:
            command = run_command(file, options, seed, output / _SOURCE)
            run = program.run(
                self.tools, server, options, command, output, _SOURCE, options.timed_s, instead_of_server=True
            )
        done, began, ended = run.done, run.began, run.ended
        problems = before or run.problems or _problems(done, "refused")
        found = Result(shared.complete(RESPONSES, {}), 0, 0)
        if done.status == 0 and not problems:
            try:
                found = parse(done.stdout)
            except LoadError as error:
                problems = {"no_summary": error.message}
            if found.error:
                problems = problems or {"io_error": f"an I/O failed with error {found.error}"}
            elif not found.operations:
                problems = problems or {"no_transactions": "no I/O was done"}
        return LoadResult(
            status=done.status,
            began=began,
            ended=ended,
            transactions=found.operations,
            responses=found.responses,
            series=_series(output, began),
            problems=problems or program.short(PROGRAM, options.timed_s, ended[0] - began[0]),
            written_bytes=found.written_bytes,
        )

    def _lay_out(self, server: Server, file: Path, output: Path) -> dict[str, str]:
        """Write the file, in the server's memory group: the page cache of what others wrote is not in its limit."""
        if self.options.pattern == SEQWR:  # each run makes a new file
            file.unlink(missing_ok=True)
            return {}
        if file.exists() and file.stat().st_size >= self.options.file_bytes:
            return {}
        command = [
            PROGRAM, "--name=layout", f"--filename={file}", f"--size={self.options.file_bytes}", "--rw=write",
            "--bs=1M", "--ioengine=psync", "--end_fsync=1", "--output-format=json",
        ]  # fmt: skip
        patience_s = int(self.options.file_bytes / _LAYOUT_BYTES_PER_S)
        run = program.run(
            self.tools, server, self.options, command, output, _LAYOUT, patience_s, instead_of_server=True
        )
        return {_LAYOUT: next(iter(run.problems.values()))} if run.problems else _problems(run.done, _LAYOUT)


def _problems(done: Completed, code: str) -> dict[str, str]:
    if done.status == 0:
        return {}
    if done.status < 0:
        return {"killed": f"{Path(done.command[0]).name} was ended by signal {-done.status}"}
    text = f"{done.stdout}\n{done.stderr}"
    lines = [line.strip() for line in text.splitlines() if line.startswith(("fio:", "FATAL:"))]
    lines = lines or [line.strip() for line in text.splitlines() if line.strip()]
    if any("No space left" in line for line in lines):
        code = "no_space"
    return {code: lines[0] if lines else "no message"}


def _series(output: Path, began: Moment) -> tuple[Sample, ...]:
    path = output / f"{_SOURCE}_iops.log"
    if not path.exists():
        return ()
    samples = []
    for second, reads, writes in per_second(path.read_text(encoding="utf-8")):
        moment = began[0] + second * 10**9, began[1] + second * 10**9
        samples += [
            Sample(*moment, _SOURCE, "read_iops", "1/s", reads),
            Sample(*moment, _SOURCE, "write_iops", "1/s", writes),
        ]
    return tuple(samples)


DRIVER = Driver(
    FioOptions,
    FioLoad,
    "no database: what the drive under it can do by itself",
    program=PROGRAM,
    program_hint="it is the package fio: apt install fio, dnf install fio",
    work=IO,
)
