"""What a drive can do, from a run of the study `disk`: the best of its combinations, for bounds and for diagnoses.

A run takes along what the last disk study of its drive found (host.json); `--disk RUN` names another.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from pgassay.analysis.capacities import DRIVE, MeasuredCapacity, Resource
from pgassay.record.disk_capacities import FACT
from pgassay.record.values import TrialRecord
from pgassay.report import messages, words
from pgassay.report.trials import load_level, middle
from pgassay.study.levels import Place
from pgassay.study.model import Study
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

CHOOSING = "drive."
"""A study that names such a factor says itself where its data are."""
_FLUSHING = ("wal",)
"""Of one thread only: PostgreSQL flushes its WAL one at a time, and of several threads that share a file most find
nothing left to flush, which no drive gets to see."""
_TELLING: Mapping[Resource, tuple[str, tuple[str, ...]]] = {
    Resource.READS: ("read_iops", ("random:100%", "reread")),
    Resource.WRITTEN_BYTES: ("bytes_per_s", ("write", "random:0%")),
    Resource.FLUSHES: ("flushes_per_s", _FLUSHING),
}
"""The response of a fio trial that is the capacity, and the patterns that ask for nothing else."""


def best(findings: "Findings") -> dict[Resource, tuple[float, str]]:
    """The greatest median of any arm, and at which; empty for other studies."""
    trials = [each for each in findings.trials if each.status is Status.VALID and is_disk(each)]
    found: dict[Resource, tuple[float, str]] = {}
    for resource, (response, patterns) in _TELLING.items():
        groups: dict[Place, list[TrialRecord]] = {}
        for trial in trials:
            alone = patterns != _FLUSHING or load_level(trial, "threads", "1") == "1"
            if alone and load_level(trial, "pattern", "random:100%") in patterns:
                groups.setdefault(trial.place, []).append(trial)
        for place, group in groups.items():
            value = middle(trial.responses.get(response) for trial in group)
            if value is not None and value > found.get(resource, (0.0, ""))[0]:
                found[resource] = (value, words.place(*place))
    return found


def is_disk(trial: TrialRecord) -> bool:
    """Was the drive asked by itself?"""
    return load_level(trial, "driver", "pgbench") == "fio"


def of_study(findings: "Findings") -> tuple[MeasuredCapacity, ...]:
    """Of a run of the study `disk`; raises `UsageError` for others."""
    found = best(findings)
    if not found:
        raise messages.no_disk_study(findings.run.path)
    name = findings.run.path.name
    return tuple(
        MeasuredCapacity(each, value, f"measured by {name} at {place}") for each, (value, place) in found.items()
    )


def recorded(host: Mapping[str, Any], study: Study) -> tuple[MeasuredCapacity, ...]:
    """What the record took along of an earlier disk study of its drive; nothing where the study chooses the drives."""
    fact = host.get(FACT)
    names = (*study.factors, *study.conditions, *study.covariates, *study.fixed)
    if not isinstance(fact, Mapping) or any(name.startswith(CHOOSING) for name in names):
        return ()
    return tuple(_recorded(fact))


def _recorded(fact: Mapping[str, Any]) -> Iterator[MeasuredCapacity]:
    per_s, at = fact.get("per_s"), fact.get("at")
    when = str(fact.get("measured_utc", ""))[:10]
    beside = ", while other programs worked" if fact.get("remarks") else ""
    for resource in DRIVE:
        value = per_s.get(resource) if isinstance(per_s, Mapping) else None
        if isinstance(value, int | float) and isfinite(value) and value > 0:
            where = f" at {at[resource]}" if isinstance(at, Mapping) and at.get(resource) else ""
            yield MeasuredCapacity(resource, float(value), f"a disk study of {when}{where}{beside}")
