"""Imported runs as a run directory like any other, so that show, report, check, export and lint work on them.

Every trial says that it is imported: its regime, the host's facts and the journal's end. What the source does not tell
(times, settings, the machine) stays unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.record.directory import RunDirectory
from pgassay.record.disk import Disk
from pgassay.record.foreign.documents import LABEL
from pgassay.record.foreign.judging import Placed
from pgassay.record.formats import RunHeader
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.responses import Status

_NS = 1_000_000_000
FACTS = "imported"
"""The key of `host.json` under which the source is described; its presence marks a run as imported."""


@dataclass(frozen=True)
class Source:
    """Where the runs came from: files as named, their format, what was left out, what a reader must know.

    `ordered` says that the trials' numbers follow the order in which the runs ran.
    """

    files: tuple[str, ...]
    kind: str
    ordered: bool
    left_out: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """For `host.json`."""
        return {
            FACTS: {
                "label": LABEL,
                "imported_from": list(self.files),
                "format": self.kind,
                "order_known": self.ordered,
                "left_out": [{"place": place, "reason": reason} for place, reason in self.left_out],
                "remarks": list(self.remarks),
            }
        }


def write_run(
    path: Path, header: RunHeader, study_toml: str, source: Source, placed: Sequence[tuple[int, Placed]],
    disk: Disk | None = None,
) -> None:  # fmt: skip
    """Write all runs, each with its block, in order; raises `RecordError`."""
    with RunDirectory.create(path, header, study_toml, source.facts(), disk) as run:
        for number, (block, each) in enumerate(placed, start=1):
            staging = run.begin_trial(number, {"imported_from": each.run.place})
            run.commit_trial(staging, trial_of(number, block, each), each.run.series)
        run.finish(f"{LABEL}: {len(placed)} runs from {_files(source.files)}")


def trial_of(number: int, block: int, each: Placed) -> TrialRecord:
    """The run as a trial: valid, or an outcome with its reasons."""
    treatment, condition, covariate = each.labels
    levels = {**each.treatment, **each.condition, **each.covariate}
    started = round((each.run.started_s or 0.0) * _NS)
    return TrialRecord(
        number=number,
        block=block,
        attempt=1,
        treatment=treatment,
        condition=condition,
        covariate=covariate,
        levels={name: LevelRecord(typed, typed) for name, typed in levels.items()},
        status=Status.VALID if each.counts else Status.OUTCOME,
        started_wall_ns=started,
        finished_wall_ns=started + round((each.run.seconds or 0.0) * _NS),
        responses=dict(each.run.responses),
        reasons=each.reasons,
        regime=_regime(each),
    )


def _regime(each: Placed) -> Mapping[str, str | float | None]:
    return {
        "checkpoint_words": f"{LABEL}: its checkpoints, caches and start state are not known",
        "imported_from": each.run.place,
        "window_s": each.run.seconds,
        "warmup_s": None,
        "cache": "unknown",
        "age": "unknown",
        "planned_s": each.planned_s,
        "started": "as the source says" if each.run.started_s is not None else "unknown",
    }


def _files(files: Sequence[str]) -> str:
    return ", ".join(files) if len(files) <= 3 else f"{files[0]} and {len(files) - 1} more"
