"""nvme-cli, asked as the installed version wants to be asked.

How a command is asked for JSON differs between plugins and versions (`-j`, `-o json`, `-f json`, not at all), so the
program is asked for that command's options first; it lists them without a device.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pgassay.bench.errors import BenchError
from pgassay.bench.running import Completed, Runner

PROGRAM = "nvme"
TIMEOUT_S = 10.0
_JSON_BY: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"--json\S*, -j\b"), ("-j",)),
    (re.compile(r"--output-format=<\S+, -o\b"), ("-o", "json")),
    (re.compile(r"--format=<\S+, -f\b"), ("-f", "json")),
)
"""By what its help lists, how a command is asked for JSON; the first that is there."""
_NO_COMMAND = "Invalid sub-command"


def json_options(help_text: str) -> tuple[str, ...] | None:
    """How a command is asked for JSON, by its help; None where it cannot be, or there is no such command."""
    return next((options for pattern, options in _JSON_BY if pattern.search(help_text)), None)


def table(text: str) -> Mapping[str, Any]:
    """A JSON document; what stands behind it does not count (`sfx` prints the letters `/n` there until 2.11)."""
    return next(documents(text), {})


_NOT_A_NUMBER = re.compile(r"(:\s*)-?(?:nan|inf)\b")
"""What the plugins print by printf for a share of nothing, and JSON does not know."""


def documents(text: str) -> Iterator[Mapping[str, Any]]:
    """All JSON documents that a text begins with: `wdc vs-smart-add-log` prints one for each log page."""
    rest = _NOT_A_NUMBER.sub(r"\1null", text.lstrip())
    while rest:
        try:
            found, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        yield found
        rest = rest[end:].lstrip()


def number(value: Any) -> float | None:
    """Whole numbers as nvme-cli prints them: plain, or as a text where 64 bits do not hold them, or hexadecimal."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        return float(int(value.strip().replace(",", ""), 0))
    except ValueError:
        return None


class NvmeCli:
    """The program; each command's options are looked up once."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._helps: dict[tuple[str, ...], str] = {}

    def ask(self, command: tuple[str, ...], device: Path, *more: str) -> str:
        """What a command says of a device, in JSON; nothing where it fails, or knows no JSON."""
        options = json_options(self._help(command))
        done = None if options is None else self._run(*command, str(device), *more, *options)
        return done.stdout if done is not None and done.status == 0 else ""

    def ask_text(self, command: tuple[str, ...], device: Path) -> str:
        """What a command says of a device in its own words; nothing where it fails, or there is no such command."""
        said = self._help(command)
        done = None if not said or _NO_COMMAND in said else self._run(*command, str(device))
        return done.stdout if done is not None and done.status == 0 else ""

    def _help(self, command: tuple[str, ...]) -> str:
        """What nvme-cli says of a command's options: on either stream, with a status that says nothing."""
        if command not in self._helps:
            done = self._run(*command, "--help")
            self._helps[command] = "" if done is None else done.stdout + done.stderr
        return self._helps[command]

    def _run(self, *arguments: str) -> Completed | None:
        try:
            return self._runner.run([PROGRAM, *arguments], privileged="asks a drive", timeout_s=TIMEOUT_S)
        except (BenchError, TimeoutError):
            return None
