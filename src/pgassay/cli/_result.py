"""What `run`, `compare` and `resume` do when a run has ended: write its page, print its text, remember a disk study."""

from pathlib import Path

from pgassay.cli import messages
from pgassay.lab.machine import disk_file
from pgassay.record import disk_capacities
from pgassay.record.calibrations import Setting
from pgassay.record.disk import RealDisk
from pgassay.record.reading import Run
from pgassay.report import page, text
from pgassay.report.disk import CHOOSING, best
from pgassay.report.findings import Findings
from pgassay.report.forms import document
from pgassay.report.json_values import to_json


def show_result(path: Path, *, as_json: bool) -> None:
    """Write the page of the run at `path`, and print the text or the JSON; raises `PgassayError` if it cannot."""
    findings = Findings(Run.open(path, leave_out=True))
    remember(findings)
    try:
        written = page.write(findings, path / "report")
    except OSError as error:
        raise messages.report_failed(path, error) from error
    if as_json:
        print(to_json({**document(findings), "report": str(written)}))
        return
    print(text.render(findings))
    print(f"report: {written}")
    print(f"record: {path}")


def remember(findings: Findings) -> None:
    """Keep what a finished disk study found, unless it chose other drives than the data directory's."""
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
    disk_capacities.remember(RealDisk(), disk_file(), new)
