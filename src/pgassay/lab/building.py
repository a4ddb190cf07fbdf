"""How a PostgreSQL is built that a study needs: what the user allows, and the builder made from that."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pgassay.bench.places import Account
from pgassay.bench.running import Clock, Runner
from pgassay.errors import PgassayError, UsageError
from pgassay.host import accounts
from pgassay.host.accounts import require_reach
from pgassay.host.clock import SystemClock
from pgassay.host.runner import LocalRunner
from pgassay.lab.places import cache_directory, local_finder
from pgassay.postgres.builds.builder import Builder
from pgassay.postgres.builds.cache import Cache
from pgassay.postgres.builds.compilation import Tell, Toolchain, tell_nobody
from pgassay.postgres.builds.sources import Sources
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation


@dataclass(frozen=True)
class Building:
    """What the user allows. A dry run is not `allowed` to build; `jobs` compilers run at once (0: one a core)."""

    allowed: bool = True
    allow_deb_src: bool = False
    jobs: int = 0
    tell: Tell = tell_nobody


def builder_of(
    wishes: Building,
    runner: Runner,
    clock: Clock,
    account: Account,
    finder: Finder,
    environment: Mapping[str, str] = os.environ,
) -> Builder:
    """The builder of this machine; raises `BenchError` where the servers' account cannot reach the cache."""
    cache = Cache(cache_directory(environment))
    require_reach(cache.root, account)
    return Builder(
        cache=cache,
        runner=runner,
        clock=clock,
        account=account,
        finder=finder,
        sources=Sources(cache, runner, fallback=_installed(finder), allow_deb_src=wishes.allow_deb_src),
        toolchain=Toolchain(runner, environment),
        jobs=wishes.jobs or os.cpu_count() or 1,
        tell=wishes.tell,
    )


def local_builder(wishes: Building) -> Builder:
    """The same with this machine's own clock, accounts and programs."""
    account, clock = accounts.choose(), SystemClock()
    runner = LocalRunner(account)
    return builder_of(wishes, runner, clock, account, local_finder(runner, clock, account))


STAND_IN = "stand-in"
"""How a PostgreSQL was found that a plan takes for one that is not built yet."""


def stand_in(finder: Finder, version: str) -> LocalInstallation:
    """An installed PostgreSQL in place of a build that is missing, of that version if there is one, for a plan.

    Raises `UsageError` where none is installed.
    """
    try:
        found = finder.find(version or None)
    except UsageError:
        found = finder.find()
    return replace(found, found_by=STAND_IN)


def _installed(finder: Finder) -> str:
    """The version to build if none is named: that of the installed PostgreSQL; empty if there is none."""
    try:
        return str(finder.find().version)
    except PgassayError:
        return ""
