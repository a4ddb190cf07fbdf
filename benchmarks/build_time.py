"""What building through pgassay costs over `configure && make && make install` of the same folders by hand.

    python -m benchmarks.build_time --source tarball:postgresql-17.5.tar.bz2 --jobs 2

Both build the same tree with the same options, one after the other; ours adds hashing, verification on a running server
and the cache. Target: at most 1.15 times the time by hand. The tree is unpacked beforehand for the one by hand.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

from pgassay.cli.postgres import builder
from pgassay.lab.building import Building
from pgassay.postgres.builds import folders
from pgassay.postgres.builds.recipe import block_bytes
from pgassay.postgres.builds.spec import parse_spec
from pgassay.postgres.builds.wanted import Wanted

TARGET = 1.15


def by_hand(tree: Path, work: Path, options: list[str], jobs: int) -> float:
    """Seconds for configure, then make and make install of each folder."""
    work.mkdir()
    started = time.monotonic()

    def run(*command: str) -> None:
        with (work / "log").open("ab") as log:
            subprocess.run(command, cwd=work, stdout=log, stderr=log, check=True)

    run(str(tree / "configure"), f"--prefix={work / 'installed'}", *options)
    folder, goal = folders.HEADERS
    run("make", f"-j{jobs}", "-C", folder, goal)
    for folder in folders.wanted(tree):
        run("make", f"-j{jobs}", "-C", folder)
        run("make", "-C", folder, "install")
    return time.monotonic() - started


def main() -> None:
    """Build by hand, build with pgassay, print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", help="as for the factor build.source (default: what the cache or the network has)")
    parser.add_argument("--block-size", default="8kB")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--allow-deb-src", action="store_true")
    arguments = parser.parse_args()
    wanted = Wanted(
        block_bytes(arguments.block_size), source=parse_spec(arguments.source) if arguments.source else None
    )
    ours = builder(Building(jobs=arguments.jobs, allow_deb_src=arguments.allow_deb_src))
    recipe, source = ours.recipe(wanted)
    if recipe.key in ours.cache.every_key():
        raise SystemExit(f"build {recipe.key} is in the cache already: name an empty one with PGASSAY_CACHE")
    with tempfile.TemporaryDirectory() as scratch:
        tree = ours.sources.unpack(source, Path(scratch) / "source")
        hand_s = by_hand(tree, Path(scratch) / "objects", [*recipe.configure_options(), f"CC={ours.toolchain.cc}"],
                         arguments.jobs)  # fmt: skip
        print(f"by hand      {hand_s:7.1f} s")
    started = time.monotonic()
    ours.installation(wanted)
    ours_s = time.monotonic() - started
    print(f"pgassay      {ours_s:7.1f} s (with unpacking, verification and the cache)")
    started = time.monotonic()
    ours.installation(wanted)
    print(f"from cache   {time.monotonic() - started:7.3f} s")
    print(f"ratio        {ours_s / hand_s:7.3f} (target: at most {TARGET})")


if __name__ == "__main__":
    main()
