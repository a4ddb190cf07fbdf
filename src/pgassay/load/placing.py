"""Which CPUs a load's program runs on: all, a list, or the rest, those that the server may not use.

A load program that shares its server's cores takes from them what it measures; on cores of its own it does not. The
kernel keeps programs to them (sched_setaffinity(2)); nothing can read it back once the program has ended.
"""

import os
import re

from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.server import Server
from pgassay.load import messages

ALL, REST = "all", "rest"
_LIST = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")


def parse_cores(name: str, text: str) -> str:
    """`all`, `rest` or a list such as `0-3,6`, in canonical form; raises `UsageError`."""
    word = text.strip().removeprefix("cpu:")
    if word in (ALL, REST):
        return word
    if not _LIST.fullmatch(word):
        raise messages.not_cores(name, text)
    return f"cpu:{_show(_numbers(word))}"


def check(cores: str) -> None:
    """Refuse CPUs that this machine does not have; raises `UsageError`."""
    missing = set() if cores in (ALL, REST) else _numbers(cores.removeprefix("cpu:")) - _usable()
    if missing:
        raise messages.no_such_cores(cores.removeprefix("cpu:"), _show(missing), len(_usable()))


def place(cores: str, server: Server) -> Placement:
    """Where the program runs; anywhere for all CPUs, or where the server leaves none."""
    if cores == ALL:
        return ANYWHERE
    chosen = _rest(server) if cores == REST else _numbers(cores.removeprefix("cpu:"))
    return Placement(cpus=tuple(sorted(chosen)))


def problem(cores: str, server: Server) -> dict[str, str]:
    """A server that may use every CPU leaves none to the load: the treatment's own outcome."""
    if cores != REST or _rest(server):
        return {}
    return {"no_cores": 'the server may use every CPU, so "load.cores" = rest leaves none: set "host.cores"'}


def _rest(server: Server) -> set[int]:
    try:
        return _usable() - os.sched_getaffinity(server.postmaster_pid)
    except OSError:
        return set()


def _usable() -> set[int]:
    return os.sched_getaffinity(0)


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _show(numbers: set[int]) -> str:
    return ",".join(map(str, sorted(numbers)))
