"""What building through pgassay costs over `configure && make && make install` of the same folders by hand.

    python -m benchmarks.build_time --source tarball:postgresql-17.5.tar.bz2 --jobs 2 --rounds 3

Both build the same source with the same options and as many compilers, interleaved: each round does both, its first
side in turn. Both unpack; by hand each folder is made and installed by one parallel make, as ours is. Ours adds
hashing, verification on a running server and the cache. Target: at most 1.15 times the time by hand, by the quotient of
each round.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from pgassay.cli.postgres import builder
from pgassay.lab.building import Building
from pgassay.postgres.builds import compilation
from pgassay.postgres.builds.builder import Builder
from pgassay.postgres.builds.recipe import DEFAULT_CFLAGS, block_bytes, parse_spec
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.builds.sources import Source

TARGET = 1.15


def by_hand(ours: Builder, source: Source, options: list[str], jobs: int) -> float:
    """Seconds for unpacking, configure, then make install of each folder."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=ours.cache.root) as scratch:
        tree = ours.sources.unpack(source, Path(scratch) / "source")
        work = Path(scratch) / "objects"
        work.mkdir()

        def run(*command: str) -> None:
            with (Path(scratch) / "log").open("ab") as log:
                subprocess.run(command, cwd=work, stdout=log, stderr=log, check=True)

        run(str(tree / "configure"), f"--prefix={work / 'installed'}", *options)
        folder, goal = compilation.HEADERS
        run("make", "-s", f"-j{jobs}", "-C", folder, goal)
        for folder in compilation.folders_of(tree):
            run("make", "-s", f"-j{jobs}", "-C", folder, "install")
        return time.monotonic() - started


def by_pgassay(ours: Builder, wanted: BuildRequest, key: str) -> tuple[float, float]:
    """Seconds for a build, and for the same from the cache, which is given back as it was."""
    started = time.monotonic()
    ours.installation(wanted)
    built = time.monotonic()
    ours.installation(wanted)
    again = time.monotonic()
    ours.cache.remove(key)
    return built - started, again - built


def main() -> None:
    """Build in both ways in each round, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", help="as for the factor build.source (default: what the cache or the network has)")
    parser.add_argument("--block-size", default="8kB")
    parser.add_argument("--cflags", default=DEFAULT_CFLAGS, help="-O0 halves the time, so ours weighs twice as much")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--allow-deb-src", action="store_true")
    arguments = parser.parse_args()
    source_spec = parse_spec(arguments.source) if arguments.source else None
    wanted = BuildRequest(block_bytes=block_bytes(arguments.block_size), cflags=arguments.cflags, source=source_spec)
    ours = builder(Building(jobs=arguments.jobs, allow_deb_src=arguments.allow_deb_src))
    recipe, source = ours.recipe(wanted)
    if recipe.key in ours.cache.all_keys():
        raise SystemExit(f"build {recipe.key} is in the cache already: name an empty one with PGASSAY_CACHE")
    options = [*recipe.configure_options(), f"CC={ours.toolchain.cc}"]
    ratios = []
    for number in range(arguments.rounds):
        if number % 2:
            built_s, cached_s = by_pgassay(ours, wanted, recipe.key)
        hand_s = by_hand(ours, source, options, arguments.jobs)
        if not number % 2:
            built_s, cached_s = by_pgassay(ours, wanted, recipe.key)
        ratios.append(built_s / hand_s)
        print(f"round {number + 1}: by hand {hand_s:.1f} s, pgassay {built_s:.1f} s (with verification and the cache),"
              f" from the cache {cached_s:.3f} s, ratio {ratios[-1]:.3f}", flush=True)  # fmt: skip
    print(f"ratio {statistics.median(ratios):.3f} (median of {len(ratios)} rounds; target: at most {TARGET})")


if __name__ == "__main__":
    main()
