"""The one call for a PostgreSQL of one's own making: from the cache, or built, verified and kept.

A build that is interrupted, fails, or does not verify never enters the cache.
"""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.places import Account
from pgassay.bench.running import Clock, Runner
from pgassay.postgres.builds import folders, messages
from pgassay.postgres.builds.cache import Cache, Manifest, list_files
from pgassay.postgres.builds.compiling import Compilation, Tell, tell_nobody
from pgassay.postgres.builds.recipe import DEFAULT_SEGMENT_BYTES, Recipe
from pgassay.postgres.builds.sources import Source, Sources
from pgassay.postgres.builds.toolchain import Toolchain
from pgassay.postgres.builds.verification import verify
from pgassay.postgres.builds.wanted import Wanted
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation

FOUND_BY = "built"

Verify = Callable[[LocalInstallation, Recipe, Runner], object]


@dataclass(frozen=True)
class Builder:
    """Makes installations of this machine's compiler; `jobs` compilers at once."""

    cache: Cache
    runner: Runner
    clock: Clock
    account: Account
    finder: Finder
    sources: Sources
    toolchain: Toolchain
    jobs: int
    tell: Tell = tell_nobody
    verify: Verify = verify

    def recipe(self, wanted: Wanted) -> tuple[Recipe, Source]:
        """What would be built, from which source (fetched if it is not at hand)."""
        source = self.sources.identify(wanted.source, wanted.version)
        major = int("".join(digit for digit in source.version.partition(".")[0] if digit.isdigit()))
        try:
            compiler = self.toolchain.compiler(major)
        except messages.BuildError:
            kept = self._kept_build(wanted, source)
            if kept is None:
                raise
            return kept, source
        recipe = Recipe(
            source_sha256=source.sha256,
            version=source.version,
            block_bytes=wanted.block_bytes,
            wal_block_bytes=wanted.wal_block_bytes,
            segment_bytes=DEFAULT_SEGMENT_BYTES,
            flags=self.toolchain.flags(major),
            cflags=wanted.cflags,
            compiler=compiler,
        )
        return recipe, source

    def _kept_build(self, wanted: Wanted, source: Source) -> Recipe | None:
        """The latest build of this source and these sizes, by a compiler that is gone: it runs all the same."""
        asked = (source.sha256, wanted.block_bytes, wanted.wal_block_bytes, wanted.cflags)

        def what(made: Recipe) -> tuple[str, int, int, str]:
            return made.source_sha256, made.block_bytes, made.wal_block_bytes, made.cflags

        found = [each for each in self.cache.whole() if what(each.recipe) == asked]
        return max(found, key=lambda each: each.made_utc).recipe if found else None

    def installation(self, wanted: Wanted, *, may_build: bool = True) -> LocalInstallation:
        """The build, from the cache or made now; raises `BuildError` or `UsageError`."""
        recipe, source = self.recipe(wanted)
        with self.cache.alone(recipe.key):
            if self.cache.manifest(recipe.key) is None:
                if not may_build:
                    raise messages.not_built(recipe.name)
                self._build(recipe, source)
            else:
                self.cache.check_contents(recipe.key)  # 20 MB: nothing beside a run, and a wrong server costs hours
        return self.kept(recipe.key)

    def kept(self, key: str) -> LocalInstallation:
        """A build of the cache as an installation."""
        return self.finder.named(self.cache.directory(key) / "bin", FOUND_BY)

    def _build(self, recipe: Recipe, source: Source) -> None:
        self.cache.require_room()
        started_ns = self.clock.monotonic_ns()
        with self.cache.staging() as staging:
            tree = self.sources.unpack(source, staging / "source")
            self.toolchain.require(tree)
            log = staging / "build.log"
            compilation = Compilation(
                runner=self.runner,
                clock=self.clock,
                recipe=recipe,
                cc=self.toolchain.cc,
                source=tree,
                work=staging / "objects",
                prefix=self.cache.directory(recipe.key),
                log=log,
                jobs=self.jobs,
                debian=self.toolchain.debian,
                expected=self._expected(tree),
                tell=self.tell,
            )
            try:
                installed = compilation.run()
            except messages.BuildError as error:
                raise self._with_kept_log(error, log, recipe.key) from None
            log.rename(installed / "build.log")
            objects = folders.count_objects(compilation.work)
            seconds = round((self.clock.monotonic_ns() - started_ns) / 1e9, 1)
            self._reachable(staging, installed)
            found = self.finder.named(installed / "bin", FOUND_BY)
            self.verify(found, recipe, self.runner)
            self._keep(installed, recipe, source, objects, seconds)

    def _keep(self, installed: Path, recipe: Recipe, source: Source, objects: int, seconds: float) -> None:
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.clock.wall_ns() / 1e9))
        spec = f"{source.spec} ({source.commit})" if source.commit else source.spec
        self.cache.put(installed, Manifest(recipe, spec, made, seconds, objects, list_files(installed)))

    def _expected(self, tree: Path) -> int:
        """What another build of this cache made, else a guess from the source."""
        made = (each.objects for each in self.cache.whole() if each.objects)
        return next(made, None) or folders.expected_objects(tree)

    def _with_kept_log(self, error: messages.BuildError, log: Path, key: str) -> messages.BuildError:
        kept = self.cache.logs / f"{key}.log"
        if log.exists():
            shutil.move(log, kept)
        hint = (error.hint or "").replace(str(log), str(kept))
        return messages.BuildError(error.message, hint)

    def _reachable(self, staging: Path, installed: Path) -> None:
        """The servers' account must pass through to try the programs before they are kept."""
        folder = installed
        while folder != staging.parent:
            folder.chmod(0o755)
            folder = folder.parent
        for each, _, _ in os.walk(installed):
            Path(each).chmod(0o755)
