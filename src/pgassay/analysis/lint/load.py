"""What a DBA objects to before looking at a number: how the load was set up, and what it could not show.

Each objection needs what the source says of the setup; where it says nothing, nothing is found. See docs/report.md for
the limits.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pgassay.analysis.lint.benchmark import SHORT, Benchmark, Run
from pgassay.study.findings import Finding, Severity

CLIENTS_A_THREAD = 16
"""More clients on one thread of a load program wait for the program and not for the server."""
KEPT_UP_SHARE = 0.95
"""Of the rate; a run below it fell behind, so its speed is the server's own."""
KEPT_UP_LAG_MS = 1000.0
"""Behind schedule by more, the server did not keep up with a rate of which only the lag is printed."""
CHECKPOINT_TIMEOUT_S = 300.0
"""PostgreSQL's default."""


def _scale_below_clients(run: Run) -> str:
    scale, clients = run.setup.scale, run.setup.clients
    if not run.setup.tpc_b or scale is None or clients is None or scale >= clients:
        return ""
    return f"scale {scale:g} and {clients:g} clients"


def _rate_limited(run: Run) -> str:
    setup = run.setup
    if not setup.rate_limited and (held := _held(run)):
        return held
    if not setup.rate_limited or (setup.lag_ms or 0.0) > KEPT_UP_LAG_MS:
        return ""
    if setup.rate is None:
        return f"{run.value or 0.0:.6g} transactions per second at a limited rate"
    if run.value is not None and run.value < KEPT_UP_SHARE * setup.rate:
        return ""
    return f"{run.value or 0.0:.6g} transactions per second at a rate of {setup.rate:g}"


HELD_LEAST = 5
HELD_TRANSACTIONS = 30
"""In one report: so many are never the same number five times by chance, unless something holds them."""


def _held(run: Run) -> str:
    """What says that something held the rate: all reports but the first and the last are one number, to the digit."""
    inner = [tps for _, tps in run.course[1:-1]]
    if len(inner) < HELD_LEAST or not inner[0] or len(set(inner)) > 1:
        return ""
    if inner[0] * (run.course[-1][0] - run.course[0][0]) / (len(run.course) - 1) < HELD_TRANSACTIONS:
        return ""
    return f"{inner[0]:g} transactions per second in each of {len(inner)} reports in a row"


def _below_checkpoint(run: Run) -> str:
    setup = run.setup
    if not setup.writes:
        return ""
    if setup.cycles is not None:
        return "" if setup.cycles >= 1.0 else f"no whole checkpoint cycle in {run.seconds or 0.0:.3g} s"
    seconds = run.planned_s if run.seconds is None else run.seconds
    if seconds is None or seconds >= SHORT * (setup.checkpoint_timeout_s or CHECKPOINT_TIMEOUT_S):
        return ""
    if setup.checkpoint_timeout_s is None:
        return f"{seconds:.3g} s; checkpoint_timeout is not known, and its default is 5 min"
    return f"{seconds:.3g} s, and checkpoint_timeout is {setup.checkpoint_timeout_s:g} s"


def _cycle_known(benchmark: Benchmark) -> bool:
    return any(run.setup.checkpoint_timeout_s is not None or run.setup.cycles is not None for run in benchmark.runs)


def _few_threads(run: Run) -> str:
    clients, threads = run.setup.clients, run.setup.threads
    if clients is None or not threads or clients <= CLIENTS_A_THREAD * threads:
        return ""
    return f"{clients:g} clients on {threads:g} {'thread' if threads == 1 else 'threads'}"


def _one_machine(run: Run) -> str:
    return "no machine of its own for the client" if run.setup.same_machine else ""


def _data_in_memory(run: Run) -> str:
    size, memory = run.setup.database_bytes, run.setup.memory_bytes
    if not run.setup.about_disk or size is None or memory is None or size >= memory:
        return ""
    return f"{size / 1e9:.3g} GB of data and {memory / 1e9:.3g} GB of memory"


@dataclass(frozen=True)
class _Objection:
    """`judge` says what is wrong with a run, or nothing; `serious` whether that is a warning, or only a note."""

    code: str
    judge: Callable[[Run], str]
    text: str
    remedy: str
    serious: Callable[[Benchmark], bool] = lambda _: True
    responses: tuple[str, ...] = ()
    """The responses that it concerns; none: all."""


_OBJECTIONS = (
    _Objection(
        "scale-below-clients", _scale_below_clients,
        "clients wait for each other's rows: TPC-B updates one of as many branches as its scale",
        "initialise with a scale of at least the number of clients, as pgbench's manual says",
    ),
    _Objection(
        "rate-limited", _rate_limited,
        "throughput is the rate that was asked for, and not what the server can do",
        "compare latencies at this rate, or run without --rate",
        responses=("", "tps"),
    ),
    _Objection(
        "window-below-checkpoint", _below_checkpoint,
        "runs are shorter than a checkpoint cycle, so what checkpoints and full-page images cost may be missing",
        "measure whole checkpoint cycles, or say that checkpoints are left out",
        serious=_cycle_known,
    ),
    _Objection(
        "few-threads", _few_threads,
        "the load program may be the bottleneck: many clients share a thread",
        "give it more threads (pgbench --jobs), and look at the client's CPU time",
    ),
    _Objection(
        "one-machine", _one_machine,
        "client and server share one machine: the client's CPU time is missing to the server",
        "run the client on another machine, or give each its own CPUs, and say so",
        serious=lambda _: False,
    ),
    _Objection(
        "data-in-memory", _data_in_memory,
        "the data fit into memory, so reads do not reach the drive that is tested",
        "load more data than the machine has memory, or limit its memory",
    ),
)  # fmt: skip


def load_setup(benchmark: Benchmark) -> tuple[Finding, ...]:
    """One finding for each objection to a whole run; the first such run's numbers are its evidence."""
    whole = [run for run, short in zip(benchmark.runs, benchmark.short_of_s, strict=True) if not (run.aborted or short)]
    findings = []
    for each in _OBJECTIONS:
        if each.responses and benchmark.response not in each.responses:
            continue
        found = [(run, said) for run in whole if (said := each.judge(run))]
        if not found:
            continue
        run, said = found[0]
        evidence = f"{len(found)} of {len(whole)} {benchmark.replicate}s; {run.arm}: {said}"
        severity = Severity.WARNING if each.serious(benchmark) else Severity.NOTE
        findings.append(Finding(each.code, severity, each.text, remedy=each.remedy, evidence=evidence))
    return tuple(findings)
