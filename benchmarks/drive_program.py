"""What the emulated drive's program costs: `python -m benchmarks.drive_program DIRECTORY [PART …]`, as root, with fio.

`latency`: 4 KiB random writes at queue depth 1 through FUSE and a loop device, against the same way with a store that
does nothing, in slices of a second in random order: ratios of the p50s with 95 % (t over slices), and of the quickest
slices, which other work disturbed least. `restore`, `age` and `memory` print what they took.
"""

import argparse
import json
import math
import os
import random
import socket
import statistics
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.ratios import interval
from pgassay._core import DriveDescription
from pgassay.drive.options import memory_bytes

PROGRAM = Path(os.environ.get("PGASSAY_DRIVE") or Path(__file__).parents[1] / "src/pgassay/_bin/pgassay-drive")
MIB = 1 << 20
ROUNDS = 15
SLICE_S = 1
KIND = {"kind": "compressing"}
SNAPSHOTS = ("one", "two", "three")


class Drive:
    """A running drive."""

    def __init__(self, directory: Path, **configuration: Any) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.directory = directory
        file = directory / "daemon.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps({"name": directory.name, "directory": str(directory)} | configuration))
        words: list[str | Path] = [PROGRAM, "serve", "--config", file]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, do: str, **values: Any) -> Any:
        """One request."""
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.directory / "control.sock"))
            line.sendall(json.dumps({"do": do, **values}).encode() + b"\n")
            return json.loads(line.makefile().readline())["ok"]


@contextmanager
def drive(directory: Path, **configuration: Any) -> Iterator[Drive]:
    """A drive for the length of a block."""
    made = Drive(directory, **configuration)
    try:
        yield made
    finally:
        made.process.terminate()
        made.process.wait(60)


@contextmanager
def looped(made: Drive) -> Iterator[str]:
    """A loop device over it."""
    file = made.directory / "fuse" / "disk"
    words = ["losetup", "--find", "--show", "--direct-io=on", "--sector-size=4096", str(file)]
    device = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def fio(device: str, *options: str) -> Any:
    """One job's figures. Buffers compress by 60 per cent."""
    words = ["fio", "--name=job", f"--filename={device}", "--direct=1", "--ioengine=libaio", "--output-format=json"]
    words += ["--buffer_compress_percentage=60", "--refill_buffers", *options]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["jobs"][0]


def latency(home: Path) -> None:
    """p50 of a 4 KiB random write against a store that does nothing."""
    size = 512 * MIB
    kinds: dict[str, dict[str, Any]] = {
        "null": {"store": "null", "codec": "none"},
        "none": {"codec": "none", "store_bytes": size * 5 // 4, "kind": "page-mapped"},
        "zstd-1": {"codec": "zstd-1", "store_bytes": size, "kind": "compressing"},
    }
    p50: dict[str, list[float]] = {name: [] for name in kinds}
    with ExitStack() as stack:
        devices = {
            name: stack.enter_context(looped(stack.enter_context(drive(home / name, capacity_bytes=size, **more))))
            for name, more in kinds.items()
        }
        for number in range(ROUNDS):
            for name in random.Random(number).sample(list(kinds), len(kinds)):
                one = ("--bs=4k", "--iodepth=1", "--time_based", f"--runtime={SLICE_S}")
                job = fio(devices[name], "--rw=randwrite", *one)
                p50[name].append(job["write"]["clat_ns"]["percentile"]["50.000000"] / 1000)
    for name, seen in p50.items():
        ratios = [math.log(mine / base) for mine, base in zip(seen, p50["null"], strict=True)]
        print(f"{name}: p50 {statistics.median(seen):.1f} us, / null {interval(ratios)}, of the quickest slices "
              f"{min(seen):.1f} us, / null {min(seen) / min(p50['null']):.2f}, aim 1.3")  # fmt: skip


def restore(home: Path) -> None:
    """A snapshot of 2 GiB of contents, overwritten in part, then restored."""
    with drive(home / "restore", capacity_bytes=4096 * MIB, store_bytes=3072 * MIB, kind="compressing") as made:
        with looped(made) as device:
            fio(device, "--rw=write", "--bs=1M", f"--size={2048 * MIB}", "--iodepth=4")
            taken = made.ask("snapshot", name="full")
            fio(device, "--rw=randwrite", "--bs=8k", f"--size={2048 * MIB}", f"--io_size={256 * MIB}", "--iodepth=4")
        back = [made.ask("restore", name="full")["took_ms"] for _ in range(3)]
        print(f"snapshot {taken['took_ms']:.0f} ms, restore {', '.join(f'{ms:.0f}' for ms in back)} ms")


def age(home: Path) -> None:
    """A drive of 64 GiB with 256 MiB of room for contents, filled and overwritten until it is steady."""
    for kind, ratio in (("page-mapped", 1.0), ("compressing", 0.5)):
        shape = {"capacity_bytes": 65536 * MIB, "store_bytes": 256 * MIB, "kind": kind, "over_provisioning": 0.28}
        with drive(home / kind, **shape) as made:
            before_ns = made.ask("stats")["daemon_cpu_ns"]
            aged = made.ask("age", mode="uniform", compressed_to=ratio)
            cpu_s = (made.ask("stats")["daemon_cpu_ns"] - before_ns) / 1e9
            print(f"{kind}: {aged['took_ms'] / 1000:.1f} s ({cpu_s:.1f} of processor), {aged['drive_writes']:.1f} "
                  f"drive writes, settled {aged['settled']}, WA {aged['write_amplification']:.3f}")  # fmt: skip


def memory(home: Path) -> None:
    """What the program takes with a store just large enough, against the bound that is promised."""
    size, store = 1024 * MIB, 480 * MIB
    with drive(home / "memory", capacity_bytes=size, store_bytes=store, **KIND) as made:
        empty = made.ask("stats")["memory_bytes"]
        with looped(made) as device:
            fio(device, "--rw=write", "--bs=1M", f"--size={size}", "--iodepth=4")
            fio(device, "--rw=randwrite", "--bs=8k", f"--size={size}", f"--io_size={size}", "--iodepth=4")
        stats = made.ask("stats")
        taken_ms = [made.ask("snapshot", name=name)["took_ms"] for name in SNAPSHOTS]
        kept = made.ask("stats")["memory_bytes"]
        restored_ms = [made.ask("restore", name=name)["took_ms"] for name in SNAPSHOTS]
        after = made.ask("stats")["memory_bytes"]
        bound = stats["stored_bytes"] * 1.25 + 32 * stats["stored_blocks"]
        blocks, share = size // 4096, stats["stored_bytes"] / stats["stored_blocks"] / 4096
        described = DriveDescription({"drive": {"user_bytes": size, **KIND}})
        forecast = stats["store_bytes"] + memory_bytes(described, len(SNAPSHOTS) - 1, share)
        print(f"empty {empty / MIB:.0f} MiB, full {stats['memory_bytes'] / MIB:.0f} MiB, "
              f"{stats['memory_bytes'] / bound:.2f} of the bound; live in the store "
              f"{stats['store_live_bytes'] / stats['store_bytes']:.2f}; tables "
              f"{stats['tables_bytes'] / blocks:.1f} bytes a block of capacity")  # fmt: skip
        print(f"{len(SNAPSHOTS)} snapshots: {kept / MIB:.0f} MiB, "
              f"{kept / (bound + 16 * blocks * len(SNAPSHOTS)):.2f} of the bound, {kept / forecast:.2f} of the "
              f"forecast; each {(kept - stats['memory_bytes']) / len(SNAPSHOTS) / blocks:.1f} bytes a block; taken in "
              f"{spelled(taken_ms)} ms, restored in {spelled(restored_ms)} ms, then {after / MIB:.0f} MiB")  # fmt: skip


def spelled(times_ms: list[float]) -> str:
    """In whole milliseconds."""
    return ", ".join(f"{ms:.0f}" for ms in times_ms)


PARTS: dict[str, Callable[[Path], None]] = {"latency": latency, "restore": restore, "age": age, "memory": memory}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)} (default: all)")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.part) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}")
    for part in arguments.part or PARTS:
        PARTS[part](arguments.directory)
