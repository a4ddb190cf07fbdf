"""How much quicker is a clone of the golden snapshot than preparing the data anew? By copy, and by reflink on XFS.

Preparing is what a trial would otherwise do: initdb, start, pgbench -i, VACUUM, stop, all written back to the drive.
Each round prepares and clones on both drives in turn; the ratios are of the medians. Without root and mkfs.xfs only the
copy is measured, and it says so.

    python -m benchmarks.start_state [--scale 50] [--rounds 3] [--directory DIR]
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.load import Tools
from pgassay.bench.places import Account
from pgassay.bench.server import Installation
from pgassay.copying import sync_filesystem
from pgassay.drive.directory import DirectoryDrive
from pgassay.host.accounts import choose
from pgassay.host.clock import SystemClock
from pgassay.host.runner import LocalRunner
from pgassay.host.storage import mount_of
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.postgres.find import Finder

IMAGE_BYTES_PER_SCALE = 64 << 20
IMAGE_BYTES_MIN = 1 << 30


@dataclass
class Times:
    """What was measured on one drive, in seconds."""

    prepare_s: list[float] = field(default_factory=list)
    clone_s: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Median against median."""
        return statistics.median(self.prepare_s) / statistics.median(self.clone_s)


@dataclass(frozen=True)
class Bench:
    """The rooms that prepare a cluster."""

    installation: Installation
    load: PgbenchLoad

    def prepare(self, directory: Path, sockets: Path) -> None:
        """A cluster with pgbench's tables, stopped and written back."""
        self.installation.initialize(directory, {})
        server = self.installation.start(directory, {}, sockets)
        try:
            self.load.create(server)
            self.load.fill(server)
        finally:
            server.stop()
        sync_filesystem(directory)


@contextlib.contextmanager
def xfs(directory: Path, size_bytes: int) -> Iterator[Path | None]:
    """An XFS with reflink in an image file below `directory`, mounted; None where that cannot be."""
    if os.geteuid() != 0 or shutil.which("mkfs.xfs") is None:
        yield None
        return
    image, point = directory / "xfs.img", directory / "xfs"
    with image.open("xb") as file:
        file.truncate(size_bytes)
    point.mkdir()
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(point)], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", str(point)], check=True)
        image.unlink()


def took_s(work: Callable[[], object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(bench: Bench, drive: DirectoryDrive, sockets: Path, times: Times, number: int) -> None:
    """Prepare anew once (the first time it becomes the snapshot), clone once."""
    workspace = drive.workspace(f"prepare-{number}")
    times.prepare_s.append(took_s(lambda: bench.prepare(workspace, sockets)))
    if drive.has_snapshot("golden"):
        drive.discard(workspace)
    else:
        drive.take_snapshot("golden", workspace)
    times.clone_s.append(took_s(lambda: drive.clone("golden", f"trial-{number}")))
    clone = workspace.with_name(f"trial-{number}")
    size_mb = sum(path.stat().st_size for path in clone.rglob("*") if path.is_file()) / 1e6
    drive.discard(clone)
    print(
        f"{mount_of(workspace.parent).filesystem:6s} prepare {times.prepare_s[-1]:7.2f} s"
        f"   clone of {size_mb:.0f} MB by {drive.how_cloned():8s} {times.clone_s[-1]:7.3f} s"
    )


def bench_of(account: Account, scale: int) -> Bench:
    """The rooms, put together."""
    runner, clock = LocalRunner(account), SystemClock()
    installation = Finder(runner, clock, account, os.environ).find()
    print(f"PostgreSQL {installation.version}, pgbench -i -s {scale}")
    load = PgbenchLoad(PgbenchOptions(scale=scale), Tools(installation.bindir, runner, clock))
    return Bench(installation, load)


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=Path, default=None, help="on the drive to measure (default: temporary)")
    options = parser.parse_args()
    account = choose()
    bench = bench_of(account, options.scale)
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="start-state-") as place:
        directory = Path(place)
        directory.chmod(0o755)
        sockets = directory / "sockets"
        size_bytes = IMAGE_BYTES_MIN + options.scale * IMAGE_BYTES_PER_SCALE
        with contextlib.ExitStack() as stack:
            places = [directory]
            mounted = stack.enter_context(xfs(directory, size_bytes))
            if mounted is None:
                print("reflink is not measured: it needs root and mkfs.xfs")
            else:
                places.append(mounted)
            drives = [DirectoryDrive.attach(path, account, mount_of, keep_snapshots=False) for path in places]
            for drive in drives:
                stack.callback(drive.release)
            times = [Times() for _ in drives]
            for number in range(options.rounds):
                for drive, measured in zip(drives, times, strict=True):
                    measure(bench, drive, sockets, measured, number)
            for drive, measured in zip(drives, times, strict=True):
                print(f"ratio, preparing anew ÷ cloning by {drive.how_cloned()}: {measured.ratio:.1f}")


if __name__ == "__main__":
    main()
