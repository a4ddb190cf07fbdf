"""Is a build what its recipe says? Asked of the programs and of a server that runs on a fresh cluster.

Three witnesses: `postgres -C`, pg_controldata on what initdb wrote, and SHOW on a running server.
"""

import re
import shutil
from pathlib import Path

from pgassay.bench.running import Runner
from pgassay.postgres import sockets
from pgassay.postgres.builds import messages
from pgassay.postgres.builds.recipe import Recipe
from pgassay.postgres.installation import LocalInstallation

_CONTROL = (("Database block size", "block_bytes"), ("WAL block size", "wal_block_bytes"))
_SHOWN = ("block_size", "wal_block_size", "segment_size")


def verify(installation: LocalInstallation, recipe: Recipe, runner: Runner) -> dict[str, str]:
    """Make a cluster, start it, compare; returns what the server says; raises `BuildError` or `ClusterError`."""
    folder = sockets.make(installation.account)
    try:
        directory = folder / "data"
        installation.initialize(directory, {})
        for name in ("block_size", "wal_block_size"):
            _require(recipe, name, _size(recipe, name), installation.setting(directory, {}, name))
        _control(installation, recipe, directory, runner)
        server = installation.start(directory, {"shared_buffers": "16MB", "fsync": "off"}, folder / "socket")
        try:
            shown = {name: str(server.query(f"SHOW {name}")[0][0]) for name in _SHOWN}
            (blocks,), *_ = server.query("SELECT setting FROM pg_settings WHERE name = 'segment_size'")
        finally:
            server.stop(immediately=True)
        for name in ("block_size", "wal_block_size"):
            _require(recipe, name, _size(recipe, name), shown[name])
        _require(recipe, "segment_size", recipe.segment_bytes, int(blocks) * recipe.block_bytes)
        return shown
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _control(installation: LocalInstallation, recipe: Recipe, directory: Path, runner: Runner) -> None:
    program = str(installation.bindir / "pg_controldata")
    outcome = runner.run([program, "-D", str(directory)], unprivileged=True, timeout_s=60.0)
    for label, name in _CONTROL:
        found = re.search(rf"(?m)^{label}:\s+(\d+)$", outcome.stdout)
        _require(recipe, label.lower(), getattr(recipe, name), found[1] if found else "nothing")


def _size(recipe: Recipe, name: str) -> int:
    return recipe.block_bytes if name == "block_size" else recipe.wal_block_bytes


def _require(recipe: Recipe, name: str, wanted: int, found: object) -> None:
    if str(found) != str(wanted):
        raise messages.not_as_asked(recipe.key, name, wanted, found)
