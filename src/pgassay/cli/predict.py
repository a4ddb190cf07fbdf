"""`pgassay predict RUN`: what the load of a run on emulated drives becomes on drives of terabytes; simulated."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli import messages
from pgassay.cli._runs import open_run

if TYPE_CHECKING:
    from pgassay.flash.prediction import Prediction
    from pgassay.lab.prediction import Predicted

_NOTE = (
    "simulated from the writes that aged each drive; space scales with the data; docs/scale-models.md states what is"
    " assumed"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run on emulated drives that were aged")
    parser.add_argument("--data", metavar="SIZE", required=True, help="data of the baseline there: 740GB")
    parser.add_argument("--capacity", metavar="SIZE", required=True, help="of the drive: 3.2TB")
    parser.add_argument(
        "--over-provisioning", metavar="SHARE,…", default="7%", help="spare flash of the drive (default: 7%%): 7%%,28%%"
    )
    parser.add_argument(
        "--superblock", metavar="SIZE", help="what it erases at once (default: a thousandth of it): 1GB"
    )
    parser.add_argument("--live-share", metavar="SHARE", help="fill the drive up to this with cold data: 95%%")
    parser.add_argument("--writes-per-day", metavar="SIZE", help="what the host writes (default: one drive write)")
    parser.add_argument("--simulated", metavar="SIZE", help="how much of a larger drive is simulated (default: 1GB)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Simulate and print; exit status 0."""
    from pgassay.flash.prediction import LEAST_SUPERBLOCK_BYTES, LEAST_SUPERBLOCKS, SIMULATED_BYTES
    from pgassay.lab.prediction import Asked, predictions
    from pgassay.study.quantities import share
    from pgassay.study.units import parse_memory

    data, capacity = parse_memory(arguments.data), parse_memory(arguments.capacity)
    daily = parse_memory(arguments.writes_per_day) if arguments.writes_per_day else capacity
    simulated = parse_memory(arguments.simulated) if arguments.simulated else SIMULATED_BYTES
    given = {"--data": data, "--capacity": capacity, "--writes-per-day": daily, "--simulated": simulated}
    superblock = parse_memory(arguments.superblock) if arguments.superblock else None
    for name, value in given.items():
        if value <= 0:
            raise messages.not_above_zero(name)
    if superblock is not None and not LEAST_SUPERBLOCK_BYTES <= superblock <= capacity // LEAST_SUPERBLOCKS:
        raise messages.no_superblock(LEAST_SUPERBLOCK_BYTES, capacity // LEAST_SUPERBLOCKS)
    spare = [share("--over-provisioning", each) for each in arguments.over_provisioning.split(",")]
    live = share("--live-share", arguments.live_share) if arguments.live_share else None
    record = open_run(arguments.run)
    asked = Asked(data, capacity, spare, live, simulated_bytes=simulated, superblock_bytes=superblock)
    found = list(predictions(record, asked))
    published = record.study.get("published", [])
    if arguments.json:
        print(json.dumps({"format": 1, "simulated": [_plain(each, daily) for each in found]}, indent=2))
        return messages.SUCCESS
    for each in found:
        print("\n".join(_lines(each, daily)))
    for row in published:
        print("published: " + "; ".join(f"{name}: {text}" for name, text in row.items() if isinstance(text, str)))
    print(_NOTE)
    return messages.SUCCESS


def _lines(each: "Predicted", daily: int) -> Sequence[str]:
    from pgassay.report import words

    lines = [f"{each.place.name}: {words.size(each.physical_bytes)} of flash, simulated"]
    for drive in each.drives:
        years = drive.years(daily)
        lines.append(
            f"  over-provisioning {drive.target.over_provisioning * 100:.3g} %: write amplification {_known(drive)},"
            f" {words.number(years)} years at {words.size(daily)} a day and {drive.target.rated_cycles:,} cycles"
        )
    settled, again = words.number(each.settled), words.number(each.again.write_amplification)
    error = "" if each.error is None else f" ({each.error * 100:+.1f} %)"
    lines.append(f"  the recorded drive: simulated {again}, settled at {settled} when it was aged{error}")
    return lines


def _known(drive: "Prediction") -> str:
    from pgassay.report import words

    if drive.write_amplification is None:
        return "not available: the drive runs out of space"
    low, high = drive.interval or (drive.write_amplification,) * 2
    settled = "" if drive.settled else ", not settled"
    return f"{words.number(drive.write_amplification)} [{words.number(low)}, {words.number(high)}]{settled}"


def _plain(each: "Predicted", daily: int) -> dict[str, Any]:
    return {
        **each.place._asdict(),
        "kind": each.kind,
        "physical_bytes": each.physical_bytes,
        "drives": [
            {
                "capacity_bytes": drive.target.capacity_bytes,
                "over_provisioning": drive.target.over_provisioning,
                "superblock_bytes": drive.target.superblock_bytes,
                "write_amplification": drive.write_amplification,
                "interval": drive.interval,
                "settled": drive.settled,
                "endurance_bytes": drive.endurance_bytes,
                "years": drive.years(daily),
            }
            for drive in each.drives
        ],
        "recorded_drive": {
            "settled_write_amplification": each.settled,
            "simulated_write_amplification": each.again.write_amplification,
            "error": each.error,
        },
    }
