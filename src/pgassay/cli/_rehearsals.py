"""A captured load tried before it is measured: what fails, how like the source's it is, what each variant answers.

All of it happens on clones of the data that the study's own trials will start from, one after the other. Arms whose
servers would be the same (another number of clients, say) are tried once.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pgassay import scratch
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.bench.server import Server
    from pgassay.capture.asking import Asked
    from pgassay.capture.examining import Examined
    from pgassay.capture.format import Load
    from pgassay.capture.pace import Pace
    from pgassay.capture.playing import Stage
    from pgassay.lab.arms import ResolvedArm
    from pgassay.lab.workbench import Workbench
    from pgassay.record.statements import StatementRecord
    from pgassay.study.model import Study

_PACED_MS = 60_000
"""At most, for which a load at the source's pace is played to be compared."""
Answers = Mapping[str, "Examined"]
"""By script, of one arm."""


@dataclass(frozen=True)
class Tried:
    """What came of it: `written` without the scripts that fail, what the `load` was like on the baseline (None where
    nothing could be counted), and each statement as the arms answered it. `failures` are those of one arm alone."""

    written: "Asked"
    load: "Load | None"
    statements: tuple["StatementRecord", ...]
    failures: Mapping[str, str]


def tried(study: "Study", written: "Asked", bench: "Workbench") -> Tried:
    """Try the scripts of `written` on every arm of `study`; raises `BenchError` where the baseline does not start."""
    from pgassay.capture.playing import SETTINGS, play, try_each
    from pgassay.lab.arms import resolve
    from pgassay.lab.rehearsal import rehearse

    arms = resolve(study, bench.site()).arms
    baseline = next(each for each in arms if each.arm.treatment == study.design.baseline)
    stage = _stage(baseline, bench)
    _prepare(arms)
    alone = rehearse(baseline, SETTINGS, lambda server: try_each(written.load.tried, stage(server)))
    written = written.without(alone.failed)
    load, owners = None, alone.owners
    if owners is not None:
        load = rehearse(
            baseline, SETTINGS, lambda server: play(written.load.played, at_rate(stage(server), written.paced), owners)
        )
    answers = _answers(written, arms, baseline, bench)
    failures = {
        script: f"with {arm.arm.name}: {found.failed}"
        for arm in arms
        for script, found in answers.get(arm.arm.name, {}).items()
        if found.failed
    }
    written = written.without(failures)
    records = statement_records(written, answers, baseline.arm.name)
    if any(each.differs(arm.arm.name, baseline.arm.name) for each in records for arm in arms):
        again = _answered(written, baseline, bench)
        records = statement_records(written, answers, baseline.arm.name, again)
    return Tried(written, load, records, failures)


@dataclass(frozen=True)
class Replayed:
    """What a log played once came to: in words, what the `load` was like on the baseline (None where nothing could be
    counted), and how many times as fast as in the log it was due."""

    told: str
    load: "Load | None"
    speed: float


def replayed(study: "Study", source: "Load | None", bench: "Workbench") -> Replayed:
    """Play warm-up and window of a log once on the baseline, and count what `source`'s server counted.

    Raises `CaptureError` where that fails: each of its trials would.
    """
    from pgassay.capture.counting import LIBRARY
    from pgassay.capture.errors import CaptureError
    from pgassay.capture.replaying import play
    from pgassay.lab.arms import resolve
    from pgassay.lab.rehearsal import rehearse
    from pgassay.load.replay import FILE, ReplayOptions, described
    from pgassay.record.replayed import counts_of, phrases

    arms = resolve(study, bench.site()).arms
    baseline = next(each for each in arms if each.arm.treatment == study.design.baseline)
    baseline.load.check()
    _prepare(arms)
    options = baseline.setup.load
    speed = options.speed if isinstance(options, ReplayOptions) else 1.0
    whole = replace(options, warmup_s=0, duration_s=options.warmup_s + (options.duration_s or 0))
    load = bench.site().load(whole, baseline.installation)
    with scratch.folder("replay") as folder:
        result, made = rehearse(
            baseline,
            {} if source is None else LIBRARY,
            lambda server: play(load, server, folder, bench.clock, source),
        )
        for code, detail in result.problems.items():
            absent = (
                "; tables that the log itself makes (CREATE TEMP TABLE) are missing, since such commands are not"
                " played: --set load.failures=5% lets more calls fail"
            )
            hints = {
                "failed_transactions": (
                    "data first, then the log: capture the data (--without-load), and play a log that begins"
                    " afterwards, by --set load.log=FILE" + (absent if "with 42P01 (" in detail else "")
                ),
                "fell_behind": "--set load.speed=0.5x plays it slower",
            }
            raise CaptureError(f"the log cannot be played on the baseline: {detail}", hints.get(code))
        written = (folder / FILE).read_bytes()
        missing = "".join(f"  left out: {each}\n" for each in phrases(counts_of(written)))
        return Replayed(described(written, result) + missing, made, speed)


def _prepare(arms: "Sequence[ResolvedArm]") -> None:
    """Make the data of all arms: what cannot be made as it was asked ends the command before anything is played.

    Raises `UsageError`; where a treatment fails by itself the run will say why.
    """
    from pgassay.bench.errors import BenchError
    from pgassay.lab.preparation import prepare

    for arm in arms:
        with suppress(BenchError):
            prepare(arm)


def statement_records(
    written: "Asked", answers: Mapping[str, Answers], baseline: str, again: Answers | None = None
) -> tuple["StatementRecord", ...]:
    """As the record keeps them; `again` is what the baseline answered when it was asked a second time."""
    from pgassay.record.statements import StatementRecord

    def of(script: str) -> Mapping[str, "Examined"]:
        return {arm: each[script] for arm, each in answers.items() if script in each and not each[script].failed}

    def repeats(script: str) -> bool:
        mine = of(script).get(baseline)
        return again is None or mine is None or script not in again or again[script].rows == mine.rows

    return tuple(
        StatementRecord(
            each.name,
            each.label,
            max((found.calls for found in of(each.name).values()), default=0),
            {arm: found.plan for arm, found in of(each.name).items() if found.plan},
            {arm: found.rows for arm, found in of(each.name).items()},
            repeats(each.name),
        )
        for each in written.load.tried
    )


def _stage(arm: "ResolvedArm", bench: "Workbench") -> "Callable[[Server], Stage]":
    from pgassay.capture.playing import Stage
    from pgassay.load.pgbench.options import PgbenchOptions

    options = arm.setup.load
    if not isinstance(options, PgbenchOptions):
        raise UsageError(
            f'the load of a capture is played by pgbench, not by "{options.driver}"', "leave load.driver out"
        )
    clients, protocol = options.clients, options.protocol
    return lambda server: Stage(server, bench.runner, bench.clock, clients, protocol)


def at_rate(stage: "Stage", pace: "Pace | None") -> "Stage":
    """The stage for a load that is due at the source's pace, which takes longer until it has made enough calls."""
    return stage if pace is None else replace(stage, rate_tps=pace.rate_tps, most_ms=_PACED_MS)


def _answers(
    written: "Asked", arms: "Sequence[ResolvedArm]", baseline: "ResolvedArm", bench: "Workbench"
) -> dict[str, Answers]:
    """By arm; one whose server does not start has none, and the run will say why."""
    from pgassay.bench.errors import BenchError

    alike: dict[object, list[ResolvedArm]] = {}
    for arm in (baseline, *arms):
        key = arm.snapshot_key, tuple(sorted(arm.settings.items())), getattr(arm.setup.load, "protocol", "")
        alike.setdefault(key, []).append(arm)
    found: dict[str, Answers] = {}
    for mine in alike.values():
        try:
            answered = _answered(written, mine[0], bench)
        except BenchError:
            if mine[0] is baseline:
                raise
            continue
        found |= {arm.arm.name: answered for arm in mine}
    return found


def _answered(written: "Asked", arm: "ResolvedArm", bench: "Workbench") -> Answers:
    from pgassay.capture.examining import examine
    from pgassay.capture.playing import SETTINGS
    from pgassay.lab.rehearsal import rehearse

    stage = _stage(arm, bench)
    return rehearse(arm, SETTINGS, lambda server: examine(written.load.tried, stage(server)))
