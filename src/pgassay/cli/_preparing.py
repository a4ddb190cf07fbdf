"""What `pgassay drive precondition` and `pgassay drive prove` do, tell meanwhile, and keep of what they found."""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgassay.drive.block import device, kernel
from pgassay.drive.block.preparation import SEQUENTIAL_BYTES, Proof, prove_in
from pgassay.drive.smart import SmartOfMounts
from pgassay.errors import UsageError
from pgassay.host import accounts
from pgassay.host.runner import LocalRunner
from pgassay.host.storage import mount_of
from pgassay.interfaces.drive_counters import DriveCounters
from pgassay.interfaces.running import Runner
from pgassay.lab.drives import keep_proof, linux_kernel, owned
from pgassay.record import known
from pgassay.scratch import state_directory
from pgassay.study.units import format_size, parse_memory

SAID_EVERY_S = 10.0


def precondition(arguments: argparse.Namespace) -> Mapping[str, Any]:
    """Prepare the device; returns what to answer. Raises `PgassayError`."""
    path = Path(arguments.name)
    if path.resolve() not in owned([arguments.i_own] if arguments.i_own else []):
        raise device.not_owned(path)
    if not 0.0 < arguments.compressed_to <= 1.0:
        raise UsageError(f"--compressed-to cannot be {arguments.compressed_to:g}", "give a share above 0 and up to 1")
    if arguments.drive_writes < 1:
        raise UsageError(f"--drive-writes cannot be {arguments.drive_writes}", "give a whole number from 1 on")
    wanted = device.Preparation(
        arguments.discard,
        arguments.compressed_to,
        arguments.drive_writes,
        _proof_bytes(arguments),
        arguments.trim,
    )
    runner = LocalRunner(accounts.choose())
    counters = counters_of(path, runner)
    found = device.prepare(path, wanted, runner, linux_kernel(), counters, time.sleep, PreparationLines())
    written = found.overwritten
    answer = {
        "device": str(path),
        "discarded": f"no: {found.not_discarded}" if found.not_discarded else "yes",
        **_of_proof(found.proof, path, counters, f"device:{path}", _not_kept(path)),
        "drive_writes": written.written / max(1, kernel.size_bytes(path)),
        "write_amplification": written.amplification[-1] if written.amplification else None,
        "settled": written.settled,
        "label": found.label,
        "state": device.state_of(path, runner),
        "rounds": list(written.amplification),
    }
    return {name: value for name, value in answer.items() if value is not None}


def prove(arguments: argparse.Namespace) -> Mapping[str, Any]:
    """Prove the counters of the drive under a directory; returns what to answer. Raises `PgassayError`."""
    directory, amount_bytes = arguments.directory.absolute(), _proof_bytes(arguments)
    if not directory.is_dir():
        raise UsageError(f'"{directory}" is not a directory', "name one on the drive whose counters are to be proven")
    mount = mount_of(directory)
    path = Path(mount.device)
    counters = counters_of(path, LocalRunner(accounts.choose()))
    if counters is None:
        raise UsageError(
            f'nothing here counts what is written to the drive of "{directory}" ({mount.device})',
            "counters of NVMe drives need nvme-cli, of SATA drives smartmontools, and both need root",
        )
    proof = prove_in(mount, directory, counters, time.sleep, amount_bytes, PreparationLines())
    not_kept = _not_kept(path) or ("other programs wrote meanwhile" if proof.disturbed else "")
    answer = {
        "directory": str(directory),
        "device": mount.device,
        **_of_proof(proof, path, counters, f"directory:{directory}", not_kept),
    }
    return {name: value for name, value in answer.items() if value is not None}


def counters_of(path: Path, runner: Runner) -> DriveCounters | None:
    """What a device counts: one of ours that is emulated by its program, any other by its SMART log."""
    return device.counters_of(path) or SmartOfMounts(runner).of(str(path.resolve()))


def _proof_bytes(arguments: argparse.Namespace) -> int:
    found = parse_memory(arguments.proof)
    if found < SEQUENTIAL_BYTES:
        raise UsageError(
            f'--proof cannot be "{arguments.proof}"',
            f"give {format_size(SEQUENTIAL_BYTES)} or more; real counters need GBs",
        )
    return found


def _not_kept(path: Path) -> str:
    return "" if device.counters_of(path) is None else "an emulated drive tells its counters itself"


def _of_proof(proof: Proof, path: Path, counters: DriveCounters | None, level: str, not_kept: str) -> Mapping[str, Any]:
    """What the proof showed, and whether later runs will know it. Of a drive that nobody asked, there is none."""
    kept = None
    if counters is not None:
        why = not_kept or keep_proof(state_directory(os.environ) / known.PROOFS_FILE, path, proof)
        kept = f"no: {why}" if why else "yes: runs on this drive go by it"
    return {
        "counters": proof.trust(datetime.now(UTC).strftime("%Y-%m-%d")).words,
        "kept": kept,
        "declare_as": None if proof.role is None else f"{proof.role}={level}",
    }


class PreparationLines:
    """Says on standard error what is being done, now and then, with the time left at most."""

    def __init__(self) -> None:
        self._doing = ""
        self._began_s = self._said_s = 0.0

    def __call__(self, doing: str, done: int, most: int, amplification: float | None) -> None:
        now_s = time.monotonic()
        if doing != self._doing:
            self._doing, self._began_s = doing, now_s
        elif now_s - self._said_s < SAID_EVERY_S:
            return
        self._said_s = now_s
        left = f", at most {(now_s - self._began_s) * (most - done) / done / 60:.0f} min left" if done else ""
        known = "" if amplification is None else f", write amplification {amplification:.3g}"
        print(f"{doing}: {format_size(done)} of {format_size(most)}{known}{left}", file=sys.stderr, flush=True)
