"""Runs of other tools: written as a run directory like any other, or judged by `lint` as they are.

In a directory show, report, check and export work on them, too. Every trial says that it is imported: its regime, the
host's facts and the journal's end. What the source does not say (times, settings, the machine) stays unknown. The study
is written as a study file, so that every report can read it: it has the treatments, conditions and covariates of the
runs, and neither load nor budget, which are not known.

An aborted or short run is an outcome with its reasons, whatever its table says of it. The planned length is the
source's own word where it has one, else what the other runs show (`analysis.benchmark`). Where the source numbers
its repetitions, run k of each treatment is block k. Where it does not, the k-th run of each treatment is put into
block k, and the report says so. Rows that are seconds of a run are joined to that run, with their mean as its value:
seconds are not independent, so a table of them holds as many results as runs (docs/report.md).

`lint` judges foreign files, or a run directory, as a plain table of runs. Of one's own run only the valid trials are
results. Of an imported one all are: its source counted them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from math import isfinite, prod
from pathlib import Path
from statistics import fmean
from typing import Any

from pgassay import __version__
from pgassay.analysis.benchmark import NAMES, Benchmark, Length, Run, Setup, fell_short_of
from pgassay.errors import UsageError
from pgassay.importing.files import first_reasons, one_of, read_files
from pgassay.importing.reader import ForeignRun, LeftOut, Options, Roles, levels_of
from pgassay.interfaces.probe import Sample
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import IMPORTED, RunHeader
from pgassay.record.linted import SAID, benchmark_of, gave_up, results_of
from pgassay.record.reading import Run as Recorded
from pgassay.record.values import NO_VALUE, SHORT, UNKNOWN_TIME_NS, LevelRecord, Reason, TrialRecord
from pgassay.study import document
from pgassay.study.levels import Level, Place, label
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Status
from pgassay.study.units import BLOCKS_MAX, parse_whole

_NS = 1_000_000_000


@dataclass(frozen=True)
class Placed:
    """A run with its levels by role, and all that speaks against counting it."""

    run: ForeignRun
    treatment: Mapping[str, str]
    condition: Mapping[str, str]
    covariate: Mapping[str, str]
    planned_s: float | None
    reasons: tuple[Reason, ...]

    @property
    def place(self) -> Place:
        """Treatment, condition and covariate point by their names in the record."""
        return Place(named(self.treatment), named(self.condition), named(self.covariate))

    @property
    def counts(self) -> bool:
        return not self.reasons


def named(levels: Mapping[str, str]) -> str:
    return label({name: Level(typed, typed) for name, typed in levels.items()})


def place(runs: Sequence[ForeignRun], roles: Roles, primary: str) -> tuple[Placed, ...]:
    """Every run with its levels, its planned length and its problems, in the order given."""
    names = ("treatment", "condition", "covariate")
    levels = [{name: levels_of(getattr(roles, name), run.fields) for name in names} for run in runs]
    placed = [
        Placed(run, **each, planned_s=run.planned_s, reasons=run.problems)
        for run, each in zip(runs, levels, strict=True)
    ]
    lengths = [Length(str(each.place), str(each.place.cell), each.run.seconds, each.run.planned_s) for each in placed]
    targets = fell_short_of(lengths)
    return tuple(_judged(each, target, primary) for each, target in zip(placed, targets, strict=True))


def in_time(runs: Sequence[ForeignRun], ordered: bool) -> tuple[tuple[ForeignRun, ...], bool]:
    """The runs in the order in which they ran, and whether that is known: by their times, else as their source says."""
    if runs and all(run.started_s is not None for run in runs):
        return tuple(sorted(runs, key=lambda run: run.started_s or 0.0)), True
    return tuple(runs), ordered


def _judged(each: Placed, target_s: float | None, primary: str) -> Placed:
    reasons = list(each.reasons)
    codes = {reason.code for reason in reasons}
    if target_s is not None and each.run.seconds is not None and SHORT not in codes:
        of = "where similar runs took" if each.run.planned_s is None else "of"
        reasons.append(Reason(SHORT, f"ran {each.run.seconds:.3g} s {of} {target_s:.5g} s"))
    value = each.run.responses.get(primary)
    if NO_VALUE not in codes:
        if value is None:
            reasons.append(Reason(NO_VALUE, f"there is no {primary}"))
        elif not isfinite(value) or value <= 0.0:
            reasons.append(Reason(NO_VALUE, f"{primary} is {value:g}"))
    planned_s = each.run.planned_s if each.run.planned_s is not None else target_s
    return replace(each, planned_s=planned_s, reasons=tuple(reasons))


class BlockRule(StrEnum):
    """How blocks were made, as the report says it."""

    NUMBERED = "block k holds repetition k of each treatment, as the source numbers them"
    COUNTED = (
        "the source names no repetitions: block k holds the k-th run of each treatment, which takes drift out only if "
        "they ran in turn"
    )
    REPEATED = (
        "the source's repetition numbers are not whole numbers or occur twice: block k holds the k-th run of each "
        "treatment instead"
    )


def assign_blocks(placed: Sequence[Placed], block_field: str) -> tuple[tuple[int, ...], BlockRule]:
    """A block number, from 1, for each run in order, and how it was made.

    The source's numbers are counted from 1 in their order, unless one is missing or twice in an arm.
    """
    if block_field:
        known = [(each, parse_whole(each.run.fields.get(block_field, "").strip())) for each in placed]
        numbers = [(each.place, number) for each, number in known if number is not None]
        if len(set(numbers)) == len(placed):
            order = {number: position for position, number in enumerate(sorted({each[1] for each in numbers}), start=1)}
            return tuple(order[number] for _, number in numbers), BlockRule.NUMBERED
    seen: dict[Place, int] = {}
    counted = []
    for each in placed:
        seen[each.place] = seen.get(each.place, 0) + 1
        counted.append(seen[each.place])
    return tuple(counted), BlockRule.REPEATED if block_field else BlockRule.COUNTED


def join_seconds(rows: Sequence[ForeignRun], roles: Roles) -> tuple[ForeignRun, ...]:
    """One run for each file, arm and repetition, in the order of first rows; a second without a value does not count.

    A second that is there k times in one of them belongs to k runs that were appended, in the order of the rows.
    """
    groups: dict[tuple[object, ...], list[ForeignRun]] = {}
    times: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        file = row.place.rpartition(" line ")[0]
        key = (file, *levels_of(roles.levels, row.fields).values(), row.fields.get(roles.block, ""))
        times[*key, row.second] += 1
        groups.setdefault((*key, times[*key, row.second]), []).append(row)
    return tuple(_joined(sorted(group, key=lambda row: row.second or 0.0)) for group in groups.values())


def remarks_on_seconds(rows: Sequence[ForeignRun]) -> tuple[str, ...]:
    """What a reader of the runs must know of their seconds."""
    missing = sum(any(value is None for value in row.responses.values()) for row in rows)
    said = (f"the {len(rows)} lines are seconds: a run's value is their mean",)
    return (*said, f"{missing} of the seconds have no value and do not count in it") if missing else said


def _joined(rows: Sequence[ForeignRun]) -> ForeignRun:
    first, last = rows[0], rows[-1]
    moments = [row.second or 0.0 for row in rows]
    gaps = [later - earlier for earlier, later in pairwise(moments) if later > earlier]
    length = moments[-1] - moments[0] + min(gaps) if gaps else None
    values = {
        name: [value for row in rows if (value := row.responses.get(name)) is not None] for name in first.responses
    }
    return replace(
        first,
        place=f"{first.place} to {last.place.rpartition(' ')[2]}",
        responses={name: fmean(found) if found else None for name, found in values.items()},
        seconds=first.seconds if first.seconds is not None else length,
        second=None,
        problems=tuple(dict.fromkeys(problem for row in rows for problem in row.problems)),
        series=tuple(
            Sample(round(moment * _NS), round(moment * _NS), "imported", name, "", value)
            for moment, row in zip(moments, rows, strict=True)
            for name, value in row.responses.items()
        ),
    )


LABEL = "imported, not measured by pgassay"
BLOCKS_LEAST = 5


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


def import_files(
    paths: Sequence[Path], options: Options, question: Question, run: Path, command: Sequence[str]
) -> Imported:
    """Read the files and write them as the run directory `run`; `command` is kept in its header.

    Raises `UsageError` where there is no run or nothing to compare, `RecordError` where `run` cannot be made.
    """
    reading, roles = read_files(paths, options, compared=True)
    names = [response.name for response in reading.responses]
    primary = one_of(names, question.primary)
    runs, ordered = in_time(reading.runs, reading.ordered)
    remarks = reading.remarks
    if roles.second:
        remarks = (*remarks, *remarks_on_seconds(runs))
        runs = join_seconds(runs, roles)
    placed = place(runs, roles, primary)
    numbers, rule = assign_blocks(placed, roles.block)
    remarks = (*remarks, rule.value)
    source = {
        "label": LABEL,
        "imported_from": [str(path) for path in paths],
        "format": reading.kind,
        "order_known": ordered,  # trials' numbers follow the order in which the runs ran
        "repetitions_numbered": rule is BlockRule.NUMBERED,  # so an arm's runs ran in the order of their blocks
        "left_out": [{"place": each.place, "reason": each.reason} for each in reading.left_out],
        "remarks": list(remarks),
    }
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
        if not reading.left_out:
            raise
        # what was left out may be what is missing
        lost = first_reasons((each.place, each.reason) for each in reading.left_out)
        raise UsageError(error.message, f"{error.hint}; left out: {lost}") from None
    study = document.write(made, f"The study that these runs answer, as far as their source says; {LABEL}.")
    run.parent.mkdir(parents=True, exist_ok=True)
    header = RunHeader(
        study="imported",
        started_utc=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seed=0,
        responses=reading.responses,
        command=tuple(command),
        program_version=__version__,
    )
    with RunDirectory.create(run, header, study, {IMPORTED: source}) as made_run:
        for number, (block, each) in enumerate(zip(numbers, placed, strict=True), start=1):
            staging = made_run.begin_trial(number, {"imported_from": each.run.place})
            made_run.commit_trial(staging, trial_of(number, block, each), each.run.series)
        files = ", ".join(map(str, paths)) if len(paths) <= 3 else f"{paths[0]} and {len(paths) - 1} more"
        made_run.finish(f"{LABEL}: {len(placed)} runs from {files}")
    return Imported(run, reading.kind, placed, reading.left_out, remarks)


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
        regime={
            "checkpoint_words": f"{LABEL}: its checkpoints, caches and start state are not known",
            "imported_from": each.run.place,
            "window_s": each.run.seconds,
            "warmup_s": None,
            "cache": "unknown",
            "age": "unknown",
            "planned_s": each.planned_s,
            **{f"{SAID}{name}": each.run.fields[name] for name in NAMES if each.run.fields.get(name)},
            "started": "as the source says" if each.run.started_s is not None else "unknown",
        },
    )


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


ALL_RUNS = "all runs"
"""What the one treatment is called when nothing tells treatments apart."""


@dataclass(frozen=True)
class Judged:
    """A benchmark with what to say of its source."""

    benchmark: Benchmark
    kind: str
    response: str
    left_out: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()


def of_files(paths: Sequence[Path], options: Options, primary: str, baseline: str) -> Judged:
    """Foreign files. `baseline` as a treatment's label; empty for the first."""
    reading, roles = read_files(paths, options, compared=False)
    names = [response.name for response in reading.responses]
    chosen = one_of(names, primary)
    runs, ordered = in_time(reading.runs, reading.ordered)
    placed = place(runs, roles, chosen)
    if not ordered and roles.block:
        placed = tuple(sorted(placed, key=lambda each: _number(each.run.fields.get(roles.block, ""))))
    found = tuple(
        Run(
            treatment=each.place.treatment or ALL_RUNS,
            value=each.run.responses.get(chosen),
            position=position if ordered else None,
            levels={**each.treatment, **each.condition, **each.covariate},
            seconds=each.run.seconds,
            planned_s=each.planned_s,
            aborted=gave_up(each.reasons),
            condition=each.place.cell.name,
            place=each.run.place,
            setup=Setup.of(
                {
                    **{name: each.run.fields[name] for name in NAMES if each.run.fields.get(name)},
                    **each.treatment,
                    **each.condition,
                    **each.covariate,
                }
            ),
            course=tuple((each.monotonic_ns / 1e9, each.value) for each in each.run.series if each.name == "tps"),
        )
        for position, each in enumerate(placed)
    )
    benchmark = Benchmark(
        found,
        response=chosen,
        replicate="second" if roles.second else "run",
        baseline=baseline,
        ordered=ordered or bool(roles.block),
    )
    left_out = tuple((each.place, each.reason) for each in reading.left_out)
    return Judged(benchmark, reading.kind, chosen, left_out, (*reading.remarks, *_of_order(benchmark)))


def _of_order(benchmark: Benchmark) -> tuple[str, ...]:
    return () if benchmark.in_order else ("the order in which the runs ran is not known, so it is not judged",)


def of_run(path: Path, primary: str) -> Judged:
    """A run directory; of one of ours only valid trials count. Raises `RecordError`, `UsageError`."""
    record = Recorded.open(path, leave_out=True)
    study = record.asked
    names = [response.name for response in record.responses]
    chosen = one_of(names, primary or study.primary)
    source = record.host.get(IMPORTED)
    benchmark = benchmark_of(record, study, chosen)
    remarks = tuple(map(str, source.get("remarks", ()))) if isinstance(source, dict) else ()
    known = {trial.number for trial in results_of(record)}
    other = {
        trial.number: "; ".join([trial.status.value, *(reason.detail for reason in trial.reasons)])
        for trial in record.trials
        if trial.number not in known
    }
    left_out = tuple((f"trial {number}", why) for number, why in sorted({**other, **dict(record.left_out)}.items()))
    kind = "imported run" if isinstance(source, dict) else "run"
    return Judged(benchmark, kind, chosen, left_out, (*remarks, *_of_order(benchmark)))


def _number(text: str) -> tuple[int, str]:
    return (0, text) if (number := parse_whole(text)) is None else (number, "")
