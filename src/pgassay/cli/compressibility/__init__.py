"""`pgassay compressibility`: what a compressing drive would make of an existing cluster's files, which are only read.

No emulated drive and no server are needed. Each 4 KiB block is compressed alone, as such drives do (the crate codec);
docs/compressibility.md says what is estimated and from what.
"""

import argparse

from pgassay.cli.parser import whole

SUMMARY = "estimate what a compressing drive would make of an existing cluster"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "cluster", metavar="DIR|DSN", help="a data directory, or a connection string of a server on this machine"
    )
    parser.add_argument(
        "--codec", default="zstd-1", metavar="A,B,…", help="zstd-1 (default), zstd-N, deflate-1, deflate-6, lz4, none"
    )
    parser.add_argument(
        "--granularity",
        default="1B,512B",
        metavar="A,B,…",
        help="what sizes are rounded up to: 1B is packed, 4kB saves zeros only (default: 1B,512B)",
    )
    parser.add_argument("--fillfactor", default="75", metavar="A,B,…", help="what tables would then cost (default: 75)")
    parser.add_argument("--sample", default="1GB", metavar="SIZE", help="how much is read at most (default: 1GB)")
    parser.add_argument("--whole", action="store_true", help="read everything")
    parser.add_argument("--jobs", type=whole(1), metavar="N", help="threads (default: one a core)")
    parser.add_argument("--top", type=whole(0), default=20, metavar="N", help="relations listed, largest first")
    parser.add_argument("--json", action="store_true", help="print everything, every relation, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Look, sample, weigh, print."""
    # Imported late: a command's options must be known without numpy.
    from pgassay.cli.compressibility import _estimate, _output, _request

    request = _request.read(arguments)
    estimate = _estimate.estimate(request)
    print(_output.as_json(estimate) if arguments.json else _output.as_text(estimate, arguments.top), end="")
    return 0
