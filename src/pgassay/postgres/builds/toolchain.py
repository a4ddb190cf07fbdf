"""The tools of a build: which are missing, how the compiler names itself, and what a failed build's output means.

From PostgreSQL 17 on a tarball holds no generated parser (release notes, "Migration"), so bison and flex are needed;
older tarballs contain it. A missing library is named by its package, in the words of the machine's package manager.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay import children
from pgassay.bench import versions
from pgassay.bench.errors import BenchError
from pgassay.bench.running import Runner
from pgassay.postgres.builds.errors import BuildError

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
    """What this machine builds with."""

    runner: Runner
    environment: Mapping[str, str]
    which: Callable[[str], str | None] = children.which

    @property
    def cc(self) -> str:
        """$CC, else gcc, else cc."""
        named = self.environment.get("CC")
        return named or ("gcc" if self.which("gcc") else "cc")

    @property
    def debian(self) -> bool:
        """Are packages installed with apt-get here?"""
        return self.which("apt-get") is not None

    @property
    def has_compiler(self) -> bool:
        """Is there one?"""
        return self.which(self.cc.split()[0]) is not None

    def require(self, source: Path) -> None:
        """Raise `BuildError` with every missing tool and the one command that installs them."""
        missing = self._missing(generates=not (source / _PARSER).is_file())
        if not self.has_compiler:
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
        """Tools beside the compiler; `generates`: the source has no parser yet."""
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


def complaint(output: str) -> str:
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
    """The command that installs what is missing."""
    packages = " ".join(PACKAGES[tool][0 if debian else 1] for tool in tools)
    return f"sudo apt-get install {packages}" if debian else f"sudo dnf install {packages}"


def remedy(output: str, *, debian: bool) -> str:
    """What to do about it."""
    if "No space left on device" in output:
        return "the disk is full: free space, or name another place with PGASSAY_CACHE"
    if _NO_PROGRAMS.search(output):
        return f"check the compiler's flags (build.cflags), or {install_command(['libc'], debian=debian)}"
    what = missing(output)
    return install_command([what], debian=debian) if what else "see the compiler's message"
