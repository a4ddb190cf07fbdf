"""Is a run whole, unchanged, and consistent with its own journal? The findings behind `pgassay check RUN`.

Looks at everything that the record promises and changes nothing. An *error* means that a number in a report could be
wrong; a *note* is something that a reader may want to know (a torn last line, an interrupted trial).
"""

from collections.abc import Iterator
from pathlib import Path

from pgassay.record import formats, trials
from pgassay.record._journal_rules import broken_rules
from pgassay.record.directory import read_header, read_journal
from pgassay.record.disk import Disk, RealDisk
from pgassay.record.errors import NewerFormatError, NotARunError, RecordError
from pgassay.record.journal import Kind, Parsed
from pgassay.record.reading import Run
from pgassay.record.recovery import committed_in
from pgassay.record.values import TrialRecord
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
    return [*_own_files(run), *_journal(run, parsed), *_trials(run), *_compacted(run)]


def _own_files(run: Run) -> Iterator[Finding]:
    try:
        _ = run.study
    except RecordError as failure:
        yield _error("study.toml", str(failure))
    try:
        _ = run.host
    except RecordError as failure:
        yield _error("host.json", str(failure))


def _journal(run: Run, parsed: Parsed) -> Iterator[Finding]:
    if parsed.torn_bytes:
        yield _note("journal.jsonl", f"the last line is torn ({parsed.torn_bytes} bytes); resuming cuts it off")
    for line, what in broken_rules(run.journal, run.header.seed):
        yield _error(f"journal.jsonl line {line}", what)


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
    for number in found.committed:
        where = f"trial {number}"
        try:
            yield from (_error(where, what) for what in trials.mismatches(run.disk, run.path, number))
            line = journalled.get(number)
            if line is None:
                yield _note(where, "is committed but not journalled; resuming adopts it")
            elif any(line.get(name) != digest for name, digest in trials.hashes(run.disk, run.path, number).items()):
                yield _error(where, "does not have the hash that the journal has for it")
            yield from _record(run, number, seen)
        except (RecordError, OSError) as failure:
            yield _error(where, str(failure))


def _record(run: Run, number: int, seen: dict[tuple[object, ...], int]) -> Iterator[Finding]:
    data = run.disk.read(run.trial_directory(number) / trials.TRIAL_FILE)
    record = formats.decode_trial(data, run.path, f"trial {number}")
    if record.number != number:
        yield _error(f"trial {number}", f"calls itself trial {record.number}")
    for key in _keys(record):
        if key in seen:
            yield _error(f"trial {number}", f"repeats trial {seen[key]}: {' '.join(map(str, key))}")
        seen[key] = number


def _keys(record: TrialRecord) -> Iterator[tuple[object, ...]]:
    """What may occur once in a run: an attempt at an arm in a block, and its one valid trial."""
    arm = (f"block {record.block}", record.treatment, record.condition, record.covariate)
    yield (*arm, f"attempt {record.attempt}")
    if record.status is Status.VALID:
        yield (*arm, Status.VALID.value)


def _compacted(run: Run) -> Iterator[Finding]:
    from pgassay.record import compaction

    if not run.disk.exists(run.path / compaction.INDEX_FILE):
        return
    try:
        journalled = committed_in(run.journal, run.path)
        found = list(compaction.disagreements(run.disk, run.path, journalled))
    except (RecordError, OSError) as failure:
        found = [(compaction.INDEX_FILE, str(failure))]
    yield from (_error(where, what) for where, what in found)


def _error(where: str, what: str) -> Finding:
    return Finding(CODE, Severity.ERROR, what, where=where)


def _note(where: str, what: str) -> Finding:
    return Finding(CODE, Severity.NOTE, what, where=where)
