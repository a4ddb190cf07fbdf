"""The program that emulates a drive: found, started outside every limited memory cgroup, and ended.

It outlives a killed lab on purpose: a file system under which the drive vanishes loses what it holds, while one whose
lab is gone is unmounted in order by the next repair (`drive.sessions`).
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pgassay import children
from pgassay.drive.block import _launch, kernel
from pgassay.drive.block.description import Description, impossible
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.places import MountEntry, mounts
from pgassay.interfaces.proc import process_of
from pgassay.study.units import format_size

PROGRAM = "pgassay-drive"
VARIABLE = "PGASSAY_DRIVE"
CONFIGURATION, LOG, PID = "daemon.json", "daemon.log", "daemon.pid"
FUSE, DISK, SOCKET = "fuse", "disk", "control.sock"
READY_S = 120.0
"""Reserving tens of gigabytes takes seconds."""
END_S = 30.0
_UNMOUNT_S = 3.0
_POLL_S = 0.02
PATIENCE_S = 60.0
AGEING_PATIENCE_S = 900.0
_STATS_PATIENCE_S = 5.0
_PIECE = 1 << 16
_FUSE_DEVICE = Path("/dev/fuse")


class Control(Protocol):
    """Sends commands to one emulated drive and returns its answers."""

    def ask(self, do: str, *, patience_s: float = PATIENCE_S, **values: Any) -> Mapping[str, Any]:
        """One request; the answer's `ok`. Raises `DriveError` with the drive's own words, or when it is silent."""


class Daemon(Protocol):
    """Starts and ends the program behind a disk."""

    def require(self) -> None:
        """Raise `DriveError` unless such drives can run here, before anything is made."""

    def check(self, description: Description) -> None:
        """Raise `UsageError` unless there can be such a drive (its capacity is known); nothing is made."""

    def start(self, directory: Path, configuration: Mapping[str, Any]) -> Control:
        """Returns when it is ready; raises `DriveError`."""

    def end(self, directory: Path) -> None:
        """Harmless when it has ended."""

    def disk(self, directory: Path) -> Path:
        """The file that is the disk."""


@dataclass(eq=False)
class RealDaemon:
    """The program on this machine, a process for each drive's directory."""

    _processes: dict[Path, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)

    def require(self) -> None:
        """Raise `DriveError` without root, FUSE or the program, or where memory is limited."""
        kernel.require_mounting("an emulated drive")
        find()
        kernel.require_node(_FUSE_DEVICE, "an emulated drive")
        group = root_group()
        if group is not None and group.limit_bytes is not None:
            raise DriveError(
                f'the emulated drive would share memory cgroup "{group.processes.parent}", limited to '
                f"{format_size(group.limit_bytes)}, with its users",
                "writes could then hang the machine: start pgassay where the root memory cgroup can be entered, or use "
                "image",
            )

    def check(self, description: Description) -> None:
        done = subprocess.run(
            [str(find()), "check"],
            input=json.dumps(description.core.configuration(description.kind, Path("/"))),
            capture_output=True,
            text=True,
            timeout=READY_S,
            check=False,
            env=children.environment_of(),
        )
        if done.returncode != 0:
            raise impossible(description.kind, *complaint(done.stderr))

    def start(self, directory: Path, configuration: Mapping[str, Any]) -> Control:
        """Run the program until it answers; raises `DriveError` with the end of its log."""
        path = directory / CONFIGURATION
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(configuration, file, indent=1)
        (directory / FUSE).mkdir(exist_ok=True)
        group = root_group()
        launcher = [sys.executable, "-I", "-S", str(Path(_launch.__file__).resolve())]
        with (directory / LOG).open("ab") as log:
            begins = log.tell()
            process = subprocess.Popen(
                [*launcher, str(group.processes) if group else "-", str(find()), "serve", "--config", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=children.environment_of(),
                cwd="/",
                start_new_session=True,
            )
        try:
            _wait_ready(process, directory / LOG, begins)
        except BaseException:
            process.kill()
            process.wait()
            raise
        self._processes[directory] = process
        return SocketControl(directory)

    def end(self, directory: Path) -> None:
        """Ask it to end, wait for the process, and unmount its FUSE file system.

        Of a program that was killed something may still hold the disk. Its contents are gone, so the file system is
        detached all the same: an error here would hide the one that matters.
        """
        end(directory)
        process = self._processes.pop(directory, None)
        if process is not None:
            process.wait()
        kernel.unmount(directory / FUSE, patience_s=_UNMOUNT_S, lazily=True)

    def disk(self, directory: Path) -> Path:
        return directory / FUSE / DISK


def find() -> Path:
    """The program: $PGASSAY_DRIVE, or the one that came with us; raises `DriveError`."""
    path = children.own_program(PROGRAM, VARIABLE)
    if path is None:
        raise DriveError(
            "the program pgassay-drive, which emulates drives, is not installed",
            "build it with: make setup; or name it in $PGASSAY_DRIVE; image and directory work without it",
        )
    return path


def _wait_ready(process: "subprocess.Popen[bytes]", log: Path, begins: int) -> None:
    """Until its log says so from `begins` on: what is before is of a daemon that served the directory earlier."""
    deadline = time.monotonic() + READY_S
    said, hint = f"not ready after {READY_S:.0f} s", ""
    while process.poll() is None:
        if b"ready" in log.read_bytes()[begins:].splitlines():
            return
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    else:
        said, hint = complaint(log.read_text(encoding="utf-8", errors="replace"))
    raise DriveError(f"the emulated drive did not start: {said or 'no reason given'}", hint or f"its log is {log}")


def end(directory: Path) -> None:
    """Ask it to end, then make it; returns when it is gone. Harmless when there is none."""
    pid = running(directory)
    if pid is None:
        return
    try:
        SocketControl(directory).ask("shutdown", patience_s=END_S)
    except DriveError:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    if not _gone(pid, END_S):
        kill(directory)


def kill(directory: Path) -> None:
    """End one that does not answer; its FUSE connection ends with it."""
    pid = running(directory)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _gone(pid, END_S)


def running(directory: Path) -> int | None:
    """The process that serves this directory, by its command line: process ids are used again."""
    try:
        pid = int((directory / PID).read_text(encoding="utf-8"))
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(directory / CONFIGURATION) in words else None  # a zombie has no words


def complaint(text: str) -> tuple[str, str]:
    """The last complaint of the program in what it printed, and the hint behind it; either may be empty."""
    said, hint = "", ""
    for line in text.splitlines():
        if line.startswith("hint: "):
            hint = line.removeprefix("hint: ")
        elif line.strip() and line.strip() != "ready":
            said, hint = line.removeprefix(f"{PROGRAM}: "), ""
    return said, hint


def _gone(pid: int, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        process = process_of(pid)
        if process is None or process.state == "Z":
            return True
        time.sleep(_POLL_S)
    return False


@dataclass(frozen=True)
class SocketControl:
    """See `Control`; a connection for each request, so that nothing is held open."""

    directory: Path

    def ask(self, do: str, *, patience_s: float = PATIENCE_S, **values: Any) -> Mapping[str, Any]:
        """Connect, send one line of JSON, wait at most `patience_s` for the answer; raises `DriveError`."""
        try:
            request = {"do": do, **values}
            with (
                socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line,
                kernel.opened(self.directory, os.O_PATH | os.O_DIRECTORY) as folder,
            ):
                line.settimeout(patience_s)
                line.connect(f"/proc/self/fd/{folder}/{SOCKET}")  # the path itself may be too long for a socket
                line.sendall(json.dumps(request).encode() + b"\n")
                text = b""
                while not text.endswith(b"\n"):
                    piece = line.recv(_PIECE)
                    if not piece:
                        raise ConnectionResetError("its daemon ended before it answered")
                    text += piece
            answer = json.loads(text)
            if not isinstance(answer, dict):
                raise ValueError("its answer is not an object")
        except OSError as failure:
            raise silent(self.directory / SOCKET, (failure.strerror or str(failure)).lower()) from failure
        except ValueError as failure:
            raise silent(self.directory / SOCKET, "its answer cannot be read") from failure
        if "error" in answer:
            raise DriveError(f'the emulated drive refused "{do}": {answer["error"]}', answer.get("hint") or None)
        found = answer.get("ok")
        return found if isinstance(found, dict) else {"value": found}


def silent(place: Path, why: str) -> DriveError:
    return DriveError(f'the emulated drive does not answer on "{place}": {why}', "pgassay doctor --repair")


def statistics(control: Control) -> Mapping[str, Any]:
    """What an emulated drive says of itself, under its own names; empty where it does not answer."""
    try:
        return control.ask("stats", patience_s=_STATS_PATIENCE_S)
    except DriveError:
        return {}


UNLIMITED_BYTES = 1 << 60
"""v1 writes no limit as a number near the largest."""


@dataclass(frozen=True)
class Group:
    """The root memory cgroup that we can see: the file that takes process ids, and its limit in bytes or None."""

    processes: Path
    limit_bytes: int | None


def root_group(entries: list[MountEntry] | None = None) -> Group | None:
    """The group to move a daemon into; None where there is no memory controller (then there is nothing to leave)."""
    entries = mounts() if entries is None else entries
    for version, limit in (("cgroup", "memory.limit_in_bytes"), ("cgroup2", "memory.max")):
        for entry in entries:
            if entry.filesystem != version:
                continue
            controllers, text = list(entry.options), "max"
            with suppress(OSError):
                if version == "cgroup2":
                    controllers = (entry.point / "cgroup.controllers").read_text(encoding="utf-8").split()
                text = (entry.point / limit).read_text(encoding="utf-8").strip()
            if "memory" in controllers:
                limited = text != "max" and int(text) < UNLIMITED_BYTES
                return Group(entry.point / "cgroup.procs", int(text) if limited else None)
    return None
