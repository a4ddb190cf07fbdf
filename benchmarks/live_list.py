"""How long does `pgassay serve` take to list ten thousand runs? With its index, and with the index lost, in turn.

Prints the seconds of each, and the ratio. The list must come within a second (its page and the look at every record
for what is new); without the index every record is read once.

    python -m benchmarks.live_list [--runs 10000] [--directory DIR]
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from starlette.testclient import TestClient

from pgassay.live.app import application
from pgassay.live.catalogue import Catalogue
from pgassay.testing.planted import make_run

ROUNDS = 3
_FILES = ("run.json", "study.toml", "host.json", "journal.jsonl")


def plant(root: Path, count: int) -> None:
    """So many runs of 24 trials; of each only what a list reads."""
    made = make_run(root / "made").path
    for number in range(count - 1):
        run = root / f"fillfactor-{number:05d}"
        run.mkdir()
        for name in _FILES:
            shutil.copyfile(made / name, run / name)


def listed_s(root: Path, kept: Path, count: int) -> float:
    """Seconds from the request to the whole page."""
    with TestClient(application(Catalogue(root, kept), "token", 1), base_url="http://localhost") as browser:
        browser.cookies.set("pgassay-1", "token")
        began = time.perf_counter()
        answer = browser.get("/")
        seconds = time.perf_counter() - began
    assert f"of {count} runs" in answer.text
    return seconds


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--directory", type=Path, help="where to make the runs (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        root, kept = Path(folder, "runs"), Path(folder, "index.sqlite")
        root.mkdir()
        plant(root, options.runs)
        fresh, known = [], []
        for _ in range(ROUNDS):
            kept.unlink(missing_ok=True)
            fresh.append(listed_s(root, kept, options.runs))
            known.append(listed_s(root, kept, options.runs))
    print(f"{options.runs} runs listed with the index in s: {', '.join(f'{each:.2f}' for each in known)}")
    print(f"with the index lost in s: {', '.join(f'{each:.2f}' for each in fresh)}")
    print(f"ratio of the medians: {sorted(fresh)[ROUNDS // 2] / sorted(known)[ROUNDS // 2]:.1f}")


if __name__ == "__main__":
    main()
