"""A run in one file, for others to read and to repeat: record, study, the files that it names, its report, checksums.

Only files that a level of the study names as files are packed, whatever else its texts say; those that hold a user's
rows are left out unless they are asked for, and with them the servers' logs and what loads wrote to standard error,
where PostgreSQL quotes rows and statements. The file is its owner's alone (mode 0600).

A zip file whose entries are stored as they are, with one date and in one order: the same run gives the same bytes, on
any machine and with any zlib. Its first entry, capsule.json, has size and SHA-256 of every other.

A capsule comes from somebody else, so nothing in it is believed before it is checked: names stay below the folder that
they are unpacked into, nothing is a link, entries are neither compressed nor overlapping (so that they cannot be larger
than the file), and all of them are what capsule.json says.
"""

import hashlib
import io
import os
import shutil
import stat
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from pgassay import scratch, untrusted
from pgassay.record import errors, formats, trials
from pgassay.record.ask import LIKENESS_FILE
from pgassay.record.directory import HEADER_FILE, HOST_FILE, STUDY_FILE
from pgassay.record.disk import files_below
from pgassay.record.journal import FILE as JOURNAL_FILE
from pgassay.record.reading import Run

FORMAT = 1
MANIFEST = "capsule.json"
RECORD, SCRIPTS, REPORT = "run", "scripts", "report"
FILES_MAX = 1_000_000
PARTS_MAX = 100
MANIFEST_BYTES_MAX = 256 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip file can say."""
_PIECE_BYTES = 1 << 20


class Part(msgspec.Struct, frozen=True):
    """A file of a capsule."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """capsule.json. `scripts` has the files that the study names, by their paths there, and where they are inside;
    `left_out` those that are not inside, each with the factor that names it."""

    format: int
    study: str
    run: str
    started_utc: str
    program_version: str
    postgres: tuple[str, ...]
    scripts: dict[str, str]
    files: dict[str, Part]
    left_out: dict[str, str] = {}


@dataclass(frozen=True)
class NamedFile:
    """A file or folder that a level of a study names: the factor, the path that it had when the run was made, where its
    content is (copies that trials have kept, else that path), and whether it holds a user's rows.
    """

    factor: str
    path: Path
    sources: tuple[Path, ...]
    holds_rows: bool


@dataclass(frozen=True)
class Contents:
    """What a capsule of a run has: where each file is, by its name inside; the named files that are in it, each with
    its name inside, and those that are left out; the logs of trials that are left out.
    """

    run: Run
    files: Mapping[str, Path | bytes]
    packed: Mapping[NamedFile, str]
    left_out: tuple[NamedFile, ...]
    logs_left_out: tuple[Path, ...]

    def bytes_of(self, part: str) -> int:
        chosen = [where for name, where in self.files.items() if name.startswith(f"{part}/")]
        return sum(len(where) if isinstance(where, bytes) else where.stat().st_size for where in chosen)


@dataclass(frozen=True)
class Unpacked:
    """A capsule's contents below a folder of ours."""

    manifest: Manifest
    folder: Path

    @property
    def run(self) -> Path:
        return self.folder / RECORD

    @property
    def places(self) -> dict[Path, Path]:
        """Where the files that the study names are now, by their paths there."""
        return {Path(path): self.folder / name for path, name in self.manifest.scripts.items()}


def contents_of(run: Run, report: Path, named: Iterable[NamedFile], *, with_data: bool = False) -> Contents:
    """What a capsule of `run` will have, with the files below `report`; raises `RecordError`.

    Everything committed is in it; what a later pgassay makes again from the rest (index, compacted series) is not. Of
    the `named` files those with a user's rows are in it only `with_data`, and so are the logs of servers and the error
    output of loads. Copies of left out files in trials are left out, too.
    """
    with errors.as_record_error(run.path, "read the run", errors.CHECK):
        record, before = _record(run), trials.left_out(run.disk, run.path)
        pages = (path for path in sorted(report.rglob("*")) if path.is_file() and not path.is_symlink())
        files: dict[str, Path | bytes] = {
            **record,
            **{f"{REPORT}/{path.relative_to(report).as_posix()}": path for path in pages},
        }
        packed: dict[NamedFile, str] = {}
        left_out = []
        for each in named:
            if not each.sources[0].is_file() or (each.holds_rows and not with_data):
                left_out.append(each)
            else:
                packed[each] = f"{SCRIPTS}/{len(packed) + 1}/{each.path.name}"
        in_trials = {name: path for name, path in record.items() if name.startswith(f"{RECORD}/{trials.DIRECTORY}/")}
        copies = {name for each in left_out for name, path in in_trials.items() if path in each.sources}
        quoting = {name for name, path in in_trials.items() if trials.quotes_rows(path.name)}
        logs = set() if with_data else quoting
        gone = {name.removeprefix(f"{RECORD}/") for name in copies | logs}
        for name in copies | logs:
            del files[name]
        if gone or before:
            files[f"{RECORD}/{trials.LEFT_OUT_FILE}"] = formats.encode(sorted(gone | before))
        files |= {name: each.sources[0] for each, name in packed.items()}
    logged = tuple(in_trials[name] for name in sorted(logs))
    return Contents(run, dict(sorted(files.items())), packed, tuple(left_out), logged)


def write(contents: Contents, file: Path) -> Manifest:
    """Write a capsule to a new `file`, which is this account's alone; raises `RecordError`."""
    run = contents.run
    files = {}
    with errors.as_record_error(run.path, "read the run", errors.CHECK):
        for name, where in contents.files.items():
            with _opened(where) as part:
                digest = hashlib.file_digest(part, "sha256").hexdigest()
                files[name] = Part(part.seek(0, os.SEEK_END), digest)
    manifest = Manifest(
        FORMAT, run.header.study, run.path.name, run.header.started_utc, run.header.program_version,
        tuple(str(each.get("version", "")) for each in run.host.get("postgres", ())),
        {str(each.path): name for each, name in contents.packed.items()}, files,
        {str(each.path): each.factor for each in contents.left_out},
    )  # fmt: skip
    with (
        errors.as_record_error(file.parent, "write the capsule", "name another place for it"),
        scratch.place("capsule", file.with_name(f".{file.name}.new")) as fresh,
    ):
        if file.exists():
            raise errors.RecordError(f'"{file}" exists already', "name another file")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w+b") as raw, zipfile.ZipFile(raw, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_entry(MANIFEST), formats.encode(manifest))
            for name, where in contents.files.items():
                large = files[name].bytes >= 1 << 31
                with _opened(where) as source, archive.open(_entry(name), "w", force_zip64=large) as target:
                    if _copied(source, target) != files[name]:
                        raise errors.damaged(run.path, f"{name} changed while it was read")
        fresh.rename(file)
    return manifest


def unpack(file: Path, folder: Path) -> Unpacked:
    """Check a capsule and write its files below `folder`, which must not exist; raises `RecordError`.

    Nothing is left behind where a check fails.
    """
    with errors.as_record_error(file, "read the capsule", "copy it again"):
        try:
            with zipfile.ZipFile(file) as archive:
                manifest = _checked(archive, file)
                folder.mkdir()
                try:
                    for name, part in manifest.files.items():
                        target = folder / name
                        target.parent.mkdir(parents=True, exist_ok=True)
                        with archive.open(name) as source, target.open("xb") as copy:
                            if _copied(source, copy) != part:
                                raise _damaged_capsule(file, f'"{name}" is not what {MANIFEST} says')
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
        except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError) as failure:
            raise errors.RecordError(
                f'"{file}" is not a capsule: {failure}', "pgassay export RUN --capsule FILE makes one"
            ) from failure
    return Unpacked(manifest, folder)


def _record(run: Run) -> dict[str, Path]:
    own = [run.path / name for name in (HEADER_FILE, STUDY_FILE, HOST_FILE, JOURNAL_FILE)]
    if run.disk.exists(run.path / LIKENESS_FILE):  # without it a verdict would not say that it is of another load
        own.append(run.path / LIKENESS_FILE)
    for number in run.numbers:
        own += files_below(run.disk, trials.trial_path(run.path, number))
    _ = run.trials  # each is what was committed, or this raises
    for path in own:
        if path.is_symlink() or not path.is_file():
            raise errors.damaged(run.path, f"{path.relative_to(run.path)} is not a file")
    return {f"{RECORD}/{path.relative_to(run.path).as_posix()}": path for path in own}


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o600) << 16  # else they depend on the system
    return entry


def _checked(archive: zipfile.ZipFile, file: Path) -> Manifest:
    """The manifest, after everything that can be said without reading the other entries; raises `ValueError` for what
    is no capsule, `RecordError` for one that is not to be trusted."""
    entries = archive.infolist()
    if len(entries) > FILES_MAX:
        raise _unsafe_capsule(file, f"it has more than {FILES_MAX:,} files")
    for entry in entries:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if entry.filename.endswith("/") or kind not in (0, stat.S_IFREG):  # is_dir() fails for an empty name
            raise _unsafe_capsule(file, f'"{entry.filename}" is not a file')
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size or entry.flag_bits & 1:
            raise _unsafe_capsule(file, f'"{entry.filename}" is compressed or encrypted')
    if sum(entry.file_size for entry in entries) > file.stat().st_size:
        raise _unsafe_capsule(file, "its files overlap")
    if not entries or entries[0].filename != MANIFEST or entries[0].file_size > MANIFEST_BYTES_MAX:
        raise ValueError(f"it does not begin with {MANIFEST}")
    manifest = _manifest(archive.read(MANIFEST), file)
    names = [entry.filename for entry in entries]
    _check_names(names, file)
    if set(names) != {MANIFEST, *manifest.files} or len(set(names)) != len(names):
        raise _damaged_capsule(file, f"its files are not those of {MANIFEST}")
    if not all(map(str.isprintable, (manifest.run, manifest.study))):
        raise _unsafe_capsule(file, "its names hold control characters")
    missing = set(manifest.scripts.values()) - set(manifest.files)
    if missing:
        raise _damaged_capsule(file, f"it lacks {min(missing)}")
    return manifest


def _manifest(data: bytes, file: Path) -> Manifest:
    try:
        stamp = untrusted.json(data)
        written = stamp.get("format") if isinstance(stamp, dict) else None
        if isinstance(written, int) and written > FORMAT:
            raise errors.newer_format(file, written, FORMAT, str(stamp.get("program_version", "")))
        manifest: Manifest = untrusted.json(data, Manifest)
        return manifest
    except ValueError as failure:
        raise _damaged_capsule(file, f"{MANIFEST}: {failure}") from failure


def _check_names(names: Iterable[str], file: Path) -> None:
    """Every name is below one of our folders, and none is the folder of another."""
    known = set(names)
    for name in known - {MANIFEST}:
        path = PurePosixPath(name)
        if "\\" in name or "\0" in name or path.as_posix() != name or path.is_absolute() or ".." in path.parts:
            raise _unsafe_capsule(file, f'"{name}" would be written elsewhere')
        if len(path.parts) > PARTS_MAX:
            raise _unsafe_capsule(file, f'"{name[:40]}…" is more than {PARTS_MAX} folders deep')
        if len(path.parts) < 2 or path.parts[0] not in (RECORD, SCRIPTS, REPORT):
            raise _unsafe_capsule(file, f'"{name}" belongs to no part of a capsule')
        if any(str(parent) in known for parent in path.parents):
            raise _unsafe_capsule(file, f'"{name}" is below a file')


def _copied(source: Any, target: Any) -> Part:
    digest, size = hashlib.sha256(), 0
    while piece := source.read(_PIECE_BYTES):
        digest.update(piece)
        target.write(piece)
        size += len(piece)
    return Part(size, digest.hexdigest())


def _opened(where: Path | bytes) -> io.BytesIO | io.BufferedReader:
    return io.BytesIO(where) if isinstance(where, bytes) else where.open("rb")


def _damaged_capsule(path: Path, what: str) -> errors.DamagedError:
    return errors.DamagedError(f'capsule "{path}" is damaged: {what}', "copy it again from where it was made", what)


def _unsafe_capsule(path: Path, what: str) -> errors.RecordError:
    return errors.RecordError(f'capsule "{path}" was not made by pgassay: {what}', "nothing of it was unpacked")
