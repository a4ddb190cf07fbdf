"""Imported runs as a run directory like any other, so that show, report, check, export and lint work on them.

Every trial says that it is imported: its regime, the host's facts and the journal's end. What the source does not say
(times, settings, the machine) stays unknown. The study is written as a study file, so that every report can read it: it
has the treatments, conditions and covariates of the runs, and neither load nor budget, which are not known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from typing import Any

from pgassay import __version__
from pgassay.analysis.lint.setup import NAMES
from pgassay.errors import UsageError
from pgassay.importing import placement
from pgassay.importing.files import first_reasons, one_of, read_files
from pgassay.importing.placement import Placed, named
from pgassay.importing.reader import Options
from pgassay.importing.values import LeftOut, Reading
from pgassay.record.directory import RunDirectory
from pgassay.record.disk import Disk
from pgassay.record.formats import IMPORTED, RunHeader
from pgassay.record.linted import SAID
from pgassay.record.values import UNKNOWN_TIME_NS, LevelRecord, TrialRecord
from pgassay.study import document
from pgassay.study.parsing import parse_recorded
from pgassay.study.quantities import BLOCKS_MAX
from pgassay.study.responses import Status

LABEL = "imported, not measured by pgassay"
BLOCKS_LEAST = 5
_NS = 1_000_000_000


@dataclass(frozen=True)
class Question:
    """What is asked of the runs. Empty: the first treatment is the baseline, the first response the primary one."""

    baseline: str = ""
    primary: str = ""
    resolution: str = "2%"
    title: str = ""


@dataclass(frozen=True)
class Imported:
    """The result of an import: the run directory, its runs in order, and what was left out."""

    path: Path
    kind: str
    placed: tuple[Placed, ...]
    left_out: tuple[LeftOut, ...]
    remarks: tuple[str, ...]

    @property
    def treatments(self) -> tuple[str, ...]:
        """The label of each treatment, in the order of their first runs."""
        return tuple(dict.fromkeys(each.place.treatment for each in self.placed))

    @property
    def outcomes(self) -> tuple[Placed, ...]:
        """The runs that are not counted as results."""
        return tuple(each for each in self.placed if not each.counts)


@dataclass(frozen=True)
class Source:
    """Where the runs came from: files as named, their format, what was left out, what a reader must know.

    `ordered` says that the trials' numbers follow the order in which the runs ran, `numbered` that the source numbers
    its repetitions, so that an arm's runs ran in the order of their blocks.
    """

    files: tuple[str, ...]
    kind: str
    ordered: bool
    left_out: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    numbered: bool = False

    def facts(self) -> dict[str, Any]:
        """What `host.json` keeps of it, under the key `IMPORTED`."""
        return {
            IMPORTED: {
                "label": LABEL,
                "imported_from": list(self.files),
                "format": self.kind,
                "order_known": self.ordered,
                "repetitions_numbered": self.numbered,
                "left_out": [{"place": place, "reason": reason} for place, reason in self.left_out],
                "remarks": list(self.remarks),
            }
        }


def import_files(
    paths: Sequence[Path], options: Options, question: Question, run: Path, command: Sequence[str]
) -> Imported:
    """Read the files and write them as the run directory `run`; `command` is kept in its header.

    Raises `UsageError` where there is no run or nothing to compare, `RecordError` where `run` cannot be made.
    """
    reading, roles = read_files(paths, options, compared=True)
    names = [response.name for response in reading.responses]
    primary = one_of(names, question.primary)
    runs, ordered = placement.in_time(reading.runs, reading.ordered)
    remarks = reading.remarks
    if roles.second:
        remarks = (*remarks, *placement.remarks_on_seconds(runs))
        runs = placement.join_seconds(runs, roles)
    placed = placement.place(runs, roles, primary)
    numbers, rule = placement.assign_blocks(placed, roles.block)
    source = Source(
        files=tuple(map(str, paths)),
        kind=reading.kind,
        ordered=ordered,
        left_out=tuple((each.place, each.reason) for each in reading.left_out),
        remarks=(*remarks, rule.value),
        numbered=rule is placement.BlockRule.NUMBERED,
    )
    measured = {name for each in placed for name, value in each.run.responses.items() if value is not None}
    try:
        made = study_document(
            placed,
            title=question.title or f"Imported: {paths[0].name}",
            question=f"{LABEL} ({reading.kind}); {rule.value}",
            primary=primary,
            secondary=[name for name in names if name in measured and name != primary],
            baseline=question.baseline,
            blocks=min(max(numbers), BLOCKS_MAX),
            resolution=question.resolution,
        )
        parse_recorded("imported", made)  # a resolution or a name that no report could read is refused now
    except UsageError as error:
        if not source.left_out:
            raise
        # what was left out may be what is missing
        raise UsageError(error.message, f"{error.hint}; left out: {first_reasons(source.left_out)}") from None
    study = document.write(made, f"The study that these runs answer, as far as their source says; {LABEL}.")
    run.parent.mkdir(parents=True, exist_ok=True)
    write_run(run, _header(reading, command), study, source, list(zip(numbers, placed, strict=True)))
    return Imported(run, reading.kind, placed, reading.left_out, source.remarks)


def _header(reading: Reading, command: Sequence[str]) -> RunHeader:
    return RunHeader(
        study="imported",
        started_utc=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seed=0,
        responses=reading.responses,
        command=tuple(command),
        program_version=__version__,
    )


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
    treatment, condition, covariate = each.place
    levels = {**each.treatment, **each.condition, **each.covariate}
    started_s, length_s = each.run.started_s, each.run.seconds
    started = UNKNOWN_TIME_NS if started_s is None else round(started_s * _NS)
    known = started_s is not None and length_s is not None
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
        finished_wall_ns=started + round((length_s or 0.0) * _NS) if known else UNKNOWN_TIME_NS,
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
        **{f"{SAID}{name}": each.run.fields[name] for name in NAMES if each.run.fields.get(name)},
        "started": "as the source says" if each.run.started_s is not None else "unknown",
    }


def _files(files: Sequence[str]) -> str:
    return ", ".join(files) if len(files) <= 3 else f"{files[0]} and {len(files) - 1} more"


def treatments_of(placed: Sequence[Placed]) -> tuple[Mapping[str, str], ...]:
    """Distinct treatments in the order of their first run; raises `UsageError` where there is only one."""
    found = {each.place.treatment: each.treatment for each in placed}
    if len(found) < 2:
        raise UsageError(
            f'all runs are of one treatment, "{next(iter(found), "")}"',
            "say what differs with --columns, --treatment or --pattern; to judge the runs alone, use pgassay lint",
        )
    return tuple(found.values())


def baseline_of(given: str, treatments: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """The treatment that `--baseline NAME=VALUE[,…]` (or a bare value) names; the first without one."""
    if not given:
        return treatments[0]
    wanted = dict(part.partition("=")[::2] for part in given.split(",") if "=" in part)
    matching = [
        treatment
        for treatment in treatments
        if named(treatment) == given
        or (wanted and all(treatment.get(name.strip()) == value.strip() for name, value in wanted.items()))
        or (not wanted and given in treatment.values())
    ]
    if len(matching) != 1:
        known = "; ".join(named(treatment) for treatment in treatments)
        raise UsageError(f'baseline "{given}" is not one treatment', f"the treatments are: {known}")
    return matching[0]


def study_document(
    placed: Sequence[Placed], *, title: str, question: str, primary: str, secondary: Sequence[str], baseline: str,
    blocks: int, resolution: str,
) -> dict[str, Any]:  # fmt: skip
    """The document; reading it back with `parse_recorded` gives the same arms as the runs have."""
    treatments = treatments_of(placed)
    document: dict[str, Any] = {
        "study": {"format": 1, "title": title, "question": question},
        "treatments": [dict(treatment) for treatment in treatments],
        "responses": {"primary": primary, "secondary": list(secondary)},
        "design": {
            "baseline": dict(baseline_of(baseline, treatments)),
            "resolution": resolution,
            "blocks": {"min": min(BLOCKS_LEAST, blocks), "max": max(BLOCKS_LEAST, blocks)},
        },
    }
    for key in ("conditions", "covariates"):
        role = key.removesuffix("s")
        levels: dict[str, list[str]] = {}
        for each in placed:
            for name, value in getattr(each, role).items():
                if value not in levels.setdefault(name, []):
                    levels[name].append(value)
        if levels:
            document[key] = levels
    points = list({each.place.condition: dict(each.condition) for each in placed}.values())
    if "conditions" in document and len(points) < prod(map(len, document["conditions"].values())):
        document["conditions"] = points
    return document
