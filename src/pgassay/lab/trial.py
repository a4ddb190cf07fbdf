"""The life of one trial: clone, start, read back, settle, measure, judge, give back.

Follows docs/trial.md step by step. Whatever the treatment does to its server becomes part of the trial's record; only
faults of the bench and of the record's own disk are raised.
"""

import errno
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.errors import BenchError, ClusterError, DamagedError, HostError, QueryError, SpaceError
from pgassay.bench.factor import Readable, Stage
from pgassay.bench.load import Load, LoadResult, Verifying
from pgassay.bench.server import Server
from pgassay.bench.store import Drive
from pgassay.lab import full_drives, outcomes, page_space, regime, soundness, space, stored_kinds, upkeep
from pgassay.lab.composition import Composition, compose
from pgassay.lab.drives import drive_of
from pgassay.lab.hosting import hosted, start
from pgassay.lab.loads import load_of
from pgassay.lab.measures import measure
from pgassay.lab.messages import operating_system
from pgassay.lab.notes import Assignment, Notes
from pgassay.lab.preparation import prepare
from pgassay.lab.recording import record_of
from pgassay.lab.settling import settle
from pgassay.lab.site import Site
from pgassay.lab.starting import settings_of
from pgassay.load import yardstick
from pgassay.record.values import TrialRecord
from pgassay.study.model import Study
from pgassay.study.regime import WORK
from pgassay.study.units import parse_time_s

_FULL = (errno.ENOSPC, errno.EDQUOT)


def run_trial(study: Study, assignment: Assignment, site: Site) -> tuple[TrialRecord, tuple[Sample, ...]]:
    """Run one trial; returns its record and its series. Everything that was started is stopped on every way out."""
    composition = compose(study.levels_of(assignment.arm), site.catalogue)
    notes = Notes.begin(site.clock)
    try:
        _live(study, assignment, composition, site, notes)
    except SpaceError as error:
        notes.problems["no_space"] = error.message
    except HostError as error:
        notes.problems[error.code] = error.message
    except ClusterError as error:
        notes.problems[outcomes.code_of_start(error.message, composition.setup.settings)] = error.message
    except QueryError as error:
        notes.problems[outcomes.code_of(error.message, "server")] = error.message
    except OSError as error:  # what writes to the record raises RecordError, so this is the servers' place
        if error.errno not in _FULL:
            raise operating_system(error) from error
        notes.problems["no_space"] = operating_system(error).message
    return record_of(study, assignment, composition, notes, site), notes.samples


def unprepared(study: Study, assignment: Assignment, site: Site, failure: BenchError, seconds: float) -> TrialRecord:
    """The record of a trial whose treatment could not even be prepared, after trying for so many seconds."""
    composition = compose(study.levels_of(assignment.arm), site.catalogue)
    notes = Notes.begin(site.clock)
    notes.laps.timings_s["prepare"] = seconds
    otherwise = "no_space" if isinstance(failure, SpaceError) else "not_prepared"
    code = outcomes.code_of(failure.message, otherwise)
    notes.problems[code] = failure.message
    return record_of(study, assignment, composition, notes, site)


def _live(study: Study, assignment: Assignment, composition: Composition, site: Site, notes: Notes) -> None:
    load = load_of(composition, site)
    drive = drive_of(study, composition, site)
    with notes.laps("clone"):
        snapshot = prepare(study, assignment.arm, site)
        clone = drive.clone(snapshot.key, f"trial-{assignment.number:06d}")
    try:
        notes.how_cloned = drive.how_cloned()
        notes.traits.update(drive.traits(clone))
        with full_drives.named(drive, clone):
            _serve(study, assignment, composition, load, clone, site, notes)
    finally:
        with notes.laps("give_back"), site.held():
            _give_back(drive, clone, composition, notes)


def _give_back(drive: Drive, clone: Path, composition: Composition, notes: Notes) -> None:
    """What a check finds is the trial's outcome, whatever else became of it."""
    try:
        drive.discard(clone, check=soundness.wanted(composition.setup.drive))
    except DamagedError as error:
        notes.problems[soundness.DRIVE] = error.message


def _serve(
    study: Study,
    assignment: Assignment,
    composition: Composition,
    load: Load,
    clone: Path,
    site: Site,
    notes: Notes,
) -> None:
    """Everything between the server's start and its end, which is immediate: nobody needs the clone any more."""
    installation = site.installation(composition.setup.installation)
    settings = settings_of(study, composition)
    with ExitStack() as host:
        with notes.laps("start"):
            hosting = host.enter_context(hosted(composition, installation, clone, settings, site))
            server, notes.huge_pages = start(hosting, installation, clone, settings, site)
        _use(assignment, composition, load, server, clone, site, notes, limited=hosting.cold)


def _use(
    assignment: Assignment,
    composition: Composition,
    load: Load,
    server: Server,
    clone: Path,
    site: Site,
    notes: Notes,
    *,
    limited: bool,
) -> None:
    """A started server's life and end."""
    try:
        with notes.laps("settle"):
            notes.settings = dict(site.effective(server))
            _read_back(composition, Readable(server), notes, *(stage for stage in Stage if stage is not Stage.RUN))
            varied = assignment.arm.levels
            notes.adopt = {
                bound.name: bound.factor.adopt_by(bound.name, server)
                for bound in composition.bound
                if bound.name in varied
            }
            if page_space.wanted(composition.setup.load):
                notes.page_space.update(page_space.as_loaded(server))
            notes.cache = settle(server, composition.setup.load, clone, site.caches, limited=limited)
        with notes.laps("measure"):
            _measure(assignment, composition, load, server, clone, site, notes)
        if notes.alive and notes.measures is not None and upkeep.wanted(composition.setup.load):
            with notes.laps("maintain"):
                _maintain(server, site, notes)
        if notes.alive and soundness.wanted(composition.setup.drive):
            with notes.laps("check"):
                notes.problems.update(soundness.of_relations(server))
    except QueryError:
        notes.alive = server.alive()
        raise
    finally:
        with notes.laps("stop"), site.held():
            server.stop(immediately=True)
            with assignment.keeping("the server's log"):
                site.disk.write_file(assignment.staging / "server.log", server.log_text().encode())


def _read_back(composition: Composition, readable: Readable, notes: Notes, *stages: Stage) -> None:
    for bound in composition.at(*stages):
        notes.read_back[bound.name] = bound.factor.read_back(bound.name, bound.level, readable)


def _measure(
    assignment: Assignment,
    composition: Composition,
    load: Load,
    server: Server,
    clone: Path,
    site: Site,
    notes: Notes,
) -> None:
    """Warm up (a run of its own, kept and marked), then the measured window between two readings of every probe."""
    options = composition.setup.load
    sampling = site.sampling(site.probes(server, clone))
    try:
        sampling.start()
        warm_up = _warm_up(options, load, server, assignment, site)
        before = sampling.read_all()
        result = _run(load, server, {**options, "warmup": "0s"}, assignment.staging, assignment.seed, assignment)
        notes.alive = server.alive()
        if notes.alive and regime.mode_of(options) == WORK:
            notes.upkeep.update(upkeep.checkpoint(server, site.clock))
        after = sampling.read_all()
        series = sampling.stop()
    finally:
        with site.held():
            sampling.close()
    notes.samples = (*warm_up, *series, *result.series)
    notes.problems.update(outcomes.named(result.problems))
    if not notes.alive:
        notes.problems.update(outcomes.of_log(server.log_text()))
    measures = measure(before, after, result, sampling.meters())
    notes.problems = outcomes.together(notes.problems, outcomes.of_drives(measures.counters))
    taken = space.relations(server) if notes.alive else {}
    notes.measures = replace(
        measures, responses={**measures.responses, **notes.upkeep}, counters={**measures.counters, **taken}
    )
    if options.get("yardstick", "none") != "none":
        value = site.yardstick(options)
        notes.measures = replace(notes.measures, responses={**notes.measures.responses, yardstick.RESPONSE.name: value})
    if notes.alive:
        _read_back(composition, Readable(server, result), notes, Stage.RUN)
        if isinstance(load, Verifying):
            notes.problems.update(load.verify(server, options))
        _look_into_files(composition, server, clone, notes)


def _look_into_files(composition: Composition, server: Server, clone: Path, notes: Notes) -> None:
    """What the options ask to know of pages and files, once every counter is read."""
    assert notes.measures is not None
    options = composition.setup.load
    responses, counters = dict(notes.measures.responses), dict(notes.measures.counters)
    stored, codec = dict[str, float | None](), stored_kinds.codec_of(composition.setup.drive)
    if stored_kinds.wanted(options):
        stored |= stored_kinds.of_wal(server, clone, codec)
    if page_space.wanted(options):
        notes.page_space.update(page_space.as_left(server))
        responses |= page_space.summed(notes.page_space)
        counters |= notes.page_space
    if stored_kinds.wanted(options):
        stored |= stored_kinds.of_relations(server, clone, codec)
        responses |= stored_kinds.summed(stored)
        counters |= stored
    notes.measures = replace(notes.measures, responses=responses, counters=counters)


def _maintain(server: Server, site: Site, notes: Notes) -> None:
    """Time a CHECKPOINT (unless one closed the window) and a VACUUM."""
    if not notes.upkeep:
        notes.upkeep.update(upkeep.checkpoint(server, site.clock))
    notes.upkeep.update(upkeep.vacuum(server, site.clock))
    assert notes.measures is not None
    notes.measures = replace(notes.measures, responses={**notes.measures.responses, **notes.upkeep})


def _warm_up(
    options: Mapping[str, str], load: Load, server: Server, assignment: Assignment, site: Site
) -> tuple[Sample, ...]:
    if parse_time_s(options.get("warmup", "0s")) <= 0:
        return ()
    output = assignment.staging / "warmup"
    with assignment.keeping("the warm-up"):
        site.disk.mkdir(output)
    timed = {key: value for key, value in options.items() if key != "transactions"}
    wanted = {**timed, "duration": options["warmup"], "warmup": "0s"}
    result = _run(load, server, wanted, output, assignment.seed + 1, assignment)
    return tuple(replace(sample, source=f"{sample.source}_warmup") for sample in result.series)


def _run(
    load: Load, server: Server, options: Mapping[str, str], output: Path, seed: int, assignment: Assignment
) -> LoadResult:
    """A load touches no disk but the record's."""
    with assignment.keeping("the load's output"):
        return load.run(server, options, output, seed)
