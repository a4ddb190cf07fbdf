"""`pgassay drive cut`: the load of a study under power cuts, on an emulated drive."""

import argparse
from math import ceil

from pgassay.cli.parser import whole
from pgassay.cli.run import add_bench_options, add_size_options, add_study_options, read_study, run_document

BLOCKS = 5
"""The least of which a study makes a verdict; each brings a load of its own."""
BLOCKS_MAX = 1000
"""With `--risk-below` the bound ends the run, or its budget."""
CUT_S = 1.0
"""What a cut takes at most on a machine with two cores, for the length of a window that nobody gave."""
PGBENCH = "pgbench"
"""The load that can write a ledger."""
RATE_TPS = "200"
"""A load that nobody gave a rate leaves the CPUs to the servers that recover."""
CHECKPOINTS = ("server.max_wal_size", "server.checkpoint_timeout", "init.wal_segment_size")
"""Where none of these is given, checkpoints come every few seconds: without any in a window nothing is called safe."""
MAX_WAL_SIZE, ARCHIVE_TIMEOUT = "32MB", "5s"
"""The second one ends WAL segments, so that a load which writes little has checkpoints, too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("study", metavar="STUDY", help="a built-in study's name, or a study file")
    parser.add_argument(
        "--cuts", type=whole(1), default=200, metavar="N",
        help=f"cuts of each treatment in {BLOCKS} blocks (default: 200)",
    )  # fmt: skip
    add_size_options(parser)
    add_study_options(parser)
    add_bench_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the study with so many cuts, its load and drive replaced where they could not be cut."""
    from pgassay.design.risk import UNSAFE
    from pgassay.study import document
    from pgassay.study.drives import DriveKind

    name, written = read_study(arguments)
    each = ceil(arguments.cuts / BLOCKS)
    given = {option.partition("=")[0].strip() for option in (*arguments.set, *arguments.levels)}
    load = written.get("load")
    given |= {*document.names_in(written), *(f"load.{option}" for option in (load if isinstance(load, dict) else ()))}
    driver = load.get("driver", PGBENCH) if isinstance(load, dict) else PGBENCH
    usual = {
        **({"load.script": "ledger"} if driver == PGBENCH else {}),
        "load.rate": RATE_TPS,
        "drive.data": DriveKind.SSD,
        "drive.cache": "volatile",
        "init.data_checksums": "on",
        **(
            {}
            if given.intersection(CHECKPOINTS)
            else {"server.max_wal_size": MAX_WAL_SIZE, "server.archive_timeout": ARCHIVE_TIMEOUT}
        ),
    }
    forced = [f"load.cuts={each}"]
    if not any(option.startswith("load.duration=") for option in arguments.set):
        forced.append(f"load.duration={max(10, ceil(each * CUT_S))}s")
    arguments.set = [*arguments.set, *forced, *(f"{key}={value}" for key, value in usual.items() if key not in given)]
    arguments.blocks = arguments.blocks or f"{BLOCKS}..{BLOCKS if arguments.risk_below is None else BLOCKS_MAX}"
    arguments.primary = arguments.primary or UNSAFE
    return run_document(name, written, arguments)
