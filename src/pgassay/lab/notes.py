"""What is known of a trial: its assignment before it runs, what it learns on its way, and the record made from both.

A trial that fails half-way leaves what it knows by then. The checks give it its status.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.load import LoadResult
from pgassay.bench.running import Clock
from pgassay.bench.store import Trait
from pgassay.lab import checks, regime, settings
from pgassay.lab.arms import ResolvedArm
from pgassay.probe.drives import amplification_by_half
from pgassay.record.errors import as_record_error
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.levels import Arm


@dataclass(frozen=True)
class Assignment:
    """Which trial this is, and where its raw outputs go (a staging directory of the record)."""

    number: int
    block: int
    attempt: int
    arm: Arm
    seed: int
    staging: Path

    def keeping(self, what: str) -> AbstractContextManager[None]:
        """Around whatever writes to the record: its disk being full is no outcome of the treatment."""
        return as_record_error(self.staging.parents[1], f"keep {what} of trial {self.number}")


class Laps:
    """`with laps("clone"): …` adds the step's length to `timings_s`, however the step ends.

    Steps do not nest, so their sum is the trial's length: what a trial costs beside its load is seen.
    """

    def __init__(self, clock: Clock) -> None:
        self.timings_s: dict[str, float] = {}
        self._clock = clock

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time one step; a second one of the same name is added to the first."""
        started_ns = self._clock.monotonic_ns()
        try:
            yield
        finally:
            seconds = (self._clock.monotonic_ns() - started_ns) / 1e9
            self.timings_s[name] = self.timings_s.get(name, 0.0) + seconds


@dataclass(frozen=True)
class Window:
    """When the measured load ran: its beginning by the monotonic clock, its length by both clocks; all in ns."""

    started_monotonic_ns: int
    length_monotonic_ns: int
    length_wall_ns: int

    @classmethod
    def of(cls, result: LoadResult) -> "Window":
        """From the load's own beginning to its own end."""
        return cls(
            started_monotonic_ns=result.started_monotonic_ns,
            length_monotonic_ns=result.finished_monotonic_ns - result.started_monotonic_ns,
            length_wall_ns=result.finished_wall_ns - result.started_wall_ns,
        )


@dataclass
class Notes:
    """Filled in step by step. `problems` is what the treatment did to itself, code to detail."""

    laps: Laps
    started_wall_ns: int
    settings: dict[str, str] = field(default_factory=dict)
    read_back: dict[str, str | None] = field(default_factory=dict)
    adopt: dict[str, str | None] = field(default_factory=dict)
    """Of varied levels: what it takes to put them into practice, as the server says."""
    cache: str = ""
    how_cloned: str = ""
    huge_pages: str = ""
    """What became of them between the moment they were there and the server's start, if anything."""
    traits: dict[str, Trait] = field(default_factory=dict)
    """What the drives say that they are."""
    samples: tuple[Sample, ...] = ()
    window: Window | None = None
    """None until the load has run and every counter is read; `responses` and `counters` are empty until then."""
    responses: dict[str, float | None] = field(default_factory=dict)
    """The load's own, the costs of a transaction, and what was asked for beside them."""
    counters: dict[str, float | None] = field(default_factory=dict)
    """Differences over the window by `source.name` (gauges: the last value)."""
    page_space: dict[str, float | None] = field(default_factory=dict)
    """What was read of the tables' pages (see `page_space`)."""
    alive: bool = True
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begin(cls, clock: Clock) -> "Notes":
        """An empty page, with the time on it."""
        return cls(Laps(clock), clock.wall_ns())


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
    options, window = resolved.load_options, notes.window
    mode = regime.mode_of(options)
    cycles = regime.cycles_covered(notes.counters)
    cut_off = _cut_off(notes.samples, window) if window else None
    defaults = settings.describe_defaults(resolved.study)
    return {
        **({"defaults": defaults} if defaults else {}),
        "window_s": window.length_monotonic_ns / 1e9 if window else None,
        "warmup_s": float(options.warmup_s),
        "checkpoint": mode,
        "checkpoint_cycles": cycles,
        "checkpoint_cut_off": cut_off,
        "checkpoint_words": regime.describe(mode, cycles, cut_off),
        "cache": notes.cache,
        "age": options.to_levels().get("age", "none"),
        "start_state": notes.how_cloned,
        **({"huge_pages": notes.huge_pages} if notes.huge_pages else {}),
        **{name: trait.found for name, trait in notes.traits.items()},
        **regime.course_of(notes.samples),
        **(
            amplification_by_half(notes.samples, window.started_monotonic_ns, window.length_monotonic_ns)
            if window
            else {}
        ),
    }


def _cut_off(samples: Sequence[Sample], window: Window) -> float | None:
    return regime.unfinished(samples, window.started_monotonic_ns, window.length_monotonic_ns)


def _evidence(resolved: ResolvedArm, notes: Notes) -> checks.Evidence:
    wanted_s, window = resolved.load_options.timed_s, notes.window
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
        wanted_ns=wanted_s * 10**9 if wanted_s is not None else None,
        foreign_share_max=resolved.site.foreign_share_max,
        mismatches=mismatches,
    )
