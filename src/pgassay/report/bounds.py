"""What bounds the rate: what this machine can do of each cost in a second, as far as the record knows.

What is not known is named. The processors are read off; the drive was measured by a disk study, or by one stream in a
calibration, whose figures a run takes along. Server and load program share the processors, so their costs are added.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from pgassay.analysis.capacities import (
    DRIVE,
    NOTHING_BOUNDS,
    Bounds,
    Capacity,
    MeasuredCapacity,
    Resource,
    bounds,
    capacities_of,
)
from pgassay.record.values import TrialRecord
from pgassay.report.section import Block, Section, Table
from pgassay.report.trials import by_arm
from pgassay.study.levels import Place
from pgassay.study.model import Study

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

CPU = "cpu_us_per_transaction"
"""Server and load program together: a cost of the report's own."""

_PARTS = ("server_cpu_us_per_transaction", "client_cpu_us_per_transaction")
_APART = "client_busy_share"
_CORES, _DRIVES, _JOBS = "host.cores", "drive.", "load.jobs"
_US = 1e6
_RATE = "tps"


@dataclass(frozen=True)
class Bounded:
    """What bounds one treatment in one condition at one covariate point."""

    treatment: str
    condition: str
    covariate: str
    bounds: Bounds


def capacities(
    host: Mapping[str, Any], study: Study, trials: Sequence[TrialRecord], disk: Sequence[MeasuredCapacity] = ()
) -> tuple[Capacity, ...]:
    """Of the machine that the record was made on; NaN where a capacity is not known, or differs between the trials.

    What a disk study measured counts for more than a calibration's one stream.
    """
    names = {*study.factors, *study.conditions, *study.covariates, *study.fixed}
    return capacities_of(
        [
            processors(host, cores_varied=_CORES in names),
            *_drive(host, elsewhere=any(name.startswith(_DRIVES) for name in names)),
            *disk,
            *_threads(trials),
        ]
    )


def processors(host: Mapping[str, Any], *, cores_varied: bool) -> MeasuredCapacity:
    """All of them, or as many as a control group allows."""
    count, source = (nan, "the study itself varies the cores") if cores_varied else _processors(host)
    return MeasuredCapacity(Resource.CPU, count * _US, source)


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
    """The load program cannot use more processors than it has threads."""
    counts = {jobs for trial in trials if (jobs := _jobs(trial)) is not None}
    if len(counts) == 1:
        count, asked = counts.pop()
        if count.isdigit() and int(count) > 0:
            yield MeasuredCapacity(Resource.CLIENT_CPU, int(count) * _US, f"{_JOBS} = {asked}")


def _jobs(trial: TrialRecord) -> tuple[str, str] | None:
    """How many threads, and the level that says so: a number, or `clients`, as many as these."""
    level = trial.levels.get(_JOBS)
    if level is None:
        return None
    clients = trial.levels.get("load.clients") if level.canonical == "clients" else level
    return None if clients is None else (clients.canonical, level.canonical)


def costs_with_cpu(costs: Mapping[str, float | None]) -> dict[str, float | None]:
    """The costs with that of all CPU added; None unless both parts are known.

    A load on a host of its own takes none of the server's.
    """
    apart = costs.get(_APART) is not None
    parts = [costs.get(name) for name in (_PARTS[:1] if apart else _PARTS)]
    whole = None if any(part is None for part in parts) else sum(part for part in parts if part is not None)
    return {**costs, CPU: whole}


def _processors(host: Mapping[str, Any]) -> tuple[float, str]:
    cpu = host.get("cpu")
    count = cpu.get("usable_processors") if isinstance(cpu, Mapping) else None
    if not isinstance(cpu, Mapping) or not isinstance(count, int) or count < 1:
        return nan, "the record does not tell the processors"
    quota = _quota(cpu.get("cgroup_limit"))
    if quota is not None and quota < count:
        return quota, f"a control group allows {quota:g} processors"
    return float(count), f"{count} usable processors, hyper-threads counted as whole processors"


def _quota(text: object) -> float | None:
    """`cpu.max` of a control group: `200000 100000` is two processors, `max 100000` no limit."""
    words = text.split() if isinstance(text, str) else []
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def bounded(findings: "Findings") -> tuple[Bounded, ...]:
    """Every arm, from the medians of its costs and its rate; empty where no rate was measured."""
    if _RATE not in findings.responses:
        return ()
    medians: dict[Place, dict[str, float | None]] = {}
    for response in findings.responses.values():
        if response.cost or response.name in (_RATE, _APART):
            for row in findings.summaries(response):
                place = row.place
                medians.setdefault(place, {})[response.name] = row.median
    trials = by_arm(findings.trials)

    def known(place: Place) -> tuple[Capacity, ...]:
        return capacities(findings.run.host, findings.study, trials.get(place, ()), findings.disk)

    return tuple(
        Bounded(*place, bounds(costs_with_cpu(costs), known(place), rate))
        for place, costs in medians.items()
        if (rate := costs.get(_RATE)) is not None and isfinite(rate)
    )


OTHER_QUESTION = (
    "a limit says which resource would be full first, by what is known of each; the bottleneck says what transactions"
    " waited for, which may be a flush on a drive that is far from full"
)


def _blocks(findings: "Findings") -> Iterator[Block]:
    every = findings.once(bounded)
    if not every:
        return
    rows = [(Place(each.treatment, each.condition, each.covariate).name, each.bounds.text) for each in every]
    unknown = dict.fromkeys(reason for each in every for reason in each.bounds.left_out)
    sources = dict.fromkeys(
        f"{each.capacity.title}: {each.capacity.source}" for one in every for each in one.bounds.bounds
    )
    if not sources:
        rows = [("every treatment", NOTHING_BOUNDS)]
    aside = (OTHER_QUESTION,) if sources else ()
    notes = (*aside, *sources, *(f"not available: {reason}" for reason in unknown))
    yield Table(("treatment", "lowest known limit" if unknown else "lowest limit"), rows, notes=notes)


def _brief(findings: "Findings") -> str:
    return next((each.bounds.text for each in findings.once(bounded)), "")


def _plain(findings: "Findings") -> Mapping[str, object]:
    return {"beside": {"bounds": [asdict(each) for each in findings.once(bounded)]}}


SECTION = Section("bounds", "Throughput limits", _blocks, _plain, secondary=True, brief=_brief)
