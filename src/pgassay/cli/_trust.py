"""Whose text would be executed here: what somebody else wrote is listed, and asked about, before anything of it runs.

A study, a run or a capture is ours if our account made it, or root, or the account that called sudo. A capsule is
somebody else's whoever owns the file: it was made to be sent. Reading one executes nothing, so only what runs asks.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.errors import UsageError
from pgassay.files import accounts_of_ours
from pgassay.outgoing import visible

if TYPE_CHECKING:
    from pgassay.interfaces.places import UserFiles
    from pgassay.lab.catalogue import FactorCatalogue
    from pgassay.study.model import Study

_FOLDER_FILES_MAX = 20
_LINE_LETTERS = 60
_DRIVER = "load.driver"
_TEXTS = ("schema.", "build.")
"""Factors whose levels are executed themselves."""
_SETTINGS = ("_command", "_library", "_libraries", "_library_path", "jit_provider")
"""Ends of the names of settings that have a server run a program or load a library."""


def require(origin: Path, executed: Iterable[str], arguments: argparse.Namespace, *, packed: bool = False) -> None:
    """Return where `origin` is ours, or the user trusts it: by --trust, or asked at a terminal; else `UsageError`.

    `executed` is what would be, a line each; `packed` says that `origin` is a capsule.
    """
    if arguments.trust or getattr(arguments, "dry_run", False) or not (packed or foreign(origin)):
        return
    owner = "it is a capsule" if packed else f"it belongs to user {origin.lstat().st_uid} in whole or in part"
    print(f'pgassay: "{origin}" was not made by your account ({owner}). It would execute:', file=sys.stderr)
    for line in executed:
        print(f"  {line}", file=sys.stderr)
    if sys.stdin.isatty() and sys.stderr.isatty():
        print("Run it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise UsageError(
        f'"{origin}" was not made by your account, and nothing of it was executed',
        "read what it would execute, then add --trust",
    )


def require_study(arguments: argparse.Namespace, study: "Study", files: "UserFiles | None" = None) -> None:
    """The same of a study, whose file, run or capsule is `arguments.origin`; built-in and typed ones have none."""
    from pgassay.interfaces.places import UserFiles

    origin: Path | None = getattr(arguments, "origin", None)
    if origin is not None:
        packed = getattr(arguments, "packed", False)
        require(origin, of_study(study, files or UserFiles()), arguments, packed=packed)


def of_study(study: "Study", files: "UserFiles", known: "FactorCatalogue | None" = None) -> Iterator[str]:
    """What a study has executed: files with their first lines, SQL, commands, sources, plug-ins.

    `known` are its factors, where they are more than every study has.
    """
    from pgassay.drive.block.image import plugin_drive
    from pgassay.lab.arms import bind
    from pgassay.lab.catalogue import every_factor
    from pgassay.load import drivers
    from pgassay.study.drives import DATA, WAL

    catalogue, listed = known or every_factor(), set[str]()
    for arm in study.arms:
        for bound in bind(study, arm, catalogue):
            name, text = bound.name, bound.level.typed
            lines = [f"{name}: {path}{_beginning(files.here(path))}" for path in bound.paths]
            if not lines and (name.startswith(_TEXTS) or name.lower().endswith(_SETTINGS)):
                lines = [f"{name}: {_printable(text)}"]
            owner = drivers.find(text).options if name == _DRIVER else type(bound.factor)
            disk = plugin_drive(text) if name in (DATA, WAL) else None
            if disk is not None:
                owner = disk.volume
            if not owner.__module__.startswith("pgassay."):
                lines.append(f"{name}: the plug-in {owner.__module__}")
            yield from (line for line in lines if line not in listed)
            listed |= set(lines)


def of_capture(capture: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """What a capture has executed: statements of its load, SQL that makes its data, and some of its settings."""
    for name, value in settings.items():
        if name.lower().endswith(_SETTINGS):
            yield f"{_printable(name)}: {_printable(value)}"
    entries = sorted(each for each in capture.iterdir() if not each.name.startswith("."))
    for each in entries[:_FOLDER_FILES_MAX]:
        yield f"{each.name}{_beginning(each)}"
    if len(entries) > _FOLDER_FILES_MAX:
        yield f"and {len(entries) - _FOLDER_FILES_MAX} more files"


def foreign(origin: Path) -> bool:
    """Does it, or anything right inside, belong to an account that is neither ours nor root's nor sudo's?"""
    ours = accounts_of_ours()
    paths = [origin, *(origin.iterdir() if origin.is_dir() else ())]
    return any(path.lstat().st_uid not in ours or path.stat().st_uid not in ours for path in paths)


def _beginning(path: Path) -> str:
    """Its first line that says something, or its size."""
    if not path.is_file():
        return "/" if path.is_dir() else " (not here)"
    with path.open("rb") as file:
        lines = file.read(4096).decode("utf-8", errors="replace").splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    size = f" ({path.stat().st_size} bytes)"
    return f"{size}: {_printable(first)}" if first and "\ufffd" not in first else size


def _printable(text: str) -> str:
    """On one line, not too long."""
    clean = visible(text, keep="")
    return clean if len(clean) <= _LINE_LETTERS else f"{clean[:_LINE_LETTERS]}…"
