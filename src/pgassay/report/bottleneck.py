"""What stops the load: the bottleneck of each arm.

The bottleneck is judged from medians over the valid trials of an arm. Cores are those that the server may use
(`host.cores` says it where it varies), capacities those of a disk study: what one stream alone can do, as a calibration
measures, says too little here.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING, Any

from pgassay.analysis.capacities import Cause, Diagnosis, Evidence, MeasuredCapacity, diagnose
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.drives import is_disk
from pgassay.report.section import Brief, Part, Section, Table, Values
from pgassay.report.trials import grouped, in_order, load_level, middle
from pgassay.study.drives import TIMING, UNTIMED
from pgassay.study.levels import Place
from pgassay.study.model import Study
from pgassay.study.responses import Status
from pgassay.study.units import parse_whole

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
        clients = parse_whole(load_level(mine[0], "clients", "1")) or 1
        jobs, asked = load_level(mine[0], "jobs", "1"), load_level(mine[0], "rate", "none")
        evidence = Evidence(
            per_s=medians[rate] or 0.0,
            waits={kind: medians.get(f"waits_{kind}_share") for kind in _KINDS},
            costs={name: medians.get(name) for name in _COSTS},
            cores=_cores(mine[0], host),
            threads=clients if jobs == "clients" else min(clients, parse_whole(jobs) or 1),
            rate_asked=None if asked == "none" else float(asked),
            busy=medians.get("cpu_busy_share"),
            foreign=medians.get("foreign_cpu_share"),
            capacities=[each for each in disk if isfinite(each.per_s)],
            clients=parse_whole(load_level(mine[0], "clients", load_level(mine[0], "threads", "1"))),
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
        count = parse_whole(text.partition(":")[0])
        return None if count is None else float(count)
    total = 0
    for part in text.removeprefix("cpu:").split(","):
        low, _, high = part.partition("-")
        first, last = parse_whole(low), parse_whole(high or low)
        if first is None or last is None:
            return None
        total += last - first + 1
    return float(total)


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
    notes = ("pgassay show --json RUN has every candidate with its numbers", *missing)
    yield Table(("at", "bottleneck", "evidence"), rows, notes=notes)


SECTION = Section("bottleneck", "Bottleneck", _describe, secondary=True)
