"""PostgreSQL built from source: its tools, configure and make, extensions, and the one call for a verified build.

A build that is interrupted, fails, or does not verify never enters the cache. It is verified three ways: `postgres -C`,
pg_controldata on what initdb wrote, and SHOW on a server that runs on a fresh cluster. For a dry run `missing_builds`
lists what would be built; it fetches and builds nothing.

An extension is added to a copy of a build. The copy is a build of its own, so that two commits of an extension are two
levels that nothing else tells apart. PostgreSQL's manual, "Extension Building Infrastructure" (PGXS).

configure and make run out of tree. Only the folders that are needed are built: the server, what initdb and pgbench
need, the extensions we read with. That takes about four fifths of the time of a whole build. Each is built and
installed by its own make, in this order, since later ones link with earlier ones. The user's CFLAGS, LDFLAGS and make's
own variables are not passed on: the recipe alone says what a build is made of. Progress is the number of object files
so far.

From PostgreSQL 17 on a tarball holds no generated parser (release notes, "Migration"), so bison and flex are needed;
older tarballs contain it. A missing library is named by its package, in the words of the machine's package manager.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from statistics import median

from pgassay import children
from pgassay.copying import copy_into
from pgassay.errors import UsageError
from pgassay.files import Directory, UntrustedError
from pgassay.interfaces import versions
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.places import Account
from pgassay.interfaces.running import Clock, Runner
from pgassay.postgres import ownership
from pgassay.postgres.builds.cache import MANIFEST, Cache, Manifest, list_files
from pgassay.postgres.builds.recipe import (
    DEFAULT_SEGMENT_BYTES,
    FETCHED,
    BuildError,
    Recipe,
    failed,
)
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.builds.sources import (
    ExtensionSource,
    Source,
    Sources,
    export,
    identify_extension,
    tree_sha256,
)
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation

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
        asks = self.which("pkg-config")
        for name, without, with_it, since in _LIBRARIES:
            if major >= since:
                there = asks and self.runner.run(["pkg-config", "--exists", name], timeout_s=30.0).status == 0
                found.append(with_it if there else without)
        return tuple(flag for flag in found if flag)

    def _missing(self, *, generates: bool) -> list[str]:
        """Tools in addition to the compiler; `generates`: the source has no parser yet."""
        return [tool for tool in ("make", "perl", *(("bison", "flex") if generates else ())) if not self.which(tool)]

    def _lacking(self, tools: Sequence[str]) -> BuildError:
        named = ["a C compiler" if tool == "cc" else tool for tool in tools]
        return BuildError(
            f"building PostgreSQL needs {', '.join(named)}, which this machine lacks",
            install_command(tools, debian=self.debian),
        )


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


def install_command(tools: Iterable[str], *, debian: bool) -> str:
    packages = " ".join(PACKAGES[tool][0 if debian else 1] for tool in tools)
    return f"sudo apt-get install {packages}" if debian else f"sudo dnf install {packages}"


def remedy(output: str, *, debian: bool) -> str:
    if "No space left on device" in output:
        return "the disk is full: free space, or name another place with PGASSAY_CACHE"
    if _NO_PROGRAMS.search(output):
        return f"check the compiler's flags (build.cflags), or {install_command(['libc'], debian=debian)}"
    complaints = "\n".join(line for line in output.splitlines() if re.search(r"error|not found|missing|No such", line))
    missing = [what for sign, what in _SIGNS if re.search(sign, complaints)][:1]
    return install_command(missing, debian=debian) if missing else "see the compiler's message"


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


Notify = Callable[[Progress], None]


def notify_nobody(progress: Progress) -> None:
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


def count_objects(build: Path) -> int:
    """How many there are so far; configure makes folders and removes them meanwhile, which os.walk passes over."""
    return sum(name.endswith(".o") for _, _, names in os.walk(build) for name in names)


_INSTALLED, _OBJECTS, _TREE = "installed", "objects", "extension"


def lay_out(source: ExtensionSource, base: Path, staging: Path, runner: Runner) -> Path:
    """Copy the build `base` and the extension into the empty folder `staging`; returns the copy of the build.

    Raises `BuildError` where the extension changes meanwhile.
    """
    installed, tree = staging / _INSTALLED, staging / _TREE
    shutil.copytree(base, installed, symlinks=True)
    if source.commit:
        export(runner, source.folder, source.commit, tree)
    else:
        shutil.copytree(source.folder, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        if tree_sha256(tree) != source.sha256:
            raise failed("copying the extension", "it changed meanwhile", "build again", source.folder)
    return installed


def make(source: ExtensionSource, making: Making, staging: Path) -> None:
    """Make the extension that is laid out there, and install it into that build; raises `BuildError`."""
    tree, program = staging / _TREE, staging / _INSTALLED / "bin" / "pg_config"
    stale = () if source.commit else ("clean",)  # what was made in place was made for another PostgreSQL
    for goal in (*stale, "all", "install"):
        making.step("make", ["make", "-s", "-C", str(tree), "USE_PGXS=1", f"PG_CONFIG={program}", goal], tree)


_CONTROL = (("Database block size", "block_bytes"), ("WAL block size", "wal_block_bytes"))
_KEPT = "kept"
"""The folder of what is kept of a build, while it is under way."""
_SHOWN = ("block_size", "wal_block_size", "segment_size")


def verify(installation: LocalInstallation, recipe: Recipe, runner: Runner) -> dict[str, str]:
    """Make a cluster, start it, compare; returns what the server says; raises `BuildError` or `ClusterError`."""
    sizes = {"block_size": recipe.block_bytes, "wal_block_size": recipe.wal_block_bytes}
    with ownership.private_directory(installation.account) as folder:
        directory = folder / "data"
        installation.initialize(directory, {})
        for name, size in sizes.items():
            _require(recipe, name, size, installation.setting(directory, {}, name))
        program = str(installation.bindir / "pg_controldata")
        outcome = runner.run([program, "-D", str(directory)], timeout_s=60.0)
        for label, field in _CONTROL:
            found = re.search(rf"(?m)^{label}:\s+(\d+)$", outcome.stdout)
            _require(recipe, label.lower(), getattr(recipe, field), found[1] if found else "nothing")
        server = installation.start(directory, {"shared_buffers": "16MB", "fsync": "off"}, folder / "socket")
        try:
            shown = {name: str(server.query(f"SHOW {name}")[0][0]) for name in _SHOWN}
            (blocks,), *_ = server.query("SELECT setting FROM pg_settings WHERE name = 'segment_size'")
        finally:
            server.stop(immediately=True)
        for name, size in sizes.items():
            _require(recipe, name, size, shown[name])
        _require(recipe, "segment_size", recipe.segment_bytes, int(blocks) * recipe.block_bytes)
        return shown


def _require(recipe: Recipe, name: str, expected: int, found: object) -> None:
    if str(found) != str(expected):
        raise BuildError(
            f"build {recipe.key} has {name} = {found}, not {expected} as requested",
            f"pgassay postgres remove {recipe.key}",
        )


FOUND_BY = "built"

Verify = Callable[[LocalInstallation, Recipe, Runner], object]


@dataclass(frozen=True)
class Builder:
    """Makes installations of this machine's compiler; `jobs` compilers at once."""

    cache: Cache
    runner: Runner
    clock: Clock
    account: Account
    finder: Finder
    sources: Sources
    toolchain: Toolchain
    jobs: int
    notify: Notify = notify_nobody
    verify: Verify = verify

    def recipe(self, request: BuildRequest) -> tuple[Recipe, Source]:
        """What would be built, from which source (fetched if it is not in the cache)."""
        recipe, source, _ = self._identified(request)
        return recipe, source

    def _identified(self, request: BuildRequest) -> tuple[Recipe, Source, ExtensionSource | None]:
        """The extension once: its folder may change between the key and the build."""
        source = self.sources.identify(request.source, request.version)
        extension = None if request.extension is None else identify_extension(self.runner, request.extension)
        major = int(re.split(r"\D", source.version)[0] or 0)
        try:
            recipe = Recipe(
                source_sha256=source.sha256,
                version=source.version,
                block_bytes=request.block_bytes,
                wal_block_bytes=request.wal_block_bytes,
                segment_bytes=DEFAULT_SEGMENT_BYTES,
                compiler=self.toolchain.compiler(major),
                flags=self.toolchain.flags(major),
                cflags=request.cflags,
            )
        except BuildError:
            # The latest build of this source and these sizes, by a compiler that is gone, runs all the same.
            asked = (source.sha256, request.block_bytes, request.wal_block_bytes, request.cflags, "")
            what = attrgetter("source_sha256", "block_bytes", "wal_block_bytes", "cflags", "extension_sha256")
            found = [each for each in self.cache.whole() if what(each.recipe) == asked]
            if not found:
                raise
            recipe = max(found, key=lambda each: each.made_utc).recipe
        return recipe if extension is None else replace(recipe, extension_sha256=extension.sha256), source, extension

    def installation(self, request: BuildRequest, *, may_build: bool = True) -> LocalInstallation:
        """The build, from the cache or made now; raises `BuildError` or `UsageError`."""
        if request.extension is not None:  # its programs find the libraries of the build that it was added to
            base = replace(request, extension=None)
            key = self.installation(base, may_build=may_build).bindir.parent.name
            if may_build and not any(self.cache.directory(key).rglob("pgxs.mk")):  # older ones were kept without PGXS
                with self.cache.alone(key):
                    self.cache.remove(key)
                self.installation(base)
        recipe, source, extension = self._identified(request)
        with self.cache.alone(recipe.key):
            if self.cache.manifest(recipe.key) is None:
                if not may_build:
                    raise UsageError(
                        f"PostgreSQL {recipe.name} is not built yet, and a dry run builds nothing",
                        "build it first: pgassay postgres build",
                    )
                self._build(recipe, source, extension)
            else:
                self.cache.check_contents(recipe.key)  # 20 MB: little against a run, and a wrong server costs hours
        return self.kept(recipe.key)

    def kept(self, key: str) -> LocalInstallation:
        return self.finder.named(self.cache.directory(key) / "bin", FOUND_BY)

    def _build(self, recipe: Recipe, source: Source, extension: ExtensionSource | None) -> None:
        """With an extension: the build without it is in the cache, and is copied."""
        self.cache.require_room()
        started_ns = self.clock.monotonic_ns()
        with self.cache.staging() as staging:
            log = staging / "build.log"
            making = Making(self.runner, log, self.toolchain.debian)
            try:
                if extension is None:
                    objects_in = staging / _OBJECTS
                    tree = self.sources.unpack(source, staging / "source")
                    self.toolchain.require(tree)
                    made = self._compile(recipe, tree, staging, making)
                else:
                    objects_in = staging / _TREE
                    base = self.cache.directory(replace(recipe, extension_sha256="").key)
                    made = lay_out(extension, base, staging, self.runner)
                    with self._given(staging):
                        make(extension, making, staging)
                installed = _taken(made, staging)
            except BuildError as error:
                kept = self.cache.logs / f"{recipe.key}.log"
                if log.exists():
                    shutil.move(log, kept)
                raise BuildError(error.message, (error.hint or "").replace(str(log), str(kept))) from None
            (installed / MANIFEST).unlink(missing_ok=True)
            log.replace(installed / ("build.log" if extension is None else "extension.log"))
            objects = count_objects(objects_in)
            # The servers' account must pass through to try the programs before they are kept.
            for folder in (staging, *(Path(each) for each, _, _ in os.walk(installed))):
                folder.chmod(0o755)
            seconds = round((self.clock.monotonic_ns() - started_ns) / 1e9, 1)
            self.verify(self.finder.named(installed / "bin", FOUND_BY), recipe, self.runner)
            made_utc = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.clock.wall_ns() / 1e9))
            spec, of_extension = (
                "" if each is None else f"{each.spec} ({each.commit})" if each.commit else str(each.spec)
                for each in (source, extension)
            )
            files = list_files(installed)
            self.cache.put(installed, Manifest(recipe, spec, made_utc, seconds, objects, files, extension=of_extension))

    def _compile(self, recipe: Recipe, tree: Path, staging: Path, making: Making) -> Path:
        """Configure and make the source in `tree`; returns the folder below `staging` that has what was installed."""
        objects, installed = staging / _OBJECTS, staging / _INSTALLED
        for folder in (objects, installed):
            folder.mkdir()
        # As many objects as another build had, else one for each C file.
        others = (each.objects for each in self.cache.whole() if each.objects and not each.extension)
        expected = next(others, None) or sum(len([*(tree / each).rglob("*.c")]) for each in folders_of(tree)) or 1
        started_ns = self.clock.monotonic_ns()

        def say(step: str, *, done: bool = False) -> None:
            seconds = (self.clock.monotonic_ns() - started_ns) / 1e9
            self.notify(Progress(recipe.name, step, count_objects(objects), expected, seconds, done))

        def run(step: str, *command: str) -> None:
            making.step(step, command, objects, lambda: say(step))

        prefix, cc = self.cache.directory(recipe.key), self.toolchain.cc
        in_folder = ("make", "-s", f"-j{self.jobs}", "-C")
        with self._given(staging):
            run("configure", str(tree / "configure"), f"--prefix={prefix}", *recipe.configure_options(), f"CC={cc}")
            run("make", *in_folder, *HEADERS)
            for goal in goals_of(tree):
                run("make", *in_folder, *goal, f"DESTDIR={installed}", _RPATH)
            say("installed", done=True)
        return installed / prefix.relative_to("/")

    @contextmanager
    def _given(self, staging: Path) -> Iterator[None]:
        """Let the servers' account work in the folders of `staging`: a makefile is a program of whoever wrote it."""
        if self.account.name is None:
            yield
            return
        staging.chmod(0o755)
        folders = [each for each in staging.iterdir() if each.is_dir()]
        try:
            for each in folders:
                _own(each, self.account.uid, self.account.gid)
            yield
        finally:
            for each in folders:
                _own(each, os.geteuid(), os.getegid())


def _taken(made: Path, staging: Path) -> Path:
    """What a makefile installed, as new files of ours; raises `BuildError` for a link that leads out of it.

    It may have left links and pipes where we write and read, and programs that still have its files open.
    """
    with Directory.open(staging) as ours:
        ours.give_self(None, 0o700)
        ours.mkdir(_KEPT, 0o755)
        try:
            with ours.inner(os.path.normpath(made.relative_to(staging))) as source, ours.inner(_KEPT) as target:
                copy_into(source, target, share=True)
        except UntrustedError as error:
            raise BuildError(error.message, "read its makefiles: no PostgreSQL installs that") from None
    _own(staging / _KEPT, os.geteuid(), os.getegid())
    return staging / _KEPT


def _own(tree: Path, uid: int, gid: int) -> None:
    """Give all of a tree to an account, following no link; the kernel takes away what a file is set-user-id for."""
    for _, folders, files, descriptor in os.fwalk(tree, follow_symlinks=False):
        os.fchown(descriptor, uid, gid)  # ours: below a closed folder
        for name in (*folders, *files):
            os.chown(name, uid, gid, dir_fd=descriptor, follow_symlinks=False)  # ours: no link is followed


@dataclass(frozen=True)
class MissingBuild:
    """A build that a study needs and the cache lacks; `seconds` is what builds took here, None before there was one."""

    name: str
    source: str
    seconds: float | None
    cache: Path


def missing_builds(builder: Builder, requests: Iterable[BuildRequest]) -> tuple[MissingBuild, ...]:
    """Each missing build once, in order. A local source that is none raises `UsageError`, as building would."""
    lengths = [each.seconds for each in builder.cache.whole() if not each.extension]
    seconds = median(lengths) if lengths else None
    found = {}
    for request in requests:
        fetched = request.source is None or request.source.kind in FETCHED
        if not fetched or builder.sources.in_cache(request.source, request.version) is not None:
            recipe, source = builder.recipe(request)
            if builder.cache.manifest(recipe.key) is None:
                found[request] = MissingBuild(recipe.name, source.spec, seconds, builder.cache.root)
            continue
        version = request.version or builder.sources.fallback or "version not chosen yet"
        sizes = f"{request.block_bytes // 1024}kB pages, {request.wal_block_bytes // 1024}kB WAL blocks"
        origin = f"{request.source or 'official or distribution'}, which would be fetched"
        found[request] = MissingBuild(f"{version}, {sizes}", origin, seconds, builder.cache.root)
    return tuple(found.values())
