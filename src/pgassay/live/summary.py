"""A run as one line of a list: what can be told from its header, its journal and its host, without its trials.

What cannot be read is a line, too, with the reason: a damaged record hides no other.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.errors import PgassayError
from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.report.headline import headline_of, machine, versions
from pgassay.report.words import sentence

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
    """The run at `path` below `root`."""
    known = Listed(identity_of(path), printable(path))
    try:
        return _read(known, Run.open(root / path))
    except PgassayError as failure:
        return _unreadable(known, failure.message)
    except Exception as failure:  # a record that somebody else wrote may hold anything
        return _unreadable(known, f"{type(failure).__name__}: {failure}")


def printable(path: str) -> str:
    """A path as a text that can be shown and stored, whatever bytes its names have."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _unreadable(known: Listed, why: str) -> Listed:
    return Listed(known.identity, known.path, why=why)


def _read(known: Listed, run: Run) -> Listed:
    last = run.journal[-1].kind
    committed = {each.data.get("number") for each in run.journal if each.kind == Kind.TRIAL_COMMITTED}
    begun = (each.data for each in run.journal if each.kind == Kind.TRIAL_STARTED)
    named = (each.get("block") for each in begun if each.get("number") in committed)
    blocks = [each for each in named if isinstance(each, int) and each <= len(run.journal)]  # each has a line at least
    study = run.study.get("study", {})
    return Listed(
        known.identity,
        known.path,
        study=run.header.study,
        title=str(study.get("title", "")) if isinstance(study, Mapping) else "",
        started_utc=run.header.started_utc,
        versions=tuple(sorted(versions(run.host))),
        host=_host(run.host),
        state={Kind.FINISHED.value: FINISHED, Kind.INTERRUPTED.value: INTERRUPTED}.get(last, OPEN),
        trials=len(committed),
        blocks=max(blocks, default=0),
    )


def _host(host: Mapping[str, Any]) -> str:
    """The machine in words; machines that look alike are told apart by the record's own name for them."""
    place = host.get("place", {})
    name = str(place.get("host", ""))[:_HOST_LETTERS] if isinstance(place, Mapping) else ""
    return " · ".join(filter(None, (machine(host), name)))
