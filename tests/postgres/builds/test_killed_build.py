"""kill -9 of `pgassay postgres build`: nothing of the build goes on, and its folder goes.

The kernel ends the program that we started ourselves; what that has started is the keeper's matter.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pgassay.errors import PgassayError
from pgassay.host.keeper import VARIABLE
from pgassay.lab.places import Building, local_builder
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.postgres.builds.request import BuildRequest
from tests import machine
from tests.postgres.builds.fake_source import make_tree, needs_make

pytestmark = [pytest.mark.system, needs_make, pytest.mark.timeout(600)]
PATIENCE_S = 240.0
STUBBORN = "setsid sh -c 'trap \"\" TERM HUP; sleep 601 & sleep 602; sleep 603' & sleep 604"
"""As a build's programs may be: in a session of their own, deaf to SIGTERM."""


def marked(lab: int) -> dict[int, str]:
    """The words of all that this process started, and they, by process id."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "environ").read_bytes().split(b"\0")
            if any(word.startswith(f"{VARIABLE}={lab}-".encode()) for word in words):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return found


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_nothing_of_a_killed_build_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with machine.own_folder() as place:
        monkeypatch.setenv("PGASSAY_STATE_DIR", str(place / "state"))
        monkeypatch.setenv("PGASSAY_CACHE", str(place / "cache"))
        tree = make_tree(place, configure=STUBBORN)
        tree_spec = f"directory:{tree}"
        try:
            ours = local_builder(Building())
            ours.recipe(BuildRequest(source=parse_spec(tree_spec)))
            ours.toolchain.require(tree)
        except PgassayError as error:
            pytest.skip(f"no PostgreSQL can be built here: {error.message}")
        words = [sys.executable, "-P", "-m", "pgassay", "postgres", "build", "--source", tree_spec]
        with subprocess.Popen(words, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            wait_until(lambda: "sleep 602" in marked(process.pid).values() or process.poll() is not None)
            assert process.poll() is None, process.stderr and process.stderr.read()
            process.kill()
            process.wait()
        try:
            wait_until(lambda: not marked(process.pid))
        finally:
            for pid in marked(process.pid):
                os.kill(pid, signal.SIGKILL)
        staging = place / "cache" / "staging"
        wait_until(lambda: not list(staging.iterdir()))
