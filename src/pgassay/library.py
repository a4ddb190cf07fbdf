"""The library: studies, runs, numbers of one's own and simulated drives, for scripts and notebooks.

Everything here is what the commands do, with values instead of text. Its names are those of `pgassay.__all__`; whatever
else a notebook imports from a package below may change without notice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any, SupportsFloat

import polars as pl

from pgassay.analysis import compare as comparing
from pgassay.analysis import verdicts
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Verdict
from pgassay.errors import PgassayError, UsageError
from pgassay.flash import Simulation, simulate
from pgassay.lab.run import WrittenStudy, continue_run, run_study, write_study
from pgassay.lab.runner import Watcher
from pgassay.lab.trial_state import Assignment
from pgassay.lab.workbench import BenchOptions
from pgassay.record import export
from pgassay.record.directory import unused_path
from pgassay.record.reading import Run as Record
from pgassay.record.series import SCHEMA
from pgassay.record.values import TrialRecord
from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.study import builtin
from pgassay.study.document import Overrides, read
from pgassay.study.levels import Arm
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.units import share

__all__ = [
    "Effect", "Findings", "PgassayError", "Progress", "Run", "Simulation", "Verdict", "WrittenStudy", "build_study",
    "compare", "load_study", "resume", "run", "simulate", "verdict",
]  # fmt: skip


def load_study(
    name: str | Path,
    *,
    size: str = "",
    fixed: Mapping[str, object] | None = None,
    levels: Mapping[str, Sequence[object]] | None = None,
    scale: str | None = None,
    scale_to: str | None = None,
    **design: str | int,
) -> WrittenStudy:
    """A built-in study or a study file, with changes as on the command line.

    `size` is "quick", "as-published" or the default; `fixed` holds levels (`--set`), `levels` varies them (`--levels`);
    `scale="1/250"` or `scale_to="4GB"` makes a scale model of all that;
    `design` takes `blocks="5..10"`, `budget="20min"`, `resolution="2%"`, `seed=7`. Raises `PgassayError`.
    """
    found, text = builtin.find(str(name))
    changes = _overrides(size, fixed or {}, levels or {}, design)
    return write_study(found, read(found, text), replace(changes, scale=scale, scale_to=scale_to))


def build_study(
    document: Mapping[str, Any], *, name: str = "study", size: str = "", **design: str | int
) -> WrittenStudy:
    """A study from the tables of a study file as dictionaries (docs/studies.md); raises `PgassayError`.

    `size` and `design` are as for `load_study`.
    """
    if not isinstance(document, Mapping):
        raise UsageError("build_study takes the tables of a study file as a dictionary", "load_study takes a name")
    return write_study(name, dict(document), _overrides(size, {}, {}, design))


def _overrides(
    size: str, fixed: Mapping[str, object], levels: Mapping[str, Sequence[object]], design: Mapping[str, str | int]
) -> Overrides:
    return Overrides(
        size,
        [f"{name}={value}" for name, value in fixed.items()],
        [f"{name}={','.join(map(str, values))}" for name, values in levels.items()],
        dict(design),
    )


@dataclass(frozen=True)
class Progress:
    """One step of a run that goes on: what happens, in words, and where in the run.

    `trial` is the record of a trial that has ended, `effects` the estimates after it; both None for other steps.
    """

    text: str
    block: int | None = None
    trial: TrialRecord | None = None
    effects: tuple[Effect, ...] | None = None


class _Reporter(Watcher):
    def __init__(self, notify: Callable[[Progress], None]) -> None:
        self._notify = notify

    def preparing(self, arm: Arm) -> None:
        self._notify(Progress(f"preparing {arm.name}"))

    def trial_started(self, assignment: Assignment) -> None:
        text = f"block {assignment.block}, trial {assignment.number}: {assignment.arm.name}"
        self._notify(Progress(text, assignment.block))

    def trial_finished(self, record: TrialRecord) -> None:
        self._notify(Progress(f"trial {record.number} is {record.status}", record.block, record))

    def estimated(self, effects: Sequence[Effect], used_s: float) -> None:
        self._notify(Progress(f"estimated after {used_s:.0f} s", effects=tuple(effects)))

    def dropped(self, arm_name: str, reason: str) -> None:
        self._notify(Progress(f"{arm_name}: {reason}"))


class Run:
    """A run directory, finished or still going on: every call reads it again, without disturbing who writes it.

    Trials that cannot be read are left out (`pgassay check` names them).
    """

    def __init__(self, path: str | Path) -> None:
        """Open the run at `path`; raises `PgassayError` where there is none."""
        self.path = Path(path).absolute()
        self._record()

    @classmethod
    def open(cls, path: str | Path) -> "Run":
        """The run at `path`; raises `PgassayError` where there is none."""
        return cls(path)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _record(self) -> Record:
        return Record.open(self.path, leave_out=True)

    @property
    def study(self) -> dict[str, Any]:
        """The study as it was run: the tables of its study file."""
        return self._record().study

    @property
    def host(self) -> dict[str, Any]:
        """The facts about the machine, as `host.json` has them."""
        return self._record().host

    @property
    def finished(self) -> bool:
        """Whether the design itself has ended the run; False while it goes on, and when it was cut short."""
        return self.findings().finished

    def trials(self) -> pl.DataFrame:
        """A row for each committed trial, whatever its status; also of a run that goes on.

        Columns: number, block, attempt, treatment, condition, covariate, status, reasons, started and finished (UTC),
        seed; each factor's level as typed and as read back; each response as a float, null where not available.
        """
        record = self._record()
        header, *rows = export.rows(record)
        names = [str(name) for name in header]
        responses = {response.name for response in record.responses} | {n for t in record.trials for n in t.responses}
        whole = ("number", "block", "attempt", "seed")
        schema = {
            name: pl.Int64() if name in whole else pl.Float64() if name in responses else pl.String() for name in names
        }
        moments = [pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC") for name in ("started", "finished")]
        return pl.DataFrame(rows, schema=schema, orient="row", strict=False).with_columns(moments)

    def series(self) -> pl.LazyFrame:
        """What was sampled each second, in long form; `.collect()` reads it.

        Columns: trial, monotonic_ns, wall_ns, source, name, unit, value. Counters are raw and cumulative.
        """
        record = self._record()
        return record.series() if record.numbers else pl.LazyFrame(schema=SCHEMA)

    def findings(self) -> Findings:
        """All that a report says, computed when first asked for: `.verdicts`, `.costs`, `.explanations` …"""
        return Findings(self._record())

    def verdicts(self) -> pl.DataFrame:
        """A row for each comparison of the primary response with the baseline.

        Columns: treatment, condition, covariate, response, verdict, estimate, low, high (ratios, or differences in the
        response's unit), blocks, text.
        """
        judged = self.findings().verdicts
        rows = [
            (*each.effect.place, each.effect.response, each.verdict.kind.value, each.effect.estimate, each.effect.low,
             each.effect.high, each.effect.blocks, each.verdict.text)
            for each in judged
        ]  # fmt: skip
        words = ("treatment", "condition", "covariate", "response", "verdict")
        schema = {**dict.fromkeys(words, pl.String()), **dict.fromkeys(("estimate", "low", "high"), pl.Float64())}
        return pl.DataFrame(rows, schema={**schema, "blocks": pl.Int64(), "text": pl.String()}, orient="row")

    def report(self, folder: str | Path | None = None) -> Path:
        """Write the HTML report with its figures, by default into the run directory; returns the page."""
        return page.write(self.findings(), Path(folder).resolve() if folder else self.path / "report")


def run(
    study: WrittenStudy,
    path: str | Path | None = None,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    pg_bindir: str | Path | None = None,
    data_dir: str | Path | None = None,
    allow_busy: bool = False,
) -> Run:
    """Run a study on this machine to its end, which takes as long as its budget; the record is at `path`.

    `path` is runs/STUDY-UTC by default, `pg_bindir` the first PostgreSQL found, `data_dir` where `pgassay run` keeps
    its clusters. Call it from the main thread. Ctrl-C ends it cleanly; `resume` goes on. Raises `PgassayError`.
    """
    if not isinstance(study, WrittenStudy):
        raise UsageError("run takes a study", f"for example pgassay.run(pgassay.load_study({study!r}))")
    where = Path(path).absolute() if path else unused_path(study.study.name, datetime.now(UTC))
    options = _options(pg_bindir, data_dir, allow_busy)
    watcher = _Reporter(on_progress) if on_progress else None
    return Run(run_study(study, where, options, watcher, ("pgassay.run",)).path)


def resume(
    path: str | Path,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    pg_bindir: str | Path | None = None,
    data_dir: str | Path | None = None,
    allow_busy: bool = False,
) -> Run:
    """Go on with a run that was cut short, to its end; place and PostgreSQL are those that it began with.

    Raises `PgassayError`, also for a run that is finished.
    """
    watcher = _Reporter(on_progress) if on_progress else None
    return Run(continue_run(Path(path).absolute(), _options(pg_bindir, data_dir, allow_busy), watcher).path)


def _options(pg_bindir: str | Path | None, data_dir: str | Path | None, allow_busy: bool) -> BenchOptions:
    bindir, data = (Path(each) if each else None for each in (pg_bindir, data_dir))
    return BenchOptions(bindir, data, allow_busy=allow_busy)


def compare(values: Mapping[str, Sequence[float | None]], baseline: str, *, level: float = 0.95) -> tuple[Effect, ...]:
    """Each treatment against the baseline by numbers of your own; value k of each is repetition (block) k.

    Values must be positive (speeds, times, bytes); None or NaN where a repetition has none. Estimates and intervals are
    ratios; the intervals hold for all comparisons together, for data that were complete before anyone looked. Raises
    `UsageError` for an unknown baseline, for what is no number, and for a `level` outside 0 and 1.
    """
    if baseline not in values:
        raise UsageError(f'there are no values of baseline "{baseline}"', f"there are: {', '.join(values)}")
    if not 0.0 < level < 1.0:
        raise UsageError(f"level must be above 0 and below 1, such as 0.95, not {level!r}")
    for treatment, series in values.items():
        for value in series:
            if value is not None and not isinstance(value, SupportsFloat):
                raise UsageError(f'a value of "{treatment}" is not a number: {value!r}')
    observations = [
        Observation(block, treatment, "", "", None if value is None or isnan(value) else float(value))
        for treatment, series in values.items()
        for block, value in enumerate(series, start=1)
    ]
    blocks = max(map(len, values.values()))
    return comparing.compare(
        observations, _RESPONSE, baseline, blocks_max=max(1, blocks), looks="once", level=level, primary=True
    )


def verdict(effect: Effect, *, resolution: str | float = 0.02, better: str | None = None) -> Verdict:
    """What may be said of an effect at a resolution (0.02 or "2%"): better, worse, equivalent or unresolved.

    `better` is "higher" or "lower"; None says "different" where it would say better or worse. Below five blocks nothing
    is decided. Raises `UsageError` for another `resolution` or `better`.
    """
    if better not in (None, "higher", "lower"):
        raise UsageError(f'better is "higher", "lower" or None, not {better!r}')
    smallest = share("resolution", resolution if isinstance(resolution, str) else f"{resolution!r}")
    response = replace(_RESPONSE, better=Better(better)) if better else _RESPONSE
    return verdicts.verdict(effect, response, resolution=smallest, blocks_max=effect.blocks)


_RESPONSE = Response("value", "value", "", Better.NEITHER, Scale.RATIO)
