"""How all that a device holds is given up before it is prepared: discarded, or erased by the drive itself.

`blkdiscard` says which blocks are not needed; what the drive does with that is its own. `nvme format` with secure erase
and `nvme sanitize` make the flash itself empty (NVM Express Base Specification, "Format NVM", "Sanitize"). Both may
reach further than the device that was named: a format takes every namespace where the controller says so (FNA), a
sanitize takes the whole drive always. So they are done only to a namespace that is alone on its drive, or that the
controller formats alone; what cannot be told is refused, before anything is written.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.running import Runner
from pgassay.drive import messages, nvme_cli
from pgassay.drive.block import messages as block_messages
from pgassay.drive.nvme_cli import NvmeCli, number


class Erasure(StrEnum):
    """What is done with what a device holds."""

    DISCARD = "discard"
    FORMAT = "format"
    CRYPTO = "crypto"
    SANITIZE = "sanitize"
    NONE = "none"


ERASE_S = 4 * 3600.0
"""A drive may take hours to make all its flash empty, each cell erased and none in a hurry."""
_POLL_S = 5.0
_NAMESPACE = re.compile(r"/dev/nvme\d+n\d+$")
_FORMATS, _MANAGES = 1 << 1, 1 << 3
"""Of OACS: the controller formats; it makes and removes namespaces, so some may be there that are not attached."""
_FORMATS_ALL, _ERASES_ALL, _CRYPTO = 1 << 0, 1 << 1, 1 << 2
"""Of FNA: a format, or a format with secure erase, takes every namespace; keys can be thrown away."""
_BLOCK_ERASE = 1 << 1
"""Of SANICAP."""
_DONE, _RUNNING, _DONE_KEPT = 1, 2, 4
"""Of the sanitize log's status: the last one succeeded, is under way, succeeded without deallocating."""
_ASKED = {
    Erasure.FORMAT: ("format", "--ses=1", "--force"),
    Erasure.CRYPTO: ("format", "--ses=2", "--force"),
    Erasure.SANITIZE: ("sanitize", "--sanact=2"),
}
_PROGRESS_WHOLE = 65536
_UNREAD_MOST = 12
"""Times that a log may stay unread: a drive may be busy with itself."""
Tell = Callable[[float], None]
"""The share that is done."""


def require_erasable(device: Path, how: Erasure, runner: Runner) -> None:
    """Raise `UsageError` where the drive cannot do that, or where it would reach further than the device named."""
    if how not in _ASKED:
        return
    path = device.resolve()
    if not _NAMESPACE.match(str(path)):
        raise block_messages.no_namespace(device, how)
    program = NvmeCli(runner)
    controller = nvme_cli.table(program.ask(("id-ctrl",), path))
    commands, formats, sanitizes = (_bits(controller.get(name)) for name in ("oacs", "fna", "sanicap"))
    every = ("--all",) if commands & _MANAGES else ()
    listed = nvme_cli.table(program.ask(("list-ns",), path, *every)).get("nsid_list")
    if not controller or not isinstance(listed, list) or not listed:
        raise block_messages.erasure_not_known(device, how)
    able = {
        Erasure.FORMAT: commands & _FORMATS,
        Erasure.CRYPTO: commands & _FORMATS and formats & _CRYPTO,
        Erasure.SANITIZE: sanitizes & _BLOCK_ERASE,
    }[how]
    if not able:
        raise block_messages.cannot_erase(device, how)
    reaches_all = how is Erasure.SANITIZE or formats & (_FORMATS_ALL | _ERASES_ALL)
    if len(listed) > 1 and reaches_all:
        raise block_messages.erases_others(device, how, len(listed) - 1)


def erase(device: Path, how: Erasure, runner: Runner, pause: Callable[[float], None], tell: Tell) -> str:
    """Do it, to the end; returns why a device was not discarded, or nothing.

    Not every device can discard, and overwriting goes on without. A secure erase was asked for by name: where it fails,
    `DriveError` is raised.
    """
    if how is Erasure.NONE:
        return "not asked for"
    if how is Erasure.DISCARD:
        return _failed(["blkdiscard", str(device)], runner)
    path = device.resolve()
    command, *options = _ASKED[how]
    said = _failed([nvme_cli.PROGRAM, command, str(path), *options], runner)
    if said:
        raise block_messages.erasure_failed(device, how, said)
    if how is Erasure.SANITIZE:
        _wait(device, path, NvmeCli(runner), pause, tell)
    return ""


def _wait(device: Path, path: Path, program: NvmeCli, pause: Callable[[float], None], tell: Tell) -> None:
    """A sanitize continues, also over a loss of power, until its log says how it ended."""
    waited_s, unread = 0.0, 0
    while True:
        status, share = _sanitized(program.ask(("sanitize-log",), path))
        if status in (_DONE, _DONE_KEPT):
            return
        unread = unread + 1 if status is None else 0
        if unread > _UNREAD_MOST:
            raise block_messages.erasure_failed(device, Erasure.SANITIZE, block_messages.NO_SANITIZE_LOG)
        if status not in (_RUNNING, None):
            raise block_messages.erasure_failed(device, Erasure.SANITIZE, block_messages.SANITIZE_FAILED)
        if waited_s >= ERASE_S:
            raise block_messages.erasure_failed(device, Erasure.SANITIZE, block_messages.SANITIZE_GOES_ON)
        tell(share)
        pause(_POLL_S)
        waited_s += _POLL_S


def _sanitized(text: str) -> tuple[int | None, float]:
    """Status and share done of `nvme sanitize-log`, whose status is a number with words: `(2) Sanitize in Progress.`"""
    for each in nvme_cli.table(text).values():
        status = each.get("sstat", {}) if isinstance(each, dict) else {}
        found = re.match(r"\((\d+)\)", str(status.get("status", ""))) if isinstance(status, dict) else None
        if found is not None:
            progress = number(each.get("sprog")) or 0.0
            return int(found[1]), min(1.0, progress / _PROGRESS_WHOLE)
    return None, 0.0


def _failed(command: list[str], runner: Runner, hear: Callable[[str], None] = lambda said: None) -> str:
    """Why a program did not do it; nothing where it did, and then `hear` gets what it said."""
    try:
        outcome = runner.run(command, privileged="erases or trims a device", timeout_s=ERASE_S)
    except (BenchError, TimeoutError) as failure:
        return str(failure)
    if outcome.status == 0:
        hear(outcome.stdout)
        return ""
    said = (outcome.stderr or outcome.stdout).strip().splitlines()
    return said[-1] if said else f"{command[0]} ended with status {outcome.status}"


def _bits(value: object) -> int:
    found = number(value)
    return 0 if found is None else int(found)


def require_trimmable(device: Path, asked: str, sys: Path = Path("/sys/class/block")) -> None:
    """Raise `UsageError` where the device cannot be told what is not used: known before hours of writing.

    `asked` is what it was asked by, for the message.
    """
    folder = (sys / device.resolve().name).resolve()
    for queue in (folder / "queue", folder.parent / "queue"):  # a partition has its drive's
        if queue.is_dir():
            if int((queue / "discard_max_bytes").read_text().strip() or 0) == 0:
                raise block_messages.cannot_trim(device, asked)
            return


def trim(point: Path, runner: Runner) -> float | None:
    """Tell the drive what the file system mounted here does not use; returns how many bytes, None if that is not said.

    Raises `DriveError` where the drive cannot be told.
    """
    told: list[str] = []
    said = _failed(["fstrim", "--verbose", str(point)], runner, told.append)
    if said:
        raise messages.command_failed(f"trim {point}", said)
    found = re.search(r"(\d+) bytes", "".join(told))
    return None if found is None else float(found[1])
