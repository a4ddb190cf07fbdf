"""From a trial's notes to its record: status and reasons by the checks, the regime in words, every level read back."""

from collections.abc import Mapping, Sequence

from pgassay.bench.counters import Sample
from pgassay.lab import checks, fairness, regime
from pgassay.lab.composition import Composition
from pgassay.lab.course import course_of
from pgassay.lab.measures import Measures
from pgassay.lab.notes import Assignment, Notes
from pgassay.lab.site import Site
from pgassay.probe.drive_course import drive_course
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.model import Study
from pgassay.study.units import parse_time_s


def record_of(study: Study, assignment: Assignment, composition: Composition, notes: Notes, site: Site) -> TrialRecord:
    """The record of a trial that has ended just now, whatever became of it."""
    status, reasons = checks.judge(_evidence(composition, notes, site))
    arm, measures = assignment.arm, notes.measures
    return TrialRecord(
        number=assignment.number,
        block=assignment.block,
        attempt=assignment.attempt,
        treatment=arm.treatment.name,
        condition=arm.condition.name,
        covariate=arm.covariate.name,
        levels={
            name: LevelRecord(level.typed, level.canonical, notes.read_back.get(name), notes.adopt.get(name))
            for name, level in study.levels_of(arm).items()
        },
        status=status,
        started_wall_ns=notes.started_wall_ns,
        finished_wall_ns=site.clock.wall_ns(),
        responses=dict(measures.responses) if measures else {},
        reasons=reasons,
        counters=dict(measures.counters) if measures else {},
        settings=notes.settings,
        regime=_regime(study, composition.setup.load, notes),
        timings_s=dict(notes.laps.timings_s),
        seed=assignment.seed,
    )


def _regime(study: Study, options: Mapping[str, str], notes: Notes) -> dict[str, str | float | None]:
    measures = notes.measures
    mode = regime.mode_of(options)
    cycles = regime.cycles_covered(measures.counters) if measures else None
    cut_off = _cut_off(notes.samples, measures) if measures else None
    defaults = fairness.describe(study)
    return {
        **({"defaults": defaults} if defaults else {}),
        "window_s": measures.window_monotonic_ns / 1e9 if measures else None,
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
            drive_course(notes.samples, measures.started_monotonic_ns, measures.window_monotonic_ns) if measures else {}
        ),
    }


def _cut_off(samples: Sequence[Sample], measures: Measures) -> float | None:
    return regime.unfinished(samples, measures.started_monotonic_ns, measures.window_monotonic_ns)


def _evidence(composition: Composition, notes: Notes, site: Site) -> checks.Evidence:
    options = composition.setup.load
    measures = notes.measures
    timed = not options.get("transactions") and options.get("duration")
    mismatches = {}
    for bound in composition.bound:
        found = notes.read_back.get(bound.name)
        if found is not None and found != bound.level.canonical:
            mismatches[bound.name] = f"asked for {bound.level.typed}, the running system says {found}"
    for name, trait in notes.traits.items():
        if not trait.holds:
            mismatches[name] = f"asked for {trait.asked}, the drive says {trait.found}"
    return checks.Evidence(
        problems=notes.problems,
        server_alive=notes.alive,
        window_monotonic_ns=measures.window_monotonic_ns if measures else 0,
        window_wall_ns=measures.window_wall_ns if measures else 0,
        steal_share=measures.responses.get("steal_share") if measures else None,
        foreign_write_share=measures.responses.get("foreign_write_share") if measures else None,
        device_written_bytes=measures.counters.get("diskstats.written_bytes") if measures else None,
        foreign_cpu_share=measures.responses.get("foreign_cpu_share") if measures else None,
        thermal_throttles=measures.counters.get("machine.thermal_throttles") if measures else None,
        wanted_ns=int(parse_time_s(options["duration"]) * 1e9) if timed else None,
        foreign_share_max=site.foreign_share_max,
        mismatches=mismatches,
    )
