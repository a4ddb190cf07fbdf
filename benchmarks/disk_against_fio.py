"""Does the study `disk` say what fio says when it is run by hand on the same file system? Ratio of I/Os per second.

    python -m benchmarks.disk_against_fio --directory DIR [--pairs 6] [--seconds 3]

Both sides are interleaved in random order on one and the same file, since two files lie in two places of a drive, whose
random writes may differ by a fifth. The command by hand is typed below, without a line of ours. Exit status 1 when an
interval of the ratio leaves out 1 by more than the asked share.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from typing import Any

from benchmarks.ratios import bounds, interval
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.load import Tools
from pgassay.interfaces.places import Account, Endpoint
from pgassay.load.fio import FILE, FioLoad, FioOptions

PATTERNS = {
    "random:100%": ["--rw=randread", "--direct=1"],
    "random:0%": ["--rw=randwrite", "--direct=1"],
    "wal": ["--rw=write", "--fdatasync=1"],
}


class Idle:
    """All that the driver asks of a server: where its data lie."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.endpoint = Endpoint(directory, 1, "none", "none")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return [(str(self.directory),)]

    def alive(self) -> bool:
        return True


def by_hand(file: Path, pattern: str, seconds: int, size: str) -> float:
    """fio as anybody would type it."""
    command = ["fio", "--name=hand", f"--filename={file}", f"--size={size}", "--bs=8k", "--ioengine=psync"]
    command += ["--overwrite=1"]  # write the file out first: on reserved blocks an fdatasync writes the journal too
    command += [*PATTERNS[pattern], "--time_based", f"--runtime={seconds}", "--output-format=json"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    job = json.loads(text[text.index("{") :])["jobs"][0]
    return float(job["read"]["iops"] + job["write"]["iops"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line a pattern."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--size", default="256MB")
    parser.add_argument("--share", type=float, default=0.10, help="how far from 1 an interval may lie")
    given = parser.parse_args(arguments)
    chance, wrong = random.Random(1), 0
    with tempfile.TemporaryDirectory(dir=given.directory) as folder:
        root = Path(folder)
        for name in ("ours", "out"):
            (root / name).mkdir()
        tools = Tools(Path("/nowhere"), LocalRunner(Account(None, 0, 0)), SystemClock())
        for pattern in PATTERNS:
            options = {"pattern": pattern, "duration": f"{given.seconds}s", "file_size": given.size}

            def ours(wanted: dict[str, str] = options) -> float:
                output = root / "out" / str(chance.randrange(1 << 60))  # as each trial has a folder of its own
                load = FioLoad(FioOptions.from_levels(wanted), tools)
                found = load.run(Idle(root / "ours"), output, chance.randrange(1 << 30))  # type: ignore[arg-type]
                if found.problems:
                    raise SystemExit(f"pgassay's fio failed: {dict(found.problems)}")
                return float(found.responses["iops"] or 0.0)

            def hand(wanted: str = pattern) -> float:
                return by_hand(root / "ours" / FILE, wanted, given.seconds, given.size.replace("MB", "M"))

            sides: tuple[tuple[str, Callable[[], float]], ...] = (("ours", ours), ("hand", hand))
            for _, side in sides:  # the first lays the file out
                side()
            logs = []
            for _ in range(given.pairs):
                found = {}
                for name, side in chance.sample(sides, 2):
                    found[name] = side()
                logs.append(log(found["ours"] / found["hand"]))
            low, _, high = bounds(logs)
            print(f"{pattern:12} pgassay / by hand {interval(logs)} over {given.pairs} pairs")
            wrong += low > 1.0 + given.share or high < 1.0 - given.share
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
