"""A server's files into a capture: its data directory, whole by itself and checked.

They come by pg_basebackup over the connection, or from a base backup or a stopped server's directory (read only, never
started in place). Links out of the
directory (tablespaces, WAL) become directories in their place, so that a copy of it is a copy of all, and no server of
ours writes through a link. What recovery and our private server need is `postgres.copied`'s business; here it is only
checked that it could.

What that will cost is said before: bytes, and room here.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from pgassay import copying
from pgassay.capture.dump import CONNECTS, connection_words, ticket
from pgassay.capture.errors import CaptureError, hint_for
from pgassay.files import Directory
from pgassay.postgres import copied
from pgassay.postgres.copied import Control
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation
from pgassay.study.units import format_size

_GROWTH = 1.02
_WAL_BYTES = 64 << 20


@dataclass(frozen=True)
class Estimate:
    """What it will cost: bytes to be read from the source, and the room here."""

    bytes: int
    free_bytes: int
    checkpoint_s: float = 0.0
    """How long the server may take for the checkpoint that a base backup begins with."""

    @property
    def room_bytes(self) -> int:
        """With WAL that is written meanwhile."""
        return int(self.bytes * _GROWTH) + _WAL_BYTES


def require_room(estimate: Estimate, place: Path) -> None:
    if estimate.room_bytes > estimate.free_bytes:
        raise CaptureError(
            f'the files need {format_size(estimate.room_bytes)} in "{place}", which has '
            f"{format_size(estimate.free_bytes)} free",
            "name another place with --out; --data dump is smaller",
        )


def existing(path: Path) -> Path:
    """The directory itself, or the nearest above it that is there."""
    return next(each for each in (path, *path.parents) if each.is_dir())


def size_bytes(directory: Path) -> int:
    """What the files of a data directory take, and those that its links lead to; raises `ClusterError`."""
    copied.major_of(directory)
    try:
        return copying.size_bytes(directory) + sum(
            copying.size_bytes(place) for each in copied.outside(directory) if (place := each.resolve()).is_dir()
        )
    except OSError as error:
        raise not_copied(directory, str(error.strerror)) from None


def not_copied(directory: Path, words: str) -> CaptureError:
    return CaptureError(
        f'could not copy "{directory}": {words}', "run as root, or as the account that owns the files, and see for room"
    )


_BACKING_UP = (
    ("no pg_hba.conf entry", "pg_hba.conf of the server needs a line for the database replication and this role"),
    ("rejects replication connection", "pg_hba.conf of the server must let this role connect to replication"),
    ("must be superuser or replication role", "the role needs the attribute: ALTER ROLE … REPLICATION"),
    ("permission denied to start WAL sender", "the role needs the attribute: ALTER ROLE … REPLICATION"),
    ("number of requested standby connections", "two connections are needed: raise max_wal_senders, or try later"),
    ("all replication slots are in use", "one slot is needed for a while: raise max_replication_slots, or try later"),
    ("wal_level", "wal_level must be replica or logical, which needs a restart; --data dump needs neither"),
    ("max_wal_senders", "max_wal_senders must be 2 at least, which needs a restart; --data dump needs none"),
    ("No space left on device", "name a place with more room with --out"),
)
"""What the program and the server say in English, and what helps."""

FOLDER = "cluster"
"""Of the capture: the data directory."""
BASEBACKUP, BACKUP = "basebackup", "backup"
KINDS = (BASEBACKUP, BACKUP)
SPREAD, FAST = "spread", "fast"
_TABLESPACES = "tablespaces"


@dataclass(frozen=True)
class FilesRequest:
    """How the files come here: over the connection, or from `directory`."""

    kind: str
    directory: Path | None = None
    checkpoint: str = SPREAD


def installation_for(major: int, finder: Finder, bindir: Path | None = None) -> LocalInstallation:
    """A PostgreSQL of this machine of just this major version; raises `CaptureError` where there is none."""
    for found in [finder.named(bindir)] if bindir else finder.all():
        if found.version.major == major and (found.bindir / "pg_basebackup").exists():
            return found
    raise CaptureError(
        f"no PostgreSQL {major} is on this machine, and no other version can read its files",
        f"install PostgreSQL {major}, or name it with --pg-bindir; --data dump can be loaded by any version",
    )


@dataclass(frozen=True)
class Fetched:
    """The files are in place: what they take, how long it took, and what the control file says."""

    bytes: int
    elapsed_s: float
    control: Control


def fetch(
    request: FilesRequest,
    folder: Path,
    found: LocalInstallation,
    parameters: Mapping[str, str],
    password: str,
    places: Iterable[str],
) -> Fetched:
    """The data directory into `folder`/`FOLDER`, checked; raises `CaptureError` and `ClusterError`.

    `parameters` and `password` lead to the server, whose tablespaces are at `places`.
    """
    began = monotonic()
    target = folder / FOLDER
    if request.directory is not None:
        _copy(request.directory, target, found)
    else:
        words = command(found.bindir / "pg_basebackup", parameters, target, request.checkpoint)
        for number, place in enumerate(places):
            escaped = place.replace("=", "\\=")
            words.append(f"--tablespace-mapping={escaped}={folder / _TABLESPACES / str(number)}")
        _back_up(found, words, password, folder, target)
    _make_whole(target)
    if request.kind != BASEBACKUP:
        verify(target, found)
    about = copied.examine(found, target)
    return Fetched(copying.size_bytes(target), monotonic() - began, about)


def command(program: Path, parameters: Mapping[str, str], target: Path, checkpoint: str) -> list[str]:
    """The command line of pg_basebackup, without a password; WAL comes along, on a second connection."""
    given = {name: value for name, value in parameters.items() if name != "dbname"}
    options = ["--format=plain", "--wal-method=stream", f"--checkpoint={checkpoint}", "--label=pgassay capture"]
    return [str(program), f"--pgdata={target}", *options, f"--dbname={connection_words(given)}"]


def _back_up(found: LocalInstallation, words: Sequence[str], password: str, folder: Path, target: Path) -> None:
    """Run pg_basebackup, which obeys the server: a link to a place that we did not name is refused."""
    log = folder / "pg_basebackup.log"
    environment = ticket() | ({"PGPASSWORD": password} if password else {})
    running = found.runner.start(words, stdout=log, stderr=log, environment=environment, privileged=CONNECTS)
    try:
        done = running.wait()
    finally:
        running.terminate()
    if done.status:
        raise basebackup_failed(_said(done.stderr, "pg_basebackup"))
    log.unlink(missing_ok=True)
    for link in copied.outside(target):
        if not link.resolve().is_relative_to(target.parent.resolve() / _TABLESPACES):
            raise CaptureError(f'the base backup has a link that leads out of it: "{link}"', "trust no such server")


def _said(text: str, program: str) -> str:
    lines = [line.removeprefix(f"{program}: ") for line in text.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith("error")]
    return (named or lines or ["it printed nothing"])[0].removeprefix("error: ")


def check(request: FilesRequest, found: LocalInstallation) -> None:
    """Raise `ClusterError` for a directory that nothing could come of: before the load is watched."""
    if request.directory is not None:
        copied.examine(found, request.directory, links=True)


def _copy(source: Path, target: Path, installation: LocalInstallation) -> None:
    """Of a directory that nothing writes to; raises `ClusterError` where something does."""
    copied.examine(installation, source, links=True)
    before = copied.identity(source)
    source = source.resolve()
    with ExitStack() as opened:
        original = opened.enter_context(Directory.open(source))
        followed = {
            str(link.relative_to(source)): opened.enter_context(_led_to(link, original))
            for link in copied.outside(source)
        }
        parent = opened.enter_context(Directory.open(target.parent))
        parent.mkdir(target.name)
        copy = opened.enter_context(parent.inner(target.name))
        skipped = copying.SKIPPED | copied.needless(original)
        try:
            copying.copy_into(original, copy, share=True, skipped=skipped, followed=followed)
        except OSError as error:
            raise not_copied(source, str(error)) from None
    copied.require_not_served(source)
    if copied.identity(source) != before:
        raise CaptureError(f'"{source}" changed while it was copied', "no server may run on it: take a base backup")


def _led_to(link: Path, cluster: Directory) -> Directory:
    """The directory of WAL or of a tablespace that a link of the data directory leads to: of the same owner.

    The owner of a data directory could link anything that we can read and that account cannot.
    """
    place = link.resolve()
    if not place.is_dir():
        raise CaptureError(
            f'the copy is incomplete: "{link.name}" leads to "{place}", which is not there',
            "copy the tablespaces with it; pg_basebackup maps each by --tablespace-mapping",
        )
    found = Directory.open(place)
    theirs, ours = os.fstat(found.descriptor).st_uid, os.fstat(cluster.descriptor).st_uid
    if theirs != ours:
        os.close(found.descriptor)
        raise CaptureError(
            f'"{link}" leads to "{place}", which belongs to user {theirs}, while the data directory belongs to user'
            f" {ours}: it is not copied",
            "a server's WAL and tablespaces have its own owner",
        )
    return found


def _make_whole(target: Path) -> None:
    """Put what links of the data directory lead to in the place of the links."""
    with Directory.open(target) as cluster, Directory.open(target.parent) as capture:
        for link in copied.outside(target):
            with _led_to(link, cluster) as place, Directory.open(link.parent) as folder:
                folder.unlink(link.name)
                if place.path.is_relative_to(target.parent):
                    with Directory.open(place.path.parent) as above:
                        above.rename(place.path.name, folder, link.name)
                else:
                    folder.mkdir(link.name)
                    with folder.inner(link.name) as made:
                        copying.copy_into(place, made, share=True)
        capture.remove_tree(_TABLESPACES)


def verify(target: Path, found: LocalInstallation) -> None:
    """Each file of a base backup against its manifest, where it has one; raises `CaptureError` for what differs."""
    program = found.bindir / "pg_verifybackup"
    if not ((target / copied.MANIFEST).is_file() and (target / copied.LABEL).is_file() and program.exists()):
        return
    done = found.runner.run(
        [str(program), "--exit-on-error", "--no-parse-wal", str(target)], privileged="reads a backup in our directory"
    )
    if done.status:
        raise CaptureError(
            f"the backup is not whole: {_said(done.stderr, 'pg_verifybackup')}",
            "pg_verifybackup DIR says more; take the backup again",
        )


def basebackup_failed(detail: str) -> CaptureError:
    return CaptureError(
        f"pg_basebackup failed: {detail}",
        hint_for(
            detail, _BACKING_UP, "the role needs REPLICATION, and pg_hba.conf a line for the database replication"
        ),
    )
