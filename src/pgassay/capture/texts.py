"""What `capture` and `ask` print: what will be read, what a capture holds and cost, what cannot be played; pure."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pgassay import outgoing
from pgassay.capture.errors import some
from pgassay.capture.format import Capture, Cost
from pgassay.capture.scripts import BRIEF, ScriptedLoad, brief
from pgassay.capture.source import LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS
from pgassay.capture.taking import Identity, Request
from pgassay.record.ask import Likeness
from pgassay.study.units import format_number, format_size

_SHOWN = 5
_LEAST_SHOWN = 0.01
"""A statement whose share of the time differs by less is not shown."""


def announcement(identity: Identity, request: Request, free_bytes: int | None = None) -> str:
    """Which server, each read with its purpose, and what the data will cost; `free_bytes` is the room for them."""
    source = identity.source
    lines = [f"PostgreSQL {source.version}, database {source.database}, {format_size(identity.database_bytes)}"]
    lines.append(
        "read-only transactions, each with statement_timeout"
        f" {STATEMENT_TIMEOUT_MS // 1000} s and lock_timeout {LOCK_TIMEOUT_MS // 1000} s; nothing is created or changed"
    )
    counted = identity.schema is not None
    reads = request.reads(counted=counted)
    width = max(len(each.source) for each in reads)
    lines += [f"  {each.source:<{width}}  {each.times:<11}  {each.purpose}" for each in reads]
    if request.with_load and counted:
        lines.append(f"the load is watched for {format_number(request.window_s)} s")
    if request.foresees and counted:
        lines.append("statements, tables and pg_stats are read once more before it, to see how much can be played")
    if request.with_data:
        whole = format_size(identity.database_bytes)
        lines.append(f"pg_dump reads {whole} once, and holds back VACUUM while it runs")
        if free_bytes is not None:
            fewer = "since indexes are not read and it is compressed"
            lines.append(f"dump: {whole} are needed here at most, {fewer}; {format_size(free_bytes)} are free")
    return outgoing.lines(lines)


def summary(capture: Capture, path: Path) -> str:
    """What the capture holds, what it cost the server, and how to go on."""
    lines = [f"{path}: {len(capture.tables)} tables, {len(capture.source.settings)} settings"]
    load = capture.load
    if load is not None:
        calls = sum(each.calls for each in load.statements)
        lines.append(
            f"load: {len(load.statements)} statements, {format_number(round(calls / load.window_s, 1))} calls a second,"
            f" for {load.window_s:.0f} s"
        )
    if load is not None and load.logged is not None:
        logged, kinds = load.logged, load.logged.transactions
        most = "" if logged.processes_most is None else f", at most {logged.processes_most} processes at once"
        lines.append(
            f"log: {logged.calls} calls in {logged.window_s:.0f} s{most};"
            f" {sum(each.commits for each in kinds)} transactions of several statements, of {len(kinds)} kinds"
        )
    if load is not None and load.planned_values:
        lines.append(f"values: {load.planned_values} tuples of them from entries of auto_explain")
    if capture.data.file:
        lines.append(f"data: {capture.data.file}, {format_size(capture.data.bytes)}")
    lines += [f"left out: {each}" for each in capture.secrets]
    lines.append(cost(capture.cost))
    if capture.data.file:
        lines.append(f"next: pgassay ask {path} work_mem=4MB,64MB")
    else:
        lines.append("without data nothing can be asked of it; capture again with --data dump for that")
    return outgoing.lines(lines)


def cost(found: Cost) -> str:
    parts = [f"{found.statements} statements, {found.in_server_ms:.0f} ms in the server"]
    parts.append(f"{format_size(found.received_bytes)} received")
    if found.cpu_ms is None:
        parts.append("its processor time cannot be seen from here")
    elif found.server_cpu_ms:
        parts.append(f"{found.cpu_ms:.0f} ms of CPU, {found.cpu_ms / found.server_cpu_ms:.2%} of what the server used")
    else:
        parts.append(f"{found.cpu_ms:.0f} ms of CPU")
    if found.dump_s:
        spent = "" if found.dump_cpu_ms is None else f" and {found.dump_cpu_ms:.0f} ms of CPU"
        parts.append(f"the dump took {found.dump_s:.1f} s{spent}")
    return f"cost to the server: {'; '.join(parts)}"


def played(load: ScriptedLoad) -> str:
    """How much of the load can be played, and the longest of what cannot."""
    names = {statement.query_id for each in load.played for statement in each.statements}
    count = len(names | {each.statement.query_id for each in load.unplayed})
    what = "time" if load.timed else "calls"
    lines = [f"load: {len(names)} of {count} statements are played, {load.time_share:.1%} of the source's {what}"]
    within = [each for each in load.played if each.transaction]
    if within:
        calls, inside = (
            sum(each.weight * len(each.statements) for each in scripts) for scripts in (load.played, within)
        )
        lines.append(
            f"  {inside / calls:.1%} of their calls in transactions, by {len(within)} scripts of several statements"
        )
    for kind, reason in load.taken_apart[:_SHOWN]:
        ended = kind.commits + kind.rollbacks
        lines.append(f"  taken apart: a transaction of {len(kind.statements)} statements, {ended} in the log: {reason}")
    if len(load.taken_apart) > _SHOWN:
        lines.append(f"  taken apart: {len(load.taken_apart) - _SHOWN} more kinds of transactions")
    for each in load.unplayed[:_SHOWN]:
        lines.append(f"  not played, {each.time_share:.1%} of the {what}: {brief(each.statement)}: {each.reason}")
    if len(load.unplayed) > _SHOWN:
        rest = load.unplayed[_SHOWN:]
        lines.append(f"  and {len(rest)} more, {sum(each.time_share for each in rest):.1%} of the {what}")
    return outgoing.lines(lines)


def fail_with(reasons: Iterable[str]) -> str:
    """A warning: statements that fail with one treatment alone, and so are played with none."""
    first, *others = reasons
    more = f", and {len(others)} more" if others else ""
    return f"a statement of yours fails {first}{more}; it is left out of the load"


def likeness(found: Likeness) -> str:
    """Both loads' figures side by side, each with its likeness, and the score."""
    width = max(len(each.name) for each in found.parts)
    lines = [f"  {'':<{width}}  {'source':>12}  {'here':>12}  {'alike':>6}"]
    for each in found.parts:
        source, here = (
            "" if value is None else f"{value:.1%}" if each.unit == "share" else f"{value:.3g} {each.unit}".strip()
            for value in (each.source, each.here)
        )
        note = "" if each.counts else "  (at most)" if each.caps else "  (not counted)"
        like = "" if each.likeness is None else f"{each.likeness:.0%}"
        lines.append(f"  {each.name:<{width}}  {source:>12}  {here:>12}  {like:>6}{note}")
    head = "likeness to the source's load: not known, since the two could not be compared"
    if found.score is not None:
        head = (
            f"likeness to the source's load: {found.score:.0%}, the mean of the parts, at most the share that is played"
        )
    # Statements whose share of the time differs by more than a rounded per cent, the worst first.
    far = [each for each in found.statements if each.distance >= _LEAST_SHOWN]
    if far:
        lines.append(f"  statements that differ most, of {len(found.statements)}: calls, time, mean of a call")
    for pair in far[:_SHOWN]:
        calls = f"{pair.source_calls:.1%} → {pair.here_calls:.1%}"
        time = f"{pair.source_time:.1%} → {pair.here_time:.1%}"
        mean = " → ".join("none" if value is None else f"{value:.3g} ms" for value in (pair.source_ms, pair.here_ms))
        lines.append(f"    {calls}, {time}, {mean}: {' '.join(pair.text.split())[:BRIEF]}")
    return outgoing.lines([head, *lines])


def rare(transactions: int, needed: Mapping[str, int]) -> str:
    """A warning: a count of so few transactions can be without scripts that matter, and how many they need."""
    named = some([f'"{each[:BRIEF]}"' for each in needed], "; ")
    return (
        f"a count of {transactions} transactions can be without {named}, which took a noticeable share of the source's"
        f" time; --set load.transactions={max(needed.values())} has it in each block"
    )


def unlike(found: Likeness) -> str:
    """A warning: the verdict is for another load, and in what it differs most."""
    far = sorted(
        (each.likeness, each.name) for each in found.parts if (each.counts or each.caps) and each.likeness is not None
    )
    named = ", ".join(f"{name} ({like:.0%})" for like, name in far if like < found.enough)
    return f"the verdict is on a load unlike the source's: {named}"
