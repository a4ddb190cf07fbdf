"""The data of a capture as a dump of pg_dump, and what of it a study's cluster can take.

pg_dump reads every table once, in one read-only snapshot, and waits for no lock longer than a few seconds (manual,
"pg_dump"). Publications and subscriptions stay where they are: a subscription that is restored would connect to the
user's servers. What a new cluster has no roles for (policies), no place for (tablespaces) or no business with (user
mappings of foreign servers, event triggers) is left out when the data are loaded, and so is pg_stat_statements, our
instrument.

pg_dump writes down of each object which others it needs, an extension in the place of its own functions, types and
operators, and `pg_restore --list --verbose` shows them. Of what needs an extension that is not here an index, a view, a
function or a foreign table can be left out: what then fails of the load is named when it is tried. A table cannot:
without a column's type or its default the data would not be loaded.
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage
from time import monotonic

from pgassay.capture.errors import CaptureError, hint_for
from pgassay.capture.reads import MARK
from pgassay.capture.source import Readable, cpu_ms
from pgassay.interfaces.running import Completed, Runner
from pgassay.postgres.find import Finder

_ENTRY = re.compile(r"(\d+); \d+ \d+ (.*)")
_NEEDS = re.compile(r";\s*depends on:((?: \d+)+)")
_DATA = ("TABLE DATA ", "TABLE ATTACH ")
"""Not tables, though their lines begin like those."""
_OF_AN_OBJECT = ("EXTENSION ", "COMMENT ", "TABLE DATA ", "SECURITY LABEL ")
"""Named by the object that they belong to."""


@dataclass(frozen=True)
class Needing:
    """The lines of a table of contents that need extensions which are missing."""

    extensions: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    tables: Mapping[str, tuple[str, ...]] | None = None
    """Tables by the extension that they need: what cannot be left out."""

    @property
    def objects(self) -> tuple[str, ...]:
        """What of the user's own is left out, in words: `INDEX public orders_note`."""
        entries = (_described(line) for line in self.lines)
        return tuple(" ".join(each.split()[:-1]) for each in entries if not each.startswith(_OF_AN_OBJECT))


def needing(lines: Iterable[str], extensions: Iterable[str]) -> Needing:
    """What needs one of these extensions; `lines` are those of pg_restore's verbose list."""
    entries: dict[str, str] = {}
    needs: dict[str, set[str]] = {}
    number = ""
    for line in lines:
        if entry := _ENTRY.match(line):
            number = entry[1]
            entries[number] = line
        elif needed := _NEEDS.match(line):
            needs[number] = set(needed[1].split())
    words = {each: _described(line).split() for each, line in entries.items()}
    everything: set[str] = set()
    tables: dict[str, tuple[str, ...]] = {}
    for name in (names := tuple(extensions)):
        found = {each for each in entries if words[each] == ["EXTENSION", "-", name]}
        while more := {each for each, needed in needs.items() if each not in found and needed & found}:
            found |= more
        everything |= found
        described = {each: _described(line) for each, line in entries.items() if each in found}
        tabular = (each for each, text in described.items() if text.startswith("TABLE ") and not text.startswith(_DATA))
        if its := tuple(".".join(words[each][1:-1]) for each in tabular):
            tables[name] = its
    return Needing(names, tuple(line for each, line in entries.items() if each in everything), tables)


def _described(line: str) -> str:
    """`217; 1259 16597 TABLE public orders app` as `TABLE public orders app`."""
    entry = _ENTRY.match(line)
    return entry[2] if entry else ""


_DUMPING = (
    ("No space left on device", "free room there, or name a directory on another file system with --out"),
    ("permission denied", "the role must be able to read every table: grant pg_read_all_data to it"),
    ("terminating connection", "the server was stopped or restarted: capture again when it is back"),
    ("server closed the connection", "the server was stopped or restarted: capture again when it is back"),
    ("connection to server", "the server was stopped or restarted: capture again when it is back"),
    ("row-level security", "the role must see every row: ALTER ROLE … BYPASSRLS, or capture as a superuser"),
    ("lock timeout", "another session holds a lock on the table, a change of its schema say: capture again after it"),
    (
        "conflict with recovery",
        "on a replica changes of the primary end long reads: hot_standby_feedback = on prevents that, or"
        " max_standby_streaming_delay = -1 while it is read",
    ),
)
"""What the server says in English, and what helps."""

FILE = "data.dump"
SCRIPT = "data.sql"
LOCK_WAIT = "5s"
_HEAD_BYTES = 4096
_NEWER_SETTINGS = (b"transaction_timeout = 0;",)
"""What pg_restore sets at the head of a script and versions before 17 do not know."""
_POLL_S = 0.2
_FULL_BYTES = 1 << 20
_BY_SERVER = "Error message from server: "
_TICKET = ("KRB5CCNAME", "KRB5_CONFIG")
"""What Kerberos needs of our environment to connect as we do."""
_LEFT_OUT = (" POLICY ", " ROW SECURITY ", " USER MAPPING ", " EVENT TRIGGER ")
NEVER_RESTORED = ("pg_stat_statements",)
"""Our instrument: the study has its own."""
_OURS = tuple(f"EXTENSION {part}{name}" for name in NEVER_RESTORED for part in ("- ", ""))
_BACKENDS = (
    f"SELECT /* {MARK} */ pid FROM pg_stat_activity WHERE application_name = '{MARK}' AND pid <> pg_backend_pid()"
)


@dataclass(frozen=True)
class Dumped:
    """A finished dump: its bytes, how long it took, and the processor time of its session where that can be seen."""

    bytes: int
    elapsed_s: float
    cpu_ms: float | None


def program_for(major: int, finder: Finder, bindir: Path | None = None) -> Path:
    """The first pg_dump on this machine that reads a server of this version, or that in `bindir`.

    Raises `CaptureError` where there is none, `UsageError` where `bindir` holds no PostgreSQL.
    """
    for installation in [finder.named(bindir)] if bindir else finder.all():
        program = installation.bindir / "pg_dump"
        if installation.version.major >= major and program.exists():
            return program
    raise CaptureError(
        f"no pg_dump of PostgreSQL {major} or later is on this machine",
        "install the client programs, or name them with --pg-bindir; --data none captures no data",
    )


def command(program: Path, parameters: Mapping[str, str], file: Path) -> list[str]:
    """The command line; `parameters` are libpq's, without a password, which everybody could read here."""
    quoted = {name: value.replace("\\", "\\\\").replace("'", "\\'") for name, value in parameters.items()}
    connection = " ".join(f"{name}='{value}'" for name, value in quoted.items())
    options = ["--format=custom", "--no-owner", "--no-privileges", "--no-publications", "--no-subscriptions"]
    return [str(program), *options, f"--lock-wait-timeout={LOCK_WAIT}", f"--file={file}", f"--dbname={connection}"]


def dump(arguments: list[str], password: str, file: Path, runner: Runner, session: Readable, *, local: bool) -> Dumped:
    """Run pg_dump into `file`; raises `CaptureError` with its own words.

    On this machine the processor time of its session is read while it runs.
    """
    began = monotonic()
    log = file.with_name("pg_dump.log")
    environment = {name: os.environ[name] for name in _TICKET if name in os.environ}
    environment |= {"PGPASSWORD": password} if password else {}
    # Its peer authentication, your password file and your certificates are your account's.
    running = runner.start(
        arguments, stdout=log, stderr=log, environment=environment, privileged="connects to your server as you"
    )
    used: dict[int, float] = {}
    try:
        done = None
        while done is None:
            try:
                done = running.wait(_POLL_S)
            except TimeoutError:
                pids = [int(row[0]) for row in session.read("pg_stat_activity", _BACKENDS).rows] if local else []
                used |= {pid: spent for pid in pids if (spent := cpu_ms(pid)) is not None}
    finally:
        running.terminate()
    if done.status:
        raise _failure(done, file)
    log.unlink(missing_ok=True)
    return Dumped(file.stat().st_size, monotonic() - began, sum(used.values()) if used else None)


def _failure(done: Completed, file: Path) -> CaptureError:
    lines = [line.removeprefix("pg_dump: ") for line in done.stderr.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith("error")), " ".join(lines[:1]))
    said = said.rstrip(".") + "".join(f": {line.partition(_BY_SERVER)[2]}" for line in lines if _BY_SERVER in line)
    if not said and disk_usage(file.parent).free < _FULL_BYTES:
        said = f'No space left on device below "{file.parent.parent}"'
    return dump_failed(said or f"it ended with status {done.status} and without a message")


def contents(restore: Path, file: Path, runner: Runner, *more: str) -> list[str]:
    """The lines of the dump's table of contents with their comments; raises `CaptureError`."""
    done = runner.run([str(restore), "--list", *more], input_file=file)
    if done.status:
        raise dump_failed(done.stderr.strip())
    return done.stdout.split("\n")  # a name may hold whatever else Unicode calls the end of a line


@dataclass(frozen=True)
class Playable:
    """The file that `load.init` takes, and what of the user's own is missing from it, in words."""

    file: Path
    missing: tuple[str, ...] = ()


def playable(
    programs: Sequence[Path], file: Path, folder: Path, runner: Runner, without: Collection[str] = ()
) -> Playable:
    """The dump itself, or plain SQL in `folder`: without what is left out, or since an older pg_restore cannot read it.

    `programs` are the pg_restores of the versions that will load it, the newest first; `without` are further lines of
    the dump's table of contents that are left out. The SQL is made once: a random
    key in it (`\\restrict`) differs each time, and so would the hash of the data. Raises `CaptureError` where the dump
    cannot be read.
    """
    restore, *older = programs
    lines = [line for line in contents(restore, file, runner) if line and not line.startswith(";")]
    left_out = [line for line in lines if any(kind in line for kind in (*_LEFT_OUT, *_OURS))]
    # The format of archives has versions of its own.
    if not (without or left_out) and all(
        runner.run([str(each), "--list"], input_file=file).status == 0 for each in older
    ):
        return Playable(file)
    script = folder / SCRIPT
    if not script.exists():
        unwanted = {*left_out, *without}
        chosen = folder / "contents.txt"
        chosen.write_text("\n".join(line for line in lines if line not in unwanted) + "\n", encoding="utf-8")
        partial = script.with_suffix(".partial")
        options = ["--no-owner", "--no-privileges", "--no-tablespaces", f"--use-list={chosen}", "--file=-"]
        done = runner.run([str(restore), *options], input_file=file, stdout=partial, files=(chosen,))
        if done.status:
            raise dump_failed(done.stderr.strip())
        with partial.open("r+b") as sql:  # a script may be large, so no more is written than one comment sign in place
            head = sql.read(_HEAD_BYTES)
            for name in _NEWER_SETTINGS:
                at = head.find(b"\nSET " + name)
                if at >= 0:
                    sql.seek(at + 1)
                    sql.write(b"-- ")
        partial.rename(script)
    users = (line for line in left_out if not any(own in line for own in _OURS))
    # `3300; 3256 16500 POLICY public orders own app` as `POLICY public orders own`
    return Playable(script, tuple(" ".join(line.partition(";")[2].split()[2:-1]) for line in users))


def dump_failed(detail: str) -> CaptureError:
    return CaptureError(
        f"pg_dump failed: {detail}",
        hint_for(detail, _DUMPING, "the message is pg_dump's; nothing of the capture was kept"),
    )
