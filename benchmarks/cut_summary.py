"""What docs/ keeps of a long run of power cuts.

    python -m benchmarks.power_cuts --summary RUN > docs/power-cut/NAME.json

A record of ten thousand cuts is too large to be kept beside the page that speaks of it. Its summary has what the page
says and what one needs to judge it: the bound, cuts by the way their crash state was drawn, epochs, times of recovery,
settings and versions; no paths of the machine. `long_runs` makes the page's table of all that are kept.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from pgassay.analysis.numbers import bound_per_cent, rounded
from pgassay.interfaces.store import DRAWS
from pgassay.record.power_cuts import SOUND, CutRecord
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report.findings import Findings
from pgassay.report.power_cuts import ArmCuts, arms
from pgassay.study.responses import Status

FORMAT = 1
NONE_KEPT = "No long run is kept here yet."
_PATH = re.compile(r"(?:^|[:=,\s'\"])/")
"""Where a machine keeps its files is nobody else's business."""
_TAIL = 100
"""Of fewer recoveries the 99th percentile is no more than the longest."""


@dataclass(frozen=True)
class Times:
    """Of `count` values; None without any, `p99_ms` also of fewer than a hundred."""

    count: int
    median_ms: float | None
    p99_ms: float | None
    longest_ms: float | None


@dataclass(frozen=True)
class ArmSummary:
    """One treatment. `upper` bounds the share of damaging cuts and holds whenever one looks, `fixed_upper` for a number
    of cuts that was fixed beforehand; both go by epochs.

    `draws` and `verdicts` count cuts; `pages` had a PostgreSQL page in flight, `torn` of these tore it. `compared` had
    their commits held against the load's log, `checked` all of their tables and indexes. `recovery` is that of cuts
    which recovered with the treatment's settings, `still` how long the drive stood still. `levels` and `settings` have
    no paths.
    """

    name: str
    levels: Mapping[str, str]
    settings: Mapping[str, str]
    blocks: int
    cuts: int
    epochs: int
    damaged_cuts: int
    damaged_epochs: int
    upper: float
    fixed_upper: float
    verdict: str
    draws: Mapping[str, int]
    verdicts: Mapping[str, int]
    pages: int
    torn: int
    compared: int
    checked: int
    pieces_median: float
    pieces_most: int
    lost_commit_ms: float
    recovery: Times
    still: Times


@dataclass(frozen=True)
class Summary:
    """A run of power cuts: what was asked, on what, why it ended, and what was found of each treatment."""

    study: str
    title: str
    started_utc: str
    ended: str
    seed: int
    program_version: str
    postgres: tuple[str, ...]
    kernel: str
    processors: int
    memory_bytes: int
    load: Mapping[str, str]
    arms: tuple[ArmSummary, ...]
    format: int = FORMAT


def summary_of(run: Run) -> Summary:
    """Of a run, finished or not; raises `ValueError` where no power was cut in it."""
    findings = Findings(run)
    every = findings.once(arms)
    if not every:
        raise ValueError(f"no power was cut in {run.path}")
    written: Mapping[str, Any] = run.study["load"]
    facts: Mapping[str, Mapping[str, Any]] = {name: run.host.get(name, {}) for name in ("kernel", "cpu", "memory")}
    valid = [trial for trial in findings.trials if trial.status is not Status.INVALID]
    return Summary(
        study=run.header.study,
        title=findings.study.title,
        started_utc=run.header.started_utc,
        ended=findings.end,
        seed=run.header.seed,
        program_version=run.header.program_version,
        postgres=tuple(each["version"] for each in run.host.get("postgres", [])),
        kernel=str(facts["kernel"].get("release", "")),
        processors=int(facts["cpu"].get("usable_processors") or 0),
        memory_bytes=int(facts["memory"].get("total_bytes") or 0),
        load=_without_paths({name: str(value) for name, value in written.items()}),
        arms=tuple(_arm(each, next(trial for trial in valid if trial.place == each.place)) for each in every),
    )


def _arm(each: ArmCuts, trial: TrialRecord) -> ArmSummary:
    risk, cuts = each.risk, each.cuts
    drawn = Counter(cut.draw for cut in cuts)
    return ArmSummary(
        name=each.name,
        levels=_without_paths({name: level.canonical for name, level in trial.levels.items()}),
        settings=_without_paths(trial.settings),
        blocks=each.blocks,
        cuts=len(cuts),
        epochs=risk.epochs,
        damaged_cuts=risk.damaged_cuts,
        damaged_epochs=risk.damaged,
        upper=risk.upper,
        fixed_upper=risk.fixed_upper,
        verdict=each.verdict.text,
        draws={draw: drawn[draw] for draw in DRAWS},
        verdicts=dict(Counter(cut.verdict for cut in cuts)),
        pages=sum(cut.page is not None for cut in cuts),
        torn=sum(bool(cut.page and cut.page["torn"]) for cut in cuts),
        compared=sum(cut.ledger for cut in cuts),
        checked=sum(cut.amcheck for cut in cuts),
        pieces_median=median(cut.pieces for cut in cuts),
        pieces_most=max(cut.pieces for cut in cuts),
        lost_commit_ms=each.loss_ms,
        recovery=times_of([cut.recovery_ms for cut in cuts if cut.recovery_ms is not None]),
        still=times_of(_still(cuts)),
    )


def _still(cuts: Sequence[CutRecord]) -> Sequence[float]:
    """How long the drive stood still for a cut; one whose drive told nothing has no time."""
    return [cut.cut_ms for cut in cuts if cut.number]


def times_of(values: Sequence[float]) -> Times:
    """Median, 99th percentile by rank, and the longest."""
    ordered = sorted(values)
    if not ordered:
        return Times(0, None, None, None)
    p99 = ordered[-(-99 * len(ordered) // 100) - 1] if len(ordered) >= _TAIL else None
    return Times(len(ordered), median(ordered), p99, ordered[-1])


def _without_paths(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in sorted(values.items()) if not _PATH.search(value)}


def encode(summary: Summary) -> str:
    """As the file that docs/ keeps."""
    return msgspec.json.format(msgspec.json.encode(summary), indent=1).decode()


def read(path: Path) -> Summary:
    """What `encode` wrote; raises `msgspec.ValidationError` for anything else."""
    return msgspec.json.decode(path.read_bytes(), type=Summary)


def long_runs(kept: Path) -> list[str]:
    """The lines of the page: a table with a row for each treatment of each summary in a directory, and what they are
    true for."""
    found = [(path.stem, read(path)) for path in sorted(kept.glob("*.json"))]
    if not found:
        return [NONE_KEPT]
    head = ("run", "treatment", "cuts", f"drawn {', '.join(DRAWS)}", "pages in flight, torn", "epochs", "damaging cuts",
            "may do damage, below", "recovery: median, p99, longest")  # fmt: skip
    lines = [_row(head), _row("---" for _ in head).replace(" ", "")]
    lines += [_row((name, *_cells(each))) for name, summary in found for each in summary.arms]
    return [*lines, "", *(f"* {name}: {_regime(summary)}" for name, summary in found)]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cells(each: ArmSummary) -> Sequence[str]:
    recovery = each.recovery
    times = (recovery.median_ms, recovery.p99_ms, recovery.longest_ms)
    told = ", ".join("not available" if time is None else f"{rounded(time)} ms" for time in times)
    return (
        each.name or "the server",
        f"{each.cuts:,}",
        ", ".join(f"{each.draws.get(draw, 0):,}" for draw in DRAWS),
        f"{each.pages:,}, {each.torn:,}",
        f"{each.epochs:,}",
        _damage(each),
        f"{bound_per_cent(each.upper)} %",
        f"{told} ({recovery.count:,})",
    )


def _damage(each: ArmSummary) -> str:
    kinds = ", ".join(f"{count:,} `{kind}`" for kind, count in sorted(each.verdicts.items()) if kind != SOUND)
    return f"{each.damaged_cuts:,} ({kinds})" if kinds else f"{each.damaged_cuts:,}"


def _regime(summary: Summary) -> str:
    """On what it was found."""
    common = dict(set.intersection(*(set(each.levels.items()) for each in summary.arms)))
    held = ", ".join(f"`{name} = {value}`" for name, value in sorted(common.items()))
    checked = sum(each.checked for each in summary.arms)
    return (
        f"study `{summary.study}`, begun {summary.started_utc[:10]}, seed {summary.seed}, ended: {summary.ended}. "
        f"{'; '.join(summary.postgres) or 'PostgreSQL of an unknown version'}; pgassay {summary.program_version}; "
        f"Linux {summary.kernel}, {summary.processors} processors, {summary.memory_bytes / 2**30:.1f} GiB. "
        f"All tables and indexes were checked by amcheck after {checked:,} cuts. {held}"
    )
