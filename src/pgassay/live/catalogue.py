"""All runs below a directory, searched.

A record is read again only where its header or its journal has changed since, so a look at ten thousand runs takes
their names and two looks at each. A run is one line: what can be read from its header, its journal and its host,
without its trials.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from pgassay.errors import PgassayError
from pgassay.record.directory import HEADER_FILE
from pgassay.record.journal import FILE as JOURNAL_FILE
from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.report.formatting import sentence
from pgassay.report.headline import headline_of, machine, versions

PAGE = 100
"""Runs of one page of the list."""
DEPTH_MAX = 6
WORDS_MAX = 32
"""Of a search."""
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

    def has(self, words: str) -> bool:
        """Do all of these words occur in what the list shows of it?"""
        shown = (self.path, self.study, self.title, self.started_utc, *self.versions, self.host, self.state, self.why)
        return all(word in " ".join(shown).casefold() for word in words.casefold().split())


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


class Catalogue:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = Lock()
        self._known: dict[str, tuple[str, Listed]] = {}
        """By path, what was read and the signature that the record had then."""

    def refresh(self) -> None:
        """Read what was written since; raises `OSError` for what the operating system refuses."""
        with self._lock:
            there = dict(runs_below(self.root))
            for path, written in there.items():
                if path not in self._known or self._known[path][0] != written:
                    self._known[path] = written, listed(self.root, path)
            for path in self._known.keys() - there.keys():
                del self._known[path]

    def search(self, words: str = "", page: int = 1) -> tuple[Sequence[Listed], int]:
        """A page of the runs that have all of these words, newest first, and how many they are; pages count from 1."""
        with self._lock:
            fit = [run for _, run in self._known.values() if run.has(words)]
        fit.sort(key=lambda run: run.path)
        fit.sort(key=lambda run: run.started_utc, reverse=True)
        first = PAGE * (max(1, page) - 1)
        return fit[first : first + PAGE], len(fit)

    def run(self, identity: str) -> tuple[Listed, Path] | None:
        """A run by the name that its address has, and where it lies; None for one that is not (or no more) there."""
        found = self._find(identity)
        if found is None:
            self.refresh()
            found = self._find(identity)
        if found is None:
            return None
        path = self.root / found[0]
        return (found[1], path) if (path / HEADER_FILE).exists() else None

    def _find(self, identity: str) -> tuple[str, Listed] | None:
        with self._lock:
            return next(((path, run) for path, (_, run) in self._known.items() if run.identity == identity), None)


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
