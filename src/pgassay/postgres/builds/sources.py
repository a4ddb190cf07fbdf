"""PostgreSQL's source: from what the user names to a tree that can be built, with its hash and version.

Fetched tarballs are kept in the cache with a note of what they are, so that a second look needs no network. A tree's
hash covers every file's path and contents but git's own folder, so that an edit makes another build.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pgassay.bench.running import Runner
from pgassay.errors import UsageError
from pgassay.postgres.builds import download
from pgassay.postgres.builds.archives import NoArchiveError, extract
from pgassay.postgres.builds.cache import Cache, file_sha256
from pgassay.postgres.builds.commits import export, git, refused_name
from pgassay.postgres.builds.download import Opener, open_url
from pgassay.postgres.builds.errors import BuildError, failed, no_such_source
from pgassay.postgres.builds.recipe import FETCHED, Spec, parse_spec


@dataclass(frozen=True)
class Source:
    """A source that was found: `spec` as the user may say it, its hash, its version (`17.5`, `19devel`)."""

    spec: str
    sha256: str
    version: str
    commit: str = ""


@dataclass(frozen=True)
class Sources:
    """Finds and unpacks sources; `fallback` is the version to build when nothing says which."""

    cache: Cache
    runner: Runner
    fallback: str = ""
    allow_deb_src: bool = False
    opener: Opener = open_url
    entries: Mapping[str, str] = field(default_factory=download.machine_entries)

    def identify(self, spec: Spec | None, version: str) -> Source:
        """The source of this spec (None: any in the cache) and version (empty: any); fetched if it has to be."""
        if spec is None or spec.kind in FETCHED:
            source = self._fetched(spec, version or self.fallback)
        else:
            source = self._local(spec)
        if version and not fits(source.version, version):
            raise UsageError(
                f"{source.spec} is PostgreSQL {source.version}, not {version}", "change build.version or build.source"
            )
        return source

    def unpack(self, source: Source, into: Path) -> Path:
        """The source as a tree of its own below `into`."""
        spec = parse_spec(source.spec)
        if spec.kind in FETCHED:
            tarball = self._kept(source)
            if not tarball.is_file():
                raise _damaged_source(tarball.with_suffix(".json"), "its tarball is gone")
            if file_sha256(tarball) != source.sha256:
                raise _damaged_source(tarball, "it is not what was fetched")
            return unpack(tarball, into)
        assert spec.path is not None
        if spec.kind == "tarball":
            return unpack(spec.path, into)
        if spec.kind == "git":
            export(self.runner, spec.path, source.commit, into)
            return into
        shutil.copytree(spec.path, into, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        if tree_sha256(into) != source.sha256:
            raise failed("copying the source", "it changed meanwhile", "build again", spec.path)
        return into

    def known(self) -> tuple[Source, ...]:
        """Fetched sources that the cache holds, newest version first."""
        notes = [_noted(path) for path in self.cache.sources.glob("*.json")]
        return tuple(sorted(notes, key=lambda each: _numbers(each.version), reverse=True))

    def in_cache(self, spec: Spec | None, version: str) -> Source | None:
        """A fetched source that the cache knows; None where it would have to be fetched."""
        kinds, requested = FETCHED if spec is None else (spec.kind,), version or self.fallback
        fitting = (each for each in self.known() if each.spec in kinds)
        return next((each for each in fitting if not requested or fits(each.version, requested)), None)

    def _fetched(self, spec: Spec | None, version: str) -> Source:
        found = self.in_cache(spec, version)
        if found is not None:
            return found
        if not version:
            raise UsageError(
                "no version of PostgreSQL to build is given, and none is installed here to take it from",
                "name one: build.version = 17.5",
            )
        return self._fetch(spec, version)

    def _fetch(self, spec: Spec | None, version: str) -> Source:
        self.cache.require_room()
        within_reach = self.entries and (self.allow_deb_src or download.have_sources(self.entries))
        kind = spec.kind if spec else ("distribution" if within_reach else "official")
        with self.cache.staging() as staging:
            if kind == "official":
                tarball = self._official(version, staging)
            else:
                allowed = self.allow_deb_src
                tarball = download.fetch_distribution(
                    self.runner, version, staging, allowed=allowed, entries=self.entries
                )
            return self._keep(kind, tarball, staging)

    def _official(self, version: str, staging: Path) -> Path:
        try:
            return download.fetch_official(download.exact_version(version, self.opener), staging, self.opener)
        except BuildError as error:
            if not self.entries:
                raise
            hint = f"let apt fetch the distribution's with --allow-deb-src, or {error.hint}"
            raise BuildError(error.message, hint) from None

    def _keep(self, kind: str, tarball: Path, staging: Path) -> Source:
        source = Source(kind, file_sha256(tarball), version_of(unpack(tarball, staging / "tree")))
        tarball.rename(self._kept(source))
        self._note(source)
        return source

    def _kept(self, source: Source) -> Path:
        return self.cache.sources / f"{source.sha256}.tar"

    def _note(self, source: Source) -> None:
        """Under a name of its own first: another process may have fetched the same source just now."""
        with self.cache.staging() as staging:
            fresh = staging / "note.json"
            fresh.write_text(json.dumps(asdict(source)) + "\n", encoding="utf-8")
            fresh.rename(self.cache.sources / f"{source.sha256}.json")

    def _local(self, spec: Spec) -> Source:
        path = spec.path
        assert path is not None
        if not path.exists():
            raise no_such_source(path)
        if spec.kind == "directory":
            require_source(path)
            return Source(str(spec), tree_sha256(path), version_of(path))
        if spec.kind == "git":
            commit = self._git(path, "rev-parse", "--verify", "--quiet", f"{spec.commit}^{{commit}}").strip()
            try:
                configure = self._git(path, "show", f"{commit}:configure")
            except UsageError:
                raise _not_a_source(path) from None
            version = version_in(configure, str(spec))
            return Source(str(spec), hashlib.sha256(commit.encode()).hexdigest(), version, commit)
        return self._tarball(spec, path)

    def _tarball(self, spec: Spec, path: Path) -> Source:
        beside = path.with_name(f"{path.name}.sha256")
        if beside.is_file():
            try:
                download.require_checksum(path, download.checksum_in(beside.read_text(encoding="utf-8")))
            except ValueError as error:
                raise BuildError(
                    f'"{beside}" holds no checksum: {error!s}',
                    "fetch it again beside its tarball, or remove it to build unchecked",
                ) from None
        sha256 = file_sha256(path)
        for source in self.known():
            if source.sha256 == sha256:
                return Source(str(spec), sha256, source.version)
        self.cache.require_room()
        with self.cache.staging() as staging:
            found = Source(str(spec), sha256, version_of(unpack(path, staging / "tree")))
        self._note(found)
        return found

    def _git(self, path: Path, *words: str) -> str:
        outcome = git(self.runner, path, *words)
        if outcome.status != 0:
            raise refused_name(self.runner, path, words[-1].removesuffix("^{commit}"), outcome.stderr)
        return outcome.stdout


def _noted(path: Path) -> Source:
    """What a note of the cache says; raises `BuildError` for one that was changed by hand."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        said.pop("kept", None)  # of earlier versions, which knew sources that were not here
        source = Source(**said)
        parse_spec(source.spec)
        readable = bool(_numbers(source.version))
    except (OSError, ValueError, TypeError, AttributeError, UsageError) as error:
        raise _damaged_source(path, f"it cannot be read ({error})") from None
    if not readable or source.sha256 != path.stem:
        raise _damaged_source(path, "it belongs to another source")
    return source


def fits(version: str, requested: str) -> bool:
    """Is `17.5` what was asked for by `17` or `17.5`?"""
    return version == requested or ("." not in requested and _numbers(version)[:1] == _numbers(requested))


def major_of(version: str) -> int:
    """17 of `17.5`, 19 of `19devel`; 0 of an empty one."""
    return int("".join(digit for digit in version.partition(".")[0] if digit.isdigit()) or 0)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


_VERSION = re.compile(r"^PACKAGE_VERSION='([^']+)'", re.MULTILINE)
_IGNORED = frozenset({".git"})


def version_in(configure: str, what: str) -> str:
    """`PACKAGE_VERSION` of a configure script's text; raises `BuildError`."""
    found = _VERSION.search(configure)
    if not found:
        raise BuildError(f"{what} does not say which version of PostgreSQL it is")
    return found[1]


def version_of(tree: Path) -> str:
    """The version of an unpacked source."""
    return version_in((tree / "configure").read_text(encoding="utf-8", errors="replace"), str(tree))


def require_source(tree: Path) -> None:
    """Raise `UsageError` unless this is PostgreSQL's source, untouched by a build in place."""
    if not (tree / "configure").is_file() or not (tree / "src" / "backend").is_dir():
        raise _not_a_source(tree)
    if (tree / "config.status").exists():
        raise UsageError(
            f'"{tree}" is configured and built in place', f"run make distclean there, or use git:{tree}@COMMIT"
        )


def tree_sha256(tree: Path) -> str:
    """Over all files, sorted by path."""
    digest = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        relative = path.relative_to(tree)
        if path.is_file() and not _IGNORED & set(relative.parts):
            digest.update(f"{relative}\0{file_sha256(path)}\n".encode())
    return digest.hexdigest()


def unpack(tarball: Path, into: Path) -> Path:
    """Unpack and return the folder that holds `configure`; raises `UsageError` if none does, else `BuildError`."""
    try:
        extract(tarball, into)
    except NoArchiveError as error:
        raise BuildError(
            f'"{tarball}" cannot be unpacked: {error!s}',
            "fetch it again; it must be a tar file, plain or with gzip, bzip2 or xz",
        ) from None
    for folder in (into, *sorted(each for each in into.iterdir() if each.is_dir())):
        if (folder / "configure").is_file():
            return folder
    raise _not_a_source(tarball)


def _not_a_source(path: Path) -> UsageError:
    """A folder or tarball that holds something else."""
    return UsageError(
        f'"{path}" does not hold the source of PostgreSQL', "its top has a file configure and a folder src/backend"
    )


def _damaged_source(path: Path, detail: str) -> BuildError:
    """A tarball or a note of the cache was changed by hand."""
    return BuildError(
        f'"{path}" in the cache is damaged: {detail}',
        "remove that file: a source is fetched again when it is needed",
    )
