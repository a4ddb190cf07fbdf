"""`pgassay drive`: drives of your own, what runs have left, and what a load or a cluster would become on a drive.

`precondition` brings a real device to a steady state, and shows whether its counters can be trusted; `prove` shows that
of a drive in use (`_preparing`). `snapshots` lists what prepared data are kept for later runs, and removes the least
recently used. `cut` runs the load of a study under power cuts, on an emulated drive. What needs no drive, since it is
computed, is in `_estimates`.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli import _estimates
from pgassay.cli.parser import Action, add_options, whole
from pgassay.cli.printing import SUCCESS
from pgassay.cli.run import add_bench_options, add_size_options, add_study_options, read_study, run_document
from pgassay.errors import UsageError
from pgassay.record.calibrations import STUDY
from pgassay.study.drives import kind_of
from pgassay.study.units import format_size, parse_memory

if TYPE_CHECKING:
    from pgassay.drive.named import NamedDrive
    from pgassay.drive.root import Root
    from pgassay.drive.snapshots import StoredSnapshot

_LEVELS = ("filesystem", "mkfs", "mount_options", "capacity", "codec", "over_provisioning", "policy", "store_bytes")
_FOR_EVER_S = 1e6
_DRIVE_WRITES = 5

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
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Action)
    create = actions.add_parser("create", help="make a drive with a mounted file system")
    create.set_defaults(do=_create)
    create.add_argument("name", metavar="NAME")
    create.add_argument("kind", metavar="KIND", help="image, ssd, csd or a description file ending in .toml")
    for level in _LEVELS:
        create.add_argument(f"--{level.replace('_', '-')}", metavar="VALUE", help=f"as drive.data.{level}")
    create.add_argument("--timing", metavar="PROFILE", help="as drive.timing: tlc-nvme, volume-3000-iops, … or off")
    create.add_argument("--dilation", metavar="N", help="as drive.dilation: service times by a clock N times slower")
    listing = actions.add_parser("list", help="the drives, whether they are mounted, and where")
    listing.set_defaults(do=_list)
    listing.add_argument("--repair", action="store_true", help="first remove what killed runs have left")
    kept = actions.add_parser("snapshots", help="prepared data that are kept for later runs, and what they take")
    kept.set_defaults(do=_snapshots)
    kept.add_argument(
        "--keep", metavar="SIZE", help="remove the least recently used until the others fit in SIZE: 20GB, 0"
    )
    stats = actions.add_parser("stats", help="what an emulated drive counts")
    age = actions.add_parser("age", help="bring an emulated drive to its steady state")
    fsck = actions.add_parser(
        "fsck", help="check its file system (unmounted for that long), and the emulated drive itself"
    )
    for one, do in ((stats, _ask), (age, _ask), (fsck, _fsck)):
        one.set_defaults(do=do)
        one.add_argument("name", metavar="NAME")
    age.add_argument("--trace", type=Path, metavar="FILE", help="a recorded write trace to replay")
    age.add_argument("--live-share", type=float, default=0.8, metavar="SHARE", help="default: 0.8")
    age.add_argument("--compressed-to", type=float, default=0.5, metavar="SHARE", help="default: 0.5")
    destroy = actions.add_parser("destroy", help="unmount and remove drives with all that is on them")
    destroy.set_defaults(do=_destroy)
    destroy.add_argument("name", nargs="+", metavar="NAME")
    record = actions.add_parser(
        "record", help="record what is written to an emulated drive, for drive simulate --trace"
    )
    record.set_defaults(do=_record)
    record.add_argument("name", metavar="NAME", help="an emulated drive of yours")
    record.add_argument("--output", type=Path, required=True, metavar="FILE", help="the trace, a new file")
    record.add_argument("--duration", metavar="TIME", help="how long; default: until Ctrl-C")
    prepare = actions.add_parser(
        "precondition", help="write a real device over until its write amplification settles, and prove its counters"
    )
    prepare.add_argument("name", metavar="/dev/NAME", help="a device with nothing on it that pgassay did not make")
    prepare.add_argument("--i-own", metavar="/dev/NAME", help="its name again: allow pgassay to overwrite it")
    prepare.add_argument("--no-discard", dest="discard", action="store_false", help="do not discard its contents first")
    prepare.add_argument("--trim", action="store_true", help="then discard the empty file system: as a new drive")
    prepare.add_argument("--compressed-to", type=float, default=1.0, metavar="SHARE", help="of the filling; default: 1")
    most = f"random overwriting at most, in drive writes; default: {_DRIVE_WRITES}"
    prepare.add_argument("--drive-writes", type=int, default=_DRIVE_WRITES, metavar="N", help=most)
    proof = actions.add_parser("prove", help="prove the counters of the drive under a directory that is in use")
    proof.add_argument("directory", type=Path, metavar="DIR", help="a directory on the drive; nothing stays in it")
    for each in (prepare, proof):
        each.set_defaults(do=_prepare_or_prove)
        written = "zeros, and random data, written to prove counters; default: 8GB"
        each.add_argument("--proof", default="8GB", metavar="SIZE", help=written)
    for each in actions.choices.values():
        each.add_argument("--data-dir", type=Path, metavar="DIR", help="where drives are kept")
        add_options(each, "--json")
    power = actions.add_parser(
        "cut", help="cut the power of an emulated drive under a load, and check what a server recovers"
    )
    add_cut_arguments(power)
    power.set_defaults(do=cut)
    _estimates.add_simulate(actions.add_parser("simulate", help="simulate what a load becomes inside a drive"))
    predicted = "simulate a run's load on drives of any size: write amplification, space, life"
    _estimates.add_predict(actions.add_parser("predict", help=predicted))
    stored = "estimate what a compressing drive would store of an existing cluster"
    _estimates.add_compressibility(actions.add_parser("compressibility", help=stored))


def run(arguments: argparse.Namespace) -> int:
    status: int = arguments.do(arguments)
    return status


def _directory(arguments: argparse.Namespace) -> Path:
    from pgassay.lab.places import default_directory

    named: Path | None = arguments.data_dir
    return (named or default_directory(os.environ)).absolute()


def _root(arguments: argparse.Namespace) -> "Root":
    from pgassay.drive.root import open_root
    from pgassay.host import accounts
    from pgassay.host.storage import mount_of

    directory = _directory(arguments)
    directory.parent.mkdir(parents=True, exist_ok=True)
    return open_root(directory, accounts.choose(), mount_of, allow_volatile=True)


def _create(arguments: argparse.Namespace) -> int:
    from pgassay.drive import named
    from pgassay.drive.block.daemon import RealDaemon
    from pgassay.drive.options import DriveOptions
    from pgassay.lab.drives import linux_kernel

    kind = kind_of(arguments.kind)
    if kind is None or not kind.holds_one_cluster:
        raise UsageError(
            f'"{arguments.kind}" is not a kind of drive that pgassay can create',
            "it creates: image, ssd, csd, or the drive of a description file (FILE.toml)",
        )
    given = {"data": arguments.kind}
    given |= {f"data.{level}": value for level in _LEVELS if (value := getattr(arguments, level)) is not None}
    given |= {name: value for name in ("timing", "dilation") if (value := getattr(arguments, name)) is not None}
    options = DriveOptions.from_levels(given)
    made = named.create(_root(arguments), arguments.name, options, linux_kernel(), RealDaemon())
    _say(arguments, _row(made), f"{made.point}")
    return SUCCESS


def _list(arguments: argparse.Namespace) -> int:
    from pgassay.drive import named
    from pgassay.drive.root import find_root
    from pgassay.lab.drives import remove_leftovers

    directory = _directory(arguments)
    if find_root(directory) is None:
        _say(arguments, {"drives": [], "repaired": []}, f"no drives in {directory}")
        return SUCCESS
    repaired = remove_leftovers(directory, _root(arguments)) if arguments.repair else []
    rows = [_row(each) for each in named.all_drives(_root(arguments))]
    lines = [f"removed: {each}" for each in repaired]
    lines += [f"{row['name']:<16} {row['kind']:<6} {row['state']:<8} {row['mounted_at']}" for row in rows]
    _say(arguments, {"drives": rows, "repaired": repaired}, "\n".join(lines) or f"no drives in {directory}")
    return SUCCESS


def _snapshots(arguments: argparse.Namespace) -> int:
    """The snapshots, after removing what does not fit in `--keep`; raises `DriveError` while a run lives there."""
    from pgassay.drive import snapshots
    from pgassay.drive.root import find_root

    directory = _directory(arguments)
    roots = [root for place in (directory, directory / STUDY) if (root := find_root(place)) is not None]
    removed = []
    if arguments.keep is not None:
        limit = 0 if arguments.keep.strip() == "0" else parse_memory(arguments.keep)
        if limit < 0:
            raise UsageError(f'--keep cannot be "{arguments.keep}"', "give a size such as 20GB, or 0")
        removed = snapshots.trim(roots, limit)
    kept = snapshots.all_stored(roots)
    lines = [f"removed: {_line(each)}" for each in removed] + [_line(each) for each in kept]
    total = format_size(sum(each.size_bytes for each in kept))
    lines.append(f"{len(kept)} kept in {directory}, {total}" if kept else f"no snapshots in {directory}")
    plain = {"snapshots": [_snapshot_row(each) for each in kept], "removed": [_snapshot_row(each) for each in removed]}
    _say(arguments, plain, "\n".join(lines))
    return SUCCESS


def _ask(arguments: argparse.Namespace) -> int:
    """What an emulated drive counts, or what its ageing came to."""
    if arguments.action == "stats":
        return _answer(arguments, _found(arguments).ask("stats"))
    recorded: dict[str, Any] = {"mode": "uniform"}
    if arguments.trace is not None:
        recorded = {"mode": "trace", "trace": str(arguments.trace.absolute())}
    shares = {"live_share": arguments.live_share, "compressibility": arguments.compressed_to}
    return _answer(arguments, _found(arguments).ask("age", **shares, **recorded))


def _record(arguments: argparse.Namespace) -> int:
    """The drive's program writes the trace, each block with the size that it compressed to."""
    from pgassay.study.units import parse_time_s

    length_s = None if arguments.duration is None else parse_time_s(arguments.duration)
    output, drive = arguments.output.absolute(), _found(arguments)
    if not drive.emulated:
        raise UsageError(f'"{arguments.name}" is no emulated drive, and no other records what it is sent')
    if output.exists():
        raise UsageError(f'"{output}" already exists', "choose another file name")
    if not output.parent.is_dir():
        raise UsageError(f'"{output.parent}" is not a directory', "choose a file in a directory that exists")
    drive.ask("record", path=str(output))
    try:
        print(f"recording {arguments.name}{'' if length_s else ' until Ctrl-C'}", file=sys.stderr, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(length_s if length_s is not None else _FOR_EVER_S)
    finally:
        ended = drive.ask("record", path=None).get("ended")
    made: Mapping[str, Any] = ended if isinstance(ended, Mapping) else {}
    counted = {name: int(made.get(name, 0)) for name in ("records", "written_blocks")}
    return _answer(arguments, {"trace": str(output), **counted})


def _prepare_or_prove(arguments: argparse.Namespace) -> int:
    from pgassay.cli import _preparing

    prepares = arguments.action == "precondition"
    return _answer(arguments, _preparing.precondition(arguments) if prepares else _preparing.prove(arguments))


def _fsck(arguments: argparse.Namespace) -> int:
    from pgassay.drive import named
    from pgassay.lab.drives import linux_kernel

    return _answer(arguments, {"file_system": "clean", **named.check(_found(arguments), linux_kernel())})


def _destroy(arguments: argparse.Namespace) -> int:
    from pgassay.drive import named

    root = _root(arguments)
    found = [named.find(root, name) for name in arguments.name]
    for drive in found:
        named.destroy(drive)
    _say(arguments, {"destroyed": arguments.name}, "\n".join(f"destroyed {name}" for name in arguments.name))
    return SUCCESS


def _found(arguments: argparse.Namespace) -> "NamedDrive":
    from pgassay.drive import named

    return named.find(_root(arguments), arguments.name)


def _row(drive: "NamedDrive") -> dict[str, Any]:
    facts = {key: value for key, value in drive.facts.items() if key in ("capacity_bytes", "filesystem")}
    mounted = str(drive.point) if drive.state == "mounted" else ""
    return {"name": drive.name, "kind": drive.kind, "state": drive.state, "mounted_at": mounted, **facts}


def _answer(arguments: argparse.Namespace, answer: Mapping[str, Any]) -> int:
    from pgassay.report import formatting

    scalars = {name: value for name, value in answer.items() if not isinstance(value, Mapping | list)}
    plain = {name: formatting.number(value) if isinstance(value, float) else value for name, value in scalars.items()}
    width = max(map(len, plain), default=0)
    _say(arguments, answer, "\n".join(f"{name:<{width}}  {value}" for name, value in plain.items()))
    return SUCCESS


def _say(arguments: argparse.Namespace, plain: Mapping[str, Any], text: str) -> None:
    print(json.dumps(plain, indent=2) if arguments.json else text)


def _line(kept: "StoredSnapshot") -> str:
    return f"{_used(kept):%Y-%m-%d %H:%M} UTC  {format_size(kept.size_bytes):>8}  {kept.what}".rstrip()


def _snapshot_row(kept: "StoredSnapshot") -> dict[str, Any]:
    used = f"{_used(kept):%Y-%m-%dT%H:%M:%SZ}"
    return {"what": kept.what, "bytes": kept.size_bytes, "last_used_utc": used, "path": str(kept.path)}


def _used(kept: "StoredSnapshot") -> datetime:
    return datetime.fromtimestamp(kept.used_s, UTC)


def add_cut_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a built-in study's name, or a study file")
    parser.add_argument(
        "--cuts",
        type=whole(1),
        default=200,
        metavar="N",
        help=f"cuts of each treatment in {BLOCKS} blocks (default: 200)",
    )
    add_size_options(parser)
    add_study_options(parser)
    add_bench_options(parser)


def cut(arguments: argparse.Namespace) -> int:
    """Run the study with so many cuts, its load and drive replaced where they could not be cut."""
    from pgassay.design.risk import UNSAFE
    from pgassay.study import document

    name, written = read_study(arguments)
    each = ceil(arguments.cuts / BLOCKS)
    given = {option.partition("=")[0].strip() for option in (*arguments.set, *arguments.levels)}
    load = written.get("load")
    given |= {*document.names_in(written), *(f"load.{option}" for option in (load if isinstance(load, dict) else ()))}
    driver = load.get("driver", PGBENCH) if isinstance(load, dict) else PGBENCH
    usual = {
        **({"load.script": "ledger"} if driver == PGBENCH else {}),
        "load.rate": RATE_TPS,
        "drive.data": "ssd",
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
