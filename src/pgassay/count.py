"""Valgrind's Callgrind as an instrument: user-space instructions, at about 30 times the time of a native server.

Cachegrind costs the same and knows no calls (docs/evidence/counts.md). Counts begin at the main function of a process,
so what it inherits of its postmaster is left out. The file's format: Valgrind manual, "Callgrind Format Specification".

To Valgrind an instruction that repeats itself (rep stos) is as many as its repetitions; a processor counts one. glibc
fills and copies from 2 kB on by such, where the processor says that it is quick at them (ERMS), so glibc must not know.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pgassay import children
from pgassay.errors import UsageError
from pgassay.files import Directory, Owner, UntrustedError
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.probe import BACKEND, MISSES, OTHER, PARALLEL, Executed
from pgassay.interfaces.running import Runner

PROGRAM, REMEDY = "valgrind", "on Debian and Ubuntu: apt-get install valgrind"
_MAINS = {"ParallelWorkerMain": PARALLEL, "PostgresMain": BACKEND}
"""Exported by every server from 13 on, so that they are known by name without symbols, too."""
_BY_TIME = re.compile(r"secure_(read|write)|pgstat_(\w+_)?flush\w*|pgstat_prep_(pending_entry|database_pending)")
"""What depends on how long a transaction takes: a backend waits for its client's next message or finds it there
(be-secure.c), and reports its statistics once a second (pgstat.c)."""
_INSTRUCTIONS, _SYSTEM_CALLS = "Ir", "sysCount"
_MISSES = dict(zip(MISSES, (("I1mr", "D1mr", "D1mw"), ("ILmr", "DLmr", "DLmw"), ("Bcm", "Bim")), strict=True))
"""The events of a kind of misses: fetching instructions, reading, writing; conditional and indirect branches."""
_MODEL = ("--cache-sim=yes", "--branch-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
"""The same caches on every machine: bytes, ways, bytes of a line. On a virtual machine Callgrind may find no caches, or
take one that many machines share for the last level."""
_UNLIKE = re.compile(r"(__)?(libc_)?((recv|send|poll|epoll_wait)|(gettimeofday|clock_gettime|time)(_syscall)?)")
"""System calls that a server makes otherwise: how often it looks for a message depends on when that comes, and a clock
is read without the kernel where there is no Valgrind (vdso(7))."""
_WITHOUT_REPETITION = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-ERMS"
"""Manual of glibc, "Hardware Capability Tunables": as on a processor without them."""
_FOLDER = "counts"
_NAMED = re.compile(r"(c?fn|c?ob)=\((\d+)\)(?: (.*))?")
_NO_NAME = re.compile(r"(@@[\w.]+)?('\d+)?$")
"""The version of a symbol, the depth of a recursion."""


@dataclass(frozen=True)
class Valgrind:
    """Counts are in a folder of the servers' account below `place`, a directory of ours."""

    runner: Runner
    place: Path
    account: Owner | None
    misses: bool = field(default=False, kw_only=True)

    @cached_property
    def name(self) -> str:
        self.require()
        return self.runner.run([PROGRAM, "--version"]).stdout.strip()

    def require(self) -> None:
        if children.which(PROGRAM) is None:
            raise UsageError("counting needs Valgrind, which is not installed", REMEDY)

    def begin(self) -> tuple[str, ...]:
        with Directory.open(self.place) as place:
            if place.status(_FOLDER) is not None:
                place.remove_tree(_FOLDER)
            place.mkdir(_FOLDER, 0o700, self.account)
        return (
            str(children.which("env")),
            _WITHOUT_REPETITION,
            str(children.which(PROGRAM)),
            "--command-line-only=yes",
            "--quiet",
            "--vgdb=no",
            "--tool=callgrind",
            "--collect-systime=yes",
            *(_MODEL if self.misses else ()),
            *(f"--zero-before={main}" for main in _MAINS),
            f"--callgrind-out-file={self.place / _FOLDER}/%p",
        )

    @contextmanager
    def window(self, postmaster_pid: int, there: Collection[int]) -> Iterator[Callable[[], tuple[Executed, ...]]]:
        before = self._ended().union(there)
        yield lambda: self._executed(self._ended() - before)

    def _ended(self) -> frozenset[int]:
        """The processes, by id, whose counts are there."""
        with Directory.open(self.place / _FOLDER) as folder:
            return frozenset(int(name) for name in folder.names() if name.isdecimal())

    def _executed(self, pids: Collection[int]) -> tuple[Executed, ...]:
        with Directory.open(self.place / _FOLDER) as folder:
            try:
                return tuple(parse(folder.read(str(pid)).decode("utf-8", "replace").splitlines()) for pid in pids)
            except (OSError, UntrustedError, ValueError, LookupError) as error:
                raise BenchError(f"Callgrind's counts cannot be read: {error!s}") from error


def parse(lines: Iterable[str]) -> Executed:
    """A file of Callgrind's of instructions and system calls at least, in the columns that it says.

    Raises `ValueError` or `LookupError` for anything else.
    """
    names = _Names()
    own: dict[str, int] = {}
    calls: dict[str, int] = {}
    system_calls: dict[str, float] = {}
    events: list[str] = []
    zeros: list[int] = []
    missed: list[int] = []
    instructions = system = expected = left_out = 0
    modelled: list[int] = []
    inclusive = False
    for line in lines:
        if line[:1] and line[:1] in "0123456789+-*":
            costs = [*map(int, line.split()[1:]), *zeros]  # zeros at the end are not written
            if not inclusive:
                own[names.function] = own.get(names.function, 0) + costs[instructions]
                for column in modelled:
                    missed[column] += costs[column]
                if costs[system] and not _UNLIKE.fullmatch(names.function):
                    system_calls[names.function] = system_calls.get(names.function, 0.0) + costs[system]
            elif _BY_TIME.fullmatch(names.callee) and not _BY_TIME.fullmatch(names.function):
                left_out += costs[instructions]
                for column in modelled:
                    missed[column] -= costs[column]
            inclusive = False
        elif line.startswith("calls="):
            calls[names.callee] = calls.get(names.callee, 0) + int(line[6:].split()[0])
            inclusive = True
        elif line.startswith("totals:"):
            expected = int(line.split()[1 + instructions])
        elif line.startswith("events:"):
            if not {_INSTRUCTIONS, _SYSTEM_CALLS}.issubset(line.split()[1:]) or (events and line.split()[1:] != events):
                raise ValueError(f'"{line}" is not what was asked for')
            events = line.split()[1:]
            zeros = [0] * len(events)
            missed = missed or [0] * len(events)
            instructions, system = events.index(_INSTRUCTIONS), events.index(_SYSTEM_CALLS)
            modelled = [events.index(each) for kind in _MISSES.values() for each in kind if each in events]
        else:
            names.read(line)
    total = sum(own.values())
    if not events or not total or total != expected:
        raise ValueError(f"{total:,} instructions of {expected:,} are there")
    return Executed(
        next((kind for main, kind in _MAINS.items() if main in own), OTHER),
        float(total - left_out),
        {name: (float(own.get(name, 0)), float(calls.get(name, 0))) for name in {*own, *calls}},
        system_calls,
        {
            kind: float(sum(missed[column] for column in modelled if events[column] in those))
            for kind, those in _MISSES.items()
            if those[0] in events
        },
    )


class _Names:
    """Which function costs belong to, and which it calls: a name is in full only where it is first used."""

    def __init__(self) -> None:
        self.function = self.callee = ""
        self._known: dict[tuple[str, str], str] = {}
        self._object = self._callees = ""

    def read(self, line: str) -> None:
        found = _NAMED.match(line)
        if found is None:
            return
        word, number, text = found.groups()
        kind = word.removeprefix("c")
        within = (self._callees if word == "cfn" else "") or self._object
        if text is not None:
            name = text.rpartition("/")[2] if kind == "ob" else _NO_NAME.sub("", text)
            self._known[kind, number] = f"{within}+{int(name, 16):#x}" if name.startswith("0x") else name
        known = self._known[kind, number]
        if word == "ob":
            self._object = known
        elif word == "cob":
            self._callees = known
        elif word == "fn":
            self.function = known
        else:
            self.callee, self._callees = known, ""
