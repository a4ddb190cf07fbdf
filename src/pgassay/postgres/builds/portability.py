"""What a build needs of a machine that did not make it: its own folder's libraries, and the system's.

PostgreSQL's programs find share/ and lib/ by where they are themselves (src/common/path.c), wherever that is. Their
linker finds libpq by a path in each program, which here is said from the program's own folder (ld.so(8), $ORIGIN).
"""

import re
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.running import Runner
from pgassay.postgres.builds import messages

RPATH = "$ORIGIN/../lib"
"""Of programs, which are in bin/."""
_CLIENT, _LIBRARY = "pgbench", b"libpq.so"
_MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_OLDER = re.compile(r"version [`'](\S+)' not found")


def movable(build: Path) -> bool:
    """Do its programs find its libraries also in another folder? Builds of earlier times look in their own alone."""
    program = (build / "bin" / _CLIENT).read_bytes()
    return _LIBRARY not in program or f"{RPATH}\0".encode() in program


def missing_libraries(build: Path, runner: Runner) -> list[str]:
    """The system's libraries that its programs and modules want and this machine lacks, as ldd(1) has it."""
    wanting = sorted([*(build / "bin").iterdir(), *(build / "lib").rglob("*.so")])
    try:
        said = runner.run(["ldd", *map(str, wanting)], timeout_s=60.0)
    except BenchError:  # no ldd: then it shows when the server is tried
        return []
    told = f"{said.stdout}\n{said.stderr}"
    own = {each.name for each in (build / "lib").rglob("*")}
    found = [*_MISSING.findall(told), *_OLDER.findall(told)]
    return sorted(name for name in dict.fromkeys(found) if name not in own)


def require(build: Path, key: str, runner: Runner) -> None:
    """Raise `BuildError` unless the programs of a build that lies here for now find all their libraries."""
    if not movable(build):
        raise messages.not_movable(key)
    missing = missing_libraries(build, runner)
    if missing:
        raise messages.lacks_libraries(key, missing)
