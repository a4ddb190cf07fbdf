"""What drives can do, by a run of the study `disk`, and what they say of themselves at the end of the windows.

What a drive can do is the best of that study's combinations, for diagnoses; a run takes along what the last disk study
of its drive found (host.json), and `--disk RUN` names another. Whether a cache answered in the drive's place is read
off direct reads of one thread, the pattern `reread`, and the seconds of patterns that only write.

Space on flash, compression and write amplification of emulated drives are labelled so. Whether write amplification is a
steady state's is judged, not assumed: by how the drive was aged, by how much of it a window wrote, and by whether both
halves of a window (or of a device's trials) say the same. What fails one of these is transient, and said to be.

Latencies are the block layer's own means over a window (docs/report.md, "The device"), whatever the load.

Speeds made by emulated service times carry a label. A drive that answers later than the device it stands for would have
says so in every trial (docs/drives.md, "Speed", says what may be compared).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from pgassay.analysis.capacities import MeasuredCapacity, Resource
from pgassay.analysis.compare import ACCEPTABLE_ERROR, Errors, is_speed
from pgassay.analysis.disk_caches import SECONDS_LEAST, cliff, reread, too_fast
from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import per_cent
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.errors import UsageError
from pgassay.record import check
from pgassay.record.known import DISK_FACT
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.section import Block, Brief, Part, Section, Table
from pgassay.report.trials import by_treatment, grouped, load_level, median_s, middle, of_regime, valid_by_place
from pgassay.study.drives import (
    AS_FOUND,
    DATA,
    KERNEL,
    WAL,
    Role,
    dilation,
    emulated,
    host_stands_still,
    role_of,
    timed,
)
from pgassay.study.levels import Place
from pgassay.study.model import Study
from pgassay.study.responses import Response, Status
from pgassay.study.units import parse_memory

if TYPE_CHECKING:
    from pgassay.report.findings import Findings
    from pgassay.report.seconds import Seconds

LABEL = "emulated service times"
"""Stands behind every verdict on a speed that they made."""

_TIMING_ROWS = (
    ("asked_service_us", "requested service time, mean, us (emulated)"),
    ("service_time_error", "answered later than requested by, mean"),
    ("late_answers", "answers more than 10 % late"),
)
"""Responses with their titles, for the drives' table."""


def errors_of(trials: Iterable[TrialRecord]) -> Errors:
    """How much later than asked drives answered: the worst valid trial of each place, None if one is silent."""
    found: dict[Place, float | None] = {}
    for trial in trials:
        if trial.status is Status.VALID:
            place = trial.place
            error, known = trial.responses.get("service_time_error"), found.get(place, 0.0)
            found[place] = None if error is None or known is None else max(error, known)
    return found


def labelled(study: Study, response: Response, effect: Effect, found: Verdict, errors: Errors) -> Verdict:
    """The verdict, with the label where it is on a speed of drives with emulated service times.

    Within one drive speeds are compared however late it answered, so the label tells where it did not keep its times.
    """
    if not is_speed(response) or found.kind in (Kind.NOT_COMPARED, Kind.FAILED):
        return found
    place = effect.place
    mine = [study.levels_of(arm) for arm in study.arms if arm.place == place]
    if not any(map(timed, mine)):
        return found
    baseline = place._replace(treatment=study.design.baseline.name)
    worst = max((error for each in (place, baseline) if (error := errors.get(each)) is not None), default=0.0)
    missed = f", which a drive missed by {per_cent(worst)}" if worst > ACCEPTABLE_ERROR else ""
    slower = max(map(dilation, mine))
    slowed_ = f", {slowed(slower)}" if slower > 1 else ""
    return replace(found, text=f"{found.text} ({LABEL}{slowed_}{missed})")


def slowed(times: int) -> str:
    """The label of rates and times by a slower clock."""
    return f"clock slowed {times}×"


def _timing_notes(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """What has to be said of drives with service times; nothing without."""
    profiles = dict.fromkeys(trial.levels["drive.timing"].canonical for trial in trials if timed(trial.levels))
    if not profiles:
        return
    yield f"{LABEL} ({', '.join(profiles)}): latencies and speeds are those of a modelled device, not of a real drive"
    for slower in sorted({dilation(trial.levels) for trial in trials} - {1}):
        yield (
            f"{slowed(slower)}: a second of these drives is {slower} of this machine's. Rates and times are by the"
            f" drives' clock, to which the processor is {slower} times as fast as it is; lengths of trials, axes of"
            " seconds and the server's own timers go by the machine's"
        )
    worst = max((error for error in errors_of(trials).values() if error is not None), default=None)
    if worst is not None and worst > ACCEPTABLE_ERROR:
        yield (
            f"a drive answered up to {per_cent(worst)} later than the device that it emulates: beyond "
            f"{per_cent(ACCEPTABLE_ERROR)} speeds of different drives are not compared (a slower clock, drive.dilation,"
            " a slower profile or a quieter machine would help)"
        )


READ, WRITE = "disk_read_latency_ms", "disk_write_latency_ms"
_LATENCY_ROWS = (
    ("disk_iops", "reads and writes per second"),
    ("disk_read_bytes_per_s", "read per second"),
    (READ, "a read, mean, ms"),
    (WRITE, "a write, mean, ms"),
)
_COUNTED_LEAST_MS = 20.0
"""The kernel counts whole milliseconds: a mean of less in all would be off by more than a twentieth."""
FEW = (
    "in some trials the device read, or wrote, for less than 20 ms: too little for a latency, which is left out"
    " (data that fit in memory are hardly read; host.memory limits it)"
)
UNTIMED = (
    "emulated drives without service times answer as fast as this machine can: compare no latency and no rate between"
    " two of them (drive.timing gives them a device's)"
)


def blocks(findings: "Findings") -> Iterator[Block]:
    """A table for each condition and covariate point; nothing where the study names no drive."""
    trials = [each for each in findings.trials if DATA in each.levels]
    treatments = [each.name for each in findings.study.treatments]
    for place, mine in valid_by_place(trials, findings.study.arms).items():
        known = by_treatment(mine)
        rows = []
        for name, title in _LATENCY_ROWS:
            values = [middle(_value(trial, name) for trial in known.get(each, ())) for each in treatments]
            if any(value is not None for value in values):
                shown = formatting.size if name == "disk_read_bytes_per_s" else formatting.number
                rows.append((title, *map(shown, values)))
        if not rows:
            continue
        alone = any(emulated(trial.levels) and not timed(trial.levels) for trial in mine)
        title = ": ".join(filter(None, (formatting.place(*place), "the device under the data")))
        few = any(_value(trial, each) != trial.responses.get(each) for trial in mine for each in (READ, WRITE))
        notes = ((UNTIMED,) if alone else ()) + ((FEW,) if few else ())
        yield Table(("", *(each or "median" for each in treatments)), rows, title, notes)


def _value(trial: TrialRecord, name: str) -> float | None:
    """A response; None for a latency that was counted in too few milliseconds."""
    counted = {READ: "read_ms", WRITE: "write_ms"}.get(name)
    counted_ms = trial.counters.get(f"diskstats.{counted}")
    return None if counted_ms is not None and counted_ms < _COUNTED_LEAST_MS else trial.responses.get(name)


_SOURCES = ("drive", "drive_wal")
_ROWS = (
    ("physical_bytes", "live bytes on flash"),
    ("compression_ratio", "logical / physical bytes"),
    ("write_amplification", "write amplification in the window"),
    ("drive_writes", "drive writes in the window"),
    ("drive_cpu_us_per_transaction", "CPU of the emulation per transaction, us"),
    *_TIMING_ROWS,
)
_SHARES = ("service_time_error", "late_answers")
CYCLES = 3000
"""Program/erase cycles that flash of three bits a cell is commonly rated for: an assumption, said with every life."""
_TB, _YEAR_S = 1e12, 365.25 * 86400
LIFE = f"life of a TB of flash at this load, assuming {CYCLES} program/erase cycles, which is no rating"
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
_SETTLED = "write amplification that ageing settled at, in the model"


def _describe(findings: "Findings") -> Iterator[Part]:
    """A table for each condition and covariate point; nothing where no drive counts, nor a device under a named one."""
    amplified = [each for trial in findings.trials if (each := trial.responses.get("write_amplification")) is not None]
    brief = "what the drives count of themselves"
    if amplified:
        least, most = (formatting.number(end) for end in (min(amplified), max(amplified)))
        span = least if least == most else f"{least} to {most}"
        brief = f"write amplification {span}, space, erases, by treatment"
    yield Brief(brief)
    treatments = [each.name for each in findings.study.treatments]
    for place, mine in valid_by_place(findings.trials, findings.study.arms).items():
        yield from _tables(mine, treatments, formatting.place(*place))
    yield from blocks(findings)


def _tables(trials: Sequence[TrialRecord], treatments: Sequence[str], where: str) -> Iterator[Table]:
    known = by_treatment(trials)
    of = [known.get(each, ()) for each in treatments]
    rows: list[tuple[str, Sequence[str]]] = [
        (title, [_shown(name, middle(trial.responses.get(name) for trial in mine)) for mine in of])
        for name, title in _ROWS
    ]
    if not any(any(cells) for _, cells in rows):
        return
    halves = [over_time(mine) for mine in of]
    lives = [middle(map(_life_years, mine)) for mine in of]
    starts = [", ".join(dict.fromkeys(state for trial in mine for state in _start(trial))) for mine in of]
    rows += [
        ("start state", [each or formatting.MISSING for each in starts]),
        (LIFE, ["" if life is None else f"{life:.3g} years" for life in lives]),
        ("state before each trial", [_proof(mine) for mine in of]),
        (_SETTLED, [_shown("", settled(mine)) for mine in of]),
        (
            "write amplification over time, first and second half",
            [f"{each[0]:.3g}, {each[1]:.3g}" if each else "" for each in halves],
        ),
        ("write amplification is", [*map(_verdict, of, halves)]),
    ]
    shown = [(title, *(each or formatting.MISSING for each in cells)) for title, cells in rows if any(cells)]
    yield Table(("", *(each or "median" for each in treatments)), shown, where, tuple(_notes(trials)))


def _life_years(trial: TrialRecord) -> float | None:
    """Years until a TB of flash is worn out at the measured load."""
    nand, tps = trial.responses.get("nand_bytes_per_transaction"), trial.responses.get("tps")
    return CYCLES * _TB / (nand * tps) / _YEAR_S if nand and tps else None


def over_time(trials: Sequence[TrialRecord]) -> tuple[float, float] | None:
    """Write amplification in both halves: of the windows where a drive was read each second, else of the trials."""
    found = [_recorded(trials, f"write_amplification_{which}") for which in ("first", "second")]
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
        window_s = median_s(trials, "window_s")
        enough = f"; about {window_s * WHOLE / written:.0f} s would write all of it" if window_s and written else ""
        return f"a window wrote {written:.2g} of {which}{enough}"
    if middle(trial.counters.get("drive.blocks_erased") for trial in trials) == 0:
        return "nothing was erased in a window"
    fresh = any(each == "fresh" or each.startswith("trimmed while it was empty") for each in states)
    if fresh and (halves is None or written is None or written < FRESH_WHOLE):
        return "the drives started fresh, without garbage to collect"
    if halves is not None and abs(halves[1] / halves[0] - 1) > DRIFT_MAX:
        return f"it went from {halves[0]:.3g} to {halves[1]:.3g}"
    return ""


def _verdict(trials: Sequence[TrialRecord], halves: tuple[float, float] | None) -> str:
    if all(trial.responses.get("write_amplification") is None for trial in trials):
        return formatting.MISSING
    why = transient(trials, halves)
    return f"transient: {why}" if why else "steady"


def _notes(trials: Sequence[TrialRecord]) -> Iterator[str]:
    if any(emulated(trial.levels) for trial in trials):
        yield "emulated: what the flash model makes of the real stream of writes, not a measurement of a real drive"
    if any(name.partition(".")[0] in KERNEL for trial in trials for name in trial.counters):
        yield "of real drives: as the device reports it, which nothing here checks"
    if any("aged" in str(trial.regime.get("start_state", "")) for trial in trials):
        yield "space and compression are of what the host can read, without what filled the drives when they were aged"
    for missing in dict.fromkeys(filter(None, (_stood_still(trial, source) for trial in trials for source in KERNEL))):
        yield f"{missing}: its counters stood still and are not used"
    for drive in dict.fromkeys(drive for trial in trials for drive in _silent(trial)):
        yield (
            f"{drive} did not report what it was sent: host writes, NAND writes and write amplification of both drives"
            " together are not available"
        )
    if late := late_logs(trials):
        yield late
    yield from _timing_notes(trials)


def late_logs(trials: Sequence[TrialRecord]) -> str:
    """That real drives which do not compress counted less to flash than they were sent; empty where none did.

    Flash cannot store it in less, so their log of NAND writes lags; such a drive must not pass for one that compresses.
    """
    found: set[int] = set()
    for trial in trials:
        for source, factor in _REAL:
            level = trial.levels.get(factor)
            sent, programmed = (trial.counters.get(f"{source}.{name}_bytes_written") for name in ("host", "nand"))
            normal = level is not None and role_of(level.typed) is Role.NORMAL
            if normal and sent and programmed and programmed < NORMAL_LEAST * sent:
                found.add(trial.number)
    if not found:
        return ""
    return (
        f"in {formatting.counted(len(found), 'trial')} a normal drive counted fewer NAND writes than it was sent: its"
        " log is late, so do not believe its write amplification; make the windows longer"
    )


def _silent(trial: TrialRecord) -> Iterator[str]:
    """Drives of a set that are there without host writes, along with one that has its own."""
    wrote: dict[str, bool] = {}
    for drive, sources in _COUNTED.items():
        names = [f"{source}.host_bytes_written" for source in sources]
        if there := [trial.counters[name] is not None for name in names if name in trial.counters]:
            wrote[drive] = any(there)
    if any(wrote.values()):
        yield from (drive for drive, each in wrote.items() if not each)


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
    return _recorded(trials, "settled_write_amplification")


def _recorded(trials: Sequence[TrialRecord], name: str) -> float | None:
    """Of the drive that holds the data; the WAL's alone where only that one counts."""
    for source in _SOURCES:
        found = middle(of_regime(trials, f"{source}.{name}"))
        if found is not None:
            return found
    return None


def _least_written(trials: Sequence[TrialRecord]) -> tuple[float | None, str]:
    """Drive writes of a window, of that drive of a set that was written least, and which one that is.

    Of the trials that have a write amplification; of all drives together where none tells its capacity.
    """
    judged = [trial for trial in trials if trial.responses.get("write_amplification") is not None]
    written: dict[str, float | None] = {}
    for drive, sources in _COUNTED.items():
        shares = []
        for trial in judged:  # of the one of these sources that is there and has a capacity
            counts = trial.counters
            sizes = ((counts.get(f"{s}.host_bytes_written"), counts.get(f"{s}.capacity_bytes")) for s in sources)
            shares.append(next((sent / room for sent, room in sizes if sent is not None and room), None))
        written[drive] = middle(shares)
    known = {drive: value for drive, value in written.items() if value is not None}
    if not known:
        return middle(trial.responses.get("drive_writes") for trial in judged), _THE_ONE
    least = min(known, key=lambda drive: known[drive])
    return known[least], least if len(known) > 1 else _THE_ONE


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
    """Whether each trial found its drives as the others did; empty where the drives do not report."""
    proven = check.proven(trials)
    if proven:
        changed = len(list(check.state_changes(trials)))
        counted = formatting.counted(proven, "trial")
        return f"made again {formatting.counted(changed, 'time')} in {counted}" if changed else f"the same in {counted}"
    written = check.written_between(trials)
    return "" if written is None else f"as the trial before left it, {formatting.size(written)} from first to last"


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name in _SHARES:
        return per_cent(value, 1)
    return formatting.size(value) if name.endswith("_bytes") else f"{value:.3g}"


SECTION = Section("drives", "Drive counters", _describe, secondary=True)


CHOOSING = "drive."
"""A study that names such a factor says itself where its data are."""
_FLUSHING = ("wal",)
"""Of one thread only: PostgreSQL flushes its WAL one at a time, and of several threads that share a file most find
nothing left to flush, which no drive gets to see."""
_TELLING: Mapping[Resource, tuple[str, tuple[str, ...]]] = {
    Resource.READS: ("read_iops", ("random:100%", "reread")),
    Resource.WRITTEN_BYTES: ("bytes_per_s", ("write", "seqwr", "random:0%")),
    Resource.FLUSHES: ("flushes_per_s", _FLUSHING),
}
"""The response of a fio trial that is the capacity, and the patterns that ask for nothing else."""
_WRITING = ("write", "seqwr", "random:0%")
_CAVEAT = "without these signs there may still be a cache: one that holds the whole file shows only as short latency"
_DEFAULTS = {"driver": "pgbench", "threads": "1", "depth": "1", "direct": "on", "io_size": "8kB"}


def best(every: Iterable[TrialRecord]) -> dict[Resource, tuple[float, str]]:
    """The greatest median of any arm, a second, and at which; empty for other studies."""
    trials = [each for each in every if each.status is Status.VALID and is_disk(each)]
    found: dict[Resource, tuple[float, str]] = {}
    for resource, (response, patterns) in _TELLING.items():
        asking = [each for each in trials if load_level(each, "pattern", "random:100%") in patterns]
        if patterns == _FLUSHING:
            asking = [each for each in asking if load_level(each, "threads", "1") == "1"]
        for place, group in grouped(asking, lambda each: each.place).items():
            value = middle(trial.responses.get(response) for trial in group)
            if value is not None and value > found.get(resource, (0.0, ""))[0]:
                found[resource] = (value, formatting.place(*place))
    return found


def is_disk(trial: TrialRecord) -> bool:
    """Did the trial measure a drive without a database, as the study `disk` does?"""
    return load_level(trial, "driver", "pgbench") == "fio"


def measured_by(run: Run) -> tuple[MeasuredCapacity, ...]:
    """What a run of the study `disk` measured of its drive; raises `UsageError` for a run of another study."""
    found = best(run.trials)
    if not found:
        raise UsageError(
            f'"{run.path}" is no run of the study disk: no valid trial of the driver fio', "pgassay run disk"
        )
    return tuple(
        MeasuredCapacity(each, value, f"measured by {run.path.name} at {place}")
        for each, (value, place) in found.items()
    )


def recorded(host: Mapping[str, Any], study: Study) -> tuple[MeasuredCapacity, ...]:
    """What the record took along of an earlier disk study of its drive; nothing where the study chooses the drives."""
    fact = host.get(DISK_FACT)
    names = (*study.factors, *study.conditions, *study.covariates, *study.fixed)
    if not isinstance(fact, Mapping) or any(name.startswith(CHOOSING) for name in names):
        return ()
    per_s, at = fact.get("per_s"), fact.get("at")
    when = str(fact.get("measured_utc", ""))[:10]
    busy = ", while other programs were running" if fact.get("remarks") else ""
    found = []
    for resource in Resource:
        value = per_s.get(resource) if isinstance(per_s, Mapping) else None
        if isinstance(value, int | float) and isfinite(value) and value > 0:
            where = f" at {at[resource]}" if isinstance(at, Mapping) and at.get(resource) else ""
            found.append(MeasuredCapacity(resource, float(value), f"a disk study of {when}{where}{busy}"))
    return tuple(found)


def signs(trials: Sequence[TrialRecord], seconds: "Seconds") -> tuple[tuple[str, str], ...]:
    """Where (a treatment, or the drive), and what was found there or that nothing was; empty without fio's trials."""
    asked = [trial for trial in trials if trial.status is Status.VALID and is_disk(trial)]
    if not asked:
        return ()
    rows: list[tuple[str, str]] = []
    rates = _rates(seconds, [trial for trial in asked if _level(trial, "pattern") in _WRITING])
    for treatment, mine in by_treatment(asked).items():
        place = treatment or "the drive"
        alone = [
            trial
            for trial in mine
            if _level(trial, "pattern") in ("random:100%", "reread")
            and (_level(trial, "threads"), _level(trial, "depth"), _level(trial, "direct")) == ("1", "1", "on")
        ]
        quick = too_fast([value for each in alone if (value := each.responses.get("read_latency_p50_ms")) is not None])
        again = reread([value for each in mine if (value := each.responses.get("reread_speedup")) is not None])
        found = [sign for sign in (quick, again) if sign]
        rows += [(place, text) for text in found or ("no sign of a cache beneath the guest",)]
        written = {trial.number: rates[trial.number] for trial in mine if trial.number in rates}
        long = {number: each for number, each in written.items() if len(each) >= SECONDS_LEAST}
        falls = {number: fall for number, each in long.items() if (fall := cliff(each)) is not None}
        if falls:
            trials_of_all = f"in {len(falls)} of {len(long)} trials that only write: {', '.join(map(str, falls))}"
            rows.append((place, f"{next(iter(falls.values())).text} ({trials_of_all})"))
        elif long:
            most = f"up to {max(map(sum, long.values())) / 1e9:.3g} GB written"
            rows.append((place, f"no cliff under sustained writing in windows of this length ({most})"))
        elif written:
            short = f"below {SECONDS_LEAST} s"
            rows.append((place, f"windows are too short to see a cliff under sustained writing: {short}"))
    return tuple(rows)


def _rates(seconds: "Seconds", trials: Sequence[TrialRecord]) -> Mapping[int, list[float]]:
    """Bytes written in each second, by trial; a trial whose seconds cannot be read is left out and named."""
    if not trials:
        return {}
    import polars as pl

    sizes = {trial.number: parse_memory(_level(trial, "io_size")) for trial in trials}
    table = seconds.gather(
        lambda series: series.filter(
            (pl.col("source") == "fio") & (pl.col("name") == "write_iops") & pl.col("trial").is_in(sorted(sizes))
        ).select("trial", "monotonic_ns", "value")
    )
    found: dict[int, list[float]] = {number: [] for number in sizes}
    for number, value in table.sort("trial", "monotonic_ns").select("trial", "value").drop_nulls().iter_rows():
        found[number].append(value * sizes[number])
    return {number: rates for number, rates in found.items() if rates}


def _level(trial: TrialRecord, option: str) -> str:
    return load_level(trial, option, _DEFAULTS.get(option, ""))


def _disk(findings: "Findings") -> Iterator[Part]:
    if findings.disk_signs:
        yield Brief("; ".join(dict.fromkeys(sign for _, sign in findings.disk_signs)))
        yield Table(("where", "finding"), findings.disk_signs, notes=(_CAVEAT,))


DISK = Section("disk", "The drive itself", _disk, secondary=True)
