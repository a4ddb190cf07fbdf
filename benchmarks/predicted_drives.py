"""Does a small run say where a larger drive settles? Write amplification, predicted from one run and aged in another.

usage: python -m benchmarks.predicted_drives SMALL LARGE [--aim 5]

Both are runs of one study on emulated drives that were aged (`drive.state = aged`), LARGE with more data on larger
drives, as two of `benchmarks.scale_model` are. From the write signatures of SMALL alone, its data and the capacity,
over-provisioning, superblocks and WAL of LARGE's drives, the flash model simulates where those settle, as
`pgassay predict` does. Beside it stands where they did settle when they were aged, by their own load, which the
prediction has not seen.
Where a load was recorded on several drives, the prediction is the mean of their recordings, and each stands beside it.
Exits 1 where a treatment is further off than the aim, in per cent.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from pgassay.lab.prediction import Asked, Predicted, predictions, recorded
from pgassay.lab.settings import STOCK_MIN_WAL
from pgassay.record.reading import Run
from pgassay.study.parsing import parse_recorded
from pgassay.study.units import parse_memory

BLOCK_BYTES = 4096


def compared(small: Run, large: Run) -> Iterator[tuple[str, Predicted, float, float]]:
    """Treatment, all that was predicted, for its drive, and where that settled; those that both runs have."""
    there = {each.place.treatment: each for each in recorded(large)}
    for treatment, drive in there.items():
        asked = Asked(
            int(there[baseline_of(large)].database_bytes),
            int(drive.capacity_bytes),
            (drive.over_provisioning,),
            drive.live_share,
            simulated_bytes=int(drive.capacity_bytes),
            superblock_bytes=None if drive.pages_per_block is None else drive.pages_per_block * BLOCK_BYTES,
            wal_bytes=wal_kept(large),
        )
        for each in predictions([small], asked):
            found = each.drives[0].write_amplification
            if each.place.treatment == treatment and found is not None and drive.settled is not None:
                yield treatment, each, found, drive.settled


def wal_kept(run: Run) -> int:
    """What WAL takes: up to max_wal_size where it starts the checkpoints, else min_wal_size, as set or by default."""
    one = run.trials[0]
    if one.levels["load.checkpoint"].typed == "wal":
        return parse_memory(one.settings.get("max_wal_size", "1GB"))
    return parse_memory(one.settings.get("min_wal_size", STOCK_MIN_WAL))


def baseline_of(run: Run) -> str:
    """The baseline's name."""
    return parse_recorded(run.header.study, run.study).design.baseline.name


def recordings(each: Predicted) -> str:
    """What each recording alone leads to, with the interval of their mean."""
    (drive,), (alone,) = each.drives, each.recordings
    if len(alone) < 2 or drive.interval is None:
        return ""
    low, high = drive.interval
    return f" (mean of {', '.join(f'{value:.3f}' for value in alone if value)}; [{low:.3f}, {high:.3f}])"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("small", type=Path)
    parser.add_argument("large", type=Path)
    parser.add_argument("--aim", type=float, default=5.0, help="how far off a treatment may be, in per cent")
    arguments = parser.parse_args()
    small, large = (Run.open(path, leave_out=True) for path in (arguments.small, arguments.large))
    worst = 0.0
    for treatment, each, predicted, settled in compared(small, large):
        off = 100 * (predicted / settled - 1)
        worst = max(worst, abs(off))
        print(f"{treatment}: predicted {predicted:.3f}, settled at {settled:.3f}: {off:+.1f} %{recordings(each)}")
    if not worst:
        print("the runs have no treatment in common whose drive settled")
        return 1
    print(f"the worst is off by {worst:.1f} %, aim {arguments.aim:g} %")
    return int(worst > arguments.aim)


if __name__ == "__main__":
    sys.exit(main())
