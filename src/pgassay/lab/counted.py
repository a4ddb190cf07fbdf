"""A trial that counts what the server executes instead of timing it (docs/counts.md).

The load is played three times, each time by a new connection from a CHECKPOINT on: a tenth of its transactions, a tenth
again, then all. The difference of the last two is what nine tenths executed: to connect and to plan the first time
costs the same in both, and what only a server's first session does, such as to read pages of the catalogue, is in
neither. An instrument dilates time, so nothing may begin by a clock: no autovacuum (`lab.settings`), and the WAL writer
and the background writer stand still, or they would do at random moments what backends do otherwise.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pgassay.analysis.compare import is_speed
from pgassay.errors import UsageError
from pgassay.interfaces.load import LoadOptions, LoadResult
from pgassay.interfaces.probe import BACKEND, MISSES, Executed, Instrument
from pgassay.interfaces.running import Clock
from pgassay.interfaces.server import Server
from pgassay.lab.arms import ResolvedArm
from pgassay.load import drivers
from pgassay.load.options import RatedOptions
from pgassay.record.counts import CountsRecord
from pgassay.study.document import COUNT_LEVELS, COUNTED_RESPONSE, MISSES_LEVEL, Document
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.units import parse_boolean

INSTRUCTIONS = Response(COUNTED_RESPONSE, "instructions, per transaction", "count", Better.LOWER, cost=True)
MODELLED_MISSES = {
    kind: Response(
        f"modelled_{kind}_misses_per_transaction",
        f"modelled {kind.replace('_level_', '-level ')} misses, per transaction",
        "count",
        Better.LOWER,
        Scale.DIFFERENCE if kind == "last_level_cache" else Scale.RATIO,  # where all data fit, 0
        cost=True,
    )
    for kind in MISSES
}
BY_A_CLOCK = ("walwriter", "background writer")
USE_UP_WAL_BUFFERS = ("SELECT pg_switch_wal()", "CHECKPOINT", "SELECT pg_switch_wal()")
"""Before it was stopped, the WAL writer had initialised some WAL buffers ahead, which backends need not do again; how
many differs. The end of a segment uses them up, and the end of the next one those that reach into it. The CHECKPOINT
writes into that one: PostgreSQL does not switch an empty segment."""
PATIENCE_S = 600.0
"""Until the processes of a load have ended and written their counts; an instrument makes them slow to end."""
_POLL_S = 0.05
_TIMES = ("s", "ms", "us")


@dataclass(frozen=True)
class Window:
    """What the processes executed that began and ended in a window, which had so many transactions."""

    transactions: int
    executed: tuple[Executed, ...]


def window(
    instrument: Instrument, server: Server, clock: Clock, play: Callable[[], LoadResult]
) -> tuple[LoadResult, Window]:
    """Play a load and count it; returns when its processes have ended, without a count where one does not.

    Processes that were there before are no part.
    """
    there = server.processes()
    with instrument.window(server.postmaster_pid, there) as executed:
        result = play()
        deadline_ns = clock.monotonic_ns() + int(PATIENCE_S * 1e9)
        while server.processes() - there and clock.monotonic_ns() < deadline_ns:
            clock.sleep(_POLL_S)
        found = executed()
    return result, Window(result.transactions, () if server.processes() - there else found)


def difference(instrument: Instrument, windows: Sequence[Window]) -> CountsRecord | None:
    """What each of the transactions executed by which the second window is longer; None where that cannot be said."""
    shorter, longer = windows
    more = longer.transactions - shorter.transactions
    if more <= 0 or not all(any(each.kind == BACKEND for each in one.executed) for one in windows):
        return None
    processes: dict[str, float] = {}
    functions: dict[str, tuple[float, float]] = {}
    system_calls: dict[str, float] = {}
    misses: dict[str, float] = {}
    for one, sign in ((longer, 1), (shorter, -1)):
        for each in one.executed:
            processes[each.kind] = processes.get(each.kind, 0.0) + sign * each.instructions
            for name, (own, calls) in each.functions.items():
                known = functions.get(name, (0.0, 0.0))
                functions[name] = (known[0] + sign * own, known[1] + sign * calls)
            for name, made in each.system_calls.items():
                system_calls[name] = system_calls.get(name, 0.0) + sign * made
            for kind, missed in each.modelled_misses.items():
                misses[kind] = misses.get(kind, 0.0) + sign * missed
    if processes[BACKEND] <= 0:  # then the longer window's first transactions were not like the shorter one's
        return None
    return CountsRecord(
        instrument.name,
        more,
        {kind: count / more for kind, count in processes.items()},
        {name: (own / more, calls / more) for name, (own, calls) in functions.items()},
        {name: made / more for name, made in system_calls.items()},
        {kind: missed / more for kind, missed in misses.items()},
    )


def without_times(found: Mapping[str, float | None], declared: Iterable[Response]) -> dict[str, float | None]:
    """Responses without those in units of time: an instrument makes all of them long."""
    times = {each.name for each in declared if is_speed(each) or each.unit in _TIMES}
    return {name: None if name in times else value for name, value in found.items()}


def responses(options: Sequence[LoadOptions]) -> tuple[Response, ...]:
    """What trials with these options, one of each arm, have in addition."""
    if not any(each.count or each.counted_along for each in options):
        return ()
    modelled = MODELLED_MISSES.values() if any(each.counting == MISSES_LEVEL for each in options) else ()
    return (INSTRUCTIONS, *modelled)


def counts(study: Study) -> bool:
    """Are instructions counted in this study, instead of times measured?"""
    count = study.fixed.get("load.count")
    return count is not None and count.canonical in COUNT_LEVELS


def require_countable(document: Document) -> None:
    """Raise `UsageError`, by its name, for a load that has no instructions to count: a document for `--count`."""
    load = document.get("load")
    name = load.get("driver", drivers.DEFAULT) if isinstance(load, dict) else drivers.DEFAULT
    known = {each.name: each for each in drivers.known()}
    if name in known and not known[name].takes("count"):
        able = ", ".join(each for each, driver in known.items() if driver.takes("count"))
        raise UsageError(f'the load "{name}" cannot be counted', f"--count is for the loads {able}")


def require(arm: ResolvedArm) -> None:
    """Raise `UsageError` for what cannot be counted; a missing instrument is named to the environment's `missing`."""
    load, environment = arm.setup.load, arm.environment
    if "load.count" in arm.arm.levels:
        raise UsageError('"load.count" cannot be varied', "hold it, such as with --set load.count=also")
    if load.counted_along is not None and "load.clients" in arm.arm.levels:
        raise UsageError("--count-also takes one number of clients", "hold load.clients (-c)")
    if not load.count:
        return
    if load.transactions is None:
        raise UsageError('"load.count" counts a fixed number of transactions', 'give it with "load.transactions" (-t)')
    if isinstance(load, RatedOptions) and load.rate_tps is not None:
        raise UsageError(
            'a load with "load.rate" cannot be counted: its transactions go by time',
            "leave load.rate (-R) out",
        )
    if load.connections > 1:
        raise UsageError(
            f"a load of {load.connections} clients cannot be counted yet: how they meet differs from run to run",
            "set load.clients = 1 (-c 1)",
        )
    if load.cuts:
        raise UsageError('a load with "load.cuts" cannot be counted: power cuts go by time', "leave one of them out")
    jit = arm.setup.settings.get("jit")
    if jit is not None and parse_boolean(jit):
        raise UsageError(
            '"server.jit" = on cannot be counted: its code is made at run time, and has no functions',
            "set server.jit = off",
        )
    if not environment.server.ours:
        raise UsageError("a server that runs already cannot be counted", "leave --server out")
    try:
        arm.instrument.require()
    except UsageError as error:
        environment.missing.name("instrument", error)
