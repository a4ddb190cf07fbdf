"""`pgassay postgres list | build | verify | remove`: PostgreSQL at any page size, built here and kept in a cache."""

import argparse
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pgassay.cli.parser import Action, add_options, whole
from pgassay.cli.printing import SUCCESS
from pgassay.postgres.builds.recipe import BuildError

if TYPE_CHECKING:
    from pgassay.lab.places import Building
    from pgassay.postgres.builds.builder import Builder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Action)
    listing = actions.add_parser("list", help="every build in the cache, and the PostgreSQLs found on this machine")
    add_options(listing, "--json")
    build = actions.add_parser("build", help="build a page size, or take it from the cache")
    build.add_argument("--block-size", default="8kB", metavar="A,B", help="page sizes (default: 8kB)")
    build.add_argument("--wal-block-size", default="8kB", metavar="SIZE", help="WAL block size (default: 8kB)")
    build.add_argument("--pg-version", default="", metavar="V", help="17 or 17.5 (default: the one installed here)")
    build.add_argument("--cflags", metavar="FLAGS", help="compiler flags, as --cflags=-O3 (default: -O2)")
    build.add_argument("--source", metavar="SOURCE", help="as for the factor build.source")
    add_build_options(build)
    verify = actions.add_parser("verify", help="check that builds are complete and of the right sizes")
    verify.add_argument("build", nargs="*", metavar="KEY", help="first digits of the key (default: all)")
    remove = actions.add_parser("remove", help="remove builds from the cache")
    remove.add_argument("build", nargs="+", metavar="KEY", help="first digits of the key")


def add_build_options(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--build-jobs", type=whole(0), default=0, metavar="N", help="parallel compiler jobs (default: all cores)"
    )
    parser.add_argument(
        "--allow-deb-src", action="store_true", help="let apt fetch source packages, with a private configuration"
    )


def run(arguments: argparse.Namespace) -> int:
    return {"list": _list, "build": _build, "verify": _verify, "remove": _remove}[arguments.action](arguments)


def building_of(arguments: argparse.Namespace, *, quiet: bool = False) -> "Building":
    from pgassay.cli.progress import BuildLines
    from pgassay.lab.places import Building
    from pgassay.postgres.builds.builder import notify_nobody

    return Building(
        allowed=not getattr(arguments, "dry_run", False),
        allow_deb_src=arguments.allow_deb_src,
        jobs=arguments.build_jobs,
        notify=notify_nobody if quiet else BuildLines(),
    )


def builder(building: "Building | None" = None) -> "Builder":
    from pgassay.lab.places import Building, local_builder

    return local_builder(building or Building())


def _build(arguments: argparse.Namespace) -> int:
    from pgassay.host.keeper import Keeper
    from pgassay.lab import cleanup
    from pgassay.postgres.builds.recipe import DEFAULT_CFLAGS, block_bytes, compiler_flags, parse_spec, wal_block_bytes
    from pgassay.postgres.builds.request import BuildRequest
    from pgassay.postgres.find import parse_requested_version

    if arguments.pg_version:
        parse_requested_version(arguments.pg_version)
    requests = [
        BuildRequest(
            block_bytes=block_bytes(size),
            wal_block_bytes=wal_block_bytes(arguments.wal_block_size),
            version=arguments.pg_version,
            cflags=compiler_flags(arguments.cflags or DEFAULT_CFLAGS),
            source=parse_spec(arguments.source) if arguments.source else None,
        )
        for size in arguments.block_size.split(",")
    ]
    with closing(Keeper(cleanup.COMMAND)):
        maker = builder(building_of(arguments))
        for request in requests:
            print(maker.installation(request).bindir)
    return SUCCESS


def _list(arguments: argparse.Namespace) -> int:
    maker = builder()
    rows: list[dict[str, Any]] = []
    for key in maker.cache.all_keys():
        try:
            manifest = maker.cache.manifest(key)
        except BuildError as error:
            rows.append({"key": key, "damaged": error.message})
            continue
        if manifest is not None:
            recipe = manifest.recipe
            rows.append(
                {
                    "key": key,
                    "version": recipe.version,
                    "block_bytes": recipe.block_bytes,
                    "wal_block_bytes": recipe.wal_block_bytes,
                    "cflags": recipe.cflags,
                    "source": manifest.source,
                    "bytes": manifest.bytes,
                    "made_utc": manifest.made_utc,
                    "build_s": manifest.seconds,
                    "bindir": str(maker.cache.directory(key) / "bin"),
                }
            )
    found = [{"version": str(each.version), "found_by": each.found_by, "bindir": str(each.bindir)}
             for each in maker.finder.all()]  # fmt: skip
    if arguments.json:
        print(json.dumps({"cache": str(maker.cache.root), "builds": rows, "found": found}, indent=2))
        return SUCCESS
    print(f"builds in {maker.cache.root}: {len(rows) or 'none'}")
    for row in rows:
        if "damaged" in row:
            print(f"  {row['key'][:12]}  {row['damaged']}")
            continue
        sizes = f"{row['block_bytes'] // 1024}kB pages, {row['wal_block_bytes'] // 1024}kB WAL blocks"
        print(f"  {row['key'][:12]}  {row['version']:<8} {sizes}, {row['cflags']}, {row['source']},"
              f" {row['bytes'] / 1e6:.0f} MB, built in {row['build_s']:.0f} s")  # fmt: skip
    print("found on this machine:")
    for each in found:
        print(f"  {each['version']:<8} {each['bindir']} ({each['found_by']})")
    return SUCCESS


def _verify(arguments: argparse.Namespace) -> int:
    from pgassay.interfaces.errors import BenchError
    from pgassay.postgres.builds.builder import verify

    maker = builder()
    keys = [maker.cache.find(text) for text in arguments.build] or maker.cache.all_keys()
    damaged = []
    for key in keys:
        try:
            maker.cache.check_contents(key)
            manifest = maker.cache.manifest(key)
            assert manifest is not None
            shown = verify(maker.kept(key), manifest.recipe, maker.runner)
        except BenchError as error:
            damaged.append(key)
            print(f"{key[:12]}  {error.message}")
            continue
        print(f"{key[:12]}  {', '.join(f'{name} {value}' for name, value in shown.items())}: as its key says")
    if damaged:
        raise BuildError(
            f"{len(damaged)} of {len(keys)} builds {'is' if len(damaged) == 1 else 'are'} damaged",
            f"remove them; a study builds them again: pgassay postgres remove {' '.join(damaged)}",
        )
    print(f"{len(keys)} verified in {maker.cache.root}" if keys else f"no builds in {maker.cache.root}")
    return SUCCESS


def _remove(arguments: argparse.Namespace) -> int:
    maker = builder()
    for key in [maker.cache.find(text) for text in arguments.build]:
        maker.cache.remove(key)
        print(f"removed {key}")
    return SUCCESS
