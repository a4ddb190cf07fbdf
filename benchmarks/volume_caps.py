"""What a volume lets pass against its token buckets' formula, as root, with fio.

`python -m benchmarks.volume_caps DIRECTORY`: each case runs fio for `SECONDS` on a mounted drive and prints the I/Os
that fio counted, the formula's, and their ratio; exit 1 if one is off by more than 2 %. The formula: the least of what
the cap of I/Os lets pass in that time (with credits: what they and the refill give, at most the burst's rate), and what
the cap of throughput does. 2026-11-28, on two busy cores: ratios of 1.0005 to 1.0011.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.drive_program import MIB, drive, fio, looped

SECONDS = 20
CAPACITY = 256 * MIB
TOLERANCE = 0.02
SHAPE = {"capacity_bytes": CAPACITY, "codec": "none", "kind": "page-mapped", "over_provisioning": 0.28}
BURST = {"profile": "volume-3000-iops-burst", "iops": 300, "burst_iops": 3000, "burst_ios": 27_000}
CASES = {
    "3,000 IOPS": ({"profile": "volume-3000-iops"}, "randread", 8, 32, 3000 * SECONDS),
    "3,000 IOPS, written": ({"profile": "volume-3000-iops"}, "randwrite", 8, 32, 3000 * SECONDS),
    "125 MiB/s": ({"profile": "volume-3000-iops"}, "read", 256, 8, 500 * SECONDS),
    "credits for 10 s": (BURST, "randread", 8, 32, min(3000 * SECONDS, 27_000 + 300 * SECONDS)),
}
"""Timing, fio's pattern, KiB of a request, queue depth, I/Os by the formula."""


def main(home: Path) -> int:
    """A line for each case; whether all are within the tolerance."""
    worst = 0.0
    for name, (timing, pattern, kib, depth, expected) in CASES.items():
        folder = home / name.replace(" ", "-").replace("/", "-").replace(",", "")
        with drive(folder, **SHAPE, timing=timing, store_bytes=CAPACITY * 5 // 4) as made, looped(made) as device:
            job = fio(device, f"--rw={pattern}", f"--bs={kib}k", f"--iodepth={depth}", "--time_based",
                      f"--runtime={SECONDS}")  # fmt: skip
            found = job["write" if "write" in pattern else "read"]["total_ios"]
        ratio = found / expected
        worst = max(worst, abs(ratio - 1))
        print(f"{name:<22} fio {found:>7}, formula {expected:>7}, ratio {ratio:.4f}", flush=True)
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    sys.exit(main(parser.parse_args().directory))
