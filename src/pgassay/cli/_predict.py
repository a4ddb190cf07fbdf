"""`pgassay drive predict RUN …`: what the load of runs on emulated drives becomes on drives of terabytes; simulated."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli._runs import open_run
from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.flash.prediction import Prediction
    from pgassay.lab.prediction import Check, Figure, Predicted

_NOTE = "simulated from the writes that aged each drive; docs/published-studies.md states what is assumed"
_LINEAR = (
    "space is scaled linearly from one run: what does not grow with the data (an empty cluster, the least WAL, items)"
    " weighs too much in it, and the intervals of space are those between its blocks alone; runs at two or three scales"
    " tell it apart: pgassay drive predict RUN RUN RUN"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument(
        "runs", metavar="RUN", type=Path, nargs="+", help="runs on emulated drives that were aged, at several scales"
    )
    parser.add_argument("--data", metavar="SIZE", required=True, help="data of the baseline there: 740GB")
    parser.add_argument("--capacity", metavar="SIZE", required=True, help="of the drive: 3.2TB")
    parser.add_argument(
        "--over-provisioning", metavar="SHARE,…", default="7%", help="spare flash of the drive (default: 7%%): 7%%,28%%"
    )
    parser.add_argument(
        "--superblock", metavar="SIZE", help="what it erases at once (default: a thousandth of it): 1GB"
    )
    parser.add_argument("--live-share", metavar="SHARE", help="fill the drive up to this with cold data: 95%%")
    parser.add_argument("--wal", metavar="SIZE", help="what WAL takes there (default: the share recorded)")
    parser.add_argument("--writes-per-day", metavar="SIZE", help="what the host writes (default: one drive write)")
    parser.add_argument("--simulated", metavar="SIZE", help="how much of a larger drive is simulated (default: 1GB)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Simulate and print; exit status 0."""
    from pgassay.flash.prediction import LEAST_SUPERBLOCK_BYTES, LEAST_SUPERBLOCKS, SIMULATED_BYTES
    from pgassay.lab.prediction import DriveQuestion, predictions
    from pgassay.study.quantities import share
    from pgassay.study.units import format_at_most, format_size, parse_memory

    data, capacity = parse_memory(arguments.data), parse_memory(arguments.capacity)
    daily = parse_memory(arguments.writes_per_day) if arguments.writes_per_day else capacity
    simulated = parse_memory(arguments.simulated) if arguments.simulated else SIMULATED_BYTES
    wal = parse_memory(arguments.wal) if arguments.wal else None
    given = {"--data": data, "--capacity": capacity, "--writes-per-day": daily, "--simulated": simulated}
    superblock = parse_memory(arguments.superblock) if arguments.superblock else None
    if wal is not None:
        given["--wal"] = wal
    for name, value in given.items():
        if value <= 0:
            raise UsageError(f"{name} must be above 0", "for example 740GB")
    largest = capacity // LEAST_SUPERBLOCKS
    if superblock is not None and not LEAST_SUPERBLOCK_BYTES <= superblock <= largest:
        raise UsageError(
            f"--superblock must be {format_size(LEAST_SUPERBLOCK_BYTES)} to {format_at_most(largest)} here",
            "a drive has at least 64 superblocks",
        )
    spare = [share("--over-provisioning", each) for each in arguments.over_provisioning.split(",")]
    live = share("--live-share", arguments.live_share) if arguments.live_share else None
    records = [open_run(path) for path in arguments.runs]
    asked = DriveQuestion(
        data, capacity, spare, live, simulated_bytes=simulated, superblock_bytes=superblock, wal_bytes=wal
    )
    found = list(predictions(records, asked))
    published = records[0].study.get("published", [])
    if arguments.json:
        print(json.dumps({"format": 1, "simulated": [_plain(each, daily) for each in found]}, indent=2))
        return SUCCESS
    for each in found:
        print("\n".join(_lines(each, daily)))
    for row in published:
        print("published: " + "; ".join(f"{name}: {text}" for name, text in row.items() if isinstance(text, str)))
    if len(records) == 1:
        print(_LINEAR)
    print(_NOTE)
    return SUCCESS


def _lines(each: "Predicted", daily: int) -> Sequence[str]:
    from pgassay.report import words

    space = _with_interval(words.size, each.physical.value, each.physical.interval)
    lines = [f"{each.place.name}: {space} of flash ({each.physical.basis})"]
    lines.append(
        f"  compression {_with_interval(words.number, each.compression.value, each.compression.interval)}"
        f" ({each.compression.basis})"
    )
    for drive, basis, alone in zip(each.drives, each.bases, each.recordings, strict=True):
        years = drive.years(daily)
        several = f"; {len(alone)} recordings: {', '.join(map(words.number, alone))}" if len(alone) > 1 else ""
        bracket = "" if basis is None else f" ({basis}, simulated{several})"
        lines.append(
            f"  over-provisioning {drive.target.over_provisioning * 100:.3g} %: write amplification {_known(drive)}"
            f"{bracket},"
            f" {words.number(years)} years at {words.size(daily)} a day and {drive.target.rated_cycles:,} cycles"
        )
    if each.wal_share:
        lines.append(f"  WAL takes {words.number(each.wal_share * 100)} % of it")
    return [*lines, *(_checked(check, f" of {check.run}" if len(each.checks) > 1 else "") for check in each.checks)]


def _checked(check: "Check", of: str) -> str:
    from pgassay.report import words

    settled, again = words.number(check.settled), words.number(check.again.write_amplification)
    error = "" if check.error is None else f" ({check.error * 100:+.1f} %)"
    return f"  the recorded drive{of}: simulated {again}, settled at {settled} when it was aged{error}"


def _with_interval(shown: Callable[[float], str], value: float, interval: tuple[float, float] | None) -> str:
    return shown(value) if interval is None else f"{shown(value)} [{shown(interval[0])}, {shown(interval[1])}]"


def _known(drive: "Prediction") -> str:
    from pgassay.report import words

    if drive.write_amplification is None:
        return "not available: the drive runs out of space"
    settled = "" if drive.settled else ", not settled"
    return _with_interval(words.number, drive.write_amplification, drive.interval) + settled


def _plain(each: "Predicted", daily: int) -> dict[str, Any]:
    return {
        **each.place._asdict(),
        "kind": each.kind,
        "physical_bytes": _figure(each.physical),
        "compression_ratio": _figure(each.compression),
        "drives": [
            {
                "capacity_bytes": drive.target.capacity_bytes,
                "over_provisioning": drive.target.over_provisioning,
                "superblock_bytes": drive.target.superblock_bytes,
                "write_amplification": drive.write_amplification,
                "interval": drive.interval,
                "basis": basis,
                "recordings": alone,
                "settled": drive.settled,
                "endurance_bytes": drive.endurance_bytes,
                "years": drive.years(daily),
            }
            for drive, basis, alone in zip(each.drives, each.bases, each.recordings, strict=True)
        ],
        "wal_share": each.wal_share,
        "recorded_drives": [
            {
                "run": check.run,
                "settled_write_amplification": check.settled,
                "simulated_write_amplification": check.again.write_amplification,
                "error": check.error,
            }
            for check in each.checks
        ],
    }


def _figure(figure: "Figure") -> dict[str, Any]:
    return {"value": figure.value, "interval": figure.interval, "basis": figure.basis}
