"""All runs below a directory, searched: an index in SQLite, made from the records and made again whenever it is lost.

A record is read again only where its header or its journal has changed since, so a list of ten thousand runs takes
their names and two looks at each. What is in the index is in the records, too. A run is one line: what can be read from
its header, its journal and its host, without its trials.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from pgassay.errors import PgassayError
from pgassay.record.directory import HEADER_FILE
from pgassay.record.journal import FILE as JOURNAL_FILE
from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.report.headline import headline_of, machine, versions
from pgassay.report.words import sentence

Answer = TypeVar("Answer")

PAGE = 100
"""Runs of one page of the list."""
DEPTH_MAX = 6
WORDS_MAX = 32
"""Of a search; SQLite's expressions have a limit, too."""
_VERSION = 2
"""Of the index's form; one of another form is made again."""
_COLUMNS = "identity, path, study, title, started_utc, versions, host, state, trials, blocks, why"
_TABLE = f"""
CREATE TABLE IF NOT EXISTS runs ({_COLUMNS}, raw, signature, words, PRIMARY KEY (identity)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS newest ON runs (started_utc DESC, path);
PRAGMA user_version = {_VERSION};
"""
"""Another server of the same directory may have made it a moment ago."""


FINISHED, INTERRUPTED, OPEN, UNREADABLE = "finished", "interrupted", "open", "unreadable"
"""What a journal's last line says; an open one is written by somebody just now, or its runner was killed."""
_HOST_LETTERS = 6


@dataclass(frozen=True)
class Listed:
    """One run. `identity` names it in addresses; `path` is below the served directory; `why` is why it cannot be read.

    `versions` are PostgreSQL's.
    """

    identity: str
    path: str
    study: str = ""
    title: str = ""
    started_utc: str = ""
    versions: tuple[str, ...] = ()
    host: str = ""
    state: str = UNREADABLE
    trials: int = 0
    blocks: int = 0
    why: str = ""


def answer_of(path: Path) -> str:
    """What a run found, in a line: its badges, or the first sentence of its headline; empty where it has none."""
    try:
        found = headline_of(Findings(Run.open(path, leave_out=True)))
    except Exception:  # its own page says what is wrong with it
        return ""
    badges = "; ".join(f"{each.place}: {', '.join(each.parts)}" for each in found.badges)
    return badges or "".join(map(sentence, found.sentences[:1]))


def identity_of(path: str) -> str:
    """Sixteen hexadecimal digits: an address holds no path, so none can be made up."""
    return hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:16]


def listed(root: Path, path: str) -> Listed:
    """The run at `path` below `root`; one that cannot be read is a line, too, with the reason."""
    shown = path.encode(errors="surrogateescape").decode(errors="replace")  # whatever bytes its names have
    known = Listed(identity_of(path), shown)
    try:
        return _read(known, Run.open(root / path))
    except PgassayError as failure:
        return replace(known, why=failure.message)
    except Exception as failure:  # a record that somebody else wrote may hold anything
        return replace(known, why=f"{type(failure).__name__}: {failure}")


def _read(known: Listed, run: Run) -> Listed:
    last = run.journal[-1].kind
    committed = {each.data.get("number") for each in run.journal if each.kind == Kind.TRIAL_COMMITTED}
    begun = (each.data for each in run.journal if each.kind == Kind.TRIAL_STARTED)
    named = (each.get("block") for each in begun if each.get("number") in committed)
    blocks = [each for each in named if isinstance(each, int) and each <= len(run.journal)]  # each has a line at least
    study, place = run.study.get("study", {}), run.host.get("place", {})
    # Machines that look alike are distinguished by the record's own name for them.
    name = str(place.get("host", ""))[:_HOST_LETTERS] if isinstance(place, Mapping) else ""
    return replace(
        known,
        study=run.header.study,
        title=str(study.get("title", "")) if isinstance(study, Mapping) else "",
        started_utc=run.header.started_utc,
        versions=tuple(sorted(versions(run.host))),
        host=" · ".join(filter(None, (machine(run.host), name))),
        state={Kind.FINISHED.value: FINISHED, Kind.INTERRUPTED.value: INTERRUPTED}.get(last, OPEN),
        trials=len(committed),
        blocks=max(blocks, default=0),
    )


@dataclass(frozen=True)
class Query:
    """What is looked for: words that all occur, and exact choices; empty ones choose all. Pages count from 1."""

    words: str = ""
    study: str = ""
    version: str = ""
    host: str = ""
    page: int = 1


@dataclass(frozen=True)
class Found:
    """A page of runs, newest first, how many there are in all, and what can be chosen from."""

    runs: Sequence[Listed]
    total: int
    studies: Sequence[str]
    versions: Sequence[str]
    hosts: Sequence[str]


class Catalogue:
    """The runs below `root`, with an index in the file `kept`. May be called from several threads."""

    def __init__(self, root: Path, kept: Path) -> None:
        self.root = root
        self._kept = kept
        self._lock = Lock()

    def refresh(self) -> None:
        """Bring the index up to date with what is on disk."""
        self._asked(lambda database: _refresh(database, self.root))

    def search(self, query: Query) -> Found:
        """The runs that a query finds, from the index as it was last refreshed."""
        return self._asked(lambda database: _search(database, query))

    def run(self, identity: str) -> tuple[Listed, Path] | None:
        """A run by the name that its address has, and where it lies; None for one that is not (or no more) there."""
        found = self._asked(lambda database: _run(database, identity))
        if found is None:
            self.refresh()
            found = self._asked(lambda database: _run(database, identity))
        if found is None:
            return None
        known, raw = found
        path = self.root / os.fsdecode(raw)
        return (known, path) if (path / HEADER_FILE).exists() else None

    def _asked(self, ask: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """The answer of the index; of a new one where it is damaged, lost, or of another form.

        Raises `PgassayError` where none can be kept.
        """
        with self._lock:
            try:
                with closing(_opened(self._kept)) as database, database:
                    if database.execute("PRAGMA user_version").fetchone() == (_VERSION,):
                        return ask(database)
            except (sqlite3.Error, OSError):
                pass
            try:
                for path in self._kept.parent.glob(f"{self._kept.name}*"):
                    path.unlink(missing_ok=True)  # another server may make it again, too
                with closing(_opened(self._kept)) as database, database:
                    database.executescript(_TABLE)
                    _refresh(database, self.root)
                    return ask(database)
            except (sqlite3.Error, OSError) as failure:
                raise PgassayError(
                    f'could not keep the index of runs in "{self._kept}": {failure!s}', "set XDG_CACHE_HOME"
                ) from failure


def _opened(path: Path) -> sqlite3.Connection:
    """What runs are called is nobody else's business; SQLite gives its own files the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.chmod(0o600)  # of a version that did not care
    return sqlite3.connect(path, timeout=10.0)


def runs_below(root: Path) -> Iterator[tuple[str, str]]:
    """The path of every run below `root`, itself among them, and a signature that changes when it is written to."""
    waiting = [(".", 0)]
    while waiting:
        path, depth = waiting.pop()
        found = signature(root / path)
        if found:
            yield path, found
        elif depth < DEPTH_MAX:
            waiting += [(name if path == "." else f"{path}/{name}", depth + 1) for name in _folders(root / path)]


def signature(path: Path) -> str:
    """Of the header and the journal; empty where there is no header, so no run."""
    try:
        header = (path / HEADER_FILE).stat()
    except OSError:
        return ""
    try:
        journal = (path / JOURNAL_FILE).stat()
    except OSError:
        return f"{header.st_mtime_ns}"
    return f"{header.st_mtime_ns} {journal.st_mtime_ns} {journal.st_size}"


def _folders(path: Path) -> list[str]:
    """Its subdirectories but hidden ones; a link is not followed, since it may lead round in a circle."""
    try:
        with os.scandir(path) as entries:
            return [each.name for each in entries if each.name[0] != "." and each.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _refresh(database: sqlite3.Connection, root: Path) -> None:
    known = dict(database.execute("SELECT identity, signature FROM runs"))
    there = set()
    for path, written in runs_below(root):
        identity = identity_of(path)
        there.add(identity)
        if known.get(identity) != written:
            row = _row(listed(root, path), path, written)
            database.execute(f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * len(row))})", row)
    database.executemany("DELETE FROM runs WHERE identity = ?", [(each,) for each in known.keys() - there])


def _row(run: Listed, path: str, written: str) -> tuple[Any, ...]:
    words = " ".join((run.path, run.study, run.title, run.started_utc, *run.versions, run.host, run.state, run.why))
    return (
        run.identity, run.path, run.study, run.title, run.started_utc, "\n".join(run.versions), run.host, run.state,
        run.trials, run.blocks, run.why, os.fsencode(path), written, words.casefold(),
    )  # fmt: skip


def _listed(row: Sequence[Any]) -> Listed:
    identity, path, study, title, started, versions, *rest = row
    return Listed(identity, path, study, title, started, tuple(versions.split("\n")) if versions else (), *rest)


def _search(database: sqlite3.Connection, query: Query) -> Found:
    where, values = ["1"], []
    for word in query.words.casefold().split():
        where.append("instr(words, ?)")
        values.append(word)
    for column, chosen in (("study", query.study), ("host", query.host)):
        if chosen:
            where.append(f"{column} = ?")
            values.append(chosen)
    if query.version:
        where.append("instr(char(10) || versions || char(10), ?)")
        values.append(f"\n{query.version}\n")
    condition = " AND ".join(where)
    (total,) = database.execute(f"SELECT count(*) FROM runs WHERE {condition}", values).fetchone()
    rows = database.execute(
        f"SELECT {_COLUMNS} FROM runs WHERE {condition} ORDER BY started_utc DESC, path LIMIT {PAGE} OFFSET ?",
        (*values, PAGE * (max(1, query.page) - 1)),
    )
    versions = {each for text in _distinct(database, "versions") for each in text.split("\n")}
    runs = [_listed(row) for row in rows]
    return Found(runs, total, _distinct(database, "study"), sorted(versions), _distinct(database, "host"))


def _distinct(database: sqlite3.Connection, column: str) -> list[str]:
    return [text for (text,) in database.execute(f"SELECT DISTINCT {column} FROM runs ORDER BY 1") if text]


def _run(database: sqlite3.Connection, identity: str) -> tuple[Listed, bytes] | None:
    row = database.execute(f"SELECT raw, {_COLUMNS} FROM runs WHERE identity = ?", (identity,)).fetchone()
    return (_listed(row[1:]), row[0]) if row else None
