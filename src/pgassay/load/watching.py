"""Waiting for a load program's end, but not for ever: an overrun, or a server that is gone, ends the program.

Shared by all drivers that run a program of their own: pgbench and sysbench may wait for an answer that never comes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.running import Clock, Completed, Runner
from pgassay.bench.server import Server

POLL_S = 5.0
"""How often a run under way is looked at."""
OVERRUN_S = 60.0
"""How much longer than asked a timed run may take to end (a checkpoint, a late fsync)."""
SHORT_SHARE = 0.95
"""A timed run that lasts less than this share of its length ended early."""
_DEAD_PATIENCE_S = 20.0


def watch(
    runner: Runner,
    clock: Clock,
    server: Server,
    arguments: Sequence[str],
    output: Path,
    source: str,
    duration_s: int | None,
    environment: Mapping[str, str] | None = None,
    placement: Placement = ANYWHERE,
) -> tuple[Completed, dict[str, str]]:
    """Run it, with its texts in `output/source.out` and `.err`; what went wrong while it ran is named by a code.

    Call it from the main thread: the program dies with the thread that started it.
    """
    started_ns = clock.monotonic_ns()
    name = Path(arguments[0]).name
    running = runner.start(
        arguments,
        stdout=output / f"{source}.out",
        stderr=output / f"{source}.err",
        environment={**server.endpoint.environment(), **(environment or {})},
        placement=placement,
    )
    gone_since_ns: int | None = None
    try:
        while True:
            try:
                return running.wait(POLL_S), {}
            except TimeoutError:
                now_ns = clock.monotonic_ns()
            gone_since_ns = None if server.alive() else (gone_since_ns or now_ns)
            problem = overdue(name, duration_s, now_ns - started_ns)
            if gone_since_ns is not None and now_ns - gone_since_ns > _DEAD_PATIENCE_S * 1e9:
                problem = {"server_gone": f"the server was gone and {name} did not end"}
            if problem:
                running.terminate()
                return running.wait(), problem
    except BaseException:
        running.terminate()
        raise


def overdue(name: str, duration_s: int | None, elapsed_ns: int) -> dict[str, str]:
    """Is a timed run far over its length?"""
    if duration_s is None or elapsed_ns / 1e9 <= duration_s + OVERRUN_S:
        return {}
    return {"overran": f"{name} did not end {OVERRUN_S:.0f} s after its {duration_s} s"}


def short(name: str, duration_s: int | None, elapsed_ns: int) -> dict[str, str]:
    """Did a timed run end before its time, for no reason that it gave?"""
    if duration_s is None or elapsed_ns / 1e9 >= SHORT_SHARE * duration_s:
        return {}
    return {"short": f"{name} ended after {elapsed_ns / 1e9:.1f} s of {duration_s} s"}
