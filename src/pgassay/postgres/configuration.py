"""A postgresql.conf as PostgreSQL reads it, with the files that it includes.

The rules are those of the manual ("Setting Parameters", "Configuration File Includes") and of guc-file.l: names in any
case, the last line of a name holds, a string in single quotes has `''` and backslash escapes, and a relative path of an
include is relative to the file that has it. A file that was copied from its server lacks what it includes: that is
named, not refused.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from pgassay import untrusted
from pgassay.errors import UsageError

_LINE = re.compile(
    r"([A-Za-z_\x80-\U0010ffff][\w$.]*)(?:\s*=\s*|\s+|(?='))(?:'((?:[^'\\]|''|\\.)*)'|([^\s'#=]+))\s*(?:#.*)?"
)
_ESCAPE = re.compile(r"''|\\([0-7]{1,3}|.)")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FILE, _FILE_IF_THERE, _FOLDER = "include", "include_if_exists", "include_dir"
_DEPTH_MAX = 10
"""As PostgreSQL's CONF_FILE_MAX_DEPTH."""


@dataclass(frozen=True)
class Configuration:
    """Settings by their names in lower case, and the includes that are not there, as they are written."""

    settings: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)


def read(path: Path) -> Configuration:
    """The settings of `path` and of what it includes.

    Raises `UsageError` for a line that PostgreSQL would refuse, `OSError` for a file that cannot be read.
    """
    found = Configuration()
    _read(path, untrusted.any_text(path), found, 0)
    return found


def _read(path: Path, text: str, found: Configuration, depth: int) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        parts = _LINE.fullmatch(stripped)
        if parts is None:
            raise UsageError(f'line {number} of "{path}" is no setting: {stripped}', "lines are NAME = VALUE")
        name, value = parts[1].lower(), _unquoted(parts[2]) if parts[3] is None else parts[3]
        if name not in (_FILE, _FILE_IF_THERE, _FOLDER):
            found.settings[name] = value
        elif depth == _DEPTH_MAX:
            raise UsageError(f'line {number} of "{path}": includes are nested more than {_DEPTH_MAX} deep')
        else:
            _include(name, path.parent / value, f"{name} '{value}'", found, depth + 1)


def _include(name: str, path: Path, written: str, found: Configuration, depth: int) -> None:
    """Read what an include names; note it where it is not there, unless it may be absent."""
    try:
        paths = [path]
        if name == _FOLDER:  # "*.conf", hidden ones left out, in the order of the C locale
            paths = sorted(each for each in path.iterdir() if each.suffix == ".conf" and each.name[0] != ".")
        texts = [(each, untrusted.read_bytes(each).decode("utf-8", "surrogateescape")) for each in paths]
    except (FileNotFoundError, NotADirectoryError):
        if name != _FILE_IF_THERE:
            found.absent.append(written)
        return
    for each, text in texts:
        _read(each, text, found, depth)


def _unquoted(text: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        code = escape[1]
        if code is None:
            return "'"
        return chr(int(code, 8) & 0xFF) if code.isdigit() and code < "8" else _CONTROLS.get(code, code)

    return _ESCAPE.sub(meant, text)
