"""The flash model against theory: every number that can be known exactly, with its distance in per cent.

The table is made by the Rust program `flash-accuracy` (crates/flash/examples), which ends with an error if a row lies
outside its bound. `--shapes` draws policies, block sizes and over-provisionings that no test names instead.
usage: python -m benchmarks.flash_accuracy [--blocks N] [--shapes N [--seed N]]
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build the program, run it, pass its status on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=16384, help="superblocks of user data of each drive")
    parser.add_argument("--shapes", type=int, default=0, help="in place of the table, so many drawn ones")
    parser.add_argument("--seed", type=int, default=1, help="what the shapes are drawn from")
    asked = parser.parse_args()
    cargo = ["cargo", "run", "--quiet", "--release", "--package", "pgassay-flash", "--example", "flash-accuracy", "--"]
    words = [str(asked.blocks), str(asked.shapes), str(asked.seed)]
    return subprocess.run([*cargo, *words], check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
