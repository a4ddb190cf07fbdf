"""The directory of a capture: a README, `capture.json`, `statistics.json`, `load.json` and the data.

It is written next to its final name and renamed when whole, so that a directory with that name is a whole capture.
Only its owner may read it.

Captures are sent to others, so one may come from anybody. It has files and directories and nothing else: a link would
have a question read or write what lies elsewhere, and a pipe would have it wait.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec

from pgassay import scratch, untrusted
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import FORMAT, Capture, Load, Table
from pgassay.errors import UsageError
from pgassay.files import UntrustedError, accounts_of_ours

HEAD = "capture.json"
STATISTICS = "statistics.json"
LOAD = "load.json"
README = "README"
_README = """Made by pgassay {version} from the database {database} of a PostgreSQL {server} server.

capture.json     the server's settings, what the capture cost it, and what was left out
statistics.json  tables, columns, and what ANALYZE found in them{values}
load.json        statements with their counters, sessions once a second{literals}
{data}
pgassay ask {name} work_mem=4MB,64MB puts a question to it. The format is described in docs/your-server.md.
"""


def require_absent(path: Path) -> None:
    if os.path.lexists(path):
        raise UsageError(f'"{path}" exists already', "name another directory with --out")


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A directory to write into, which becomes `path` at the end, or is removed where an error comes.

    Raises `UsageError` where something is at `path` already.
    """
    require_absent(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch.place("capture", path.with_name(f".{path.name}.{os.getpid()}")) as partial:
        partial.mkdir(mode=0o700)
        yield partial
        partial.rename(path)


def write(capture: Capture, folder: Path, name: str) -> None:
    """Write all but the data into `folder`; `name` is what the README calls the capture."""
    head: dict[str, Any] = {each.name: getattr(capture, each.name) for each in fields(capture)}
    tables, load = head.pop("tables"), head.pop("load")
    _write(folder / HEAD, {"format": FORMAT, **head})
    _write(folder / STATISTICS, tables)
    if load is not None:
        _write(folder / LOAD, load)
    dumped = f"{capture.data.file:<17}the data, by pg_dump\n" if capture.data.file else ""
    has_values = any(each.common_values or each.histogram for table in capture.tables for each in table.columns)
    text = _README.format(
        version=capture.program_version,
        database=capture.source.database,
        server=capture.source.version,
        values=", with values" if has_values else "",
        literals=", with literals" if capture.with_literals else ", without literals",
        data=dumped,
        name=name,
    )
    (folder / README).write_text(text, encoding="utf-8")


def _write(path: Path, value: object) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1))


def read(path: Path) -> Capture:
    """The capture at `path`; raises `CaptureError` for what is none, is damaged, or was written by a later version."""
    if not (path / HEAD).is_file():
        raise _not_a_capture(path, f"it has no {HEAD}")
    for directory, folders, names in os.walk(path):
        for each in (Path(directory, name) for name in (*folders, *names)):
            mode = each.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                inside = each.relative_to(path)
                raise _not_a_capture(path, f'"{inside}" is neither a file nor a directory')
    found = _decoded(path / HEAD, dict[str, Any])
    if found.get("format") != FORMAT:
        raise CaptureError(
            f'"{path}" has format {found.get("format")}, which this version does not read', "a newer pgassay wrote it"
        )
    load = _decoded(path / LOAD, Load) if (path / LOAD).is_file() else None
    tables = _decoded(path / STATISTICS, tuple[Table, ...])
    try:
        head = msgspec.convert({**found, "tables": (), "load": None}, Capture)
    except msgspec.ValidationError as error:
        raise _not_a_capture(path, f"{HEAD}: {error}") from None
    if head.data.kind not in ("none", "dump"):
        raise CaptureError(
            f'"{path}" has data of the kind {head.data.kind}, which this version does not read',
            "capture again with --data dump",
        )
    if head.data.file and head.data.file not in {each.name for each in path.iterdir()}:  # not a way to somewhere else
        raise _not_a_capture(path, f"its data, {head.data.file}, are missing")
    return replace(head, tables=tables, load=load)


def require_ours(path: Path) -> None:
    """Raise `UntrustedError` unless a capture's directories are ours.

    Questions write into them, and another account could put a link there meanwhile.
    """
    for directory, _, _ in os.walk(path):
        owner = Path(directory).stat().st_uid
        if owner not in accounts_of_ours():
            raise UntrustedError(
                f'"{directory}" belongs to user {owner}: questions are only written into captures of your own',
                f'ask a copy: cp -r "{path}" COPY',
            )


def _decoded(path: Path, kind: Any) -> Any:
    try:
        return untrusted.json(untrusted.read_bytes(path), kind)
    except (OSError, ValueError) as error:
        raise _not_a_capture(path.parent, f"{path.name}: {error}") from None


def _not_a_capture(path: Path, why: str) -> CaptureError:
    return CaptureError(f'"{path}" is not a capture: {why}', "pgassay capture writes one (docs/your-server.md)")
