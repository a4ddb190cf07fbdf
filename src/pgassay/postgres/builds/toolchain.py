"""The tools of a build: which are missing, how the compiler names itself, which optional libraries are there.

From PostgreSQL 17 on a tarball holds no generated parser (release notes, "Migration"), so bison and flex are needed;
older tarballs bring it along.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.running import Runner
from pgassay.postgres.builds import failures, messages

_PARSER = "src/backend/parser/gram.c"
_LIBRARIES = (("zlib", "--without-zlib", "", 0), ("liblz4", "", "--with-lz4", 14), ("libzstd", "", "--with-zstd", 15),
              ("liburing", "", "--with-liburing", 18))  # fmt: skip
"""pkg-config's name, the flag without it, the flag with it, since which version."""
_ICU_BY_DEFAULT = 16
_GENERATES_SINCE = 17


@dataclass(frozen=True)
class Toolchain:
    """What this machine builds with."""

    runner: Runner
    environment: Mapping[str, str]
    which: Callable[[str], str | None] = shutil.which

    @property
    def cc(self) -> str:
        """$CC, else gcc, else cc."""
        named = self.environment.get("CC")
        return named or ("gcc" if self.which("gcc") else "cc")

    @property
    def debian(self) -> bool:
        """Are packages installed with apt-get here?"""
        return self.which("apt-get") is not None

    def require(self, source: Path) -> None:
        """Raise `BuildError` with every missing tool and the one command that installs them."""
        missing = self._missing(generates=not (source / _PARSER).is_file())
        if not self.which(self.cc.split()[0]):
            missing.insert(0, "cc")
        if missing:
            raise self._lacking(missing)

    def compiler(self, major: int) -> str:
        """The first line of `cc --version`; raises `BuildError` without one, naming what else a build would lack."""
        try:
            outcome = self.runner.run([*self.cc.split(), "--version"], timeout_s=30.0)
        except BenchError:
            raise self._lacking(["cc", *self._missing(generates=major >= _GENERATES_SINCE)]) from None
        return f"{self.cc}: {outcome.stdout.splitlines()[0]}" if outcome.stdout else self.cc

    def flags(self, major: int) -> tuple[str, ...]:
        """configure's options: no interactive line editing, no ICU (our clusters use the C locale), codecs if there."""
        found = ["--without-readline"]
        if major >= _ICU_BY_DEFAULT:
            found.append("--without-icu")
        for name, without, with_it, since in _LIBRARIES:
            if major >= since and (flag := with_it if self._has(name) else without):
                found.append(flag)
        return tuple(found)

    def _missing(self, *, generates: bool) -> list[str]:
        """Tools beside the compiler; `generates`: the source has no parser yet."""
        return [tool for tool in ("make", "perl", *(("bison", "flex") if generates else ())) if not self.which(tool)]

    def _lacking(self, tools: Sequence[str]) -> messages.BuildError:
        named = ["a C compiler" if tool == "cc" else tool for tool in tools]
        return messages.missing_tools(named, failures.install_command(tools, debian=self.debian))

    def _has(self, library: str) -> bool:
        if not self.which("pkg-config"):
            return False
        return self.runner.run(["pkg-config", "--exists", library], timeout_s=30.0).status == 0
