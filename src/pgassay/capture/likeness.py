"""How like the source's load a played one is: the same figures of both side by side, each with a likeness; pure.

Figures are by call or by share, since the load is played as fast as it goes, and the source's is not. Those by call are
weighed by the source's calls: how often each statement was drawn is a part of its own, and a rare one that is drawn
once more would else move the means of all (post-stratification: Cochran 1977, "Sampling Techniques", 5A.9). A likeness
is 1 for equal figures: of two amounts the smaller over the larger, of two distributions what they have in common, of
two shares 1 less their difference. Three are shown and not counted: a load that never rests has more sessions at work,
times are the machine's as much as the load's, and bytes of WAL go by the time since a checkpoint (full-page images).
The score is never above the share of the source's time that is played at all: the rest would hide what is missing.
A load that is played at the source's own pace has rates, too: calls a second count, bytes of WAL do not.
What a source does not report is not compared: of one known by its log alone, rows, blocks and WAL are not known, and of
a log without durations no time is.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from pgassay.capture.format import Load, Statement
from pgassay.capture.scripts import control_of
from pgassay.record.ask import Likeness, Part, StatementPair

ENOUGH = 0.8
"""The least score of a load that is called like the source's."""
NEGLIGIBLE = 0.05
"""Amounts a call below this (one block in twenty calls) are alike, whatever their ratio."""

_SHARE = "share"


def compare(source: Load, here: Load, pace: float | None = None) -> Likeness:
    """The parts; statements of the two loads are the same where their `query_id` is.

    `pace` is how many times as fast as the source's own mean it was to be played; None: as fast as it goes.
    """

    def common(name: str, one: Mapping[str, float], other: Mapping[str, float]) -> Part:
        shared = sum(min(share, other.get(each, 0.0)) for each, share in one.items()) if one and other else None
        return Part(name, None, None, "in common", shared)

    def by_call(name: str, counter: str, unit: str = "", *, counts: bool = True) -> Part:
        return _amount(name, _a_call(source, source, counter), _a_call(source, here, counter), unit, counts=counts)

    shares, name = _shares(source, "exec_ms"), "time that is played"
    if not shares:
        shares, name = _shares(source, "calls"), "calls that are played"
    keys = {_key(each) for each in here.statements if each.calls}
    played = sum(share for key, share in shares.items() if key in keys) if shares and keys else None
    whole = None if played is None else 1.0
    there, now = _figures(source, source), _figures(source, here)
    parts = [
        Part(name, whole, played, _SHARE, played, counts=False, caps=True),
        common("calls by statement", _shares(source, "calls"), _shares(here, "calls")),
        common("time by statement", _shares(source, "exec_ms"), _shares(here, "exec_ms")),
        by_call("rows a call", "rows"),
        _amount("blocks a call", there.blocks, now.blocks, ""),
        _amount("blocks not in shared_buffers", there.missed, now.missed, _SHARE),
        by_call("WAL records a call", "wal_records"),
        by_call("WAL a call", "wal_bytes", "bytes", counts=False),
        by_call("temporary blocks a call", "temp_blocks"),
        _amount("HOT updates", there.hot, now.hot, _SHARE),
        _amount("active sessions", there.active, now.active, "", counts=False),
        common("wait events", there.waits, now.waits),
        by_call("time a call", "exec_ms", "ms", counts=False),
    ]
    if pace is not None:
        for name, unit in (("calls a second", ""), ("WAL a second", "bytes")):
            rates = []
            for load, times in ((source, pace), (here, 1.0)):
                found = load.counters.get("wal_bytes") if unit else sum(each.calls for each in load.statements) or None
                rates.append(None if found is None or not load.window_s else found / load.window_s * times)
            parts.append(_amount(name, rates[0], rates[1], unit, counts=not unit))
    return Likeness(tuple(parts), _by_statement(source, here), ENOUGH)


def _by_statement(source: Load, here: Load) -> tuple[StatementPair, ...]:
    """Every statement of either load, by its `query_id`; none where one of the loads did nothing."""
    calls = _shares(source, "calls"), _shares(here, "calls")
    time = _shares(source, "exec_ms"), _shares(here, "exec_ms")
    if not all(time):
        time = {}, {}
    if not all(calls):
        return ()
    mine, theirs = ({_key(each): each for each in load.statements} for load in (source, here))
    source_ms, here_ms = (
        {name: each.exec_ms / each.calls for name, each in found.items() if each.exec_ms} for found in (mine, theirs)
    )
    pairs = [
        StatementPair(
            (mine.get(name) or theirs[name]).text,
            source_calls=calls[0].get(name, 0.0),
            here_calls=calls[1].get(name, 0.0),
            source_time=time[0].get(name, 0.0),
            here_time=time[1].get(name, 0.0),
            source_ms=source_ms.get(name),
            here_ms=here_ms.get(name),
        )
        for name in dict.fromkeys((*mine, *theirs))
    ]
    return tuple(sorted(pairs, key=lambda each: -each.distance))


def _shares(load: Load, counter: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in load.statements:
        found[_key(each)] = found.get(_key(each), 0.0) + getattr(each, counter)
    total = sum(found.values())
    return {name: amount / total for name, amount in found.items()} if total > 0 else {}


def _key(statement: Statement) -> str:
    """Its identifier; COMMIT and END are one, since they do the same and each server has its own for them."""
    return control_of(statement.text) or str(statement.query_id)


def _amount(name: str, source: float | None, here: float | None, unit: str, *, counts: bool = True) -> Part:
    like = None
    if source is not None and here is not None:
        if unit == _SHARE:
            like = 1.0 - abs(source - here)
        else:
            most = max(source, here)
            like = min(source, here) / most if most > NEGLIGIBLE else 1.0
    return Part(name, source, here, unit, like, counts)


def _a_call(source: Load, load: Load, counter: str) -> float | None:
    """The mean of a call of `load`, if its statements were called as often as the source's are; None where the source
    does not report what its own is."""
    if not (source.exec_ms if counter == "exec_ms" else source.logged is None or source.counters):
        return None
    calls = {each.query_id: each.calls for each in source.statements}
    known = [each for each in load.statements if each.calls and calls.get(each.query_id)]
    whole = sum(calls[each.query_id] for each in known)
    return sum(calls[each.query_id] * getattr(each, counter) / each.calls for each in known) / whole if whole else None


class _Figures(NamedTuple):
    """Blocks a call, the share of them that was read, that of HOT updates, active sessions, waits by share."""

    blocks: float | None
    missed: float | None
    hot: float | None
    active: float | None
    waits: Mapping[str, float]


def _figures(source: Load, load: Load) -> _Figures:
    hit, read = _a_call(source, load, "blocks_hit"), _a_call(source, load, "blocks_read")
    blocks = None if hit is None or read is None else hit + read
    missed = read / blocks if blocks and read is not None else None
    updates = load.counters.get("updates", 0.0)
    hot = load.counters.get("hot_updates", 0.0) / updates if updates else None
    active = [each.states.get("active", 0) for each in load.moments]
    waits: Counter[str] = Counter()
    for moment in load.moments:
        waits.update(moment.waits)
    shares = {name: count / waits.total() for name, count in waits.items()} if waits.total() > 0 else {}
    return _Figures(blocks, missed, hot, sum(active) / len(active) if active else None, shares)
