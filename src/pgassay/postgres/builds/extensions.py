"""An extension on a PostgreSQL of the cache: its own makefile installs it into a copy of that build.

The copy is a build of its own, so that two commits of an extension are two levels that nothing else tells apart.
PostgreSQL's manual, "Extension Building Infrastructure" (PGXS).
"""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.running import Runner
from pgassay.errors import UsageError
from pgassay.postgres.builds.commits import commit_of, export, has_file
from pgassay.postgres.builds.compilation import Making
from pgassay.postgres.builds.errors import failed, no_such_source
from pgassay.postgres.builds.recipe import Spec
from pgassay.postgres.builds.sources import tree_sha256

_INSTALLED, _TREE = "installed", "extension"
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


@dataclass(frozen=True)
class ExtensionSource:
    """A source that was found: its hash, and for git its commit's full hash."""

    spec: Spec
    folder: Path
    sha256: str
    commit: str = ""

    @property
    def told(self) -> str:
        """As the manifest of a build has it: the spec, with the commit's full hash."""
        return f"{self.spec} ({self.commit})" if self.commit else str(self.spec)


def identify(runner: Runner, spec: Spec) -> ExtensionSource:
    """The extension's source; raises `UsageError` where there is none."""
    assert spec.path is not None
    if not spec.path.is_dir():
        raise no_such_source(spec.path)
    if spec.kind == "git":
        sha = commit_of(runner, spec.path, spec.commit).sha
        if not any(has_file(runner, spec.path, sha, name) for name in _MAKEFILES):
            raise _no_extension(str(spec))
        return ExtensionSource(spec, spec.path, hashlib.sha256(sha.encode()).hexdigest(), sha)
    if not any((spec.path / name).is_file() for name in _MAKEFILES):
        raise _no_extension(str(spec))
    return ExtensionSource(spec, spec.path, tree_sha256(spec.path))


def has_pgxs(installed: Path) -> bool:
    """Has this build what extensions are built with?"""
    return any(installed.rglob("pgxs.mk"))


def lay_out(source: ExtensionSource, base: Path, staging: Path, runner: Runner) -> Path:
    """Copy the build `base` and the extension into the empty folder `staging`; returns the copy of the build.

    Raises `BuildError` where the extension changes meanwhile.
    """
    installed, tree = staging / _INSTALLED, staging / _TREE
    shutil.copytree(base, installed, symlinks=True)
    if source.commit:
        export(runner, source.folder, source.commit, tree)
    else:
        shutil.copytree(source.folder, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        if tree_sha256(tree) != source.sha256:
            raise failed("copying the extension", "it changed meanwhile", "build again", source.folder)
    return installed


def make(source: ExtensionSource, making: Making, staging: Path) -> None:
    """Make the extension that is laid out there, and install it into that build; raises `BuildError`."""
    tree, program = staging / _TREE, staging / _INSTALLED / "bin" / "pg_config"
    stale = () if source.commit else ("clean",)  # what was made in place was made for another PostgreSQL
    for goal in (*stale, "all", "install"):
        making.step("make", ["make", "-s", "-C", str(tree), "USE_PGXS=1", f"PG_CONFIG={program}", goal], tree)


def _no_extension(what: str) -> UsageError:
    """Nothing that PostgreSQL's makefiles for extensions (PGXS) build."""
    return UsageError(f"{what} has no Makefile: it is no extension that PGXS builds", "name the extension's own folder")
