"""`pgassay --help` ÷ `python -c pass`: heavy libraries must be imported only where they are used.

usage: python -m benchmarks.startup [--rounds N]

Whole processes, interleaved. The project's goal is a ratio of at most 16.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    bare = [sys.executable, "-c", "pass"]
    commands = {
        "pgassay --help": [str(Path(sys.executable).with_name("pgassay")), "--help"],
        "pgassay --version": [str(Path(sys.executable).with_name("pgassay")), "--version"],
        "pgassay run --help": [str(Path(sys.executable).with_name("pgassay")), "run", "--help"],
        "pgassay studies": [str(Path(sys.executable).with_name("pgassay")), "studies"],
    }
    for command in (bare, *commands.values()):
        seconds(command)
    ratios: dict[str, list[float]] = {name: [] for name in commands}
    base = []
    for _ in range(arguments.rounds):
        base.append(seconds(bare))
        for name, command in commands.items():
            ratios[name].append(seconds(command) / base[-1])
    print(f"python -c pass: median {statistics.median(base) * 1000:.1f} ms over {arguments.rounds} rounds")
    for name, found in ratios.items():
        print(f"{name}: ratio median {statistics.median(found):.1f} (min {min(found):.1f}, max {max(found):.1f})")


if __name__ == "__main__":
    main()
