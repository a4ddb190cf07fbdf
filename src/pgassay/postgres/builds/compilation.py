"""configure and make, out of tree: the tools that they need, their output, and what it means when they fail.

Only the folders that are needed are built: the server, what initdb and pgbench need, the extensions we read with. That
takes about four fifths of the time of a whole build. Each is built and installed by its own make, in this order, since
later ones link with earlier ones. The user's CFLAGS, LDFLAGS and make's own variables are not passed on: the recipe
alone says what a build is made of. Progress is the number of object files so far.

From PostgreSQL 17 on a tarball holds no generated parser (release notes, "Migration"), so bison and flex are needed;
older tarballs contain it. A missing library is named by its package, in the words of the machine's package manager.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay import children
from pgassay.interfaces import versions
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.running import Clock, Runner
from pgassay.postgres.builds.recipe import BuildError, Recipe, failed

_PARSER = "src/backend/parser/gram.c"
_LIBRARIES = (
    ("zlib", "--without-zlib", "", 0),
    ("liblz4", "", "--with-lz4", versions.LZ4),
    ("libzstd", "", "--with-zstd", versions.ZSTD),
    ("liburing", "", "--with-liburing", versions.LIBURING),
)
"""pkg-config's name, the flag without the library, the flag with it, the version that first knows the latter."""


@dataclass(frozen=True)
class Toolchain:
    runner: Runner
    environment: Mapping[str, str]
    which: Callable[[str], str | None] = children.which

    @property
    def cc(self) -> str:
        named = self.environment.get("CC")
        return named or ("gcc" if self.which("gcc") else "cc")

    @property
    def debian(self) -> bool:
        return self.which("apt-get") is not None

    def require(self, source: Path) -> None:
        """Raise `BuildError` with every missing tool and the one command that installs them."""
        missing = self._missing(generates=not (source / _PARSER).is_file())
        if self.which(self.cc.split()[0]) is None:
            missing.insert(0, "cc")
        if missing:
            raise self._lacking(missing)

    def compiler(self, major: int) -> str:
        """The first line of `cc --version`; raises `BuildError` without one, naming what else a build would lack."""
        try:
            outcome = self.runner.run([*self.cc.split(), "--version"], timeout_s=30.0)
        except BenchError:
            raise self._lacking(["cc", *self._missing(generates=major >= versions.PARSER_NOT_IN_TARBALL)]) from None
        return f"{self.cc}: {outcome.stdout.splitlines()[0]}" if outcome.stdout else self.cc

    def flags(self, major: int) -> tuple[str, ...]:
        """configure's options: no interactive line editing, no ICU (our clusters use the C locale), codecs if there."""
        found = ["--without-readline"]
        if major >= versions.ICU_BY_DEFAULT:
            found.append("--without-icu")
        for name, without, with_it, since in _LIBRARIES:
            if major >= since and (flag := with_it if self._has(name) else without):
                found.append(flag)
        return tuple(found)

    def _missing(self, *, generates: bool) -> list[str]:
        """Tools in addition to the compiler; `generates`: the source has no parser yet."""
        return [tool for tool in ("make", "perl", *(("bison", "flex") if generates else ())) if not self.which(tool)]

    def _lacking(self, tools: Sequence[str]) -> BuildError:
        named = ["a C compiler" if tool == "cc" else tool for tool in tools]
        return BuildError(
            f"building PostgreSQL needs {', '.join(named)}, which this machine lacks",
            install_command(tools, debian=self.debian),
        )

    def _has(self, library: str) -> bool:
        if not self.which("pkg-config"):
            return False
        return self.runner.run(["pkg-config", "--exists", library], timeout_s=30.0).status == 0


PACKAGES: Mapping[str, tuple[str, str]] = {
    "cc": ("gcc", "gcc"),
    "make": ("make", "make"),
    "perl": ("perl", "perl"),
    "bison": ("bison", "bison"),
    "flex": ("flex", "flex"),
    "zlib": ("zlib1g-dev", "zlib-devel"),
    "lz4": ("liblz4-dev", "lz4-devel"),
    "zstd": ("libzstd-dev", "libzstd-devel"),
    "readline": ("libreadline-dev", "readline-devel"),
    "icu": ("libicu-dev", "libicu-devel"),
    "uring": ("liburing-dev", "liburing-devel"),
    "libc": ("libc6-dev", "glibc-devel"),
}
"""What is missing, as a Debian and as a Red Hat package."""

_SIGNS = (
    (r"no acceptable C compiler", "cc"),
    (r"bison(?: not found| is missing)|bison: (?:command )?not found", "bison"),
    (r"flex(?: not found| is missing)|flex: (?:command )?not found", "flex"),
    (r"[Pp]erl not found|perl: (?:command )?not found", "perl"),
    (r"zlib library not found|zlib\.h: No such file|header file <zlib\.h>", "zlib"),
    (r"liblz4|lz4\.h", "lz4"),
    (r"libzstd|zstd\.h", "zstd"),
    (r"readline library not found|readline\.h: No such", "readline"),
    (r"ICU library not found|icu-uc|unicode/\S+\.h: No such", "icu"),
    (r"liburing", "uring"),
    (r"(?:stdio|stdlib|errno)\.h: No such file|crt1\.o", "libc"),
)
_NO_PROGRAMS = re.compile(r"C compiler cannot create executables")
"""configure's words for flags that the compiler does not know, and for a compiler without a C library."""
_WHERE = re.compile(r"^configure: error: in [`'].*:$")
"""configure says first in which folder it is, then what is wrong."""
_COMPLAINT = re.compile(r"(?:^configure: error: |\berror: |^make.*\*\*\* |: not found$|No space left|fatal error: )")


def failure_line(output: str) -> str:
    """The line that says what went wrong: the first error, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if _COMPLAINT.search(line) and not _WHERE.search(line):
            return line.removeprefix("configure: error: ")
    return lines[-1] if lines else "it printed nothing"


def missing(output: str) -> str | None:
    """What the output says is missing, as a key of `PACKAGES`; only lines that complain are looked at."""
    complaints = "\n".join(line for line in output.splitlines() if re.search(r"error|not found|missing|No such", line))
    return next((what for sign, what in _SIGNS if re.search(sign, complaints)), None)


def install_command(tools: Iterable[str], *, debian: bool) -> str:
    packages = " ".join(PACKAGES[tool][0 if debian else 1] for tool in tools)
    return f"sudo apt-get install {packages}" if debian else f"sudo dnf install {packages}"


def remedy(output: str, *, debian: bool) -> str:
    if "No space left on device" in output:
        return "the disk is full: free space, or name another place with PGASSAY_CACHE"
    if _NO_PROGRAMS.search(output):
        return f"check the compiler's flags (build.cflags), or {install_command(['libc'], debian=debian)}"
    what = missing(output)
    return install_command([what], debian=debian) if what else "see the compiler's message"


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
            words, hint = failure_line(output), remedy(output, debian=self.debian)
            raise failed(step, words, hint, self.log)


@dataclass(frozen=True)
class Compilation:
    """One build under way: `source` is the tree, `work` an empty folder next to one called `installed`, `prefix` where
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
