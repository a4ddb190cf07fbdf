"""configure and make, out of tree, with their output kept; progress is the number of object files so far.

Only the folders that are needed are built: the server, what initdb and pgbench need, the extensions we read with. That
takes about four fifths of the time of a whole build. Each is built and installed by its own make, in this order, since
later ones link with earlier ones. The user's CFLAGS, LDFLAGS and make's own variables are not passed on: the recipe
alone says what a build is made of.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay import children
from pgassay.bench.running import Clock, Runner
from pgassay.postgres.builds import toolchain
from pgassay.postgres.builds.errors import failed
from pgassay.postgres.builds.recipe import Recipe

_OF_COMPILERS = ("CPATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH")
_POLL_S = 1.0
_RPATH = "rpathdir=$$ORIGIN/../lib"
"""make's word for where programs look for libpq: from where they are themselves (ld.so(8), $ORIGIN)."""


@dataclass(frozen=True)
class Progress:
    """How far a build is: `objects` of about `expected`; `seconds` since it began."""

    name: str
    step: str
    objects: int
    expected: int
    seconds: float
    done: bool = False

    @property
    def left_s(self) -> float | None:
        """About how long it still takes; None before there is anything to go by."""
        done = min(1.0, self.objects / self.expected)
        return self.seconds / done - self.seconds if done > 0.05 else None


Tell = Callable[[Progress], None]


def tell_nobody(progress: Progress) -> None:
    """Report no progress: for builds without a terminal."""


@dataclass(frozen=True)
class Making:
    """Runs programs of a build one after the other; their output is appended to the log."""

    runner: Runner
    log: Path
    debian: bool

    def step(self, step: str, command: Sequence[str], folder: Path, waiting: Callable[[], None] = lambda: None) -> None:
        """Run one to its end, in this folder; `waiting` is called each second. Raises `BuildError` where it fails."""
        before = self.log.stat().st_size if self.log.exists() else 0
        found = {name: os.environ[name] for name in _OF_COMPILERS if name in os.environ}
        running = self.runner.start(
            command,
            stdout=self.log,
            stderr=self.log,
            directory=folder,
            environment={"PATH": children.search_path(), **found},
        )
        try:
            while True:
                try:
                    status = running.wait(_POLL_S).status
                    break
                except TimeoutError:
                    waiting()
        finally:
            running.terminate()  # what a makefile left running, too
        if status != 0:
            with self.log.open("rb") as file:
                file.seek(before)
                output = file.read().decode(errors="replace")
            words, hint = toolchain.complaint(output), toolchain.remedy(output, debian=self.debian)
            raise failed(step, words, hint, self.log)


@dataclass(frozen=True)
class Compilation:
    """One build under way: `source` is the tree, `work` an empty folder beside one called `installed`, `prefix` where
    it will live at last.
    """

    runner: Runner
    clock: Clock
    recipe: Recipe
    cc: str
    source: Path
    work: Path
    prefix: Path
    log: Path
    jobs: int
    debian: bool
    expected: int
    tell: Tell = tell_nobody

    def run(self) -> Path:
        """Configure, build, install; returns the folder that is to become `prefix`; raises `BuildError`."""
        started_ns = self.clock.monotonic_ns()
        options = [f"--prefix={self.prefix}", *self.recipe.configure_options(), f"CC={self.cc}"]
        self._step("configure", [str(self.source / "configure"), *options], started_ns)
        target = self.work.with_name("installed")
        destination = f"DESTDIR={target}"
        folder, goal = HEADERS
        self._step("make", ["make", "-s", f"-j{self.jobs}", "-C", folder, goal], started_ns)
        for folder, goal in goals_of(self.source):
            words = ["make", "-s", f"-j{self.jobs}", "-C", folder, goal, destination, _RPATH]
            self._step("make", words, started_ns)
        self._say("installed", started_ns, done=True)
        return target / self.prefix.relative_to("/")

    def _step(self, step: str, command: Sequence[str], started_ns: int) -> None:
        """Run one program to its end, telling progress."""
        making = Making(self.runner, self.log, self.debian)
        making.step(step, command, self.work, lambda: self._say(step, started_ns))

    def _say(self, step: str, started_ns: int, *, done: bool = False) -> None:
        seconds = (self.clock.monotonic_ns() - started_ns) / 1e9
        found = count_objects(self.work)
        self.tell(Progress(self.recipe.name, step, found, self.expected, seconds, done))


HEADERS = ("src/backend", "generated-headers")
"""Made first, alone: all others include them."""

FOLDERS = (
    "src/common", "src/port", "src/timezone", "src/backend", "src/backend/utils/mb/conversion_procs",
    "src/backend/snowball", "src/interfaces/libpq", "src/fe_utils", "src/bin/initdb", "src/bin/pg_ctl", "src/bin/psql",
    "src/bin/pgbench", "src/bin/pg_dump", "src/bin/pg_controldata", "src/bin/pg_checksums", "src/bin/pg_waldump",
    "src/bin/pg_test_fsync", "src/bin/pg_config", "src/bin/pg_resetwal", "src/pl/plpgsql/src",
)  # fmt: skip

EXTENSIONS = (
    "pg_prewarm", "pg_buffercache", "pgstattuple", "pg_walinspect", "pg_stat_statements", "amcheck", "auto_explain",
)  # fmt: skip
"""What the lab itself uses. pg_walinspect came with PostgreSQL 15; an older source simply has none."""


PGXS = (("src", "install-local"), ("src/makefiles", "install"), ("src/include", "install"), ("config", "install"))
"""Headers (from 17 on with postgres.bki, which initdb reads) and makefiles, to build an extension with (PGXS)."""


def folders_of(source: Path) -> list[str]:
    """The folders of this source that are to be built, in order."""
    folders = [*FOLDERS, *(f"contrib/{name}" for name in EXTENSIONS)]
    return [folder for folder in folders if (source / folder / "Makefile").is_file()]


def goals_of(source: Path) -> list[tuple[str, str]]:
    """Folders of this source and what is made of each, in order: programs, then what extensions are built with."""
    programs = [(folder, "install") for folder in folders_of(source)]
    return programs + [(folder, goal) for folder, goal in PGXS if (source / folder / "Makefile").is_file()]


def expected_objects(source: Path) -> int:
    """About how many object files a build makes, for its progress: one for each C file of these folders."""
    return sum(1 for folder in folders_of(source) for _ in (source / folder).rglob("*.c")) or 1


def count_objects(build: Path) -> int:
    """How many there are so far; configure makes folders and removes them meanwhile, which os.walk passes over."""
    return sum(name.endswith(".o") for _, _, names in os.walk(build) for name in names)
