"""Continuing after a reboot: a systemd unit that calls us again at boot, and removes itself when the study is done.

Memory that has been in use for days is too fragmented for many huge pages; a fresh boot gives every block the same
start. Only files are written (the unit, and the link that enables it, see systemd.unit(5)); nothing runs before a boot.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.running import Runner
from pgassay.host.factors import NO_ROOT

UNIT = "pgassay-continue.service"
ROOT_VARIABLE = "PGASSAY_SYSTEMD_ROOT"
"""Another root directory for the unit, for trying it out: nothing is rebooted then."""
_UNITS = "etc/systemd/system"
_TARGET = "multi-user.target"
_KEPT = ("PATH", "LANG", "HOME")


class Continuation:
    """The unit of this machine; `command` continues the run, for which `places` must be mounted."""

    def __init__(self, runner: Runner, command: Sequence[str], places: Sequence[Path], root: Path = Path("/")) -> None:
        self._runner = runner
        self._command = tuple(command)
        self._places = tuple(places)
        self._root = root

    @property
    def unit(self) -> Path:
        return self._root / _UNITS / UNIT

    @property
    def _link(self) -> Path:
        return self._root / _UNITS / f"{_TARGET}.wants" / UNIT

    def require(self) -> None:
        """Raise `BenchError` where it cannot be done: no root, no systemd, or the unit of another run."""
        if self._root != Path("/"):
            return
        if os.geteuid() != 0:
            raise _no_reboot(NO_ROOT)
        if not Path("/run/systemd/system").is_dir():
            raise _no_reboot("this machine was not booted by systemd")

    def install(self, environment: Mapping[str, str]) -> None:
        """Write the unit and enable it; raises `BenchError` when it belongs to another run."""
        self.require()
        text = unit_text(self._command, self._places, environment)
        if self.unit.exists() and _start_of(self.unit.read_text(encoding="utf-8")) != _start_of(text):
            raise BenchError(
                f'"{self.unit}" already continues another run after the next reboot',
                "let that run finish, or remove the unit",
            )
        self._link.parent.mkdir(parents=True, exist_ok=True)
        self.unit.write_text(text, encoding="utf-8")  # ours: below /etc/systemd
        if not self._link.is_symlink():
            self._link.symlink_to(Path("/") / _UNITS / UNIT)

    def remove(self) -> None:
        """Remove it if it is ours; harmless when there is none."""
        if self.unit.exists() and _start_of(self.unit.read_text(encoding="utf-8")) == _start_line(self._command):
            self._link.unlink(missing_ok=True)  # ours: below /etc/systemd
            self.unit.unlink()  # ours: below /etc/systemd

    def stopping(self) -> bool:
        """Is the machine shutting down for another reason? Then the unit stays: the study continues after that too."""
        if self._root != Path("/"):
            return False
        return self._runner.run(["systemctl", "is-system-running"], privileged="reboots").stdout.strip() == "stopping"

    def reboot(self) -> None:
        """Write everything back and reboot; under another root nothing happens."""
        os.sync()
        if self._root == Path("/"):
            self._runner.run(["systemctl", "reboot"], privileged="reboots")


def unit_text(command: Sequence[str], places: Sequence[Path], environment: Mapping[str, str]) -> str:
    """The unit that runs `command` once `places` are mounted; raises `BenchError` for a path that it cannot hold."""
    kept = {name: value for name, value in environment.items() if name in _KEPT or name.startswith("PGASSAY_")}
    lines = [
        "[Unit]",
        "Description=pgassay continues a study after a reboot, and removes this unit when the study is done",
        "Documentation=man:systemd.service(5)",
        f"RequiresMountsFor={' '.join(_quoted(str(place)) for place in places)}",
        "",
        "[Service]",
        "Type=exec",
        *(f"Environment={_quoted(f'{name}={value}', dollars=False)}" for name, value in sorted(kept.items())),
        _start_line(command),
        "",
        "[Install]",
        f"WantedBy={_TARGET}",
    ]
    return "\n".join(lines) + "\n"


def _start_line(command: Sequence[str]) -> str:
    return f"ExecStart={' '.join(_quoted(word) for word in command)}"


def _start_of(text: str) -> str:
    return next((line for line in text.splitlines() if line.startswith("ExecStart=")), "")


def _quoted(text: str, *, dollars: bool = True) -> str:
    """One word of a unit file: specifiers (%) and variables ($) as themselves, see systemd.service(5)."""
    if any(character in text for character in "\n\r\0"):
        raise BenchError(f"a unit file cannot hold {text!r}")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + (escaped.replace("$", "$$") if dollars else escaped) + '"'


def _no_reboot(reason: str) -> BenchError:
    return BenchError(
        f"this machine cannot be rebooted between blocks: {reason}", "run without --reboot-between-blocks"
    )
