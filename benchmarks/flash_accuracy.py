"""The flash model against theory: every number that can be known exactly, with its distance in per cent.

The table is made by the Rust program `flash-accuracy` (crates/flash/examples), which ends with an error if a row lies
outside its bound. usage: python -m benchmarks.flash_accuracy
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build the program, run it, pass its status on."""
    cargo = ["cargo", "run", "--quiet", "--release", "--package", "pgassay-flash", "--example", "flash-accuracy"]
    return subprocess.run(cargo, check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
