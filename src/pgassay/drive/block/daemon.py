"""The program that emulates a drive: found, started outside every limited memory cgroup, and ended.

It outlives a killed lab on purpose: a file system under which the drive vanishes loses what it holds, while one whose
lab is gone is unmounted in order by the next repair (`leftovers`).
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pgassay import children
from pgassay.bench.errors import DriveError
from pgassay.drive import messages
from pgassay.drive.block import _launch, kernel
from pgassay.drive.block.mounts import MountEntry, mounts

PROGRAM = "pgassay-drive"
VARIABLE = "PGASSAY_DRIVE"
CONFIGURATION, LOG, PID = "daemon.json", "daemon.log", "daemon.pid"
FUSE, DISK = "fuse", "disk"
READY_S = 120.0
"""Reserving tens of gigabytes takes seconds."""
END_S = 30.0
_POLL_S = 0.02
_FUSE_DEVICE = Path("/dev/fuse")


def find(environment: Mapping[str, str] = os.environ) -> Path:
    """The program: $PGASSAY_DRIVE, or the one that came with us; raises `DriveError`."""
    named = environment.get(VARIABLE)
    path = Path(named) if named else Path(__file__).parents[2] / "_bin" / PROGRAM
    if not os.access(path, os.X_OK):
        raise messages.no_daemon()
    return path.absolute()


def require(environment: Mapping[str, str] = os.environ) -> None:
    """Raise `DriveError` unless emulated drives can run here, before anything is made."""
    if not kernel.may_mount():
        raise messages.not_privileged("an emulated drive")
    find(environment)
    if not os.access(_FUSE_DEVICE, os.R_OK | os.W_OK):
        raise messages.no_device_node(_FUSE_DEVICE, "an emulated drive")
    group = root_group()
    if group is not None and group.limit_bytes is not None:
        raise messages.limited_memory(str(group.processes.parent), group.limit_bytes)


def check(configuration: Mapping[str, Any], kind: str, environment: Mapping[str, str] = os.environ) -> None:
    """Raise `UsageError`, in the program's own words, for a drive that cannot be; nothing is made."""
    done = subprocess.run(
        [str(find(environment)), "check"],
        input=json.dumps(configuration),
        capture_output=True,
        text=True,
        timeout=READY_S,
        check=False,
        env=children.environment_of(),
    )
    if done.returncode != 0:
        raise messages.impossible_drive(kind, *complaint(done.stderr))


def start(
    directory: Path, configuration: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> "subprocess.Popen[bytes]":
    """Start one for this directory and wait until it is ready; raises `DriveError`."""
    path = directory / CONFIGURATION
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(configuration, file, indent=1)
    (directory / FUSE).mkdir(exist_ok=True)
    group = root_group()
    launcher = [
        sys.executable,
        "-I",
        "-S",
        str(Path(_launch.__file__).resolve()),
        str(group.processes) if group else "-",
    ]
    with (directory / LOG).open("ab") as log:
        begins = log.tell()
        process = subprocess.Popen(
            [*launcher, str(find(environment)), "serve", "--config", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=children.environment_of(),
            cwd="/",
            start_new_session=True,
        )
    try:
        _wait_ready(process, directory, begins)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process


def end(directory: Path) -> None:
    """Ask it to end, then make it; returns when it is gone. Harmless when there is none."""
    pid = running(directory)
    if pid is None:
        return
    try:
        SocketControl(directory).ask("shutdown", patience_s=END_S)
    except DriveError:
        _signal(pid, signal.SIGTERM)
    if not _gone(pid, END_S):
        _signal(pid, signal.SIGKILL)
        _gone(pid, END_S)


def kill(directory: Path) -> None:
    """End one that does not answer; its FUSE connection ends with it."""
    pid = running(directory)
    if pid is not None:
        _signal(pid, signal.SIGKILL)
        _gone(pid, END_S)


def running(directory: Path) -> int | None:
    """The process that serves this directory, by its command line: process ids are used again."""
    try:
        pid = int((directory / PID).read_text(encoding="utf-8"))
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(directory / CONFIGURATION) in words else None  # a zombie has no words


def last_words(directory: Path) -> tuple[str, str]:
    """The last complaint in its log, and the hint behind it."""
    try:
        return complaint((directory / LOG).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return "", ""


def complaint(text: str) -> tuple[str, str]:
    """The last complaint of the program in what it printed, and the hint behind it; either may be empty."""
    said, hint = "", ""
    for line in text.splitlines():
        if line.startswith("hint: "):
            hint = line.removeprefix("hint: ")
        elif line.strip() and line.strip() != "ready":
            said, hint = line.removeprefix(f"{PROGRAM}: "), ""
    return said, hint


def _wait_ready(process: "subprocess.Popen[bytes]", directory: Path, begins: int) -> None:
    """Until its log says so from `begins` on: what is before is of a daemon that served the directory earlier."""
    deadline = time.monotonic() + READY_S
    while True:
        if process.poll() is not None:
            raise messages.daemon_failed(directory / LOG, *last_words(directory))
        if b"ready" in (directory / LOG).read_bytes()[begins:].splitlines():
            return
        if time.monotonic() > deadline:
            raise messages.daemon_failed(directory / LOG, f"not ready after {READY_S:.0f} s")
        time.sleep(_POLL_S)


def _gone(pid: int, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if _state(pid) in ("", "Z"):
            return True
        time.sleep(_POLL_S)
    return False


def _state(pid: int) -> str:
    """`R`, `S`, `D`, `Z` …; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


SOCKET = "control.sock"
PATIENCE_S = 60.0
AGEING_PATIENCE_S = 900.0
_PIECE = 1 << 16


class Control(Protocol):
    """Sends commands to one emulated drive and returns its answers."""

    def ask(self, do: str, *, patience_s: float = PATIENCE_S, **values: Any) -> Mapping[str, Any]:
        """One request; the answer's `ok`. Raises `DriveError` with the drive's own words, or when it is silent."""


class SocketControl:
    """See `Control`; a connection for each request, so that nothing is held open."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def ask(self, do: str, *, patience_s: float = PATIENCE_S, **values: Any) -> Mapping[str, Any]:
        """Connect, send one line of JSON, wait at most `patience_s` for the answer; raises `DriveError`."""
        try:
            answer = self._exchange({"do": do, **values}, patience_s)
        except OSError as failure:
            why = (failure.strerror or str(failure)).lower()
            raise messages.daemon_silent(self._directory / SOCKET, why) from failure
        except ValueError as failure:
            raise messages.daemon_silent(self._directory / SOCKET, "its answer cannot be read") from failure
        if "error" in answer:
            raise messages.refused_by_daemon(f'"{do}"', str(answer["error"]), answer.get("hint") or None)
        found = answer.get("ok")
        return found if isinstance(found, dict) else {"value": found}

    def _exchange(self, request: Mapping[str, Any], patience_s: float) -> dict[str, Any]:
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line,
            _short(self._directory) as name,
        ):
            line.settimeout(patience_s)
            line.connect(name)
            line.sendall(json.dumps(request).encode() + b"\n")
            text = b""
            while not text.endswith(b"\n"):
                piece = line.recv(_PIECE)
                if not piece:
                    raise ConnectionResetError("its daemon ended before it answered")
                text += piece
        answer = json.loads(text)
        if not isinstance(answer, dict):
            raise ValueError("its answer is no object")
        return answer


@contextmanager
def _short(directory: Path) -> Iterator[str]:
    """A short path to the socket."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


UNLIMITED_BYTES = 1 << 60
"""v1 writes no limit as a number near the largest."""


@dataclass(frozen=True)
class Group:
    """The root memory cgroup that we can see: the file that takes process ids, and its limit in bytes or None."""

    processes: Path
    limit_bytes: int | None


def root_group(entries: list[MountEntry] | None = None) -> Group | None:
    """The group to move a daemon into; None where there is no memory controller (then there is nothing to leave)."""
    for entry in mounts() if entries is None else entries:
        if entry.filesystem == "cgroup" and "memory" in entry.options:
            return Group(entry.point / "cgroup.procs", _limit(entry.point / "memory.limit_in_bytes"))
    for entry in mounts() if entries is None else entries:
        if entry.filesystem == "cgroup2" and _controls_memory(entry.point):
            return Group(entry.point / "cgroup.procs", _limit(entry.point / "memory.max"))
    return None


def _controls_memory(point: Path) -> bool:
    try:
        return "memory" in (point / "cgroup.controllers").read_text(encoding="utf-8").split()
    except OSError:
        return False


def _limit(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return None if text == "max" or int(text) >= UNLIMITED_BYTES else int(text)
