"""A calibration's report: noise, where it comes from, what can be resolved in which time.

Computed from the record alone, so a calibration can be read again (`pgassay calibrate --show RUN`) by a later version;
as text for a terminal, about a screen, and as JSON.

Servers in turns are a run of their own inside the calibration's (docs/report.md, "What calibrate prints").
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite, sqrt
from statistics import median
from typing import Any

from pgassay import outgoing
from pgassay.analysis import alternation
from pgassay.analysis.calibration import Change, Measured, Noise, noise_of, shares
from pgassay.analysis.capacities import Resource
from pgassay.analysis.forecast import blocks_in, resolution
from pgassay.analysis.numbers import per_cent
from pgassay.errors import PgassayError
from pgassay.record import slices
from pgassay.record.calibrations import (
    AFTER_RESTART,
    CLUSTER,
    TURNS,
    Calibration,
    NoiseRecord,
    Setting,
    read_from_run,
    turns_record,
)
from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.json_values import finite
from pgassay.report.warnings import IMPOSSIBLE
from pgassay.study.responses import Response, Scale, Status


@dataclass(frozen=True)
class TurnsResult:
    """Equal servers that took turns: their blocks, and what they tell; `found` is None for too few."""

    name: str
    blocks: int
    block_s: float
    slice_s: float
    found: alternation.Shares | None

    @property
    def resolutions(self) -> "tuple[Resolved, ...]":
        """What two treatments whose servers take turns can resolve."""
        return _resolved(None if self.found is None else self.found.noise, self.block_s, 1)


def in_turns(result: TurnsResult | None, refused: str) -> Iterator[str]:
    """Lines on the noise that is left, and where it comes from; or why that is not known."""
    if result is not None and result.found is not None:
        turns, blocks = result.found, formatting.counted(result.blocks, "block")
        yield ""
        yield f"Two equal servers in turns ({blocks}, slices of {result.slice_s:g} s)"
        yield (
            f"  noise        {_percent(turns.noise)} [{_percent(turns.noise_low)}, {_percent(turns.noise_high)}]"
            " of tps from one server to the other within a block"
        )
        yield (
            f"  of a slice   the machine {_percent(sqrt(turns.machine))} (turns take it out), the start of a"
            f" server {_percent(sqrt(turns.instance))}, its own {_percent(sqrt(turns.slice))}"
        )
    elif result is not None or refused:
        few = f"{formatting.counted(result.blocks, 'block')} of slices cannot tell it" if result is not None else ""
        yield ""
        yield f"Two equal servers in turns: not known, {refused or few}"


PRIMARY = "tps"
MINUTES = (5, 10, 20, 30, 60, 120, 240, 480)
SHOWN_OTHERS = 8
_COLUMN = 24
_DRIVE = {
    Resource.FLUSHES: (1.0, "flushes"),
    Resource.WRITTEN_BYTES: (1e6, "MB written in sequence"),
    Resource.READS: (1.0, "random reads"),
}
_HOUR_NS = 3.6e12
_ROUNDING = 1e-12
"""The logarithms of equal numbers and their mean may differ by as much."""


@dataclass(frozen=True)
class Resolved:
    """What two treatments can resolve in `minutes`: blocks that fit, and ± share (None: too few blocks)."""

    minutes: int
    blocks: int
    width: float | None


@dataclass(frozen=True)
class Lengths:
    """Seconds: making a cluster, a restart (clone, start, stop), and a run (settling and its window)."""

    cluster_s: float
    restart_s: float
    run_s: float

    @property
    def trial_s(self) -> float:
        """A study's trial: a restart and one run."""
        return self.restart_s + self.run_s


@dataclass(eq=False)
class CalibrationFindings:
    """A calibration, analysed; every part is computed when first asked for."""

    run: Run

    @cached_property
    def responses(self) -> Mapping[str, Response]:
        """Those on a ratio scale: noise is that of a logarithm."""
        return {each.name: each for each in self.run.responses if each.scale is Scale.RATIO}

    @cached_property
    def noises(self) -> Mapping[str, Noise]:
        """Noise by response, for each that was measured often enough."""
        found = {name: noise_of(name, self._measured(name)) for name in self.responses}
        return {name: noise for name, noise in found.items() if isinstance(noise, Noise)}

    @property
    def primary(self) -> Noise | str:
        """That of transactions per second, or why there is none."""
        return self.noises.get(PRIMARY) or noise_of(PRIMARY, self._measured(PRIMARY))

    def resolutions(self, noise: Noise) -> tuple[Resolved, ...]:
        """What two treatments can resolve that run one after the other."""
        return _resolved(noise.noise, self.lengths.trial_s, 2)

    @cached_property
    def lengths(self) -> Lengths:
        """Medians of the seconds that a cluster, a restart and a run took."""
        made = [float(entry.data["seconds"]) for entry in self.run.journal if entry.kind == Kind.PREPARED]
        trials = self.run.trials
        restarts = [
            each.timings_s.get("clone", 0.0) + each.timings_s.get("start", 0.0) for each in trials if _run(each) == 1
        ]
        runs = [each.timings_s.get("settle", 0.0) + each.timings_s.get("measure", 0.0) for each in trials]
        ends = [
            (after.started_wall_ns - before.finished_wall_ns) / 1e9
            for before, after in pairwise(trials)
            if _run(after) == 1
        ]
        cluster_s, restart_s, end_s, run_s = (median(each) if each else 0.0 for each in (made, restarts, ends, runs))
        return Lengths(cluster_s, restart_s + max(0.0, end_s), run_s)

    def calibration(self, setting: Setting) -> Calibration:
        """What later studies on the same place use to plan; `setting` says which place and load it holds for."""
        trials = self.run.trials
        return Calibration(
            measured_utc=self.run.header.started_utc,
            setting=setting,
            clusters=len({int(each.levels[CLUSTER].typed) for each in trials}),
            blocks=max((each.block for each in trials), default=0),
            runs=max((_run(each) for each in trials), default=0),
            trial_s=round(self.lengths.trial_s, 3),
            run_s=round(self.lengths.run_s, 3),
            noise={name: _record(noise) for name, noise in self.noises.items()},
            run_directory=str(self.run.path),
            capacities=self.capacities,
            impossible_latency_share=self.impossible_latency_share,
            turns={}
            if self.turns is None or self.turns.found is None
            else {TURNS: turns_record(self.turns.found, self.turns.blocks, self.turns.slice_s)},
        )

    @cached_property
    def impossible_latency_share(self) -> float | None:
        """The share of latencies that no answer can have, in the worst trial; None where they were not counted."""
        shares = (trial.responses.get(IMPOSSIBLE) for trial in self.run.trials if trial.status is Status.VALID)
        return max((share for share in shares if share is not None), default=None)

    @property
    def turns(self) -> TurnsResult | None:
        """How equal servers took turns; None where that was not begun or cannot be read."""
        return self._begun if isinstance(self._begun, TurnsResult) else None

    @property
    def turns_missing(self) -> str:
        """Why turns were not measured, or what was cannot be read."""
        refused = self.kept.refused.get(TURNS, "") if self.kept is not None else ""
        return self._begun if isinstance(self._begun, str) else refused

    @cached_property
    def _begun(self) -> TurnsResult | str | None:
        path = self.run.path / TURNS
        if not path.is_dir():
            return None
        try:
            run = Run.open(path)
            rows = slices.rows(run)
            baseline = next((trial.arm for trial in run.trials), "")
            lengths_s: dict[int, float] = dict.fromkeys((row.block for row in rows), 0.0)
            for trial in run.trials:
                if trial.block in lengths_s:
                    lengths_s[trial.block] += trial.length_s
            return TurnsResult(
                name=TURNS,
                blocks=len(lengths_s),
                block_s=median(lengths_s.values()) if lengths_s else 0.0,
                slice_s=run.asked.design.slice_s,
                found=alternation.shares(rows, baseline),
            )
        except PgassayError as error:
            return error.message

    @cached_property
    def kept(self) -> Calibration | None:
        """What this calibration kept when it was made, as far as it came."""
        return read_from_run(self.run.disk, self.run.path)

    @cached_property
    def capacities(self) -> Mapping[str, float]:
        """What the drive can do in a second, by resource; empty in older records."""
        known = self.run.host.get("capacities")
        found = known if isinstance(known, Mapping) else {}
        return {name: float(found[name]) for name in Resource if isinstance(found.get(name), int | float)}

    def _measured(self, response: str) -> Iterator[Measured]:
        trials = self.run.trials
        origin = trials[0].started_wall_ns if trials else 0
        for trial in trials:
            if trial.status is Status.VALID:
                hours = (trial.started_wall_ns - origin) / _HOUR_NS
                cluster = int(trial.levels[CLUSTER].typed)
                yield Measured(cluster, trial.block, _run(trial), hours, trial.responses.get(response))


def _resolved(noise: float | None, trial_s: float, trials: int) -> tuple[Resolved, ...]:
    fitting = ((minutes, blocks_in(minutes * 60.0, trial_s, trials)) for minutes in MINUTES)
    return tuple(
        Resolved(minutes, blocks, None if noise is None else resolution(noise, blocks)) for minutes, blocks in fitting
    )


def _run(trial: TrialRecord) -> int:
    return int(trial.levels[AFTER_RESTART].typed)


def _record(noise: Noise) -> NoiseRecord:
    parts = noise.components
    drift = noise.drift.estimate
    return NoiseRecord(
        noise=noise.noise,
        noise_low=noise.noise_low,
        noise_high=noise.noise_high if isfinite(noise.noise_high) else None,
        cluster=parts.cluster**0.5,
        restart=parts.restart**0.5,
        run=parts.run**0.5,
        drift=drift if isfinite(drift) else None,
    )


def render(found: CalibrationFindings) -> str:
    """The whole text, ending with a newline."""
    return outgoing.lines(_lines(found))


def _lines(found: CalibrationFindings) -> Iterator[str]:
    lengths, noise = found.lengths, found.primary
    yield "Calibration: the same treatment again and again"
    for trial in [each for each in found.run.trials if each.status is not Status.VALID]:
        yield f"  left out     trial {trial.number}: " + "; ".join(each.detail for each in trial.reasons)
    if isinstance(noise, str):
        yield f"  noise        not known: {noise}"
        return
    parts = noise.components
    yield f"  plan         {parts.clusters} clusters × {parts.restarts} restarts × {parts.runs} runs"
    yield (
        f"  lengths      a new cluster {formatting.duration(lengths.cluster_s)}, a restart {lengths.restart_s:.1f} s,"
        f" a run {lengths.run_s:.1f} s"
    )
    yield f"  noise        {_noise(noise)} of tps from trial to trial within a block"
    of = shares(parts)
    yield (
        f"  from         clusters {per_cent(of['cluster'])}, restarts {per_cent(of['restart'])},"
        f" runs {per_cent(of['run'])}"
        " of a run's variance"
    )
    if found.capacities:
        rates = ((found.capacities.get(name), unit, word) for name, (unit, word) in _DRIVE.items())
        drive = ", ".join(f"{value / unit:.0f} {word}" for value, unit, word in rates if value is not None)
        yield f"  drive        {drive} a second, one stream each"
    session = formatting.duration(noise.hours * 3600)
    yield f"  drift        {_change(noise.drift)} over the session of {session}; comparing within blocks removes it"
    if found.impossible_latency_share is not None:
        yield (
            f"  clock        {per_cent(found.impossible_latency_share, 2)} of latencies were impossible (5 µs at"
            " most) in the worst trial"
        )
    yield f"  first run    {_change(noise.first_run)} against the later ones of a restart"
    yield from (f"  left out     {reason}" for reason in noise.left_out)
    yield ""
    yield "The smallest difference between two treatments from one snapshot that a study can show"
    yield "(95 % interval, looked at after every block; forecasts from the noise measured here)"
    yield from _resolutions(found, noise)
    yield f"  Treatments that need clusters of their own: clusters alone differ by {_percent(parts.cluster**0.5)} (CV)."
    yield from in_turns(found.turns, found.turns_missing)
    others = [each for name, each in found.noises.items() if name != PRIMARY]
    if others:
        yield ""
        yield "Noise of other responses"
        for each in sorted(others, key=lambda each: each.noise)[:SHOWN_OTHERS]:
            yield f"  {_noise(each)}  {found.responses[each.response].title}"


def _resolutions(found: CalibrationFindings, noise: Noise) -> Iterator[str]:
    """A line for each time that a study may have: one server after the other, and in turns where that is known."""
    columns = {"one after the other": found.resolutions(noise)}
    if found.turns is not None and found.turns.found is not None:
        columns["in turns"] = found.turns.resolutions
    heads = [f"{name:<{_COLUMN}}" for name in columns]
    yield f"  {'':>8}  {'  '.join(heads)}".rstrip()
    for row in zip(*columns.values(), strict=True):
        widths = ("too few" if each.width is None else f"±{each.width * 100:.2g} %" for each in row)
        cells = (f"{each.blocks:>5} blocks  {width}" for each, width in zip(row, widths, strict=True))
        yield f"  {row[0].minutes:>4} min  {'  '.join(f'{cell:<{_COLUMN}}' for cell in cells)}".rstrip()


def document(found: CalibrationFindings) -> Mapping[str, Any]:
    """What `pgassay calibrate --json` prints: lengths in seconds, noise and widths as shares, null for unknown."""
    noise, turns = found.primary, found.turns
    plain: dict[str, Any] = {
        "format": 1,
        "run": str(found.run.path),
        "lengths": asdict(found.lengths),
        "noise": {name: asdict(each) for name, each in found.noises.items()},
        "turns": {}
        if turns is None
        else {TURNS: {**asdict(turns), "resolution": [asdict(row) for row in turns.resolutions]}},
        "impossible_latency_share": found.impossible_latency_share,
        "turns_refused": {TURNS: found.turns_missing} if found.turns_missing else {},
    }
    if isinstance(noise, str):
        return {**plain, "cannot_tell": noise}
    plain |= {
        "shares": shares(noise.components),
        "resolution": [asdict(row) for row in found.resolutions(noise)],
    }
    made: Mapping[str, Any] = finite(plain)
    return made


def _noise(noise: Noise) -> str:
    return f"{_percent(noise.noise)} [{_percent(noise.noise_low)}, {_percent(noise.noise_high)}]"


def _percent(share: float) -> str:
    if abs(share) < _ROUNDING:
        return "0 %"
    return f"{share * 100:.2g} %" if isfinite(share) else formatting.MISSING


def _change(change: Change) -> str:
    if not isfinite(change.high):
        return formatting.MISSING
    if change.high >= 3.0:
        return f"×{1 + change.estimate:.2f} [×{1 + change.low:.2f}, ×{1 + change.high:.3g}]"
    return f"{change.estimate * 100:+.1f} % [{change.low * 100:+.1f}, {change.high * 100:+.1f}]"
