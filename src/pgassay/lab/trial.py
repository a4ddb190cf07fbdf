"""The life of one trial: clone, start, read back, settle, measure, judge, give back.

Follows docs/trial.md step by step. Whatever the treatment does to its server becomes part of the trial's record; only
faults of the bench itself are raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.errors import ClusterError, QueryError, SpaceError
from pgassay.bench.factor import Readable, Stage
from pgassay.bench.load import Load, LoadResult
from pgassay.bench.server import Server
from pgassay.lab import checks, regime
from pgassay.lab.composition import Composition, compose
from pgassay.lab.measures import Measures, measure
from pgassay.lab.preparation import prepare
from pgassay.lab.settling import settle
from pgassay.lab.site import Sampling, Site
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.units import parse_time_s


@dataclass(frozen=True)
class Assignment:
    """Which trial this is, and where its raw outputs go."""

    number: int
    block: int
    attempt: int
    arm: Arm
    seed: int
    staging: Path


@dataclass
class _Notes:
    """What a trial learns on its way, so that even one that fails half-way leaves what it knows."""

    timings_s: dict[str, float] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    read_back: dict[str, str | None] = field(default_factory=dict)
    cache: str = ""
    how_cloned: str = ""
    samples: tuple[Sample, ...] = ()
    result: LoadResult | None = None
    measures: Measures | None = None
    alive: bool = True
    problems: dict[str, str] = field(default_factory=dict)


def run_trial(study: Study, assignment: Assignment, site: Site) -> tuple[TrialRecord, tuple[Sample, ...]]:
    """Run one trial; returns its record and its series. Everything that was started is stopped on every way out."""
    levels = study.levels_of(assignment.arm)
    composition = compose(levels, site.catalogue)
    notes = _Notes()
    started_wall_ns = site.clock.wall_ns()
    try:
        _live(study, assignment, composition, site, notes)
    except SpaceError as error:
        notes.problems["no_space"] = error.message
    except (ClusterError, QueryError) as error:
        notes.alive = False
        notes.problems["server"] = error.message
    record = _record(study, assignment, composition, notes, started_wall_ns, site.clock.wall_ns())
    return record, notes.samples


def _live(study: Study, assignment: Assignment, composition: Composition, site: Site, notes: _Notes) -> None:
    installation = site.installation(composition.setup.installation)
    load = site.load(composition.setup.load["driver"], installation)
    snapshot = prepare(study, assignment.arm, site)
    lap = _Laps(site, notes)
    clone = site.drive.clone(snapshot.key, f"trial-{assignment.number:06d}")
    notes.how_cloned = site.drive.how_cloned()
    lap("clone")
    held = []
    try:
        settings = _settings(composition)
        server = installation.start(clone / "data", settings, site.socket_directory)
        try:
            lap("start")
            held = list(composition.at(Stage.HOST))
            notes.settings = _effective(server)
            _read_back(composition, Readable(server), notes, *(stage for stage in Stage if stage is not Stage.RUN))
            notes.cache = settle(server, composition.setup.load, clone / "data", site.caches)
            lap("settle")
            _measure(assignment, composition, load, server, clone, site, notes)
            lap("measure")
        finally:
            server.stop()
            site.disk.write_file(assignment.staging / "server.log", server.log_text().encode())
    finally:
        for bound in reversed(held):
            bound.factor.give_back(bound.name, bound.level)
        site.drive.discard(clone)
        lap("give_back")


def _settings(composition: Composition) -> dict[str, str]:
    setup = composition.setup
    mode = setup.load.get("checkpoint", "cycle")
    duration = None if setup.load.get("transactions") else setup.load.get("duration")
    return {**setup.settings, **regime.pinned(mode, duration, setup.settings)}


def _effective(server: Server) -> dict[str, str]:
    """What is configured beyond PostgreSQL's built-in defaults, as the server itself says."""
    rows = server.query(
        "SELECT name, current_setting(name) FROM pg_settings"
        " WHERE source NOT IN ('default', 'override') AND setting IS DISTINCT FROM boot_val"
        " AND name NOT IN ('port', 'unix_socket_directories', 'data_directory', 'config_file', 'hba_file',"
        " 'ident_file', 'application_name', 'client_encoding', 'external_pid_file') ORDER BY name"
    )
    return {str(name): str(value) for name, value in rows}


def _read_back(composition: Composition, readable: Readable, notes: _Notes, *stages: Stage) -> None:
    for bound in composition.at(*stages):
        notes.read_back[bound.name] = bound.factor.read_back(bound.name, bound.level, readable)


def _measure(
    assignment: Assignment,
    composition: Composition,
    load: Load,
    server: Server,
    clone: Path,
    site: Site,
    notes: _Notes,
) -> None:
    """Warm up (a run of its own, kept and marked), then the measured window between two readings of every probe."""
    options = composition.setup.load
    sampling = site.sampling(site.probes(server, clone))
    try:
        sampling.start()
        warm_up = _warm_up(options, load, server, assignment, site)
        before = sampling.read_all()
        result = load.run(server, {**options, "warmup": "0"}, assignment.staging, assignment.seed)
        notes.alive = server.alive()
        after = sampling.read_all()
        series = sampling.stop()
    finally:
        _close(sampling)
    notes.result = result
    notes.samples = (*warm_up, *series, *result.series)
    notes.problems.update(result.problems)
    notes.measures = measure(before, after, result, sampling.meters())
    if notes.alive:
        _read_back(composition, Readable(server, result), notes, Stage.RUN)


def _warm_up(options: Mapping[str, str], load: Load, server: Server, assignment: Assignment) -> tuple[Sample, ...]:
    if parse_time_s(options.get("warmup", "0")) <= 0:
        return ()
    output = assignment.staging / "warmup"
    output.mkdir()
    run = {key: value for key, value in options.items() if key != "transactions"}
    result = load.run(server, {**run, "duration": options["warmup"], "warmup": "0"}, output, assignment.seed + 1)
    return tuple(replace(sample, source=f"{sample.source}_warmup") for sample in result.series)


def _close(sampling: Sampling) -> None:
    sampling.stop()


class _Laps:
    """Times the steps of a trial's life: each call closes the step it names."""

    def __init__(self, site: Site, notes: _Notes) -> None:
        self._clock = site.clock
        self._notes = notes
        self._last_ns = site.clock.monotonic_ns()

    def __call__(self, name: str) -> None:
        now_ns = self._clock.monotonic_ns()
        self._notes.timings_s[name] = (now_ns - self._last_ns) / 1e9
        self._last_ns = now_ns


def _record(
    study: Study,
    assignment: Assignment,
    composition: Composition,
    notes: _Notes,
    started_wall_ns: int,
    finished_wall_ns: int,
) -> TrialRecord:
    options = composition.setup.load
    measures = notes.measures
    counters = measures.counters if measures else {}
    cycles = regime.cycles_covered(counters) if measures else None
    status, reasons = checks.judge(_evidence(composition, notes))
    arm = assignment.arm
    return TrialRecord(
        number=assignment.number,
        block=assignment.block,
        attempt=assignment.attempt,
        treatment=arm.treatment.name,
        condition=arm.condition.name,
        covariate=arm.covariate.name,
        levels={
            name: LevelRecord(level.typed, level.canonical, notes.read_back.get(name))
            for name, level in study.levels_of(arm).items()
        },
        status=status,
        started_wall_ns=started_wall_ns,
        finished_wall_ns=finished_wall_ns,
        responses=dict(measures.responses) if measures else {},
        reasons=reasons,
        counters=dict(counters),
        settings=notes.settings,
        regime={
            "window_s": measures.window_monotonic_ns / 1e9 if measures else None,
            "warmup_s": parse_time_s(options.get("warmup", "0")),
            "checkpoint": options.get("checkpoint", "cycle"),
            "checkpoint_cycles": cycles,
            "checkpoint_words": regime.describe(options.get("checkpoint", "cycle"), cycles),
            "cache": notes.cache,
            "age": options.get("age", "none"),
            "start_state": notes.how_cloned,
        },
        timings_s=notes.timings_s,
        seed=assignment.seed,
    )


def _evidence(composition: Composition, notes: _Notes) -> checks.Evidence:
    options = composition.setup.load
    measures = notes.measures
    timed = not options.get("transactions") and options.get("duration")
    mismatches = {}
    for bound in composition.bound:
        found = notes.read_back.get(bound.name)
        if found is not None and found != bound.level.canonical:
            mismatches[bound.name] = f"asked for {bound.level.typed}, the running system says {found}"
    return checks.Evidence(
        problems=notes.problems,
        server_alive=notes.alive,
        window_monotonic_ns=measures.window_monotonic_ns if measures else 0,
        window_wall_ns=measures.window_wall_ns if measures else 0,
        steal_share=measures.counters.get("machine.steal_share") if measures else None,
        wanted_ns=int(parse_time_s(options["duration"]) * 1e9) if timed else None,
        mismatches=mismatches,
    )
