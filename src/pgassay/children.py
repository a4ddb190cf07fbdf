"""What a program that we start gets of ours: a fixed PATH, an environment of its own, and no code of a directory.

Whoever prepares the directory that we are started in, or a variable of ours, must not choose what we run. So programs
are looked for in absolute directories of PATH alone, and an interpreter that is our child takes no module from its
working directory and none from PYTHONPATH (Python's -P).
"""

import os
import pwd
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Of every program that we start."""
_OF_AN_INTERPRETER = ("PYTHON", "LD_", "DYLD_", "PG")
"""What begins so changes which code runs, or which server is meant; our own variables are kept (PGASSAY_…)."""
_OURS = "PGASSAY_"
HOME = "/"
"""The working directory of an interpreter that is our child: nobody but root writes there."""


def search_path(environment: Mapping[str, str] = os.environ) -> str:
    """PATH without what depends on the working directory (`.`, an empty entry, `bin`)."""
    return os.pathsep.join(filter(os.path.isabs, environment.get("PATH", PATH).split(os.pathsep)))


def which(program: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Where a program is, by the absolute directories of PATH; a name with a slash in it is a path."""
    return shutil.which(program, path=search_path(environment))


_SHELL = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"}


def words_of(text: str) -> tuple[tuple[str, ...], str]:
    """A command of the user's as its words, and why it cannot be run without a shell; empty where it can."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        return (), str(error).lower().rstrip(".")
    if shell := next((word for word in words if word in _SHELL), None):
        return words, f'"{shell}" means something to a shell only, and none runs it'
    return words, "" if words else "it is empty"


def own_program(name: str, variable: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """A program of ours: the one that the variable names, else that which came with us; None where none can be run."""
    named = environment.get(variable)
    path = Path(named) if named else Path(__file__).parent / "_bin" / name
    return path.absolute() if os.access(path, os.X_OK) else None


def environment_of(uid: int | None = None) -> dict[str, str]:
    """What a program of this account (ours by default) has; nothing is inherited. LC_ALL: we read what it prints."""
    found = {"PATH": PATH, "LC_ALL": "C"}
    try:
        entry = pwd.getpwuid(os.geteuid() if uid is None else uid)
    except KeyError:
        return found
    return {**found, "HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}


def interpreter(module: str, *words: str) -> list[str]:
    """A module of ours as a program; start it in `HOME` with `interpreter_environment`, so paths are absolute."""
    return [sys.executable, "-P", "-m", module, *words]


def interpreter_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Ours, without what would have other code run."""
    kept = {
        name: value
        for name, value in environment.items()
        if name.startswith(_OURS) or not name.startswith(_OF_AN_INTERPRETER)
    }
    return {**kept, "PATH": search_path(environment)}
