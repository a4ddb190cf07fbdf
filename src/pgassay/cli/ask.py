"""`pgassay ask CAPTURE NAME=A,B`: a study of a captured server's data and load, written and run like any other.

Before it is measured the load is tried on clones of the data that the study's own trials will start from: what fails,
how like the source's it is, what each variant answers. Arms whose servers would be the same (another number of clients,
say) are tried once. `pgassay advise CAPTURE` tries it in the same way.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay import scratch
from pgassay.cli import _trust
from pgassay.cli.compare import with_full_names
from pgassay.cli.parser import excluded
from pgassay.cli.printing import warn
from pgassay.cli.run import add_bench_options, add_study_options, bench_options, overrides, run_document, silent
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.capture.asking import PreparedQuestion
    from pgassay.capture.format import Capture, Load
    from pgassay.capture.question import Question
    from pgassay.capture.replaying import Examined, Stage
    from pgassay.interfaces.server import Installation, Server
    from pgassay.lab.arms import ResolvedArm
    from pgassay.lab.workbench import Workbench
    from pgassay.record.ask import StatementRecord
    from pgassay.study.model import Study

NAME = "ask"
_PACED_MS = 60_000
"""At most, for which a load at the source's pace is played to be compared."""
_COUNTED_MS = 5_000
"""The same for a load that is counted: such a comparison is to end soon."""
Answers = Mapping[str, "Examined"]
"""By script, of one arm."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("capture", type=Path, metavar="CAPTURE", help="a directory that pgassay capture made")
    add(
        "levels_given",
        nargs="*",
        metavar="NAME=A,B",
        help="levels to compare, the baseline first; a setting needs no prefix (work_mem=4MB,64MB)",
    )
    add(
        "--index",
        "--change",
        dest="changes",
        action="append",
        default=[],
        metavar="SQL",
        help="a change of the schema, against none: CREATE INDEX ON orders (customer_id)",
    )
    add(
        "--version",
        dest="versions",
        action="append",
        default=[],
        metavar="V,V",
        help="versions of PostgreSQL, against the server's own: 17",
    )
    add(
        "--build",
        dest="builds",
        action="append",
        default=[],
        metavar="SOURCE",
        help="builds of PostgreSQL, the baseline first; one alone against the server's version: git:DIR@COMMIT, a"
        " directory, tarball:FILE",
    )
    add(
        "--replay",
        action="store_true",
        help="play the captured log itself, in its own time, in place of scripts (capture --log FILE --with-literals)",
    )
    add(
        "--pace",
        choices=("full", "source", "busiest"),  # as in capture.question, which would import what parsing need not
        default="full",
        help="how fast scripts are played: as fast as they go (default), at the source's mean rate, or at that of its"
        " busiest minute (capture --log FILE)",
    )
    add(
        "--objective",
        metavar="RESPONSE",
        help="what decides (default: tps; latency_ms with --replay, --pace source and --pace busiest)",
    )
    add_study_options(parser)
    add_bench_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write scripts into the capture, try them on its data, say how like the source's the load is, run the study."""
    from pgassay.capture import asking, files, likeness, question, replaying, texts
    from pgassay.lab.run import Remark, write_study
    from pgassay.lab.workbench import Workbench
    from pgassay.record import ask as kept
    from pgassay.study.document import COUNTED_LOAD

    arguments = with_full_names(arguments)
    asked = _asked(arguments)
    capture = files.read(arguments.capture)
    _trust.require(arguments.capture, _trust.of_capture(arguments.capture, capture.source.settings), arguments)
    question.require_pace(arguments.pace, capture.load)
    own_scripts = bool(_set(arguments, "load.script"))
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    with Workbench(bench_options(arguments)) as bench:
        asked = question.with_programs(asked, capture.source, lambda version: _is_installed(bench, version))
        log = _set(arguments, "load.log")
        replayed = (
            replaying.load_table(arguments.capture, bench.runner, Path(log[-1]) if log else None)
            if arguments.replay
            else None
        )
        serving, connections = _serving(asked, capture, arguments, bench, replayed)
        written = asking.write(
            arguments.capture,
            capture,
            asked,
            serving,
            bench.runner,
            stamp,
            own_scripts=own_scripts,
            replayed=replayed,
            pace=arguments.pace,
            connections=connections,
        )
        for warning in written.warnings.values():
            warn(warning)
        found, said, load, pace = None, "", None, None
        if not arguments.dry_run and (written.load.played or written.replayed is not None):
            study = write_study(NAME, written.document(), overrides(arguments)).study
            if written.load.played:
                found = tried(study, written, bench)
                written, load = found.written, found.load
                pace = None if written.paced is None else written.paced.multiple
            else:
                said, load, pace = _replayed(study, capture.load, bench)
    remarks = [Remark(code, "", text) for code, text in written.warnings.items()]
    if not (silent(arguments) or own_scripts):
        print(texts.played(written.load) if replayed is None else said, end="")
        print("" if written.paced is None else question.pace_line(written.paced), end="")
    more_files = {} if found is None else {kept.STATEMENTS_FILE: kept.encode_statements(found.statements)}
    if load is not None and capture.load is not None:
        alike = likeness.compare(capture.load, load, pace)
        if not silent(arguments):
            print(texts.likeness(alike), end="")
        more_files[kept.LIKENESS_FILE] = kept.encode_likeness(alike)
        if alike.unlike:
            remarks.append(Remark("likeness", texts.unlike(alike), texts.unlike(alike)))
    if found is not None and found.failures:
        said = texts.fail_with(found.failures.values())
        remarks.append(Remark("failing_statements", said, said))
    document = written.document(load if arguments.count else None)
    if arguments.count and not own_scripts:
        given = _set(arguments, "load.transactions") or asked.factors.get("load.transactions", ())
        said = written.rare(given or [document["load"].get("transactions", COUNTED_LOAD["transactions"])])
        remarks += [Remark("rare_scripts", said, said)] if said else []
    return run_document(NAME, document, arguments, remarks, more_files)


def _asked(arguments: argparse.Namespace) -> "Question":
    from pgassay.capture import question

    if arguments.replay and _set(arguments, "load.script"):
        raise excluded("--replay", "load.script")
    paced = arguments.pace != "full"
    for option, given in (("--replay", arguments.replay), ("--pace", paced), ("--objective", arguments.objective)):
        if arguments.count and given:
            raise excluded("--count", option)
    objective = arguments.objective or (question.AT_OWN_PACE if arguments.replay or paced else None)
    asked = question.parse(
        arguments.levels_given,
        arguments.changes,
        objective,
        arguments.versions,
        arguments.builds,
    )
    if paced and arguments.replay:
        raise excluded("--pace", "--replay")
    for name in ("load.script", question.RATE):
        if paced and (_set(arguments, name) or name in asked.factors):
            raise excluded("--pace", name)
    return asked


def _set(arguments: argparse.Namespace, name: str) -> list[str]:
    """The values that `--set` gives a factor, in order."""
    parts = [each.partition("=") for each in arguments.set]
    return [value.strip() for factor, _, value in parts if factor.strip() == name]


def _is_installed(bench: "Workbench", version: str) -> bool:
    try:
        bench.installation(version)
    except UsageError:
        return False
    return True


def _serving(
    asked: "Question",
    capture: "Capture",
    arguments: argparse.Namespace,
    bench: "Workbench",
    replayed: "Mapping[str, object] | None" = None,
) -> "tuple[Sequence[Installation], int]":
    """Every PostgreSQL that the study will use, the baseline's first; one that is missing is built now. And how many
    connections the load and we may need where max_connections is the captured server's own.

    A plan builds nothing: what stands in for a build says nothing of extensions and settings.
    """
    from pgassay.capture.question import document
    from pgassay.lab.arms import resolve
    from pgassay.lab.places import STAND_IN
    from pgassay.lab.run import write_study
    from pgassay.lab.settings import CONNECTIONS_OURS

    data = arguments.capture / capture.data.file
    outline = document(capture.source, capture.load, data, {}, asked, replayed=replayed)
    study = write_study(NAME, outline, overrides(arguments)).study
    arms = resolve(study, bench.environment()).arms
    if not arguments.dry_run:
        bench.require_room(bench.missing_builds(each.setup.build for each in arms))
    first = sorted(arms, key=lambda each: each.arm.treatment != study.design.baseline)
    found = {each.installation.bindir: each.installation for each in first}
    real = [each for each in found.values() if each.found_by != STAND_IN]
    own = capture.source.settings.get("max_connections")
    needed = [each.setup.load.connections for each in arms if each.setup.settings.get("max_connections") == own]
    return real or list(found.values()), max(needed, default=0) + CONNECTIONS_OURS


@dataclass(frozen=True)
class Tried:
    """What came of it: `written` without the scripts that fail, what the `load` was like on the baseline (None where
    nothing could be counted), and each statement as the arms answered it. `failures` are those of one arm alone."""

    written: "PreparedQuestion"
    load: "Load | None"
    statements: tuple["StatementRecord", ...]
    failures: Mapping[str, str]


def tried(study: "Study", written: "PreparedQuestion", bench: "Workbench") -> Tried:
    """Try the scripts of `written` on every arm of `study`; raises `BenchError` where the baseline does not start."""
    from pgassay.capture.replaying import SETTINGS, play_alone, try_each
    from pgassay.lab.arms import resolve
    from pgassay.lab.counted import counts
    from pgassay.lab.preparation import rehearse

    arms = resolve(study, bench.environment()).arms
    baseline = next(each for each in arms if each.arm.treatment == study.design.baseline)
    stage = _stage(baseline, bench)
    _prepare(arms)
    alone = rehearse(baseline, SETTINGS, lambda server: try_each(written.load.tried, stage(server)))
    written = written.without(alone.failed)
    load, owners = None, alone.owners

    def paced(stage: "Stage") -> "Stage":
        """A load that is due at the source's pace takes longer until it has made enough calls; one that is counted is
        played for a moment."""
        if counts(study):
            return replace(stage, most_ms=_COUNTED_MS)
        pace = written.paced
        return stage if pace is None else replace(stage, rate_tps=pace.rate_tps, most_ms=_PACED_MS)

    if owners is not None:
        load = rehearse(
            baseline, SETTINGS, lambda server: play_alone(written.load.played, paced(stage(server)), owners)
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


def _replayed(study: "Study", source: "Load | None", bench: "Workbench") -> "tuple[str, Load | None, float]":
    """Play warm-up and window of a log once on the baseline, and count what `source`'s server counted.

    Returns what came of it in words, what the load was like (None where nothing could be counted), and how many times
    as fast as in the log it was due. Raises `CaptureError` where that fails: each of its trials would.
    """
    from pgassay.capture.errors import CaptureError
    from pgassay.capture.replaying import LIBRARY, play
    from pgassay.lab.arms import resolve
    from pgassay.lab.preparation import rehearse
    from pgassay.load.replay import FILE, ReplayOptions, described
    from pgassay.record.replayed import counts_of, phrases

    arms = resolve(study, bench.environment()).arms
    baseline = next(each for each in arms if each.arm.treatment == study.design.baseline)
    baseline.load.check()
    _prepare(arms)
    options = baseline.setup.load
    speed = options.speed if isinstance(options, ReplayOptions) else 1.0
    whole = replace(options, warmup_s=0, duration_s=options.warmup_s + (options.duration_s or 0))
    load = bench.environment().load(whole, baseline.installation)
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
        return described(written, result) + missing, made, speed


def _prepare(arms: "Sequence[ResolvedArm]") -> None:
    """Make the data of all arms: what cannot be made as it was asked ends the command before anything is played.

    Raises `UsageError`; where a treatment fails by itself the run will say why.
    """
    from pgassay.interfaces.errors import BenchError
    from pgassay.lab.preparation import prepare_snapshot

    for arm in arms:
        with suppress(BenchError):
            prepare_snapshot(arm)


def statement_records(
    written: "PreparedQuestion", answers: Mapping[str, Answers], baseline: str, again: Answers | None = None
) -> tuple["StatementRecord", ...]:
    """As the record keeps them; `again` is what the baseline answered when it was asked a second time."""
    from pgassay.record.ask import StatementRecord

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
    from pgassay.capture.replaying import Stage
    from pgassay.load.pgbench.options import PgbenchOptions

    options = arm.setup.load
    if not isinstance(options, PgbenchOptions):
        raise UsageError(
            f'the load of a capture is played by pgbench, not by "{options.driver}"', "leave load.driver out"
        )
    clients, protocol = options.clients, options.protocol
    return lambda server: Stage(server, bench.runner, bench.clock, clients, protocol)


def _answers(
    written: "PreparedQuestion", arms: "Sequence[ResolvedArm]", baseline: "ResolvedArm", bench: "Workbench"
) -> dict[str, Answers]:
    """By arm; one whose server does not start has none, and the run will say why."""
    from pgassay.interfaces.errors import BenchError

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


def _answered(written: "PreparedQuestion", arm: "ResolvedArm", bench: "Workbench") -> Answers:
    from pgassay.capture.replaying import SETTINGS, examine
    from pgassay.lab.preparation import rehearse

    stage = _stage(arm, bench)
    return rehearse(arm, SETTINGS, lambda server: examine(written.load.tried, stage(server)))
