"""What a killed runner may have left, put in order before the next one writes: see the steps in `trials`.

A torn last journal line is cut off; a staged trial is set aside with its raw output; a trial that was renamed into
place but not journalled yet is adopted. A journalled trial without its directory cannot be explained by any crash and
is an error. Every step can itself be interrupted and done again.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.record import formats, trials
from pgassay.record.disk import Disk
from pgassay.record.errors import damaged
from pgassay.record.journal import Entry, Journal, Kind


@dataclass(frozen=True)
class Recovery:
    """What was put in order; all empty after a clean end. `former_owner` is who held a stale lock."""

    torn_bytes: int = 0
    adopted: tuple[int, ...] = ()
    abandoned: tuple[str, ...] = ()
    former_owner: str = ""

    def as_data(self) -> dict[str, Any]:
        """For the `resumed` line of the journal."""
        return {
            "torn_bytes": self.torn_bytes,
            "adopted": list(self.adopted),
            "abandoned": list(self.abandoned),
            "former_owner": self.former_owner,
        }


def committed_in(entries: tuple[Entry, ...], run: Path) -> dict[int, str]:
    """Trial number to the SHA-256 of its `trial.json`, as journalled; raises `DamagedError` for a doubled trial."""
    found: dict[int, str] = {}
    for entry in entries:
        if entry.kind == Kind.TRIAL_COMMITTED:
            number, digest = entry.data.get("number"), entry.data.get("sha256")
            if not isinstance(number, int) or not isinstance(digest, str):
                raise damaged(run, f"journal line {entry.seq} names no trial or no hash")
            if number in found:
                raise damaged(run, f"journal line {entry.seq} commits trial {number} a second time")
            found[number] = digest
    return found


def require_all(run: Path, journalled: dict[int, str], present: tuple[int, ...]) -> None:
    """Raise `DamagedError` unless every journalled trial has its directory."""
    lost = sorted(journalled.keys() - set(present))
    if lost:
        names = ", ".join(map(str, lost[:5])) + (" …" if len(lost) > 5 else "")
        raise damaged(run, f"trial {names} is in the journal but not under {trials.DIRECTORY}/")


def recover(disk: Disk, run: Path, journal: Journal, torn_bytes: int, former_owner: str) -> Recovery:
    """Put the run in order; the journal's torn end is cut off already."""
    found = trials.scan(disk, run)
    journalled = committed_in(journal.entries, run)
    require_all(run, journalled, found.committed)
    adopted = tuple(number for number in found.committed if number not in journalled)
    for number in adopted:
        wrong = trials.mismatches(disk, run, number)
        if wrong:
            raise damaged(run, f"trial {number}: {wrong[0]}")
        data = disk.read(trials.trial_path(run, number) / trials.TRIAL_FILE)
        record = formats.decode_trial(data, run, f"{trials.DIRECTORY}/{number:06d}/{trials.TRIAL_FILE}")
        if record.number != number:
            raise damaged(run, f"the directory of trial {number} holds trial {record.number}")
        disk.sync_directory(run / trials.DIRECTORY)
        line = {"number": number, **trials.hashes(disk, run, number), "adopted": True}
        journal.append(Kind.TRIAL_COMMITTED, line)
    abandoned = tuple(trials.set_aside(disk, run, name) for name in found.staging)
    return Recovery(torn_bytes, adopted, abandoned, former_owner)
