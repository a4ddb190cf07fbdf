"""`--reboot-between-blocks`: the unit that goes on with a run is there while the run is, and goes with it.

Ctrl-C and faults take it away, for a run that was stopped must not start automatically at some later boot; a machine
that goes down on its own keeps it.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from pgassay import children
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.host.reboot import Continuation
    from pgassay.lab.workbench import Workbench

REBOOTS = "--reboot-between-blocks"
_LASTING_NAMES = "/dev/disk/by-"
"""Links that udev makes by what a device is; /dev/sdb may be another disk after a reboot."""


class Reboots:
    """Around the conducting of one block; `wanted` is set when the machine shall reboot and go on."""

    def __init__(self, continuation: "Continuation") -> None:
        self._continuation = continuation
        self.wanted = False

    def __enter__(self) -> "Reboots":
        self._continuation.install(os.environ)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.wanted and not self._continuation.stopping():
            self._continuation.remove()

    def reboot(self) -> None:
        """If the block has ended and another one follows; call it when everything is given back."""
        if self.wanted:
            print("pgassay: rebooting; the study continues automatically", file=sys.stderr)
            self._continuation.reboot()


def add_reboot_option(parser: argparse._ActionsContainer) -> None:
    """The option of `run` and `resume`."""
    parser.add_argument(
        REBOOTS,
        action="store_true",
        help="reboot this machine after each block and go on by a systemd unit, until the study is done",
    )


def reboots_of(arguments: argparse.Namespace, run: Path, bench: "Workbench") -> Reboots | None:
    """What the command line asks for; raises `BenchError` where this machine cannot.

    A device is then written over with nobody there to look, so no other may have its name after a reboot.
    """
    from pgassay.host.reboot import ROOT_VARIABLE, Continuation

    if not arguments.reboot_between_blocks:
        return None
    for device in arguments.i_own:
        if not device.startswith(_LASTING_NAMES):
            raise UsageError(
                f'"{device}" may name another disk after a reboot',
                "with --reboot-between-blocks name it in the study and in --i-own by a stable link: /dev/disk/by-id/…",
            )
    root = Path(os.environ.get(ROOT_VARIABLE, "/"))
    continuation = Continuation(bench.runner, command_of(arguments, run), (run, bench.data_directory.absolute()), root)
    continuation.require()
    return Reboots(continuation)


def command_of(arguments: argparse.Namespace, run: Path) -> Sequence[str]:
    """What goes on with this run as it was begun."""
    named = {
        "--pg-bindir": arguments.pg_bindir,
        "--data-dir": arguments.data_dir,
        "--snapshots-in": arguments.snapshots_in,
    }
    places = [word for option, path in named.items() if path is not None for word in (option, str(path.absolute()))]
    places += [word for device in arguments.i_own for word in ("--i-own", device)]
    flags = [
        option
        for option, asked in (
            ("--allow-busy", arguments.allow_busy),
            ("--allow-volatile", arguments.allow_volatile),
            ("--trust", arguments.trust),
        )
        if asked
    ]
    return (*children.interpreter("pgassay", "resume", str(run), REBOOTS), *places, *flags)
