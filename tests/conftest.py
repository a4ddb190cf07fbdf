"""How hypothesis runs here: no property fails for being slow, since machines and builds are shared and differ.

On CI the examples are the same at every run, so that nobody's change is refused for what another's change broke; at
a desk they are fresh each time, to find what nobody thought of. One value in twenty hypothesis takes from the constants
of our modules that are imported by then, so it would hang on which tests ran before in this process, and change with
every change of ours: on CI it takes none.

Only system tests flush anything to the disk: no other can see whether that happened, and it is what most of those
that write records would wait for. Those of crashes have a disk that knows what was flushed (`tests.fakes.disk`).

Numerical libraries compute on one core, in programs that tests start as well: a second thread waits for its next task
by spinning, which is no quicker for small matrices, and takes the core from the other worker. Nor do tables of few
rows become quicker on several.

A test may take many times the seconds that it took when it was timed: its limit is there to end what hangs. So a
limit of its own only ever lengthens that of all.
"""

import json
import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.packages import Install, installer
from tests.slow_share import SECONDS, limit_s

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before anything imports numpy
os.environ.setdefault("POLARS_MAX_THREADS", "1")
settings.register_profile(
    "pgassay",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("pgassay")
if "CI" in os.environ:
    NO_CONSTANTS = Constants()
    providers._get_local_constants = lambda: NO_CONSTANTS


@pytest.hookimpl(tryfirst=True)  # all are here still, whatever -m takes
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest by itself begins first, so that the other worker has something to do along with it.

    `make system-tests` imports only files that have one of three words: a test of a server in another would not run.
    """
    items.sort(key=lambda item: item.get_closest_marker("early") is None)
    unseen = {item.path for item in items if item.get_closest_marker("system") is not None}
    unseen = {
        path
        for path in unseen
        if not re.search("mark[.]system|(Probe|Drive)Contract", path.read_text(encoding="utf-8"))
    }
    if unseen:
        raise pytest.UsageError(f"make system-tests would not find the tests of {', '.join(map(str, sorted(unseen)))}")
    seconds: dict[str, float] = json.loads(SECONDS.read_text(encoding="utf-8"))
    for item in items:
        mark = item.get_closest_marker("timeout")
        if mark is not None or item.get_closest_marker("slow") is not None:
            own_s = mark.args[0] if mark is not None and mark.args else 0.0
            limit = pytest.mark.timeout(limit_s(own_s, seconds.get(item.nodeid, 0.0)))
            item.add_marker(limit, append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around set-up as well, for fixtures of a module."""
    flush = os.fsync
    if item.get_closest_marker("system") is None:
        os.fsync = unflushed
    try:
        return (yield)
    finally:
        os.fsync = flush


def unflushed(fd: Any) -> None:
    """As for `os.fsync`, the file must be open."""
    os.fstat(fd)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a package with plug-ins on Python's path, as pip would."""
    return installer(tmp_path, monkeypatch)
