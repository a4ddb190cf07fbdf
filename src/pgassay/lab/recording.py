"""From a trial's notes to its record: status and reasons by the checks, the regime in words, every level read back."""

from collections.abc import Sequence

from pgassay.bench.counters import Sample
from pgassay.lab import checks, fairness, regime
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.course import course_of
from pgassay.lab.notes import Assignment, Notes, Window
from pgassay.probe.drives import amplification_by_half
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.units import parse_time_s


def record_of(resolved: ResolvedArm, assignment: Assignment, notes: Notes) -> TrialRecord:
    """The record of a trial that has ended just now, whatever became of it."""
    status, reasons = checks.judge(_evidence(resolved, notes))
    arm = assignment.arm
    return TrialRecord(
        number=assignment.number,
        block=assignment.block,
        attempt=assignment.attempt,
        treatment=arm.treatment.name,
        condition=arm.condition.name,
        covariate=arm.covariate.name,
        levels={
            name: LevelRecord(level.typed, level.canonical, notes.read_back.get(name), notes.adopt.get(name))
            for name, level in resolved.study.levels_of(arm).items()
        },
        status=status,
        started_wall_ns=notes.started_wall_ns,
        finished_wall_ns=resolved.site.clock.wall_ns(),
        responses=dict(notes.responses),
        reasons=reasons,
        counters=dict(notes.counters),
        settings=notes.settings,
        regime=_regime(resolved, notes),
        timings_s=dict(notes.laps.timings_s),
        seed=assignment.seed,
    )


def _regime(resolved: ResolvedArm, notes: Notes) -> dict[str, str | float | None]:
    options, window = resolved.setup.load, notes.window
    mode = regime.mode_of(options)
    cycles = regime.cycles_covered(notes.counters)
    cut_off = _cut_off(notes.samples, window) if window else None
    defaults = fairness.describe(resolved.study)
    return {
        **({"defaults": defaults} if defaults else {}),
        "window_s": window.length_monotonic_ns / 1e9 if window else None,
        "warmup_s": parse_time_s(options.get("warmup", "0s")),
        "checkpoint": mode,
        "checkpoint_cycles": cycles,
        "checkpoint_cut_off": cut_off,
        "checkpoint_words": regime.describe(mode, cycles, cut_off),
        "cache": notes.cache,
        "age": options.get("age", "none"),
        "start_state": notes.how_cloned,
        **({"huge_pages": notes.huge_pages} if notes.huge_pages else {}),
        **{name: trait.found for name, trait in notes.traits.items()},
        **course_of(notes.samples),
        **(
            amplification_by_half(notes.samples, window.started_monotonic_ns, window.length_monotonic_ns)
            if window
            else {}
        ),
    }


def _cut_off(samples: Sequence[Sample], window: Window) -> float | None:
    return regime.unfinished(samples, window.started_monotonic_ns, window.length_monotonic_ns)


def _evidence(resolved: ResolvedArm, notes: Notes) -> checks.Evidence:
    options, window = resolved.setup.load, notes.window
    timed = not options.get("transactions") and options.get("duration")
    mismatches = {}
    for bound in resolved.bound:
        found = notes.read_back.get(bound.name)
        if found is not None and found != bound.level.canonical:
            mismatches[bound.name] = f"asked for {bound.level.typed}, the running system says {found}"
    for name, trait in notes.traits.items():
        if not trait.holds:
            mismatches[name] = f"asked for {trait.asked}, the drive says {trait.found}"
    return checks.Evidence(
        problems=notes.problems,
        server_alive=notes.alive,
        window_monotonic_ns=window.length_monotonic_ns if window else 0,
        window_wall_ns=window.length_wall_ns if window else 0,
        steal_share=notes.responses.get("steal_share"),
        foreign_write_share=notes.responses.get("foreign_write_share"),
        device_written_bytes=notes.counters.get("diskstats.written_bytes"),
        foreign_cpu_share=notes.responses.get("foreign_cpu_share"),
        thermal_throttles=notes.counters.get("machine.thermal_throttles"),
        wanted_ns=int(parse_time_s(options["duration"]) * 1e9) if timed else None,
        foreign_share_max=resolved.site.foreign_share_max,
        mismatches=mismatches,
    )
