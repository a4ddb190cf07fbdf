"""From a record to the evidence of each arm, and to what a disk study measured of its drive.

Medians over the valid trials of an arm. Cores are those that the server may use (`host.cores` says it where it varies),
capacities those of a disk study: what one stream alone can do, as a calibration measures, says too little here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from pgassay.analysis.capacities import Capacity, capacities_of
from pgassay.analysis.diagnosis import Diagnosis, Evidence, diagnose
from pgassay.record.values import TrialRecord
from pgassay.report.disk_capacities import is_disk
from pgassay.report.scaling import processors_of
from pgassay.report.trials import load_level, middle
from pgassay.study.levels import Place
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_RATES = ("tps", "iops")
_KINDS = ("on_cpu", "client", "lock", "wal_flush", "data_read", "data_write", "lwlock")
_COSTS = (
    "server_cpu_us_per_transaction", "client_cpu_us_per_transaction", "disk_reads_per_transaction",
    "disk_written_bytes_per_transaction", "disk_flushes_per_transaction",
)  # fmt: skip
_TOLD = (*_RATES, *(f"waits_{kind}_share" for kind in _KINDS), *_COSTS, "cpu_busy_share", "foreign_cpu_share")


@dataclass(frozen=True)
class Diagnosed:
    """What stops one arm."""

    treatment: str
    condition: str
    covariate: str
    diagnosis: Diagnosis

    @property
    def place(self) -> str:
        """Treatment, condition and covariate; `the load` where the study has none of them."""
        return Place(self.treatment, self.condition, self.covariate).name or "the load"


def diagnosed(findings: "Findings") -> tuple[Diagnosed, ...]:
    """Every arm with valid trials, in the study's order; empty where no rate or nothing that explains it is known."""
    capacities = tuple(each for each in capacities_of(findings.disk) if isfinite(each.per_s))
    rate = next((name for name in _RATES if name in findings.responses), None)
    if rate is None:
        return ()
    groups: dict[Place, list[TrialRecord]] = {arm.place: [] for arm in findings.study.arms}
    for trial in findings.trials:
        if trial.status is Status.VALID and not is_disk(trial):
            groups.setdefault(trial.place, []).append(trial)
    found = []
    for place, trials in groups.items():
        medians = _medians(trials)
        if medians.get(rate) is not None:
            evidence = _evidence(findings, medians, trials[0], rate, capacities)
            if evidence.waits.get("client") is not None or any(v is not None for v in evidence.costs.values()):
                found.append(Diagnosed(*place, diagnose(evidence)))
    return tuple(found)


def _evidence(
    findings: "Findings",
    medians: Mapping[str, float | None],
    trial: TrialRecord,
    rate: str,
    capacities: tuple[Capacity, ...],
) -> Evidence:
    clients = _count(load_level(trial, "clients", "1")) or 1
    jobs = load_level(trial, "jobs", "1")
    asked = load_level(trial, "rate", "none")
    return Evidence(
        per_s=medians[rate] or 0.0,
        waits={kind: medians.get(f"waits_{kind}_share") for kind in _KINDS},
        costs={name: medians.get(name) for name in _COSTS},
        cores=_cores(findings, trial),
        threads=clients if jobs == "clients" else min(clients, _count(jobs) or 1),
        rate_asked=None if asked == "none" else float(asked),
        busy=medians.get("cpu_busy_share"),
        foreign=medians.get("foreign_cpu_share"),
        capacities=capacities,
    )


def _cores(findings: "Findings", trial: TrialRecord) -> float | None:
    """`4`, `4:together` or `cpu:0-3,6` as a number; the machine's where the server may use all."""
    level = trial.levels.get("host.cores")
    text = "all" if level is None else level.canonical
    if text == "all":
        usable = processors_of(findings.run.host).usable
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


def _medians(trials: list[TrialRecord]) -> dict[str, float | None]:
    return {name: middle(trial.responses.get(name) for trial in trials) for name in _TOLD}


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
