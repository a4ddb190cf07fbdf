"""What `run`, `compare` and `resume` share: preflight, conducting with a watcher, and the report at the end."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgassay import __version__
from pgassay.cli import disks, messages
from pgassay.cli.noise import known_capacities
from pgassay.cli.progress import watcher_for
from pgassay.cli.reboots import Reboots
from pgassay.design.schedule import RULE
from pgassay.errors import PgassayError
from pgassay.host.accounts import describe
from pgassay.host.facts import collect
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.messages import bench_failed
from pgassay.lab.preflight import Checked
from pgassay.lab.runner import Conductor
from pgassay.lab.workbench import Workbench
from pgassay.load import drivers
from pgassay.record import disk_capacities
from pgassay.record.directory import RunDirectory
from pgassay.record.errors import RecordError
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.document import Document, with_baseline, write
from pgassay.study.model import Study


def create_run(
    path: Path,
    resolved: ResolvedStudy,
    document: Document,
    seed: int,
    checked: Checked,
    bench: Workbench,
    remarks: dict[str, str],
    capacities: Mapping[str, float | str] | None = None,
) -> RunDirectory:
    """A new run directory with everything that could matter later; `capacities` where they were measured just now."""
    study = resolved.study
    header = RunHeader(
        study=study.name,
        started_utc=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seed=seed,
        responses=checked.responses,
        command=("pgassay", *sys.argv[1:]),
        program_version=__version__,
        rule=RULE,
        work=drivers.find(resolved.arms[0].driver).work,
        scales=tuple(
            each.name for each in resolved.arms[0].bound if each.name in study.covariates and each.factor.scales
        ),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = dict(collect({"data": bench.data_directory, "record": path.parent}))
    facts["postgres"] = installations(resolved)
    facts["account"] = describe(bench.account)
    facts["place"] = {
        "data_directory": str(bench.data_directory.absolute()),
        "keep_snapshots": bench.wishes.keep_snapshots,
        **disks.place_of(checked.mount),
    }
    facts["remarks"] = remarks
    facts["capacities"] = dict(capacities) if capacities else known_capacities(checked.mount)
    facts[disk_capacities.FACT] = disks.known(checked.mount)
    return RunDirectory.create(path, header, recorded_study(study, document), facts)


def recorded_study(study: Study, document: Document) -> str:
    """The record's `study.toml`: what was run, in words that can be read without any factor's own rules."""
    recorded = with_baseline(document, {name: level.typed for name, level in study.design.baseline.levels.items()})
    return write(recorded, f"The study as it was resolved and run; made by pgassay {__version__}.")


def installations(resolved: ResolvedStudy) -> list[dict[str, str]]:
    """Every PostgreSQL that the study's arms use; of a build also its source, with the commit that a name stood for."""
    from pgassay.postgres.builds.builder import FOUND_BY
    from pgassay.postgres.builds.cache import read_manifest

    found = {}
    for arm in resolved.arms:
        each = arm.installation
        told = {"bindir": str(each.bindir), "version": each.version.text, "found_by": each.found_by}
        if each.found_by == FOUND_BY:
            told["source"] = read_manifest(each.bindir.parent, each.bindir.parent.name).source
        found[str(each.bindir)] = told
    return list(found.values())


def conduct(
    resolved: ResolvedStudy,
    run: RunDirectory,
    trials: list[TrialRecord],
    *,
    as_json: bool,
    reboots: Reboots | None = None,
) -> int:
    """Conduct to the end (or Ctrl-C), then report; returns the exit status. With `reboots`, block by block."""
    with run, ExitStack() as stack:
        watcher = stack.enter_context(watcher_for(resolved.study, sys.stderr, quiet=as_json))
        conductor = Conductor(resolved, run, watcher, trials, one_block=reboots is not None)
        if reboots is not None:
            stack.enter_context(reboots)
        try:
            if conductor.conduct() is None and reboots is not None:
                run.interrupted("reboot between blocks")
                reboots.wanted = True
                return messages.SUCCESS
        except KeyboardInterrupt:  # or SIGTERM, SIGHUP: see lab.interruption
            if not run.finished:
                run.interrupted("signal")
            messages.tell_interrupted(run.path)
            return messages.INTERRUPTED
        except RecordError:
            raise
        except PgassayError as error:
            run.interrupted(error.message)
            raise bench_failed(error.message, error.hint, run.path) from None
    report(run.path, as_json=as_json)
    return messages.SUCCESS


def report(path: Path, *, as_json: bool) -> None:
    """Write the page and print the text (or the JSON)."""
    from pgassay.report import page, text
    from pgassay.report.findings import Findings
    from pgassay.report.forms import document
    from pgassay.report.json_values import to_json

    findings = Findings(Run.open(path, leave_out=True))
    disks.remember(findings)
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
