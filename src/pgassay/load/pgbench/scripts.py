"""Which scripts a pgbench run plays: its own by name, or the user's files, each with a weight.

`a.sql@3,b.sql@1`: commas part the scripts, `@` a weight, as in pgbench's own -f and -b. A list in a study file arrives
with a line for each script, so that a path may hold a comma.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pgassay.load import messages

BUILTINS = {
    "tpcb-like": "<builtin: TPC-B (sort of)>",
    "simple-update": "<builtin: simple update>",
    "select-only": "<builtin: select only>",
}
"""pgbench's own scripts, and how its summary calls them (13 to 18 alike)."""


@dataclass(frozen=True)
class Script:
    """One script: a built-in by `name`, or a file by its absolute path."""

    name: str
    weight: int = 1

    @property
    def builtin(self) -> bool:
        """Is it one of pgbench's own?"""
        return self.name in BUILTINS

    @property
    def path(self) -> Path:
        """The file (not for built-ins)."""
        return Path(self.name)

    @property
    def echo(self) -> str:
        """How pgbench's summary names it."""
        return BUILTINS.get(self.name, self.name)


def parse_scripts(text: str) -> tuple[Script, ...]:
    """The scripts in order; whether files exist is `check_scripts`' business; raises `UsageError`."""
    parts = text.splitlines() if "\n" in text else text.split(",")
    scripts = tuple(_parse_script(part.strip()) for part in parts if part.strip())
    if not scripts:
        raise messages.no_value("load.script")
    return scripts


def _parse_script(text: str) -> Script:
    name, at, weight = text.rpartition("@")
    if not at:
        name, weight = text, "1"
    if not (weight.isascii() and weight.isdigit()) or int(weight) < 1:
        raise messages.bad_weight(text)
    return Script(name if name in BUILTINS else str(Path(name).expanduser().absolute()), int(weight))


def show_scripts(scripts: tuple[Script, ...]) -> str:
    """The canonical form: a lone script without its weight, several with theirs."""
    if len(scripts) == 1:
        return scripts[0].name
    parts = [f"{script.name}@{script.weight}" for script in scripts]
    return ("\n" if any("," in part for part in parts) else ",").join(parts)


def check_scripts(scripts: tuple[Script, ...]) -> None:
    """Refuse scripts that do not exist; raises `UsageError`."""
    for script in scripts:
        if not script.builtin and not script.path.is_file():
            near = get_close_matches(script.path.name, BUILTINS, n=1)
            raise messages.missing_script(script.path, BUILTINS, near[0] if near else None)
