"""`pgassay simulate`: what a load becomes inside a modelled drive; no PostgreSQL, no disk, no privileges.

The model is the Rust core's (docs/flash-model.md states every assumption). A description is a TOML file, options, or
both; a sweep runs every combination of the levels it names, on all cores.
"""

import argparse
from pathlib import Path

from pgassay.cli.parser import whole

SUMMARY = "simulate what a load becomes inside a drive"

# Options that are short for `--set KEY=VALUE`.
_SHORTCUTS = {
    "capacity": ("drive.user_bytes", "SIZE", "user capacity, such as 16GB"),
    "over-provisioning": ("drive.over_provisioning", "SHARE", "spare flash relative to user capacity: 7%%, 0.28"),
    "kind": ("drive.kind", "KIND", "page-mapped or compressing"),
    "policy": ("drive.policy", "POLICY", "greedy, cost-benefit, fifo, d-choices or random"),
    "pattern": ("input.pattern", "PATTERN", "uniform, sequential, zipf or hot-cold"),
    "compressed-to": ("input.compressed_to", "SHARE", "what is left of each block after compression: 40%%"),
    "trace": ("run.trace", "FILE", "a recorded load in place of the pattern"),
    "used-share": ("run.used_share", "SHARE", "share of the drive that is in use: filled first, then written"),
    "drive-writes": ("run.drive_writes", "NUMBER", "how much is written after ageing, in capacities"),
    "seed": ("run.seed", "NUMBER", "seed of everything random"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a description in TOML")
    for option, (key, value, text) in _SHORTCUTS.items():
        parser.add_argument(f"--{option}", dest=key, metavar=value, help=text)
    parser.add_argument("--timing", action="store_true", help="also simulate latencies, with the usual service times")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any key of the description")
    parser.add_argument(
        "--sweep", action="append", default=[], metavar="KEY=A,B,…", help="every combination of these levels"
    )
    parser.add_argument("--jobs", type=whole(1), metavar="N", help="drives simulated at once (default: one a core)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write result.json and figures (HTML, PNG, SVG) there")


def run(arguments: argparse.Namespace) -> int:
    """Simulate, print, write."""
    # Imported late: a command's options must be known without numpy and altair.
    from pgassay.cli.simulate import _description, _output, _sweep

    shortcuts = {key: getattr(arguments, key) for key, _, _ in _SHORTCUTS.values()}
    settings = [f"{key}={value}" for key, value in shortcuts.items() if value is not None]
    document = _description.read(arguments.file, [*settings, *arguments.set], timing=arguments.timing)
    points = _sweep.points(document, arguments.sweep)
    if arguments.out is not None:
        arguments.out.mkdir(
            parents=True, exist_ok=True
        )  # A place that cannot be written is told before minutes are spent.
    results = _sweep.simulate_all(points, arguments.jobs)
    if arguments.out is not None:
        _output.write(results, arguments.out)
    print(_output.as_json(results) if arguments.json else _output.as_text(results), end="")
    return 0
