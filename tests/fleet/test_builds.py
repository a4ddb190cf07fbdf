"""A PostgreSQL on every host of a fleet by one command: each names its programs, and they are what was asked for."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from pgassay.cli.postgres import builder
from pgassay.lab.building import Building
from pgassay.testing import real
from tests.fleet import namespaces
from tests.fleet.test_namespaces import Fleet
from tests.postgres.builds.test_real_build import CFLAGS, built

WAIT_S = 1200.0


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(2400)
def test_a_build_on_every_host(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hosts share one cache, which has the build: a real one of each would take minutes and show no more."""
    real.installation()
    ours = builder(Building())
    wanted = built(ours).bindir
    monkeypatch.setenv("PGASSAY_CACHE", str(ours.cache.root))
    with namespaces.lab(place, 2) as lab, ExitStack() as stack:
        fleet = Fleet(lab, stack)
        asked = ("postgres", "build", "--block-size", "4kB", "--wal-block-size", "16kB", f"--cflags={CFLAGS}")
        assert fleet.head(*asked).wait(WAIT_S) == 0, lab.head.said("head")
        told = [line for line in lab.head.said("head").splitlines() if line.startswith("h")]
        assert sorted(told) == [f"h1: {wanted}", f"h2: {wanted}"]
