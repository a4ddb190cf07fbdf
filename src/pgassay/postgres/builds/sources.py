"""PostgreSQL's source: from what the user names to a tree that can be built, with its hash and version.

Fetched tarballs are kept in the cache with a note of what they are, so that a second look needs no network. A tree's
hash covers every file's path and contents but git's own folder, so that an edit makes another build.

The project's file server holds `source/vX.Y/postgresql-X.Y.tar.bz2` and its `.sha256`; its web site says which
minor version is the latest (versions.json). The machine's own apt is not touched: lists, cache and source entries are
in a folder of ours (apt.conf(5), Dir::Etc and Dir::State); the entries are the machine's own with `deb-src` for `deb`,
and only with consent. The distribution's patches are not applied: the tarball is the project's own.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from pgassay.errors import UsageError
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.running import Completed, Runner
from pgassay.postgres.builds.cache import Cache, file_sha256
from pgassay.postgres.builds.commits import (
    git,
    has_file,
    hash_of,
    no_such_source,
)
from pgassay.postgres.builds.recipe import FETCHED, ROOM, BuildError, Spec, failed, parse_spec

FILES = "https://ftp.postgresql.org/pub/source/v{version}/postgresql-{version}.tar.bz2"
VERSIONS = "https://www.postgresql.org/versions.json"
_HTTP_TIMEOUT_S = 60.0

Opener = Callable[[str], AbstractContextManager[IO[bytes]]]


def open_url(url: str) -> AbstractContextManager[IO[bytes]]:
    response: AbstractContextManager[IO[bytes]] = urllib.request.urlopen(url, timeout=_HTTP_TIMEOUT_S)
    return response


def exact_version(version: str, opener: Opener) -> str:
    """`"17"` as the latest `"17.N"`; an exact version as it is; raises `BuildError`."""
    if "." in version:
        return version
    try:
        with opener(VERSIONS) as response:
            rows = json.load(response)
        return next(f"{row['major']}.{row['latestMinor']}" for row in rows if str(row["major"]) == version)
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise _not_fetched(f"the latest version of PostgreSQL {version}", _words(error)) from None


def fetch_official(version: str, folder: Path, opener: Opener) -> Path:
    """Fetch one version's tarball into `folder`, checked against its checksum; raises `BuildError`."""
    url = FILES.format(version=version)
    target = folder / url.rpartition("/")[2]
    try:
        with opener(f"{url}.sha256") as response:
            checksum = checksum_in(response.read().decode("ascii", errors="replace"))
        with opener(url) as response, target.open("wb") as file:
            shutil.copyfileobj(response, file)
    except (OSError, ValueError) as error:
        target.unlink(missing_ok=True)
        raise _not_fetched(url, _words(error)) from None
    require_checksum(target, checksum)
    return target


def require_checksum(path: Path, checksum: str) -> None:
    """Raise `BuildError`, and remove nothing, if the file is not what its checksum says."""
    found = file_sha256(path)
    if found != checksum:
        raise BuildError(
            f"{path.name} has the SHA-256 {found[:16]}…, its checksum says {checksum[:16]}…",
            "the file is damaged or not the one that was published: it was not used; fetch it again",
        )


def checksum_in(text: str) -> str:
    """The SHA-256 in a `.sha256` file (`HEX  NAME`); raises `ValueError`."""
    word = text.split()[0].lower() if text.split() else ""
    if len(word) != 64 or not set(word) <= set("0123456789abcdef"):
        raise ValueError("it is not a SHA-256 checksum")
    return word


def _words(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}".lower()
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason).lower() or type(error).__name__


ETC = Path("/etc/apt")
_OURS = re.compile(r"debian|ubuntu|postgresql|raspbian|mint", re.IGNORECASE)
_ARCHIVE = re.compile(r"/debian/?(\s|$)")
"""Debian's main archive, of which every mirror has all suites."""
NEWER_SUITES = ("trixie", "forky", "sid")
"""Debian's suites after bookworm, looked at when the machine's own have no such version."""
_APT_TIMEOUT_S = 900.0
_TRIES = 4
"""The newest version may be listed and not there yet on a mirror; older ones are then tried."""


def private_entries(files: Mapping[str, str]) -> Mapping[str, str]:
    found = {}
    for name, text in files.items():
        if name.endswith(".sources"):
            stanzas = [each for each in re.split(r"\n\s*\n", text) if _OURS.search(_addresses(each))]
            stanzas = [re.sub(r"(?mi)^Types:.*$", "Types: deb-src", each.strip("\n")) for each in stanzas]
            lines = "\n\n".join(stanzas)
        else:
            kept = [line for line in text.splitlines() if re.match(r"deb(-src)?\s", line) and _OURS.search(line)]
            lines = "\n".join(dict.fromkeys(re.sub(r"^deb(-src)?\s", "deb-src ", line) for line in kept))
        if lines:
            found[name] = lines + "\n"
    return found


def newer_entries(files: Mapping[str, str]) -> Mapping[str, str]:
    """Debian's own entries for its newer suites, where newer versions of PostgreSQL are: sources only, with consent."""
    found = {}
    for name, text in private_entries(files).items():
        if name.endswith(".sources"):
            stanzas = [each for each in re.split(r"\n\s*\n", text) if _ARCHIVE.search(_addresses(each))]
            lines = "\n\n".join(
                re.sub(r"(?mi)^Suites:.*$", f"Suites: {' '.join(NEWER_SUITES)}", each) for each in stanzas
            )
        else:
            parts = (re.match(r"(deb-src(?:\s+\[[^]]*\])?\s+\S+)\s+\S+\s+(.*)$", line) for line in text.splitlines())
            kept = [(part[1], part[2]) for part in parts if part and _ARCHIVE.search(part[1])]
            lines = "\n".join(dict.fromkeys(f"{head} {suite} {tail}" for head, tail in kept for suite in NEWER_SUITES))
        if lines:
            found[name] = lines.rstrip("\n") + "\n"
    return found


def have_sources(files: Mapping[str, str]) -> bool:
    """Does the machine itself have source entries? Then no consent is needed to read from the same places."""
    return any(re.search(r"(?m)^(?:deb-src\s|Types:.*\bdeb-src\b)", text) for text in files.values())


def machine_entries(etc: Path = ETC) -> dict[str, str]:
    paths = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    entries = [path for path in paths if path.is_file() and path.suffix in (".list", ".sources")]
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in entries}


def fetch_distribution(
    runner: Runner, version: str, folder: Path, *, allowed: bool, entries: Mapping[str, str]
) -> Path:
    """Fetch the authors' tarball of PostgreSQL `version` (17 or 17.5) into `folder`; checked against the .dsc file."""
    major, _, minor = version.partition(".")
    package = f"postgresql-{major}"
    if not entries:
        raise _no_package_source("this machine has no apt source entries")
    if not allowed and not have_sources(entries):
        raise UsageError(
            f"the source package {package} is not available: apt has no source entries",
            "--allow-deb-src lets apt read them from a private configuration; the machine's own stays unchanged",
        )
    options = _private_apt(folder / "apt", entries)
    updated, versions = _look(runner, options, package, version if minor else "")
    newer = newer_entries(entries) if not versions else {}
    if newer and allowed:
        options = _private_apt(folder / "apt-newer", newer)
        updated, versions = _look(runner, options, package, version if minor else "")
    if not versions:
        words = (updated.stderr.strip().splitlines() or ["no such package"])[-1]
        raise _no_package_source(f"{package} {version} ({words})", newer=bool(newer) and not allowed)
    words = ""
    for candidate in versions[:_TRIES]:
        command = ["apt-get", *options, "source", "--download-only", f"{package}={candidate}"]
        outcome = _run(runner, command, folder)
        if outcome.status == 0:
            return _checked(folder, package)
        words = (outcome.stderr.strip().splitlines() or [""])[0].removeprefix("E: ")  # apt's last line only sums up
    raise _not_fetched(f"the source package {package}", words)


def _look(runner: Runner, options: Sequence[str], package: str, exact: str) -> tuple[Completed, list[str]]:
    """The versions of a package that there are, newest first; `exact` of one upstream version only."""
    updated = _run(runner, ["apt-get", *options, "update"])
    listed = _run(runner, ["apt-cache", *options, "showsrc", package])
    found = dict.fromkeys(re.findall(r"(?m)^Version: (\S+)$", listed.stdout))
    return updated, [
        each
        for each in sorted(found, key=lambda text: list(map(int, re.findall(r"\d+", text))), reverse=True)
        if not exact or (each.rpartition("-")[0].rpartition(":")[2] or each) == exact  # without epoch and revision
    ]


def _private_apt(folder: Path, entries: Mapping[str, str]) -> list[str]:
    """The options that keep apt inside `folder`."""
    for name in ("lists/partial", "cache/archives/partial", "sources"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, text in private_entries(entries).items():
        (folder / "sources" / name).write_text(text, encoding="utf-8")
    places = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": folder / "sources",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "",
    }
    return [word for name, value in places.items() for word in ("-o", f"{name}={value}")]


def _run(runner: Runner, command: Sequence[str], directory: Path | None = None) -> Completed:
    try:
        return runner.run(
            command,
            directory=directory,
            environment={name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")},
            privileged="fetches into our cache",
            timeout_s=_APT_TIMEOUT_S,
        )
    except BenchError:
        raise _no_package_source("this machine has no apt-get") from None


def _checked(folder: Path, package: str) -> Path:
    """The tarball that the package's .dsc names, after a look at its checksum there."""
    (control,) = folder.glob(f"{package}_*.dsc")
    text = control.read_text(encoding="utf-8")
    found = re.search(r"(?m)^ ([0-9a-f]{64}) \d+ (\S+\.orig\.tar\.\w+)$", text)
    if not found:
        raise _no_package_source(f"{control.name} names no tarball")
    tarball = folder / found[2]
    require_checksum(tarball, found[1])
    return tarball


def _addresses(stanza: str) -> str:
    found = re.search(r"(?mi)^URIs:(.*(?:\n[ \t].*)*)", stanza)
    return found[1] if found else ""


def _not_fetched(what: str, detail: str) -> BuildError:
    return BuildError(
        f"could not fetch {what}: {detail}",
        "fetch it elsewhere and name it: build.source = tarball:FILE (with FILE.sha256 next to it, it is checked),"
        " or take another version",
    )


def _no_package_source(detail: str, *, newer: bool = False) -> BuildError:
    """apt is not here, or found nothing; `newer`: it was not allowed to look into newer suites."""
    look = "let apt look into Debian's newer suites with --allow-deb-src, or " if newer else ""
    hint = f"{look}use build.source = official or tarball:FILE"
    return BuildError(f"no source package of PostgreSQL: {detail}", hint)


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
    entries: Mapping[str, str] = field(default_factory=machine_entries)

    def identify(self, spec: Spec | None, version: str) -> Source:
        """The source of this spec (None: any in the cache) and version (empty: any); fetched if it has to be."""
        if spec is None or spec.kind in FETCHED:
            source = self.in_cache(spec, version) or self._fetch(spec, version or self.fallback)
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

    def _fetch(self, spec: Spec | None, version: str) -> Source:
        if not version:
            raise UsageError(
                "no version of PostgreSQL to build is given, and none is installed here to take it from",
                "name one: build.version = 17.5",
            )
        self.cache.require_room()
        within_reach = self.entries and (self.allow_deb_src or have_sources(self.entries))
        kind = spec.kind if spec else ("distribution" if within_reach else "official")
        with self.cache.staging() as staging:
            if kind == "official":
                try:
                    tarball = fetch_official(exact_version(version, self.opener), staging, self.opener)
                except BuildError as error:
                    if not self.entries:
                        raise
                    hint = f"let apt fetch the distribution's with --allow-deb-src, or {error.hint}"
                    raise BuildError(error.message, hint) from None
            else:
                allowed = self.allow_deb_src
                tarball = fetch_distribution(self.runner, version, staging, allowed=allowed, entries=self.entries)
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
        if spec.kind == "git":
            commit = hash_of(self.runner, path, spec.commit)
            configure = git(self.runner, path, "show", f"{commit}:configure")
            if configure.status != 0:
                raise _not_a_source(path)
            version = version_in(configure.stdout, str(spec))
            return Source(str(spec), hashlib.sha256(commit.encode()).hexdigest(), version, commit)
        if spec.kind == "directory":
            if not (path / "configure").is_file() or not (path / "src" / "backend").is_dir():
                raise _not_a_source(path)
            if (path / "config.status").exists():
                raise UsageError(
                    f'"{path}" is configured and built in place', f"run make distclean there, or use git:{path}@COMMIT"
                )
            return Source(str(spec), tree_sha256(path), version_of(path))
        return self._tarball(spec, path)

    def _tarball(self, spec: Spec, path: Path) -> Source:
        checksum = path.with_name(f"{path.name}.sha256")
        if checksum.is_file():
            try:
                require_checksum(path, checksum_in(checksum.read_text(encoding="utf-8")))
            except ValueError as error:
                raise BuildError(
                    f'"{checksum}" holds no checksum: {error!s}',
                    "fetch it again next to its tarball, or remove it to build unchecked",
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


@dataclass(frozen=True)
class ExtensionSource:
    spec: Spec
    folder: Path
    sha256: str
    commit: str = ""


def identify_extension(runner: Runner, spec: Spec) -> ExtensionSource:
    path, sha = spec.path, ""
    assert path is not None
    if not path.is_dir():
        raise no_such_source(path)
    if spec.kind == "git":
        sha = hash_of(runner, path, spec.commit)
        found = any(has_file(runner, path, sha, name) for name in _MAKEFILES)
    else:
        found = any((path / name).is_file() for name in _MAKEFILES)
    if not found:
        raise UsageError(
            f"{spec} has no Makefile: it is not an extension that PGXS builds", "name the extension's own folder"
        )
    return ExtensionSource(spec, path, hashlib.sha256(sha.encode()).hexdigest() if sha else tree_sha256(path), sha)


def _noted(path: Path) -> Source:
    """What a note of the cache says; raises `BuildError` for one that was changed by hand."""
    try:
        source = msgspec.json.decode(path.read_bytes(), type=Source)
        parse_spec(source.spec)
        readable = bool(_numbers(source.version))
    except (OSError, msgspec.MsgspecError, UsageError) as error:
        raise _damaged_source(path, f"it cannot be read ({error})") from None
    if not readable or source.sha256 != path.stem:
        raise _damaged_source(path, "it belongs to another source")
    return source


def fits(version: str, requested: str) -> bool:
    return version == requested or ("." not in requested and _numbers(version)[:1] == _numbers(requested))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


_VERSION = re.compile(r"^PACKAGE_VERSION='([^']+)'", re.MULTILINE)
_IGNORED = frozenset({".git"})
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


def version_in(configure: str, what: str) -> str:
    """`PACKAGE_VERSION` of a configure script's text; raises `BuildError`."""
    found = _VERSION.search(configure)
    if not found:
        raise BuildError(f"{what} does not say which version of PostgreSQL it is")
    return found[1]


def version_of(tree: Path) -> str:
    return version_in((tree / "configure").read_text(encoding="utf-8", errors="replace"), str(tree))


def tree_sha256(tree: Path) -> str:
    """Over all files, sorted by path."""
    digest = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        relative = path.relative_to(tree)
        if path.is_file() and not _IGNORED & set(relative.parts):
            digest.update(f"{relative}\0{file_sha256(path)}\n".encode())
    return digest.hexdigest()


_FULL = (errno.ENOSPC, errno.EDQUOT)


class NoArchiveError(Exception):
    """No tar file, or a damaged one; its words say how."""


def extract(tarball: Path, into: Path) -> None:
    """Unpack into the directory `into`; raises `BuildError` where the disk is full, else `NoArchiveError`.

    Python's filter refuses paths and links that lead outside (PEP 706). It has it from 3.11.4 on, and Debian 12 has
    3.11.2: there an archive of plain files and folders is unpacked, and any other is refused.
    """
    try:
        into.mkdir(parents=True, exist_ok=True)
        with tarfile.open(tarball) as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(into, filter="data")
            else:
                archive.extractall(into, list(_plain(archive)))
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise BuildError(f'the disk of "{into}" is full', ROOM) from None
        raise NoArchiveError(str(error).partition("\n")[0].rstrip(":")) from None


def _plain(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Its members as ours, writable by us alone; raises `NoArchiveError` for a path that leads outside, and a link."""
    for member in archive:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise NoArchiveError(f'"{member.name}" is not a file or folder in it, and this Python is older than 3.11.4')
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        member.mode = (member.mode | (0o700 if member.isdir() else 0o600)) & 0o755
        yield member


def export(runner: Runner, folder: Path, sha: str, into: Path, below: str = ".") -> None:
    """Write the commit's files below a path of it to the directory `into`; raises `BuildError`."""
    archive = into.with_name(f"{into.name}.tar")
    outcome = git(runner, folder, "archive", "--format=tar", "-o", str(archive), sha, "--", below)
    try:
        if outcome.status != 0:
            raise NoArchiveError((outcome.stderr.strip().splitlines() or ["git archive failed"])[0])
        extract(archive, into)
    except NoArchiveError as error:
        raise BuildError(
            f'commit {sha[:12]} of "{folder}" cannot be exported: {error}', "check the repository with git fsck"
        ) from None
    finally:
        archive.unlink(missing_ok=True)


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
    return UsageError(
        f'"{path}" does not hold the source of PostgreSQL', "its top has a file configure and a folder src/backend"
    )


def _damaged_source(path: Path, detail: str) -> BuildError:
    return BuildError(
        f'"{path}" in the cache is damaged: {detail}',
        "remove that file: a source is fetched again when it is needed",
    )
