"""Restarts of a user's server by a command of the user's, and the file that holds what ALTER SYSTEM has set.

The command is started without a shell and outlives us, since half a restart would leave the server down. The server
that it starts must not have our mark either, by which processes of killed runs are found and ended. A server that does
not start with what was set takes no ALTER SYSTEM: then its postgresql.auto.conf is put back, where we may write it.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from pgassay import children
from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.proc import process_of
from pgassay.outgoing import visible
from pgassay.postgres.attached import _held
from pgassay.postgres.settings import quoted

LIMIT_S = 120.0
AUTO_FILE = "postgresql.auto.conf"
_OPTION = "--restart-command"
_OURS = "PGASSAY_"
_PRINTED_BYTES_MAX = 1 << 20
_SHOWN_BYTES = 2000
_GRACE_S = 5.0
_LOOK_S = 0.05


@dataclass(frozen=True)
class RestartCommand:
    """A program with its words, and how long it may take until the server answers again."""

    words: tuple[str, ...]
    limit_s: float = LIMIT_S

    @classmethod
    def of(cls, text: str, limit_s: float = LIMIT_S) -> "RestartCommand":
        """Raises `UsageError` for what only a shell could run, and for a program that is not there."""
        words, why = children.words_of(text)
        if not why and children.which(words[0]) is None:
            why = f'program "{words[0]}" was not found'
        if limit_s < 1:
            raise UsageError("--restart-limit must be 1s at least", "most servers need 10s to 2min")
        if why:
            raise UsageError(
                f'{_OPTION} "{text}" cannot be run: {why}',
                f"it is a program with its words, not a shell's: {_OPTION} \"sudo systemctl restart"
                ' postgresql@16-main"; what needs a shell goes into a script of your own',
            )
        program = str(Path(words[0]).absolute()) if "/" in words[0] else words[0]  # doctor may run elsewhere
        return cls((program, *words[1:]), limit_s)

    @property
    def text(self) -> str:
        return shlex.join(self.words)

    def run(self, note: Callable[[int, int], None]) -> None:
        """To its end; `note` gets its process id and when that started, in ticks since boot, before it begins.

        Else a killed lab could leave a restart that no list names, which stops the server under whoever comes next.

        Raises `BenchError` for one that fails, prints without end, or is ended at its limit. A server that stays down
        is another matter.
        """
        mine = children.interpreter_environment()
        mine = {name: value for name, value in mine.items() if not name.startswith(_OURS)}
        held = [sys.executable, "-I", "-S", str(Path(_held.__file__).resolve())]
        with TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    [*held, children.which(self.words[0]) or self.words[0], *self.words[1:]],
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    env=mine,
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                raise BenchError(f'"{self.text}" could not be started: {error.strerror}') from None
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError), process.stdin as line:  # of one that somebody has ended
                found = process_of(process.pid)
                if found is not None:
                    note(found.pid, found.started_ticks)
                line.write(f"{json.dumps(mine)}\n".encode())
            deadline = time.monotonic() + self.limit_s
            while process.poll() is None:
                endless = os.fstat(said.fileno()).st_size > _PRINTED_BYTES_MAX
                if endless or time.monotonic() >= deadline:
                    ended = found is None or end(found.pid, found.started_ticks)
                    if ended:
                        process.wait()
                    why = "printed without end" if endless else f"had not ended after {self.limit_s:g} s"
                    raise BenchError(f'"{self.text}" {why}, {"and was" if ended else "and could not be"} terminated')
                time.sleep(_LOOK_S)
            if process.returncode:
                said.seek(max(0, os.fstat(said.fileno()).st_size - _SHOWN_BYTES))
                lines = [line.strip() for line in said.read(_SHOWN_BYTES).decode(errors="replace").splitlines()]
                last = visible(" / ".join([line for line in lines if line][-3:]), keep="") or "it printed nothing"
                raise BenchError(f'"{self.text}" ended with status {process.returncode}: {last}')


def _runs(pid: int, started_ticks: int) -> bool:
    found = process_of(pid)
    return found is not None and found.started_ticks == started_ticks and found.state != "Z"


def end(pid: int, started_ticks: int) -> bool:
    """End a command with its process group; False where it is another account's. The server is in none of ours."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _runs(pid, started_ticks):
            return True
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        wait_for_end(pid, started_ticks, _GRACE_S)
    return not _runs(pid, started_ticks)


def wait_for_end(pid: int, started_ticks: int, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while _runs(pid, started_ticks) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)


def answers(endpoint: Endpoint, patience_s: float, *, down: bool) -> bool:
    """Does the server take connections, after so long at most? One that nobody is starting is waited for if `down`."""
    from psycopg import pq

    deadline = time.monotonic() + patience_s
    while True:
        found = pq.PGconn.ping(endpoint.conninfo().encode())
        if found == pq.Ping.OK:
            return True
        if not (found == pq.Ping.REJECT or down) or time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK_S)


def restored(text: str, before: Mapping[str, str | None], ours: Mapping[str, Collection[str]]) -> str:
    """The text of postgresql.auto.conf with each setting as it was `before` (None for not there), in its place.

    A line whose value is none of `ours` was written by somebody else since, and stays.
    """
    found = []
    for line in text.split("\n"):
        name, _, value = (part.strip() for part in line.partition("="))
        key = name.lower()
        if key not in before or value not in {quoted(key, each) for each in ours[key]}:
            found.append(line)
        elif (own := before[key]) is not None:
            found.append(f"{key} = {quoted(key, own)}")
    return "\n".join(found)


def put_file_back(
    data: Path | None, system: str, before: Mapping[str, str | None], ours: Mapping[str, Collection[str]]
) -> None:
    """`restored` of the file in the data directory of the server with this system identifier, which is down.

    Raises `OSError` where we may not write it, `UntrustedError` for a link, `BenchError` for another server's, and
    where the directory is not known.
    """
    if data is None:
        raise BenchError("the server's files are not on this machine")
    with Directory.open(data.resolve()) as directory:
        with directory.reading("global/pg_control") as control:  # begins with it, in the machine's own order
            found = int.from_bytes(control.read(8), sys.byteorder)
        if str(found) != system:
            raise BenchError(f'"{data}" is of another server')
        text = directory.read(AUTO_FILE).decode(errors="surrogateescape")
        fresh = restored(text, before, ours)
        facts = directory.status(AUTO_FILE)
        if facts is not None and fresh != text:
            owner, mode = (facts.st_uid, facts.st_gid), stat.S_IMODE(facts.st_mode)
            directory.replace(AUTO_FILE, fresh.encode(errors="surrogateescape"), owner, mode)


def by_hand(data: Path | None, names: Collection[str], command: RestartCommand) -> str:
    """How to take settings out of the file that we may not write, and start the server."""
    lines = f"/^({'|'.join(map(re.escape, sorted(names)))}) *=/d"
    if data is None:
        return f"take {', '.join(sorted(names))} out of its {AUTO_FILE}, start it, then: pgassay doctor --repair"
    edit = shlex.join(["sudo", "sed", "-i", "-E", lines, str(data / AUTO_FILE)])
    return f"where it runs: {edit}; then: {command.text}; then: pgassay doctor --repair"
