"""A run of the study `disk`, which measures a drive alone: what it can do, is it a drive, does it keep its pace?

What a drive can do is the best of the study's combinations, for bounds and for diagnoses; a run takes along what the
last disk study of its drive found (host.json), and `--disk RUN` names another. Whether a cache answered in the drive's
place is read off direct reads of one thread, the pattern `reread`, and the seconds of patterns that only write.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from pgassay.analysis.capacities import MeasuredCapacity, Resource
from pgassay.analysis.disk_caches import SECONDS_LEAST, cliff, reread, too_fast
from pgassay.errors import UsageError
from pgassay.record.known import DISK_FACT
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.section import Brief, Part, Section, Table
from pgassay.report.trials import by_arm, by_treatment, load_level, middle
from pgassay.study.model import Study
from pgassay.study.responses import Status
from pgassay.study.units import parse_memory

if TYPE_CHECKING:
    from pgassay.report.findings import Findings
    from pgassay.report.seconds import Seconds

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
        for place, group in by_arm(asking).items():
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


def _describe(findings: "Findings") -> Iterator[Part]:
    if findings.disk_signs:
        yield Brief("; ".join(dict.fromkeys(sign for _, sign in findings.disk_signs)))
        yield Table(("where", "finding"), findings.disk_signs, notes=(_CAVEAT,))


SECTION = Section("disk", "The drive itself", _describe, secondary=True)
