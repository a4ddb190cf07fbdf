"""What the drives say of themselves at the end of the windows: space on flash, compression, write amplification.

Figures of emulated drives are labelled so. Whether write amplification is a steady state's is judged, not assumed: by
how the drive was aged, by how much of it a window wrote, and by whether both halves of a window (or of a device's
trials) say the same. What fails one of these is transient, and said to be.

A published comparison of drives draws each run as a dot, the latency of reads across and of writes up: a drive whose
writes are quick at the cost of its reads lies elsewhere than one that is quick at both. Both are the block layer's own
means over a window (docs/report.md, "The device"), whatever the load.

"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.analysis.numbers import per_cent
from pgassay.record import start_states
from pgassay.record.values import TrialRecord
from pgassay.report import service_times, words
from pgassay.report.section import Block, Drawing, Figure, Section, Table
from pgassay.report.trials import by_treatment, median_s, middle, valid_by_place
from pgassay.study.drives import (
    COUNTERS,
    DATA,
    EMPTIED,
    KERNEL,
    NOT_TRUSTED,
    WAL,
    Role,
    emulated,
    host_stands_still,
    role_of,
    timed,
)
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


READ, WRITE = "disk_read_latency_ms", "disk_write_latency_ms"
_LATENCY_ROWS = (
    ("disk_iops", "reads and writes per second"),
    ("disk_read_bytes_per_s", "read per second"),
    (READ, "a read, mean, ms"),
    (WRITE, "a write, mean, ms"),
)
_HEIGHT = 280
_COUNTED_LEAST_MS = 20.0
"""The kernel counts whole milliseconds: a mean of less in all would be off by more than a twentieth."""
FEW = (
    "in some trials the device read, or wrote, for less than 20 ms: too little for a latency, which is left out here"
    " and in the figure (data that fit in memory are hardly read; host.memory limits it)"
)
UNTIMED = (
    "emulated drives without service times answer as fast as this machine can: compare no latency and no rate between"
    " two of them (drive.timing gives them a device's)"
)


def blocks(findings: "Findings") -> Iterator[Block]:
    """A table for each condition and covariate point, and the figure; nothing where the study names no drive."""
    trials = [each for each in findings.trials if DATA in each.levels]
    treatments = [each.name for each in findings.study.treatments]
    for place, mine in valid_by_place(trials, findings.study.arms).items():
        yield from _latency_tables(mine, treatments, words.place(*place))
    if rows_of(findings):
        yield Figure("device-latencies", lambda: drawing(findings))


def _latency_tables(trials: Sequence[TrialRecord], treatments: Sequence[str], where: str) -> Iterator[Table]:
    known = by_treatment(trials)
    rows = []
    for name, title in _LATENCY_ROWS:
        values = [middle(_value(trial, name) for trial in known.get(each, ())) for each in treatments]
        if any(value is not None for value in values):
            rows.append((title, *(_shown_latency(name, value) for value in values)))
    if not rows:
        return
    alone = any(emulated(trial.levels) and not timed(trial.levels) for trial in trials)
    title = f"{where}: the device under the data" if where else "the device under the data"
    few = any(_value(trial, each) != trial.responses.get(each) for trial in trials for each in (READ, WRITE))
    notes = ((UNTIMED,) if alone else ()) + ((FEW,) if few else ())
    yield Table(("", *map(words.headed, treatments)), rows, title, notes)


def _value(trial: TrialRecord, name: str) -> float | None:
    """A response; None for a latency that was counted in too few milliseconds."""
    counted = {READ: "read_ms", WRITE: "write_ms"}.get(name)
    counted_ms = trial.counters.get(f"diskstats.{counted}")
    return None if counted_ms is not None and counted_ms < _COUNTED_LEAST_MS else trial.responses.get(name)


def _shown_latency(name: str, value: float | None) -> str:
    if value is None:
        return words.MISSING
    return words.size(value) if name == "disk_read_bytes_per_s" else words.number(value)


def rows_of(findings: "Findings") -> list[dict[str, Any]]:
    """A row for each valid trial on a named drive whose device both read and wrote enough to tell, in ms."""
    found = []
    for trial in findings.trials:
        read, write = _value(trial, READ), _value(trial, WRITE)
        if trial.status is Status.VALID and DATA in trial.levels and read is not None and write is not None:
            place = words.place(trial.condition, trial.covariate)
            found.append({"treatment": trial.treatment, "condition": place, "block": trial.block,
                          "read_ms": read, "write_ms": write})  # fmt: skip
    return found


def drawing(findings: "Findings") -> Drawing | None:
    """A dot a trial, reads across and writes up, a panel for each place; None without both."""
    rows = rows_of(findings)
    if not rows:
        return None
    import altair as alt

    from pgassay.report import charts

    treatments = tuple(each.name for each in findings.study.treatments)
    places = tuple(dict.fromkeys(str(row["condition"]) for row in rows))
    x, y = (
        channel(
            f"{kind}_ms:Q",
            title=f"a {kind} of the device, mean, ms",
            scale=alt.Scale(domain=charts.domain_of((row[f"{kind}_ms"] for row in rows), zero=True), nice=False),
        )
        for channel, kind in ((alt.X, "read"), (alt.Y, "write"))
    )
    tips = [charts.tip("treatment:N"), charts.tip("block:Q"), charts.tip("read_ms:Q"), charts.tip("write_ms:Q")]
    dots = (
        alt.Chart()
        .mark_point(filled=True, size=45, opacity=0.7)
        .encode(
            x=x,
            y=y,
            color=charts.colour(treatments, legend=len(treatments) > 1),
            shape=charts.shape(treatments),
            tooltip=tips,
        )
    )
    return Drawing(
        f"Latency of the device: writes against reads{charts.by(treatments)}",
        "A dot a trial: the mean time of a read and of a write in its window, by the block layer. Left and low is "
        "quick at both. Secondary.",
        charts.layered([dots], rows, _HEIGHT, "condition", places),
    )


_SOURCES = ("drive", "drive_wal")
_ROWS = (
    ("physical_bytes", "live bytes on flash"),
    ("compression_ratio", "logical / physical bytes"),
    ("write_amplification", "write amplification in the window"),
    ("drive_writes", "drive writes in the window"),
    ("drive_cpu_us_per_transaction", "CPU of the emulation per transaction, us"),
    *service_times.ROWS,
)
_SHARES = ("service_time_error", "late_answers")
WHOLE = 1.0
"""Drive writes that a window must have for its write amplification to be more than a moment's."""
FRESH_WHOLE = 2.0
"""The same from a fresh drive: the first one meets flash that is empty."""
DRIFT_MAX = 0.2
"""Relative difference of two halves that a steady state may have: SNIA's for the rounds of a test."""
_ROUNDS_MIN = 4
NORMAL_LEAST = 0.9
"""NAND writes for a byte that a drive which does not compress was sent, less what logs of two moments differ by."""
_REAL = (("smart", DATA), ("smart_wal", WAL))
_COUNTED = {
    "the drive that holds the data": ("drive", "smart"),
    "the WAL's own drive": ("drive_wal", "smart_wal"),
}
"""The sources that may count for each drive of a set."""
_THE_ONE = "the drive"
AS_FOUND = "as it was found"
_SETTLED = "write amplification that ageing settled at, in the model"


def _blocks(findings: "Findings") -> Iterator[Block]:
    """A table for each condition and covariate point; nothing where no drive counts, nor a device under a named one."""
    treatments = [each.name for each in findings.study.treatments]
    for place, mine in valid_by_place(findings.trials, findings.study.arms).items():
        yield from _tables(mine, treatments, words.place(*place))
    yield from blocks(findings)


def _tables(trials: Sequence[TrialRecord], treatments: Sequence[str], where: str) -> Iterator[Table]:
    known = by_treatment(trials)
    of = {each: known.get(each, ()) for each in treatments}
    rows = []
    for name, title in _ROWS:
        values = {each: middle(trial.responses.get(name) for trial in of[each]) for each in treatments}
        if any(value is not None for value in values.values()):
            rows.append((title, *(_shown(name, values[each]) for each in treatments)))
    counters = {each: _counters(of[each]) for each in treatments}
    if not rows and not any(counters.values()):
        return
    if any(counters.values()):
        rows.append(("its counters were", *(counters[each] or words.MISSING for each in treatments)))
    rows.append(("start state", *(_states(of[each]) for each in treatments)))
    proofs = [_proof(of[each]) for each in treatments]
    if any(proofs):
        rows.append(("state before each trial", *(proof or words.MISSING for proof in proofs)))
    aged = {each: settled(of[each]) for each in treatments}
    if any(value is not None for value in aged.values()):
        rows.append((_SETTLED, *(_shown("", aged[each]) for each in treatments)))
    halves = {each: over_time(of[each]) for each in treatments}
    if any(halves.values()):
        shown = (_halves(halves[each]) for each in treatments)
        rows.append(("write amplification over time, first and second half", *shown))
    rows.append(("write amplification is", *(_verdict(of[each], halves[each]) for each in treatments)))
    yield Table(("", *map(words.headed, treatments)), rows, where, tuple(_notes(trials)))


def over_time(trials: Sequence[TrialRecord]) -> tuple[float, float] | None:
    """Write amplification in both halves: of the windows where a drive was read each second, else of the trials."""
    found = [_half(trials, which) for which in ("first", "second")]
    if found[0] is not None and found[1] is not None:
        return found[0], found[1]
    ordered = sorted(trials, key=lambda trial: trial.number)
    values = [value for trial in ordered if (value := trial.responses.get("write_amplification")) is not None]
    if len(values) < _ROUNDS_MIN or any(emulated(trial.levels) for trial in trials):
        return None
    first, second = middle(values[: len(values) // 2]), middle(values[-(len(values) // 2) :])
    return None if first is None or second is None else (first, second)


def transient(trials: Sequence[TrialRecord], halves: tuple[float, float] | None) -> str:
    """Why write amplification is no steady state's; empty if it is one's."""
    states = {state for trial in trials for state in _start(trial)}
    written, which = _least_written(trials)
    if "aged, not settled" in states:
        return "it had not settled when the drive was aged"
    if written is not None and written < WHOLE:
        return f"a window wrote {written:.2g} of {which}{_enough(trials, written)}"
    if middle(trial.counters.get("drive.blocks_erased") for trial in trials) == 0:
        return "nothing was erased in a window"
    if EMPTIED in " ".join(states) and (written is None or written < FRESH_WHOLE):
        return "the drives were trimmed while they were empty, and had nearly all of their flash to spare"
    if "fresh" in states and (halves is None or written is None or written < FRESH_WHOLE):
        return "the drives started fresh, without garbage to collect"
    if halves is not None and abs(halves[1] / halves[0] - 1) > DRIFT_MAX:
        return f"it went from {halves[0]:.3g} to {halves[1]:.3g}"
    return ""


def _verdict(trials: Sequence[TrialRecord], halves: tuple[float, float] | None) -> str:
    if all(trial.responses.get("write_amplification") is None for trial in trials):
        return words.MISSING
    why = transient(trials, halves)
    return f"transient: {why}" if why else "steady"


def _counters(trials: Sequence[TrialRecord]) -> str:
    """Whether known writes proved what real drives count; empty in older records, and of drives that count nothing."""
    told = (trial.regime.get(f"{source}.{COUNTERS}") for trial in trials for source in _SOURCES)
    return "; ".join(dict.fromkeys(str(each) for each in told if each))


def _notes(trials: Sequence[TrialRecord]) -> Iterator[str]:
    if any(emulated(trial.levels) for trial in trials):
        yield "emulated: what the flash model makes of the real stream of writes, not a measurement of a real drive"
    if any("aged" in str(trial.regime.get("start_state", "")) for trial in trials):
        yield "space and compression are of what the host can read, without what filled the drives when they were aged"
    for missing in dict.fromkeys(filter(None, (_stood_still(trial, source) for trial in trials for source in KERNEL))):
        yield f"{missing}: its counters stood still and are not used"
    for drive in dict.fromkeys(drive for trial in trials for drive in _silent(trial)):
        yield (
            f"{drive} did not tell what it was sent: host writes, NAND writes and write amplification of both drives"
            " together are not available"
        )
    if NOT_TRUSTED in _counters(trials):
        yield "NAND writes of a drive whose counters are not trusted are left out, with all that is computed from them"
    if late := late_logs(trials):
        yield late
    yield from service_times.notes(trials)


def late_logs(trials: Sequence[TrialRecord]) -> str:
    """That real drives which do not compress counted less to flash than they were sent; empty where none did.

    Flash cannot store it in less, so their log of NAND writes lags; such a drive must not pass for one that compresses.
    """
    found = [trial for trial in trials if any(_lags(trial, source, factor) for source, factor in _REAL)]
    if not found:
        return ""
    return (
        f"in {words.counted(len(found), 'trial')} a normal drive counted fewer NAND writes than it was sent: its log is"
        " late, so do not believe its write amplification; make the windows longer"
    )


def _lags(trial: TrialRecord, source: str, factor: str) -> bool:
    level = trial.levels.get(factor)
    if level is None or role_of(level.typed) is not Role.NORMAL:
        return False
    sent, programmed = (trial.counters.get(f"{source}.{name}_bytes_written") for name in ("host", "nand"))
    return bool(sent) and bool(programmed) and (programmed or 0.0) < NORMAL_LEAST * (sent or 0.0)


def _silent(trial: TrialRecord) -> Iterator[str]:
    """Drives of a set that are there without host writes, beside one that told its own."""
    told = {drive: _told(trial, sources) for drive, sources in _COUNTED.items()}
    if any(each for each in told.values()):
        yield from (drive for drive, each in told.items() if each is False)


def _told(trial: TrialRecord, sources: Sequence[str]) -> bool | None:
    """Did one of these sources tell what it was sent? None where no drive is there."""
    names = [f"{source}.host_bytes_written" for source in sources]
    there = [trial.counters[name] is not None for name in names if name in trial.counters]
    return any(there) if there else None


def _stood_still(trial: TrialRecord, source: str) -> str:
    """What a real drive did not count, as the probe has it, which left out what follows from it; empty where it did."""
    counted = trial.counters
    sent, programmed = (counted.get(f"{source}.{name}_bytes_written") for name in ("host", "nand"))
    if sent and programmed == 0.0:
        return "a drive counted host writes in a window, but no NAND writes"
    if host_stands_still(counted, source):
        return "the kernel wrote to a drive in a window, but the drive counted no host writes"
    return ""


def settled(trials: Sequence[TrialRecord]) -> float | None:
    """What the load that aged the drives made of them in the model: of the data's drive, else of the WAL's."""
    for source in _SOURCES:
        values = [trial.regime.get(f"{source}.settled_write_amplification") for trial in trials]
        found = middle(value for value in values if isinstance(value, float))
        if found is not None:
            return found
    return None


def _least_written(trials: Sequence[TrialRecord]) -> tuple[float | None, str]:
    """Drive writes of a window, of that drive of a set that was written least, and which one that is.

    Of the trials that have a write amplification; of all drives together where none tells its capacity.
    """
    judged = [trial for trial in trials if trial.responses.get("write_amplification") is not None]
    written = {drive: middle(_drive_writes(trial, sources) for trial in judged) for drive, sources in _COUNTED.items()}
    known = {drive: value for drive, value in written.items() if value is not None}
    if not known:
        return middle(trial.responses.get("drive_writes") for trial in judged), _THE_ONE
    least = min(known, key=lambda drive: known[drive])
    return known[least], least if len(known) > 1 else _THE_ONE


def _drive_writes(trial: TrialRecord, sources: Sequence[str]) -> float | None:
    """Of the one of these sources that is there; None without a capacity."""
    for source in sources:
        sent, capacity = (trial.counters.get(f"{source}.{name}") for name in ("host_bytes_written", "capacity_bytes"))
        if sent is not None and capacity:
            return sent / capacity
    return None


def _enough(trials: Sequence[TrialRecord], written: float) -> str:
    """How long a window would have to be."""
    window_s = median_s(trials, "window_s")
    return f"; about {window_s * WHOLE / written:.0f} s would write all of it" if window_s and written > 0 else ""


def _half(trials: Sequence[TrialRecord], which: str) -> float | None:
    """Of the drive that holds the data; the WAL's alone where only that one counts."""
    for source in _SOURCES:
        values = [trial.regime.get(f"{source}.write_amplification_{which}") for trial in trials]
        found = middle(value for value in values if isinstance(value, float))
        if found is not None:
            return found
    return None


def _halves(found: tuple[float, float] | None) -> str:
    return words.MISSING if found is None else f"{found[0]:.3g}, {found[1]:.3g}"


def _states(trials: Sequence[TrialRecord]) -> str:
    return ", ".join(dict.fromkeys(state for trial in trials for state in _start(trial))) or words.MISSING


def _start(trial: TrialRecord) -> tuple[str, ...]:
    """The start states that the drives recorded; in older records taken from how a clone was made."""
    starts = [trial.regime.get(f"{source}.start") for source in _SOURCES]
    found = tuple(dict.fromkeys(str(each) for each in starts if each))
    if found:
        return found
    return (
        str(trial.regime.get("start_state", "")).partition("; ")[2] or "fresh" if emulated(trial.levels) else AS_FOUND,
    )


def _proof(trials: Sequence[TrialRecord]) -> str:
    """Whether each trial found its drives as the others did; empty where the drives do not tell."""
    told = start_states.proven(trials)
    if told:
        changed = len(list(start_states.changes(trials)))
        counted = words.counted(told, "trial")
        return f"made again {words.counted(changed, 'time')} in {counted}" if changed else f"the same in {counted}"
    written = start_states.written_between(trials)
    return "" if written is None else f"as the trial before left it, {words.size(written)} from first to last"


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return words.MISSING
    if name in _SHARES:
        return per_cent(value, 1)
    return words.size(value) if name.endswith("_bytes") else f"{value:.3g}"


def _brief(findings: "Findings") -> str:
    known = [each for trial in findings.trials if (each := trial.responses.get("write_amplification")) is not None]
    if not known:
        return "what the drives count of themselves"
    least, most = (words.number(end) for end in (min(known), max(known)))
    return f"write amplification {least if least == most else f'{least} to {most}'}, space, erases, by treatment"


SECTION = Section("drives", "Drive counters", _blocks, secondary=True, brief=_brief)
