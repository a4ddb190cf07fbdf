"""Running a load's own program: on which CPUs, and for how long at most.

A program that shares its server's cores takes from them what it measures; on cores of its own it does not. The kernel
keeps programs to them (sched_setaffinity(2)); nothing can read it back once the program has ended. A program may wait
for an answer that never comes, so a run that lasts too long, or whose server has died, is ended.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.interfaces.client import HERE, LOOPBACK
from pgassay.interfaces.errors import ClientLostError
from pgassay.interfaces.hosting import Placement, parse_list
from pgassay.interfaces.load import Moment, Tools
from pgassay.interfaces.running import Clock, Completed, Running
from pgassay.interfaces.server import Server
from pgassay.load.options import REST, PlacedOptions

POLL_S = 5.0
"""How often a run under way is looked at."""
PRINTED_BYTES_MAX = 32 << 20
"""Of a load: it is read line by line, several times. A script may print without end (`\\shell`)."""
_LOOK_S = 1.0
"""How often it is looked how much it has printed."""
OVERRUN_S = 60.0
"""How much longer than asked a timed run may take to end (a checkpoint, a late fsync)."""
SHORT_SHARE = 0.95
"""A timed run that lasts less than this share of its length ended early."""
_DEAD_PATIENCE_S = 20.0


@dataclass(frozen=True)
class Run:
    """A run of a load's own program: how it ended, what went wrong meanwhile (code to detail), and when it worked."""

    done: Completed
    problems: dict[str, str]
    began: Moment
    ended: Moment


def run(
    tools: Tools,
    server: Server,
    options: PlacedOptions,
    arguments: Sequence[str],
    output: Path,
    source: str,
    duration_s: int | None,
    environment: Mapping[str, str] | None = None,
    files: Sequence[Path] = (),
    *,
    instead_of_server: bool = False,
) -> Run:
    """Run it on the CPUs and the host that its options name; not where the server leaves it no CPU.

    Its texts go to `output/source.out` and `.err`; what went wrong while it ran is named by a code. `files` are the
    user's that it reads. With `instead_of_server` it works in the idle server's place, with the memory that the server
    has. Raises `ClientLostError` where it ran on another host, and that one is gone.

    Call it from the main thread: the program dies with the thread that started it.
    """
    clock = tools.clock
    began = clock.monotonic_ns(), clock.wall_ns()
    done, problems = Completed(tuple(arguments), 1, "", ""), problem(options.cores, server)
    if not problems:
        placed = place(options.cores, server)
        if instead_of_server:
            placed = replace(placed, groups=server.placement.groups)
        endpoint = server.client_endpoint
        keys = endpoint.network.files if endpoint.network else ()
        printed = output / f"{source}.out", output / f"{source}.err"
        running = (tools.elsewhere or tools.runner).start(
            arguments,
            stdout=printed[0],
            stderr=printed[1],
            environment={**endpoint.environment(), **(environment or {})},
            placement=placed,
            files=(*keys, *files),
            output=output,
        )
        done, problems = _watched(running, printed, clock, server, Path(arguments[0]).name, duration_s)
    ended = clock.monotonic_ns(), clock.wall_ns()
    return Run(done, problems, *span(done, began, ended))


def _watched(
    running: Running, printed: Sequence[Path], clock: Clock, server: Server, name: str, duration_s: int | None
) -> tuple[Completed, dict[str, str]]:
    """Wait until it ends, or end it where it lasts too long, prints without end or its server has died."""
    started_ns = looked_ns = clock.monotonic_ns()
    gone_since_ns: int | None = None
    try:
        while True:
            try:
                return running.wait(_LOOK_S), {}
            except TimeoutError:
                now_ns = clock.monotonic_ns()
            endless = [each for each in printed if each.exists() and each.stat().st_size > PRINTED_BYTES_MAX]
            problem = {"endless_output": f"{name} printed more than {PRINTED_BYTES_MAX >> 20} MB"} if endless else {}
            if now_ns - looked_ns >= POLL_S * 1e9:
                looked_ns = now_ns
                gone_since_ns = None if server.alive() else (gone_since_ns or now_ns)
                problem = problem or overdue(name, duration_s, now_ns - started_ns)
                if gone_since_ns is not None and now_ns - gone_since_ns > _DEAD_PATIENCE_S * 1e9:
                    problem = {"server_gone": f"the server was gone and {name} did not end"}
            if problem:
                running.terminate()
                done = running.wait()
                for each in printed:
                    if each.exists() and each.stat().st_size > PRINTED_BYTES_MAX:
                        os.truncate(each, PRINTED_BYTES_MAX)
                        done = replace(done, stdout="", stderr="")  # nothing of it is parsed
                return done, problem
    except BaseException:
        with suppress(ClientLostError):  # what is raised already says why
            running.terminate()
        raise


def span(done: Completed, began: Moment, ended: Moment) -> tuple[Moment, Moment]:
    """When the load ran by our clocks: what it took to reach another host and to come home is not the load's."""
    there = done.elsewhere
    if there is None:
        return began, ended
    wall_ns = round(there.began_wall_ns + there.offset_ns)
    later_ns = max(0, wall_ns - began[1])
    first = began[0] + later_ns, began[1] + later_ns
    lasted_ns = there.ended_wall_ns - there.began_wall_ns
    return first, (first[0] + lasted_ns, first[1] + lasted_ns)


def overdue(name: str, duration_s: int | None, elapsed_ns: int) -> dict[str, str]:
    if duration_s is None or elapsed_ns / 1e9 <= duration_s + OVERRUN_S:
        return {}
    return {"overran": f"{name} did not end {OVERRUN_S:.0f} s after its {duration_s} s"}


def short(name: str, duration_s: int | None, elapsed_ns: int) -> dict[str, str]:
    """Did a timed run end before its time, for no reason that it gave?"""
    if duration_s is None or elapsed_ns / 1e9 >= SHORT_SHARE * duration_s:
        return {}
    return {"short": f"{name} ended after {elapsed_ns / 1e9:.1f} s of {duration_s} s"}


def check(cores: str, host: str = HERE) -> None:
    """Refuse CPUs that this machine does not have; raises `UsageError`.

    Those of another host it does not know, but a list is all that can be asked of that one.
    """
    if host not in (HERE, LOOPBACK):
        if cores == REST:
            raise UsageError(
                f'"load.cores" = {cores} has no meaning on the host "{host}"',
                "give a list of its CPUs, such as 0-3, or all",
            )
    elif missing := set(_listed(cores)) - _usable():
        named, absent = cores.removeprefix("cpu:"), ",".join(map(str, sorted(missing)))
        raise UsageError(
            f'"load.cores" of {named} names CPUs that are not available: {absent}',
            f"{len(_usable())} CPUs are available",
        )


def place(cores: str, server: Server) -> Placement:
    """Where the program runs: anywhere for all CPUs, or where the server leaves none."""
    return Placement(cpus=tuple(sorted(_rest(server))) if cores == REST else _listed(cores))


def pairs(place: Placement, server: Server, clients: int, threads: int) -> tuple[int, ...]:
    """The CPUs on which each thread of the load can be paired with its clients' backends; none where that would leave
    one idle or give one more to do: load and server must share their CPUs, threads and clients come out even."""
    try:
        cpus = os.sched_getaffinity(server.postmaster_pid)
    except OSError:
        return ()
    shared = cpus == (set(place.cpus) or _usable())
    even = threads % len(cpus) == 0 and clients % threads == 0
    return tuple(sorted(cpus)) if shared and even else ()


def problem(cores: str, server: Server) -> dict[str, str]:
    """A server that may use every CPU leaves none to the load: the treatment's own outcome."""
    if cores != REST or _rest(server):
        return {}
    return {"no_cores": 'the server may use every CPU, so "load.cores" = rest leaves none: set "host.cores"'}


def _rest(server: Server) -> set[int]:
    with suppress(OSError):
        return _usable() - os.sched_getaffinity(server.postmaster_pid)
    return set()


def _usable() -> set[int]:
    return os.sched_getaffinity(0)


def _listed(cores: str) -> tuple[int, ...]:
    """Those of a list in canonical form; none of a word."""
    return parse_list(cores.removeprefix("cpu:"))
