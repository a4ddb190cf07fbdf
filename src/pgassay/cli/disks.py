"""What disk studies found of this machine's drives: kept when one ends, taken along by later runs on the same drive."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.bench.places import Mount
from pgassay.host.facts import host_id
from pgassay.record import calibrations, disk_capacities
from pgassay.record.calibrations import Setting
from pgassay.record.disk import RealDisk

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


def place_of(mount: Mount) -> dict[str, str]:
    """Which drive the clusters are on, for host.json."""
    return {"host": host_id(), "filesystem": mount.filesystem, "device": mount.device}


def known(mount: Mount) -> dict[str, Any]:
    """What the last disk study of this drive found; empty without one."""
    found = disk_capacities.read(RealDisk(), user_file()).of(Setting(**place_of(mount), postgres="", load={}))
    return found.facts() if found is not None else {}


def remember(findings: "Findings") -> None:
    """Keep what a finished disk study found, unless it chose other drives than the data directory's."""
    from pgassay.report.disk import CHOOSING, best

    study, place = findings.study, findings.run.host.get("place", {})
    names = {*study.factors, *study.conditions, *study.covariates, *study.fixed}
    if not findings.finished or "device" not in place or any(name.startswith(CHOOSING) for name in names):
        return
    found = best(findings.trials)
    if not found:
        return
    new = disk_capacities.DiskCapacities(
        measured_utc=findings.run.header.started_utc,
        place=Setting(place["host"], place["filesystem"], place["device"], "", {}),
        run=str(findings.run.path),
        per_s={resource.value: value for resource, (value, _) in found.items()},
        at={resource.value: where for resource, (_, where) in found.items()},
        remarks=tuple(findings.remarks),
    )
    disk_capacities.remember(RealDisk(), user_file(), new)


def user_file() -> Path:
    """The user's file of drives."""
    return calibrations.user_file(os.environ, Path.home()).with_name(disk_capacities.FILE)
