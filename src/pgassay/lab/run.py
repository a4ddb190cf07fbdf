"""A study from its text to the end of its run: what `pgassay run`, `compare`, `resume` and a notebook call.

`run_study` does all of it, `continue_run` the rest of a run that was cut short. Both are made of steps that the
command line calls one by one, to report in between: `write_study`, `prepare` (everything that can be refused is refused
here), `begin` (the run directory), `conduct`. The caller writes the report.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgassay import __version__
from pgassay.design.schedule import RULE, RULES
from pgassay.errors import PgassayError, RunStoppedError, UsageError
from pgassay.host.accounts import describe
from pgassay.host.doctor import busy_neighbour
from pgassay.host.facts import collect
from pgassay.host.storage import unsuitable
from pgassay.interfaces.places import Mount
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.lab.attached import bench_of
from pgassay.lab.catalogue import every_factor
from pgassay.lab.counted import counts, require_countable
from pgassay.lab.decisions import extension_of, making_s
from pgassay.lab.drives import drive_remarks
from pgassay.lab.host_stage import host_factors_left_out, unavailable
from pgassay.lab.interruption import StopAsked
from pgassay.lab.machine import known_disk, place_of, remember_lengths
from pgassay.lab.named_files import rooted
from pgassay.lab.pairing import resolve_pairing
from pgassay.lab.places import require_kept
from pgassay.lab.preflight import Checked, check
from pgassay.lab.runner import RunLoop, Watcher
from pgassay.lab.scale_model import Machine, modelled, with_likeness
from pgassay.lab.settings import check_block_counts
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.load import drivers
from pgassay.postgres.attached.restarts import RestartCommand
from pgassay.postgres.builds.builder import FOUND_BY
from pgassay.postgres.builds.cache import read_manifest
from pgassay.record import directory, known
from pgassay.record.directory import RunDirectory
from pgassay.record.errors import RecordError
from pgassay.record.formats import RunHeader
from pgassay.record.journal import Extended, Kind
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study import document as documents
from pgassay.study.document import Document, Overrides
from pgassay.study.findings import Severity
from pgassay.study.model import ALTERNATE, AUTO, Study
from pgassay.study.parsing import parse, parse_recorded
from pgassay.study.units import format_size


@dataclass(frozen=True)
class WrittenStudy:
    """A study with the document that its record keeps, which holds the seed too.

    `left_out` says of each host factor that is not held why this machine cannot have it.
    """

    study: Study
    document: Document
    seed: int
    left_out: Mapping[str, str]


def write_study(
    name: str, document: Document, overrides: Overrides | None = None, *, without_host_factors: bool = False
) -> WrittenStudy:
    """The study of a document under these overrides, with a seed drawn if it has none; raises `UsageError`.

    Servers take turns wherever that is valid (`pairing`), unless the document says otherwise.

    `without_host_factors` leaves out host factors that this machine cannot have, instead of refusing them later.
    """
    overrides = overrides or Overrides()
    catalogue = every_factor()
    written = documents.resolve(name, document, overrides, catalogue, drivers.installed)
    if overrides.count:
        require_countable(written)
    machine = Machine.here()
    model = modelled(name, written, catalogue, machine)
    if model is not None:
        written = model.document
    left_out: dict[str, str] = {}
    if without_host_factors:
        left_out = unavailable(documents.names_in(written), catalogue)
        written = documents.without(written, left_out)
    written = rooted({**written, "design": {"pairing": AUTO, **written.get("design", {})}}, catalogue)
    if model is not None:
        written = with_likeness(name, model, written, catalogue, machine)
    study = parse(name, written, catalogue)
    check_block_counts(study)
    seed = study.design.seed if study.design.seed is not None else secrets.randbelow(2**31)
    written.setdefault("design", {})["seed"] = seed
    return WrittenStudy(study, written, seed, left_out)


@dataclass(frozen=True)
class Remark:
    """What speaks against measuring here: its code, what the user is warned of (or nothing), what the record says."""

    code: str
    warning: str
    recorded: str


@dataclass(frozen=True)
class Prepared:
    resolved: ResolvedStudy
    bench: Workbench
    checked: Checked
    remarks: tuple[Remark, ...]
    pairing: str = ""
    """Why servers do not take turns where that was to be chosen; no reason to distrust what is measured."""


def prepare(resolved: ResolvedStudy, bench: Workbench) -> Prepared:
    """Check everything that can be known before the first trial; builds what has to be built, decides the pairing.
    For a plan nothing is built, and what the machine lacks is gathered.

    Raises `PgassayError` for the first thing that would fail, and as `surroundings` does.
    """
    bench.require(resolved)
    require_kept(bench.options.snapshots_in, resolved)
    if not bench.options.dry_run:
        bench.require_room(bench.missing_builds(arm.setup.build for arm in resolved.arms))
    return _checked(resolved, bench, begins=True)


def _checked(resolved: ResolvedStudy, bench: Workbench, *, begins: bool) -> Prepared:
    """With everything that speaks against measuring here, as a run begins also the pairing and what is said of its
    drives. A study whose drives are devices is looked at as a plan sees it before.
    """
    if (ahead := resolved.foreseen) is not None:
        _checked(ahead, bench, begins=begins)
    resolved, reasons = resolve_pairing(resolved) if begins else (resolved, ())
    checked = check(resolved)
    said = (*bench.remarks(resolved), *(drive_remarks(resolved, bench) if begins else ()))
    # File systems that are too small for the most WAL that a load could write, in one remark.
    tight = "; ".join(
        f'"{room.mount.path}" has {format_size(room.mount.free_bytes)} free, and a load that writes WAL as fast as any'
        f" can would need {format_size(room.needed_bytes)} in all: server.max_wal_size or a shorter load.duration takes"
        " less"
        for room in checked.tight
    )
    remarks = (
        *surroundings(bench, checked.mount, resolved.study),
        *([Remark("room", tight, tight)] if tight else []),
        *(Remark(code, text, text) for code, text in said),
    )
    pairing = f"one server after the other: {'; '.join(reasons)}" if reasons else ""
    return Prepared(resolved, bench, checked, remarks, pairing)


def surroundings(bench: Workbench, mount: Mount, study: Study) -> tuple[Remark, ...]:
    """What speaks against measuring here although the user wants to: a busy PostgreSQL, a place that is no drive.

    Raises `PgassayError` for a busy PostgreSQL unless it slows all servers equally, as those in turns, the bench's
    options allow it, or only a plan is asked for. It changes nothing of what is counted instead of timed.
    """
    remarks = []
    neighbour = busy_neighbour()
    if not counts(study) and neighbour.severity not in (Severity.OK, Severity.NOTE):
        turned = study.design.pairing == ALTERNATE
        if not (turned or bench.options.allow_busy or bench.options.dry_run):
            raise PgassayError(
                neighbour.text, "stop it or wait; with --allow-busy the study runs anyway, and its record says so"
            )
        said = (
            f"{neighbour.text}; the servers take turns, so it slows all of them equally" if turned else neighbour.text
        )
        remarks.append(Remark("busy_neighbour", said, said))
    wrong = unsuitable(mount)
    if wrong is not None:
        said = f"in {mount.path}: {wrong}"
        remarks.append(Remark("place", f"clusters live {said}", f"the clusters lived {said}"))
    return tuple(remarks)


def begin(
    prepared: Prepared,
    written: WrittenStudy,
    path: Path,
    command: Sequence[str] = (),
    capacities: Mapping[str, float | str] | None = None,
    fleet: Mapping[str, Any] | None = None,
    more_files: Mapping[str, bytes] | None = None,
) -> RunDirectory:
    """A new run directory with everything that could matter later; raises `RecordError` where something is already.

    `command` is kept as what made the run, `fleet` as facts of the hosts that run blocks. `capacities` are what this
    drive can do where that was measured just now, `more_files` files of the record that say more about the study.
    """
    study, bench, mount = prepared.resolved.study, prepared.bench, prepared.checked.mount
    text, programs = recorded_study(study, written.document), installations(prepared.resolved)
    first = prepared.resolved.arms[0]
    header = RunHeader(
        study=study.name,
        started_utc=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seed=written.seed,
        responses=prepared.checked.responses,
        command=tuple(command),
        program_version=__version__,
        rule=RULE,
        work=drivers.find(first.setup.load.driver).work,
        scales=tuple(each.name for each in first.bound if each.name in study.covariates and each.factor.scales),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = dict(collect({"data": bench.data_directory, "record": path.parent}))
    facts["postgres"] = programs
    facts["account"] = describe(bench.account)
    facts["place"] = {
        "data_directory": str(bench.data_directory.absolute()),
        "keep_snapshots": bench.options.keep_snapshots,
        "allow_busy": bench.options.allow_busy,
        "allow_volatile": bench.options.allow_volatile,
        "snapshots_in": None if bench.options.snapshots_in is None else str(bench.options.snapshots_in.absolute()),
        **place_of(mount),
    }
    if bench.options.servers:
        facts["place"]["servers"] = {name: list(each) for name, each in bench.options.servers.items()}
        facts["place"]["companions"] = list(bench.options.companions)
        facts["place"]["slot_bytes"] = bench.options.slot_bytes
        if restart := bench.options.restart:
            facts["place"]["restart"] = {"words": list(restart.words), "limit_s": restart.limit_s}
        facts["attached"] = {name: dict(each) for name, each in bench.describe().items()}
    remarks = {remark.code: remark.recorded for remark in prepared.remarks}
    if prepared.pairing:
        facts["pairing"] = prepared.pairing
    if written.left_out:
        remarks["host_factors"] = host_factors_left_out(written.left_out)
    facts["remarks"] = remarks
    if capacities:
        facts["capacities"] = dict(capacities)
    facts[known.DISK_FACT] = known_disk(mount)
    facts |= fleet or {}
    return RunDirectory.create(path, header, text, facts, more_files=more_files)


def recorded_study(study: Study, document: Document) -> str:
    """The record's `study.toml`: what was run, in words that can be read without any factor's own rules."""
    # The baseline is written as its treatments are typed, since a later reader knows no canonical forms: 1024MB among
    # treatments of 1GB and 2GB is understood only while the study runs. A curve without treatments has none.
    typed = {name: level.typed for name, level in study.design.baseline.levels.items()}
    recorded = documents.laid_over(document, {"design": {"baseline": typed}}) if typed else document
    design = recorded.get("design", {})
    found = {"pairing": study.design.pairing, "slice": f"{study.design.slice_s:g}s"}
    held = {name: text for name, text in found.items() if name in design}
    if study.design.pairing == ALTERNATE:  # by them a reader knows which usual lengths are meant, see `parse_recorded`
        held["lead_in"] = f"{study.design.lead_in_s:g}s"
        held["placement"] = study.design.placement
    if held:
        recorded["design"] = {**design, **held}
    return documents.write(recorded, f"The study as it was resolved and run; made by pgassay {__version__}.")


def installations(resolved: ResolvedStudy) -> list[dict[str, str]]:
    """Every PostgreSQL that the study's arms use; of a build also its source, with the commit that a name stood for."""
    found = {}
    for arm in resolved.arms:
        each = arm.installation
        facts = {"bindir": str(each.bindir), "version": each.version.text, "found_by": each.found_by}
        if each.found_by == FOUND_BY:
            facts["source"] = read_manifest(each.bindir.parent, each.bindir.parent.name).source
        found[str(each.bindir), each.version.text] = facts  # client programs may reach servers of two versions
    return list(found.values())


def conduct(resolved: ResolvedStudy, run: RunDirectory, watcher: Watcher | None = None) -> None:
    """Run to the end.

    Committed trials are gone on from. What stops it early is journalled and raised: `KeyboardInterrupt` for Ctrl-C
    (SIGTERM and SIGHUP too, see `interruption`), `PgassayError` for a fault. The run directory is closed.
    """
    with journalled(run):
        loop = RunLoop(resolved, run, watcher or Watcher(), committed(run))
        try:
            loop.conduct()
        finally:
            remember_lengths(resolved, loop.trials, making_s(run.journal.entries))


def committed(run: RunDirectory) -> list[TrialRecord]:
    return list(Run.open(run.path).trials) if run.next_number > 1 else []


@contextmanager
def journalled(run: RunDirectory) -> Iterator[None]:
    """Around the work of a run: what stops it early is journalled and raised, and the run directory is closed."""
    with run:
        try:
            yield
        except KeyboardInterrupt as asked:
            if not run.finished:
                run.interrupted(directory.STOPPED if isinstance(asked, StopAsked) else directory.SIGNAL)
            raise
        except RecordError:
            raise
        except UsageError as error:  # the study itself is wrong: it cannot be gone on with
            run.interrupted(error.message)
            raise
        except PgassayError as error:
            run.interrupted(error.message)
            if error.hint:
                raise PgassayError(error.message, error.hint) from None
            kept = f"committed trials are kept; continue with: pgassay resume {run.path}"
            raise RunStoppedError(error.message, kept) from None


def run_study(
    written: WrittenStudy,
    path: Path,
    options: BenchOptions | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
) -> Run:
    """Run a study to its end in a new run directory `path`; takes as long as its budget. Raises as the steps do.

    Call it from the main thread: programs die with the thread that started them.
    """
    with bench_of(options or BenchOptions()) as bench:
        prepared = prepare(resolve(written.study, bench.environment()), bench)
        run = begin(prepared, written, path, command)
        conduct(prepared.resolved, run, watcher)
    return Run.open(path)


@dataclass(frozen=True)
class Reopened:
    prepared: Prepared
    run: RunDirectory
    extended: Extended | None = None


@dataclass(frozen=True)
class More:
    """How far a run goes on beyond its end: so many seconds, or to this least and largest number of blocks, or both."""

    seconds: float | None = None
    blocks: tuple[int, int] | None = None


def reopen(path: Path, bench: Workbench, more: More | None = None) -> Reopened:
    """Open a run to go on with it, on a bench with the options of `options_of`; with `more` beyond its end.

    Raises `RecordError` where it cannot be opened, `UsageError` where it is finished or another PostgreSQL would serve
    the rest of it, and what `prepare` raises.
    """
    record = Run.open(path)
    run = RunDirectory.open(path)
    try:
        if run.finished and more is None:
            raise UsageError(
                f'run "{path}" is finished',
                "go on beyond its end with --more 10min, or with --blocks and a larger number",
            )
        environment = bench.environment()
        study = parse_recorded(record.header.study, record.study, environment.catalogue)
        extended = None
        if more is not None:
            trials, entries = committed(run), run.journal.entries
            extended = extension_of(study, run.header, trials, entries, more.seconds, more.blocks)
        resolved = resolve(study, environment)
        bench.require(resolved)
        kept = bench.options.snapshots_in
        if kept is None or str(kept.absolute()) != record.host.get("place", {}).get("snapshots_in"):
            require_kept(kept, resolved)  # a run that began with such a place is gone on with
        require_same_servers(record.host.get("attached", {}), bench.describe())
        require_same_postgres(record.host.get("postgres", []), installations(resolved))
        prepared = _checked(resolved, bench, begins=False)
    except BaseException:
        run.close()
        raise
    return Reopened(prepared, run, extended)


def mark_resumed(reopened: Reopened, more: Mapping[str, Any] | None = None) -> None:
    """Journal that the run goes on, with today's remarks and `more`; decisions keep the rule that they began with."""
    remarks = {remark.code: remark.recorded for remark in reopened.prepared.remarks}
    rule = min(max(reopened.run.header.rule, min(RULES)), RULE)
    options = reopened.prepared.bench.options
    allowed = {"allow_busy": options.allow_busy, "allow_volatile": options.allow_volatile}
    reopened.run.resumed({"remarks": remarks, "rule": rule, **allowed, **(more or {})})
    if reopened.extended is not None:
        reopened.run.extend(reopened.extended)


def continue_run(path: Path, options: BenchOptions | None = None, watcher: Watcher | None = None) -> Run:
    """Go on with a run that was cut short, to its end, in the place and with the PostgreSQL that it began with."""
    record = Run.open(path)
    with bench_of(options_of(record.host, options or BenchOptions(), record.header.command)) as bench:
        reopened = reopen(path, bench)
        mark_resumed(reopened)
        conduct(reopened.prepared.resolved, reopened.run, watcher)
    return Run.open(path)


Watching = Callable[[Study], AbstractContextManager[Watcher]]
"""What shows the progress of a study's run."""


def run_at(
    path: Path, write: Callable[[], WrittenStudy], options: BenchOptions, watch: Watching, command: Sequence[str] = ()
) -> Run:
    """The ended run at `path`: a new one of the study that `write` gives, or what is there, which is gone on with."""
    if not path.exists():
        written = write()
        with watch(written.study) as watcher:
            return run_study(written, path, options, watcher, command)
    found = Run.open(path)
    if found.journal[-1].kind == Kind.FINISHED:
        return found
    with watch(found.asked) as watcher:
        return continue_run(path, options, watcher)


def options_of(facts: Mapping[str, Any], options: BenchOptions, command: Sequence[str] = ()) -> BenchOptions:
    """Place and PostgreSQL as the run's own `facts` (host.json) say, unless `options` say where they are now; what was
    allowed as the run began, whatever they say: half a run that discards disturbed trials would be no experiment.

    Records from before that was kept have the `command` that made them; what it does not say, `options` decide.
    Whose a device is must be said again: after a reboot another one may have its name.
    """
    place = facts.get("place", {})
    directory = place.get("data_directory")
    named = [each["bindir"] for each in facts.get("postgres", []) if each.get("found_by") == "named"]
    restart = place.get("restart")
    return replace(
        options,
        bindir=options.bindir or (Path(named[0]) if named else None),
        data_directory=options.data_directory or (Path(directory) if directory else None),
        allow_busy=_allowed(place, command, "allow_busy", options.allow_busy),
        allow_volatile=_allowed(place, command, "allow_volatile", options.allow_volatile),
        keep_snapshots=place.get("keep_snapshots", True) is True,
        servers=place.get("servers") or ({"": [place["server"]]} if place.get("server") else {}),
        companions=tuple(place.get("companions", ())),
        slot_bytes=int(place.get("slot_bytes", options.slot_bytes)),
        restart=RestartCommand(tuple(map(str, restart["words"])), float(restart["limit_s"])) if restart else None,
        snapshots_in=options.snapshots_in or (Path(kept) if (kept := place.get("snapshots_in")) else None),
    )


def _allowed(place: Mapping[str, Any], command: Sequence[str], name: str, now: bool) -> bool:
    """Did the run begin with this allowed? Raises `UsageError` for one that began without and is now to go on with."""
    option = f"--{name.replace('_', '-')}"
    found = place.get(name)
    if found is None:
        return now or option in command
    if now and not found:
        raise UsageError(
            f"the run began without {option}, and trials so far were judged without it",
            f"leave {option} out, or run the study anew with it",
        )
    return found is True


def require_same_servers(before: Mapping[str, Any], now: Mapping[str, Mapping[str, str | bool]]) -> None:
    """Raise `UsageError` when another server of the user's would serve the rest of the run."""
    for name, each in ({"": before} if "system" in before else before).items():
        if each.get("system") and each["system"] != now[name].get("system"):
            raise UsageError(
                f"the server at {now[name].get('address')!s} is not the one that this run began on",
                "begin a new run there",
            )


def require_same_postgres(before: Sequence[Mapping[str, str]], now: Sequence[Mapping[str, str]]) -> None:
    """Raise `UsageError` when another version would serve the rest of the run, a minor one or a build included."""
    # Of a build also the key that its folder is named by: same version, another compiler or page size.
    was, would = (
        {
            f"{each['version']}, build {Path(each.get('bindir', '')).parent.name}"
            if each.get("found_by") == FOUND_BY
            else each["version"]
            for each in found
        }
        for found in (before, now)
    )
    if was and was != would:
        raise UsageError(
            f"the run began with {', '.join(sorted(was))} and would continue with {', '.join(sorted(would))}",
            "name the same PostgreSQL with --pg-bindir, or start a new run",
        )
