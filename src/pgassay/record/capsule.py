"""A run in one file, for others to read and to repeat: record, study, the scripts that it names, its report, checksums.

A zip file whose entries are stored as they are, with one date and in one order: the same run gives the same bytes, on
any machine and with any zlib. Its first entry, capsule.json, has size and SHA-256 of every other.

A capsule comes from somebody else, so nothing in it is believed before it is checked: names stay below the folder that
they are unpacked into, nothing is a link, entries are neither compressed nor overlapping (so that they cannot be larger
than the file), and all of them are what capsule.json says.
"""

import hashlib
import shutil
import stat
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from pgassay.record import errors, formats, trials
from pgassay.record.directory import HEADER_FILE, HOST_FILE, STUDY_FILE
from pgassay.record.disk import files_below
from pgassay.record.journal import FILE as JOURNAL_FILE
from pgassay.record.reading import Run
from pgassay.study.document import texts

FORMAT = 1
MANIFEST = "capsule.json"
RECORD, SCRIPTS, REPORT = "run", "scripts", "report"
FILES_MAX = 1_000_000
MANIFEST_BYTES_MAX = 256 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip file can say."""
_PIECE_BYTES = 1 << 20


class Part(msgspec.Struct, frozen=True):
    """A file of a capsule."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """capsule.json. `scripts` has the files that the study names, by their paths there, and where they are inside."""

    format: int
    study: str
    run: str
    started_utc: str
    program_version: str
    postgres: tuple[str, ...]
    scripts: dict[str, str]
    files: dict[str, Part]


@dataclass(frozen=True)
class Unpacked:
    """A capsule's contents below a folder of ours."""

    manifest: Manifest
    folder: Path

    @property
    def run(self) -> Path:
        """The run directory."""
        return self.folder / RECORD

    def study(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The study's document with the paths of its scripts as they are here."""
        here = {path: str(self.folder / name) for path, name in self.manifest.scripts.items()}
        return {key: _relocated(value, here) for key, value in document.items()}


def write(run: Run, report: Path, file: Path) -> Manifest:
    """Write the capsule of `run`, with the files below `report`, to a new `file`; raises `RecordError`.

    Everything committed is in it; what a later pgassay makes again from the rest (index, compacted series) is not.
    """
    with errors.as_record_error(run.path, "read the run", errors.CHECK):
        scripts = _scripts(run)
        contents = dict(sorted({**_record(run), **dict(scripts.values()), **_below(report, REPORT)}.items()))
        files = {name: Part(path.stat().st_size, _sha256(path)) for name, path in contents.items()}
    manifest = Manifest(
        FORMAT, run.header.study, run.path.name, run.header.started_utc, run.header.program_version,
        tuple(str(each.get("version", "")) for each in run.host.get("postgres", ())),
        {path: name for path, (name, _) in scripts.items()}, files,
    )  # fmt: skip
    fresh = file.with_name(f".{file.name}.new")
    with errors.as_record_error(file.parent, "write the capsule", "name another place for it"):
        if file.exists():
            raise errors.capsule_exists(file)
        try:
            with zipfile.ZipFile(fresh, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(_entry(MANIFEST), formats.encode(manifest))
                for name, path in contents.items():
                    with archive.open(_entry(name), "w") as target, path.open("rb") as source:
                        if _copied(source, target) != files[name]:
                            raise errors.damaged(run.path, f"{name} changed while it was read")
            fresh.rename(file)
        finally:
            fresh.unlink(missing_ok=True)
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
                        _unpack(archive, name, part, file, folder)
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
        except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError) as failure:
            raise errors.not_a_capsule(file, str(failure)) from failure
    return Unpacked(manifest, folder)


def _record(run: Run) -> dict[str, Path]:
    own = [run.path / name for name in (HEADER_FILE, STUDY_FILE, HOST_FILE, JOURNAL_FILE)]
    for number in run.numbers:
        own += files_below(run.disk, trials.trial_path(run.path, number))
    _ = run.trials  # each is what was committed, or this raises
    return {f"{RECORD}/{path.relative_to(run.path).as_posix()}": _plain_file(run, path) for path in own}


def _below(folder: Path, name: str) -> dict[str, Path]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {f"{name}/{path.relative_to(folder).as_posix()}": path for path in found}


def _plain_file(run: Run, path: Path) -> Path:
    if path.is_symlink() or not path.is_file():
        raise errors.damaged(run.path, f"{path.relative_to(run.path)} is no file")
    return path


def _scripts(run: Run) -> dict[str, tuple[str, Path]]:
    """The files that the study names by absolute paths, each with its name in the capsule and where it is now.

    Of a pgbench script a trial has kept a copy: that is what was run, whatever has become of the script since.
    """
    found: dict[str, tuple[str, Path]] = {}
    for text in texts(run.study):
        path = Path(text)
        if text.startswith("/") and text not in found:
            kept = sorted(run.path.glob(f"{trials.DIRECTORY}/[0-9]*/script_*_{_literal(path.name)}"))
            source = kept[0] if kept else path
            if source.is_file():
                found[text] = (f"{SCRIPTS}/{len(found) + 1}/{path.name}", source)
    return found


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _relocated(value: Any, here: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        path, at, weight = value.rpartition("@")
        if at and weight.isdigit() and path in here:
            return f"{here[path]}@{weight}"
        return here.get(value, value)
    if isinstance(value, Mapping):
        return {key: _relocated(each, here) for key, each in value.items()}
    if isinstance(value, list):
        return [_relocated(each, here) for each in value]
    return value


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16  # else they depend on the system
    return entry


def _checked(archive: zipfile.ZipFile, file: Path) -> Manifest:
    """The manifest, after everything that can be said without reading the other entries."""
    entries = archive.infolist()
    if len(entries) > FILES_MAX:
        raise errors.unsafe_capsule(file, f"it has more than {FILES_MAX:,} files")
    for entry in entries:
        _check_entry(entry, file)
    if sum(entry.file_size for entry in entries) > file.stat().st_size:
        raise errors.unsafe_capsule(file, "its files overlap")
    if not entries or entries[0].filename != MANIFEST or entries[0].file_size > MANIFEST_BYTES_MAX:
        raise errors.not_a_capsule(file, f"it does not begin with {MANIFEST}")
    manifest = _manifest(archive.read(MANIFEST), file)
    names = [entry.filename for entry in entries]
    _check_names(names, file)
    if set(names) != {MANIFEST, *manifest.files} or len(set(names)) != len(names):
        raise errors.damaged_capsule(file, f"its files are not those of {MANIFEST}")
    if not all(map(str.isprintable, (manifest.run, manifest.study))):
        raise errors.unsafe_capsule(file, "its names hold control characters")
    strangers = set(manifest.scripts.values()) - set(manifest.files)
    if strangers:
        raise errors.damaged_capsule(file, f"it lacks {min(strangers)}")
    return manifest


def _manifest(data: bytes, file: Path) -> Manifest:
    try:
        stamp = msgspec.json.decode(data)
        written = stamp.get("format") if isinstance(stamp, dict) else None
        if isinstance(written, int) and written > FORMAT:
            raise errors.newer_format(file, written, FORMAT, str(stamp.get("program_version", "")))
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as failure:
        raise errors.damaged_capsule(file, f"{MANIFEST}: {failure}") from failure


def _check_entry(entry: zipfile.ZipInfo, file: Path) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if entry.is_dir() or kind not in (0, stat.S_IFREG):
        raise errors.unsafe_capsule(file, f'"{entry.filename}" is no file')
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size or entry.flag_bits & 1:
        raise errors.unsafe_capsule(file, f'"{entry.filename}" is compressed or encrypted')


def _check_names(names: Iterable[str], file: Path) -> None:
    """Every name is below one of our folders, and none is the folder of another."""
    known = set(names)
    for name in known - {MANIFEST}:
        path = PurePosixPath(name)
        if "\\" in name or "\0" in name or path.as_posix() != name or path.is_absolute() or ".." in path.parts:
            raise errors.unsafe_capsule(file, f'"{name}" would be written elsewhere')
        if len(path.parts) < 2 or path.parts[0] not in (RECORD, SCRIPTS, REPORT):
            raise errors.unsafe_capsule(file, f'"{name}" belongs to no part of a capsule')
        if any(str(parent) in known for parent in path.parents):
            raise errors.unsafe_capsule(file, f'"{name}" is below a file')


def _unpack(archive: zipfile.ZipFile, name: str, part: Part, file: Path, folder: Path) -> None:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(name) as source, target.open("xb") as copy:
        if _copied(source, copy) != part:
            raise errors.damaged_capsule(file, f'"{name}" is not what {MANIFEST} says')


def _copied(source: Any, target: Any) -> Part:
    digest, size = hashlib.sha256(), 0
    while piece := source.read(_PIECE_BYTES):
        digest.update(piece)
        target.write(piece)
        size += len(piece)
    return Part(size, digest.hexdigest())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
