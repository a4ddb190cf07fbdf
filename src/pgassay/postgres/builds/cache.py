"""The cache of builds: one folder for each key, made complete by one rename, with a manifest that says what it is.

A build is made in `staging/` and only renamed into `builds/` when its manifest is on disk, so an interrupted one is
never found. The manifest lists every file with its size and SHA-256: a damaged build is reported, not run. The servers'
account must be able to enter it.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from pgassay import scratch
from pgassay.errors import UsageError
from pgassay.files import UntrustedError
from pgassay.locks import alone
from pgassay.postgres.builds.recipe import ROOM, BuildError, Recipe
from pgassay.study.units import format_bytes

VARIABLE = "PGASSAY_CACHE"
MANIFEST = "build.json"
MARKER = "PGASSAY_BUILDS"
FORMAT = 1
NEEDED_BYTES = 700 << 20
"""Room for one build under way: source, objects and programs (measured: 155, 73 and 36 MB), twice for safety."""
KEPT_BYTES = 40 << 20
"""What a finished build keeps."""


@dataclass(frozen=True)
class Manifest:
    """What a build is, how it came about, and its files: path to (size in bytes, SHA-256)."""

    recipe: Recipe
    source: str
    made_utc: str
    seconds: float
    objects: int
    files: dict[str, tuple[int, str]]
    format: int = FORMAT
    extension: str = ""
    """The source of an extension that was installed in addition."""

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in self.files.values())


@dataclass(frozen=True)
class Cache:
    """The folder `root`, made when it is first needed."""

    root: Path

    @property
    def sources(self) -> Path:
        """Fetched tarballs and what is known of every source."""
        return self._folder("sources")

    @property
    def logs(self) -> Path:
        return self._folder("logs")

    def directory(self, key: str) -> Path:
        return self.root / "builds" / key

    def all_keys(self) -> tuple[str, ...]:
        """All entries of the builds' folder, sorted, also those that are no builds: `manifest` reports them."""
        folder = self.root / "builds"
        return tuple(sorted(each.name for each in folder.iterdir())) if folder.is_dir() else ()

    def find(self, text: str) -> str:
        matching = [key for key in self.all_keys() if key.startswith(text)]
        if not matching:
            raise _unknown_build(text, self.all_keys())
        if len(matching) > 1:
            raise UsageError(f'"{text}" matches several builds: {", ".join(matching)}', "give more digits")
        return matching[0]

    def manifest(self, key: str) -> Manifest | None:
        """What the build is; None if it is not there; raises `BuildError` for one that is damaged."""
        directory = self.directory(key)
        if not os.path.lexists(directory):
            return None
        manifest = read_manifest(directory, key)
        if manifest.recipe.key != key:
            raise damaged(key, f"its {MANIFEST} belongs to another build")
        for name, (size, _) in manifest.files.items():
            path = directory / name
            if not path.is_file() or path.stat().st_size != size:
                raise damaged(key, f"{name} is missing, or its size has changed")
        return manifest

    def whole(self) -> Iterator[Manifest]:
        """What every build is that its manifest describes; damaged ones are passed over."""
        for key in self.all_keys():
            try:
                manifest = self.manifest(key)
            except BuildError:
                continue
            if manifest is not None:
                yield manifest

    def check_contents(self, key: str) -> None:
        """Read every file and compare it with the manifest; raises `BuildError`."""
        manifest = self.manifest(key)
        if manifest is None:
            raise _unknown_build(key, self.all_keys())
        for name, (_, sha256) in manifest.files.items():
            if file_sha256(self.directory(key) / name) != sha256:
                raise damaged(key, f"{name} has other contents")

    def remove(self, key: str) -> None:
        with self.staging() as staging:
            self.directory(key).rename(staging / key)

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A folder of ours for work under way, gone afterwards; what killed processes left goes first."""
        with suppress(OSError, UntrustedError):
            scratch.remove_left()
        with scratch.folder("build", self._folder("staging")) as directory:
            directory.chmod(0o755)
            yield directory

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        with alone(self._folder("locks") / key):
            yield

    def put(self, installed: Path, manifest: Manifest) -> Path:
        """Write the manifest and let the build appear; everything is on disk before it does."""
        path = installed / MANIFEST
        path.write_text(json.dumps(asdict(manifest), indent=1) + "\n", encoding="utf-8")
        for folder, _, names in os.walk(installed):
            Path(folder).chmod(0o755)
            for name in names:
                _sync(Path(folder, name))
        directory = self.directory(manifest.recipe.key)
        self._folder("builds")
        installed.rename(directory)
        _sync(directory.parent)
        return directory

    def require_room(self, builds: int = 1) -> None:
        """Raise `BuildError` unless so many builds fit, made one after the other."""
        self._folder("builds")
        free = shutil.disk_usage(self.root).free
        needed = NEEDED_BYTES + (builds - 1) * KEPT_BYTES
        if free < needed:
            what = "a build needs" if builds == 1 else f"{builds} builds need"
            there = f'"{self.root}" has {format_bytes(free >> 20 << 20)} free'
            raise BuildError(f"{there}, {what} about {format_bytes(needed)}", ROOM)

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        if not folder.is_dir():
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for each in (self.root, folder):
                    each.chmod(0o755)
                (self.root / MARKER).touch()
            except OSError as error:
                raise UsageError(
                    f'builds cannot be kept in "{self.root}": {(error.strerror or str(error)).lower()}',
                    "name another place with PGASSAY_CACHE",
                ) from None
        return folder


def read_manifest(directory: Path, key: str) -> Manifest:
    """The manifest in a build's folder; raises `BuildError` if it cannot be read."""
    try:
        return msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise damaged(key, f"its {MANIFEST} cannot be read ({error})") from None


def list_files(directory: Path) -> dict[str, tuple[int, str]]:
    paths = sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(directory)): (path.stat().st_size, file_sha256(path)) for path in paths}


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    if path.is_symlink():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unknown_build(text: str, known: Iterable[str]) -> UsageError:
    return UsageError(f'no build "{text}" is in the cache', f"the cache holds: {', '.join(known) or 'none'}")


def damaged(key: str, detail: str) -> BuildError:
    return BuildError(f"build {key} in the cache is damaged: {detail}", f"remove it: pgassay postgres remove {key}")
