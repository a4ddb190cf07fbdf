"""What stops the load, and what would be full first: the bottleneck of each arm, and the limit of its rate.

The bottleneck is judged from medians over the valid trials of an arm. Cores are those that the server may use
(`host.cores` says it where it varies), capacities those of a disk study: what one stream alone can do, as a calibration
measures, says too little here.

A limit is what this machine can do of each cost in a second, as far as the record knows; what is not known is named.
The processors are read off; the drive was measured by a disk study, or by one stream in a calibration, whose figures a
run takes along. Server and load program share the processors, so their costs are added.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from pgassay.analysis.capacities import (
    DRIVE,
    NOTHING_BOUNDS,
    Bounds,
    Capacity,
    Cause,
    Diagnosis,
    Evidence,
    MeasuredCapacity,
    Resource,
    bounds,
    capacities_of,
    diagnose,
)
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.disk import is_disk
from pgassay.report.section import Brief, Part, Section, Table, Values
from pgassay.report.trials import by_arm, grouped, in_order, load_level, middle
from pgassay.study.drives import TIMING, UNTIMED
from pgassay.study.levels import Place
from pgassay.study.model import Study
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_RATES = ("tps", "iops")
_TRIP, _TRIPS, _STATEMENTS, _APART = (
    "network_round_trip_us", "network_trips_per_transaction", "qps", "client_busy_share",
)  # fmt: skip
_KINDS = ("on_cpu", "client", "lock", "wal_flush", "data_read", "data_write", "lwlock")
_COSTS = (
    "server_cpu_us_per_transaction", "client_cpu_us_per_transaction", "disk_reads_per_transaction",
    "disk_written_bytes_per_transaction", "disk_flushes_per_transaction",
)  # fmt: skip
_CAPS = {"iops": "iops_cap_share", "throughput": "throughput_cap_share", "no_credit": "no_credit_share"}
_LETTERS = 90
"""Of a bottleneck with its evidence: one line of a terminal."""
_TOLD = (
    *_RATES,
    *(f"waits_{kind}_share" for kind in _KINDS),
    *_COSTS,
    *_CAPS.values(),
    "cpu_busy_share",
    "foreign_cpu_share",
    _TRIP,
    _TRIPS,
    _STATEMENTS,
    _APART,
)


@dataclass(frozen=True)
class Diagnosed:
    """The bottleneck of one arm, with its evidence."""

    treatment: str
    condition: str
    covariate: str
    diagnosis: Diagnosis

    @property
    def place(self) -> str:
        """Treatment, condition and covariate; `the load` where the study has none of them."""
        return Place(self.treatment, self.condition, self.covariate).name or "the load"


def diagnoses(
    study: Study,
    trials: Sequence[TrialRecord],
    responses: Container[str],
    host: Mapping[str, Any],
    disk: Sequence[MeasuredCapacity],
) -> tuple[Diagnosed, ...]:
    """Every arm with valid trials, in the study's order; empty where no rate or nothing that explains it is known.

    `responses` are the names that the run declares, `disk` what a disk study measured of its drive.
    """
    capacities = tuple(each for each in capacities_of(disk) if isfinite(each.per_s))
    rate = next((name for name in _RATES if name in responses), None)
    if rate is None:
        return ()
    groups: dict[Place, list[TrialRecord]] = {arm.place: [] for arm in study.arms}
    for trial in trials:
        if trial.status is Status.VALID and not is_disk(trial):
            groups.setdefault(trial.place, []).append(trial)
    found = []
    for place, mine in groups.items():
        medians = {name: middle(trial.responses.get(name) for trial in mine) for name in _TOLD}
        if medians.get(rate) is None:
            continue
        clients = _count(load_level(mine[0], "clients", "1")) or 1
        jobs, asked = load_level(mine[0], "jobs", "1"), load_level(mine[0], "rate", "none")
        evidence = Evidence(
            per_s=medians[rate] or 0.0,
            waits={kind: medians.get(f"waits_{kind}_share") for kind in _KINDS},
            costs={name: medians.get(name) for name in _COSTS},
            cores=_cores(mine[0], host),
            threads=clients if jobs == "clients" else min(clients, _count(jobs) or 1),
            rate_asked=None if asked == "none" else float(asked),
            busy=medians.get("cpu_busy_share"),
            foreign=medians.get("foreign_cpu_share"),
            capacities=capacities,
            clients=_count(load_level(mine[0], "clients", load_level(mine[0], "threads", "1"))),
            round_trip_us=medians.get(_TRIP),
            trips=trips_of(medians, rate),
            apart=medians.get(_APART) is not None,
            caps={cap: medians.get(name) for cap, name in _CAPS.items()},
            timing=f"drive.timing = {UNTIMED if (level := mine[0].levels.get(TIMING)) is None else level.canonical}",
        )
        if evidence.waits.get("client") is not None or any(v is not None for v in evidence.costs.values()):
            found.append(Diagnosed(*place, diagnose(evidence)))
    return tuple(found)


def trips_of(medians: Mapping[str, float | None], rate: str) -> float | None:
    """Of a transaction: as its scripts say, or by the statements that the program counted."""
    counted, per_s = medians.get(_STATEMENTS), medians.get(rate)
    written = medians.get(_TRIPS)
    return written if written is not None or not counted or not per_s else counted / per_s


def _cores(trial: TrialRecord, host: Mapping[str, Any]) -> float | None:
    """`4`, `4:together` or `cpu:0-3,6` as a number; the machine's where the server may use all."""
    level = trial.levels.get("host.cores")
    text = "all" if level is None else level.canonical
    if text == "all":
        usable = processors_of(host).usable
        return None if usable is None else float(usable)
    if not text.startswith("cpu:"):
        count = _count(text.partition(":")[0])
        return None if count is None else float(count)
    total = 0
    for part in text.removeprefix("cpu:").split(","):
        low, _, high = part.partition("-")
        first, last = _count(low), _count(high or low)
        if first is None or last is None:
            return None
        total += last - first + 1
    return float(total)


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


@dataclass(frozen=True)
class Processors:
    """The machine's processors by the record; None where it does not say."""

    usable: int | None
    cores: int | None

    @property
    def threads_per_core(self) -> float | None:
        """Hardware threads of a core; None where it is not known."""
        return self.usable / self.cores if self.usable and self.cores else None


def processors_of(host: Mapping[str, Any]) -> Processors:
    """Usable processors and physical cores, from the facts of `host.json`."""
    cpu = host.get("cpu")
    facts = cpu if isinstance(cpu, Mapping) else {}
    usable, cores = facts.get("usable_processors"), facts.get("cores")
    return Processors(usable if isinstance(usable, int) else None, cores if isinstance(cores, int) else None)


def sentences(found: Sequence[Diagnosed]) -> Iterator[str]:
    """Along a covariate: which cause stops which stretch of each curve."""
    along = (each for each in found if each.covariate)
    curves = grouped(along, lambda each: formatting.place(each.treatment, each.condition))
    for name, curve in curves.items():
        by_place = {each.covariate: each for each in curve}
        ordered = [by_place[covariate] for covariate in in_order(list(by_place))]
        stretches = []
        for cause, members in groupby(ordered, key=lambda each: each.diagnosis.cause):
            places = [each.covariate.partition("=")[2] for each in members]
            at = places[0] if len(places) == 1 else f"{places[0]} to {places[-1]}"
            stretches.append(f"{cause} ({at})")
        yield f"{name or 'the load'}: bottleneck: {', then '.join(stretches)}"


def stops(findings: "Findings") -> Iterator[str]:
    """What stops the load, the most frequent bottleneck first; nothing where it is undecided everywhere."""
    every = findings.bottlenecks
    if any(each.covariate for each in every):
        yield from sentences(every)
        return
    causes = Counter(each.diagnosis.cause for each in every if each.diagnosis.cause is not Cause.UNDECIDED)
    for cause, count in causes.most_common():
        mine = [each for each in every if each.diagnosis.cause is cause]
        where = "everywhere" if count == len(every) else f"at {mine[0].place}"
        where += f" and {count - 1} more" if 1 < count < len(every) else ""
        evidence = mine[0].diagnosis.text.partition(": ")[2].partition("; ")[0]
        said = f"bottleneck {where}: {cause}"
        yield f"{said}: {evidence}" if evidence and len(said) + len(evidence) < _LETTERS else said


def _describe(findings: "Findings") -> Iterator[Part]:
    found = findings.bottlenecks
    yield Values({"beside": {"stops": found}})
    if not found:
        return
    yield Brief("; ".join(text.removeprefix("bottleneck ") for text in stops(findings)) or "undecided everywhere")
    rows = []
    for each in found:
        cause, _, evidence = each.diagnosis.text.partition(": ")
        rows.append((each.place, cause, evidence))
    missing = dict.fromkeys(reason for each in found for reason in each.diagnosis.missing)
    notes = ("pgassay diagnose RUN shows every candidate with its numbers", *missing)
    yield Table(("at", "bottleneck", "evidence"), rows, notes=notes)


SECTION = Section("bottleneck", "Bottleneck", _describe, secondary=True)


CPU = "cpu_us_per_transaction"
"""Server and load program together: a cost of the report's own."""

_PARTS = _COSTS[:2]
_JOBS = "load.jobs"
_US = 1e6
_RATE = "tps"


def capacities(
    host: Mapping[str, Any], study: Study, trials: Sequence[TrialRecord], disk: Sequence[MeasuredCapacity] = ()
) -> tuple[Capacity, ...]:
    """Of the machine that the record was made on; NaN where a capacity is not known, or differs between the trials.

    What a disk study measured counts for more than a calibration's one stream.
    """
    names = {*study.factors, *study.conditions, *study.covariates, *study.fixed}
    return capacities_of(
        [
            processors(host, cores_varied="host.cores" in names),
            *_drive(host, elsewhere=any(name.startswith("drive.") for name in names)),
            *disk,
            *_threads(trials),
        ]
    )


def processors(host: Mapping[str, Any], *, cores_varied: bool) -> MeasuredCapacity:
    """All of them, or as many as a control group allows."""
    if cores_varied:
        return MeasuredCapacity(Resource.CPU, nan, "the study itself varies the cores")
    usable = processors_of(host).usable or 0
    if usable < 1:
        return MeasuredCapacity(Resource.CPU, nan, "the record does not tell the processors")
    quota = _quota(host["cpu"].get("cgroup_limit"))
    if quota is not None and quota < usable:
        return MeasuredCapacity(Resource.CPU, quota * _US, f"a control group allows {quota:g} processors")
    source = f"{usable} usable processors, hyper-threads counted as whole processors"
    return MeasuredCapacity(Resource.CPU, usable * _US, source)


def _drive(host: Mapping[str, Any], *, elsewhere: bool) -> Iterator[MeasuredCapacity]:
    """`elsewhere`: the study says itself where its data are, which is not where the capacities were measured."""
    known = host.get("capacities")
    if not isinstance(known, Mapping):
        return
    for resource in DRIVE:
        per_s = known.get(resource)
        if isinstance(per_s, int | float) and isfinite(per_s) and per_s > 0:
            if elsewhere:
                yield MeasuredCapacity(resource, nan, "the study itself chooses the drives")
            else:
                when = str(known.get("measured_utc", ""))[:10]
                yield MeasuredCapacity(resource, float(per_s), f"one stream, calibrated {when}".strip())


def _threads(trials: Sequence[TrialRecord]) -> Iterator[MeasuredCapacity]:
    """The load program cannot use more processors than it has threads: a number, or `clients`, as many as these."""
    counts = set()
    for trial in trials:
        level = trial.levels.get(_JOBS)
        clients = trial.levels.get("load.clients") if level and level.canonical == "clients" else level
        if level and clients:
            counts.add((clients.canonical, level.canonical))
    if len(counts) == 1:
        count, asked = counts.pop()
        if count.isdigit() and int(count) > 0:
            yield MeasuredCapacity(Resource.CLIENT_CPU, int(count) * _US, f"{_JOBS} = {asked}")


def costs_with_cpu(costs: Mapping[str, float | None]) -> dict[str, float | None]:
    """The costs with that of all CPU added; None unless both parts are known.

    A load on a host of its own takes none of the server's.
    """
    apart = costs.get(_APART) is not None
    parts = [costs.get(name) for name in (_PARTS[:1] if apart else _PARTS)]
    whole = None if any(part is None for part in parts) else sum(part for part in parts if part is not None)
    return {**costs, CPU: whole}


def _quota(text: object) -> float | None:
    """`cpu.max` of a control group: `200000 100000` is two processors, `max 100000` no limit."""
    words = text.split() if isinstance(text, str) else []
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def bounded(findings: "Findings") -> Mapping[Place, Bounds]:
    """What bounds every arm, by the medians of its costs and its rate; empty where no rate was measured."""
    if _RATE not in findings.responses:
        return {}
    medians: dict[Place, dict[str, float | None]] = {}
    for response in findings.responses.values():
        if response.cost or response.name in (_RATE, _APART):
            for row in findings.summaries(response):
                medians.setdefault(row.place, {})[response.name] = row.median
    trials, found = by_arm(findings.trials), {}
    for place, costs in medians.items():
        rate = costs.get(_RATE)
        if rate is not None and isfinite(rate):
            known = capacities(findings.run.host, findings.study, trials.get(place, ()), findings.disk)
            found[place] = bounds(costs_with_cpu(costs), known, rate)
    return found


OTHER_QUESTION = (
    "a limit says which resource would be full first, by what is known of each; the bottleneck says what transactions"
    " waited for, which may be a flush on a drive that is far from full"
)


def _limits(findings: "Findings") -> Iterator[Part]:
    found = findings.once(bounded)
    yield Values({"beside": {"bounds": [{**place._asdict(), "bounds": each} for place, each in found.items()]}})
    if not found:
        return
    yield Brief(next(iter(found.values())).text)
    rows = [(place.name, each.text) for place, each in found.items()]
    unknown = dict.fromkeys(reason for each in found.values() for reason in each.left_out)
    sources = dict.fromkeys(
        f"{each.capacity.title}: {each.capacity.source}" for one in found.values() for each in one.bounds
    )
    if not sources:
        rows = [("every treatment", NOTHING_BOUNDS)]
    aside = (OTHER_QUESTION,) if sources else ()
    notes = (*aside, *sources, *(f"not available: {reason}" for reason in unknown))
    yield Table(("treatment", "lowest known limit" if unknown else "lowest limit"), rows, notes=notes)


LIMITS = Section("bounds", "Throughput limits", _limits, secondary=True)
