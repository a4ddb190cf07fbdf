"""How near the emulated drive comes to the service times that it is asked for, as root, with fio.

`python -m benchmarks.drive_timing DIRECTORY [PROFILE …]`: 4 KiB random reads and writes at queue depths 1 and 8 through
FUSE and a loop device, for each profile and without service times. *asked* and *late* are the drive's own figures,
*seen* is what fio measured: the way through loop device and FUSE comes on top, and is what `off` shows.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.drive_program import MIB, drive, fio, looped

PROFILES = ("off", "tlc-nvme", "sata-ssd", "hdd-7200", "volume-3000-iops", "volume-16000-iops")
DEPTHS = (1, 8)
SLICE_S = 3
CAPACITY = 512 * MIB
SHAPE = {"capacity_bytes": CAPACITY, "codec": "none", "kind": "page-mapped", "over_provisioning": 0.28}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[float, float, float]:
    """Mean asked and mean late in us, and the share of answers late by more than a tenth."""
    names = ("timed_requests", "asked_ns", "late_ns", "late_requests")
    requests, asked, late, many = (after[name] - before[name] for name in names)
    return asked / requests / 1000, late / requests / 1000, many / requests


def rows(home: Path, profile: str) -> Iterator[str]:
    """One line a pattern and depth."""
    timing = {} if profile == "off" else {"timing": {"profile": profile}}
    with drive(home / profile, **SHAPE, **timing, store_bytes=CAPACITY * 5 // 4) as made, looped(made) as device:
        fio(device, "--rw=write", "--bs=1M", f"--size={CAPACITY}", "--iodepth=4")
        for pattern, kind in (("randread", "read"), ("randwrite", "write")):
            for depth in DEPTHS:
                before = made.ask("stats")
                job = fio(device, f"--rw={pattern}", "--bs=4k", f"--iodepth={depth}", "--time_based",
                          f"--runtime={SLICE_S}")  # fmt: skip
                after = made.ask("stats")
                latency = job[kind]["clat_ns"]
                seen, mean = latency["percentile"]["50.000000"] / 1000, latency["mean"] / 1000
                cpu = (after["daemon_cpu_ns"] - before["daemon_cpu_ns"]) / job[kind]["total_ios"] / 1000
                line = f"{profile:<9} {pattern:<10} QD{depth}: {job[kind]['iops']:>9.0f}/s, "
                line += f"seen p50 {seen:.1f}, mean {mean:.1f} us, daemon {cpu:.1f} us of CPU a request"
                if timing:
                    asked, late, share = differences(before, after)
                    line += f"; asked {asked:.1f} us, answered {late:.1f} us later on average ({late / asked:.1%}), "
                    line += f"{share:.0%} more than a tenth late"
                yield line


def main(home: Path, profiles: tuple[str, ...]) -> None:
    """A line for each profile, pattern and depth."""
    for profile in profiles:
        for line in rows(home, profile):
            print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("profile", nargs="*", help=f"{', '.join(PROFILES)} (default: all)")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.profile) - set(PROFILES)):
        parser.error(f"no such profile: {', '.join(unknown)}")
    main(arguments.directory, tuple(arguments.profile) or PROFILES)
