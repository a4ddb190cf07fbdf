"""Is a run whole, unchanged, and consistent with its own journal? The findings behind `pgassay check RUN`.

Looks at everything that the record promises and changes nothing. An *error* means that a number in a report could be
wrong; a *note* is something that a reader may want to know (a torn last line, an interrupted trial). Whether the
decisions follow from the design is checked by the lab, which replays them; here is only what needs no study.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay.record import formats, trials
from pgassay.record.ask import LIKENESS_FILE, STATEMENTS_FILE
from pgassay.record.directory import read_header, read_journal
from pgassay.record.disk import Disk, RealDisk, sha256_of
from pgassay.record.errors import DamagedError, NewerFormatError, NotARunError, RecordError
from pgassay.record.journal import Entry, Kind, Step, committed_in, decision_of, extended_in
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.drives import HOST_BEFORE, STATE_BEFORE
from pgassay.study.findings import Finding, Severity
from pgassay.study.responses import Status

CODE = "record"
"""The code of every finding about a record."""


def check(path: Path, disk: Disk | None = None) -> list[Finding]:
    """All findings about the run at `path`; empty for a perfect one.

    Raises `NotARunError` and `NewerFormatError`: of what is no run, or not one of ours to read, nothing is found.
    """
    disk = disk or RealDisk()
    path = path.absolute()
    try:
        header = read_header(disk, path)
        parsed = read_journal(disk, path)
    except (NotARunError, NewerFormatError):
        raise
    except (RecordError, OSError) as failure:
        return [_error(path.name, str(failure))]
    run = Run(path, header, parsed.entries, disk)
    found = [*_sums(run), *_own_files(run)]
    if parsed.torn_bytes:
        torn = f"the last line is torn ({parsed.torn_bytes} bytes); resuming cuts it off"
        found.append(_note("journal.jsonl", torn))
    found += [_error(f"journal.jsonl line {line}", what) for line, what in broken_rules(run.journal, header.seed)]
    return [*found, *_trials(run), *_allowed(run), *_compacted(run)]


def _own_files(run: Run) -> Iterator[Finding]:
    for name, attribute in (("study.toml", "study"), ("host.json", "host")):
        try:
            getattr(run, attribute)
        except RecordError as failure:
            yield _error(name, str(failure))
    try:
        left_out = Counter(Path(name).name for name in trials.left_out(run.disk, run.path))
        for name, count in sorted(left_out.items()):
            why = "which the record comes from, since it may hold a user's values"
            yield _note(name, f"was left out of the capsule ({count} times) {why}")
    except RecordError as failure:
        yield _error(trials.LEFT_OUT_FILE, str(failure))


def _sums(run: Run) -> Iterator[Finding]:
    """Are the run's own files as they were when it began? Older records have no sums of them."""
    sums = run.journal[0].data.get("sha256") if run.journal else None
    if not isinstance(sums, dict):
        return
    for name, digest in sums.items():
        path = run.path / name
        if path.parent != run.path:
            yield _error("journal.jsonl line 1", "names a file elsewhere")
        elif name == STATEMENTS_FILE and not run.disk.exists(path):
            yield _note(name, "is not here: a capsule goes without it")
        else:
            try:
                if sha256_of(run.disk, path) != digest:
                    yield _error(name, "is not as it was when the run began")
            except OSError as failure:
                yield _error(name, str(failure))
    for name in {LIKENESS_FILE, STATEMENTS_FILE} - sums.keys():
        if run.disk.exists(run.path / name):
            yield _error(name, "was added since the run began")


ALLOWED = ("allow_busy", "allow_volatile")
"""What a run may be allowed, in host.json's `place` and in each `resumed` line."""
_FOREIGN = frozenset({"foreign_cpu", "foreign_writes"})
"""Why trials are discarded that other programs disturb, where that was not allowed."""


def _allowed(run: Run) -> Iterator[Finding]:
    """Does the run go on as it began? Records from before that was kept have the command that made them."""
    try:
        place = run.host.get("place", {})
        busy = place.get("allow_busy", "--allow-busy" in run.header.command or None)
        disturbed = [each.number for each in run.trials if _FOREIGN & {reason.code for reason in each.reasons}]
    except RecordError:
        return  # named where it is read
    for entry in run.journal:
        for name in ALLOWED:
            now = entry.data.get(name) if entry.kind == Kind.RESUMED else None
            if now is not None and place.get(name, now) != now:
                option = f"--{name.replace('_', '-')}"
                yield _error(f"journal.jsonl line {entry.seq}", f"goes on {'with' if now else 'without'} {option},"
                             f" and the run began {'without' if now else 'with'} it")  # fmt: skip
    if busy and disturbed:
        named = ", ".join(map(str, disturbed[:5])) + (" …" if len(disturbed) > 5 else "")
        what = f"discarded because of other programs, and the run began with --allow-busy: trial {named}"
        yield _error("journal.jsonl", f"{len(disturbed)} trials were {what}")


def _trials(run: Run) -> Iterator[Finding]:
    found = trials.scan(run.disk, run.path)
    journalled = {entry.data.get("number"): entry.data for entry in run.journal if entry.kind == Kind.TRIAL_COMMITTED}
    for number in journalled.keys() - set(found.committed):
        yield _error(f"trial {number}", "is in the journal but not under trials/")
    for name in found.staging:
        yield _note(f"trials/{name}", "a trial is under way or was interrupted; it is not counted")
    for name in found.foreign:
        yield _error(f"trials/{name}", "was not made by pgassay")
    for number in sorted(set(range(1, max(found.committed, default=0) + 1)) - set(found.committed)):
        yield _error(f"trial {number}", "is missing between committed trials")
    seen: dict[tuple[object, ...], int] = {}
    read: list[TrialRecord] = []
    for number in found.committed:
        where = f"trial {number}"
        try:
            yield from (_error(where, what) for what in trials.mismatches(run.disk, run.path, number))
            line = journalled.get(number)
            if line is None:
                # A crash may come between a trial and its line, but that it begins is journalled before anything of it.
                began = any(
                    entry.kind == Kind.TRIAL_STARTED and entry.data.get("number") == number for entry in run.journal
                )
                if began:
                    yield _note(where, "is committed but not journalled; resuming adopts it")
                else:
                    yield _error(
                        where, "is committed, but the journal does not say that it began: lines of it are lost"
                    )
            elif any(line.get(name) != digest for name, digest in trials.hashes(run.disk, run.path, number).items()):
                yield _error(where, "does not have the hash that the journal gives")
            data = run.disk.read(run.trial_directory(number) / trials.TRIAL_FILE)
            read.append(formats.decode_trial(data, run.path, where))
            yield from _record(read[-1], number, seen)
        except (RecordError, OSError) as failure:
            yield _error(where, str(failure))
    for each in state_changes(read):
        said = f"{each.source} did not start in the same state as trial {each.before}: it was made again in between"
        yield _note(f"trial {each.trial}", said)


def _record(record: TrialRecord, number: int, seen: dict[tuple[object, ...], int]) -> Iterator[Finding]:
    if record.number != number:
        yield _error(f"trial {number}", f"says that it is trial {record.number}")
    # What may occur once in a run: an attempt at an arm in a block, and its one valid trial.
    arm = (f"block {record.block}", record.treatment, record.condition, record.covariate)
    keys: list[tuple[object, ...]] = [(*arm, f"attempt {record.attempt}")]
    if record.status is Status.VALID:
        keys.append((*arm, Status.VALID.value))
    for key in keys:
        if key in seen:
            yield _error(f"trial {number}", f"repeats trial {seen[key]}: {' '.join(map(str, key))}")
        seen[key] = number


def _compacted(run: Run) -> Iterator[Finding]:
    from pgassay.record import series

    if not run.disk.exists(run.path / series.INDEX_FILE):
        return
    try:
        journalled = committed_in(run.journal, run.path)
        found = list(series.disagreements(run.disk, run.path, journalled))
    except (RecordError, OSError) as failure:
        found = [(series.INDEX_FILE, str(failure))]
    yield from (_error(where, what) for where, what in found)


def _error(where: str, what: str) -> Finding:
    return Finding(CODE, Severity.ERROR, what, where=where)


def _note(where: str, what: str) -> Finding:
    return Finding(CODE, Severity.NOTE, what, where=where)


_WORK = frozenset({Kind.DECISION, Kind.TRIAL_STARTED, Kind.TRIAL_COMMITTED})


def broken_rules(entries: Sequence[Entry], seed: int) -> Iterator[tuple[int, str]]:
    """Line number and what is wrong with it, for every line that breaks a rule."""
    started: set[object] = set()
    committed: set[object] = set()
    for position, entry in enumerate(entries):
        number = entry.data.get("number")
        former = entries[position - 1].kind if position else None
        if (entry.kind == Kind.RUN_STARTED) != (position == 0):
            yield entry.seq, "a run starts with its first line, once"
        if entry.kind == Kind.RUN_STARTED and entry.data.get("seed") != seed:
            yield entry.seq, "the seed is not the one in run.json"
        if former == Kind.FINISHED and entry.kind in _WORK:
            yield entry.seq, "work goes on after the run was finished, without being resumed"
        if entry.kind == Kind.TRIAL_STARTED:
            if number in committed:
                yield entry.seq, f"trial {number} starts although it is committed"
            started.add(number)
        if entry.kind == Kind.TRIAL_COMMITTED:
            if number not in started and not entry.data.get("adopted"):
                yield entry.seq, f"trial {number} is committed but never started"
            if number in committed:
                yield entry.seq, f"trial {number} is committed a second time"
            committed.add(number)
    yield from _decisions(entries)


def _decisions(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """Decisions and extensions can be read, the budget only grows, and a dropped arm is not run again."""
    dropped: set[str] = set()
    budget_used_s = 0.0
    for entry in entries:
        try:
            extended_in((entry,))
        except RecordError as failure:
            yield entry.seq, failure.message
        if entry.kind != Kind.DECISION:
            continue
        try:
            decision = decision_of(entry)
        except DamagedError as failure:
            yield entry.seq, failure.what
            continue
        if decision.budget_used_s < budget_used_s:
            yield entry.seq, "the budget used is less than it was"
        budget_used_s = decision.budget_used_s
        if decision.step is Step.DROP:
            dropped.add(decision.arm)
        if decision.step is Step.NEXT and decision.arm in dropped:
            yield entry.seq, f'"{decision.arm}" is run although it was dropped'
        for name in dropped.intersection(decision.arms):
            yield entry.seq, f'"{name}" is run although it was dropped'


STATE_SOURCES = ("drive", "drive_wal")


@dataclass(frozen=True)
class Change:
    """A trial that counts and found a drive (`source`) in another state than an earlier one of its arm, `before`."""

    trial: int
    source: str
    before: int


def state_changes(trials: Sequence[TrialRecord]) -> Iterator[Change]:
    """Where a drive was in another state than before the latest earlier trial of the same arm; nothing for drives that
    do not report it.

    An emulated drive is put back, flash and all, before each trial, so its counters must be those that were kept: a
    trial that found others is invalid (`drive_state`). Between two trials that count they can differ only where the
    drive was made again: when a run was resumed, or because its snapshot had to go. A real drive cannot be put back at
    all. It reports how much had been written to it (SNIA's Performance Test Specification judges its state by write
    amplification over the rounds instead, as the report does).
    """
    latest: dict[tuple[str, str], tuple[int, str]] = {}
    for trial in sorted(trials, key=lambda each: each.number):
        for source in STATE_SOURCES:
            state = _state_before(trial, source)
            if state is None:
                continue
            known = latest.get((trial.arm, source))
            if known is not None and known[1] != state:
                yield Change(trial.number, source, known[0])
            latest[trial.arm, source] = trial.number, state


def proven(trials: Sequence[TrialRecord]) -> int:
    """How many trials that count recorded the state of a drive before them."""
    return sum(any(_state_before(trial, source) is not None for source in STATE_SOURCES) for trial in trials)


def written_between(trials: Sequence[TrialRecord]) -> float | None:
    """Bytes that a real drive was sent from the first trial to the last; None where it does not report."""
    for source in STATE_SOURCES:
        values = [
            float(value)
            for trial in trials
            if isinstance(value := trial.regime.get(f"{source}.{HOST_BEFORE}"), int | float)
        ]
        if len(values) > 1:
            return max(values) - min(values)
    return None


def _state_before(trial: TrialRecord, source: str) -> str | None:
    """None where the trial does not count or the drive did not report."""
    state = trial.regime.get(f"{source}.{STATE_BEFORE}")
    return state if trial.status is Status.VALID and isinstance(state, str) and state else None
