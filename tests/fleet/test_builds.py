"""A PostgreSQL on every host of a fleet by one command: one host has it, the other is sent it, and it runs there."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from pgassay.cli.postgres import builder
from pgassay.lab.building import Building
from pgassay.postgres.builds import portability
from pgassay.postgres.builds.builder import verify
from pgassay.postgres.builds.cache import VARIABLE, Cache
from pgassay.testing import real
from tests.fleet import namespaces
from tests.fleet.namespaces import Host
from tests.fleet.test_namespaces import Fleet
from tests.postgres.builds.test_real_build import CFLAGS, CONSENT, SOURCE, built

WAIT_S = 1200.0


def cache(host: Host) -> Cache:
    """Of a host: in its data directory."""
    return Cache(host.data / "builds")


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(2400)
def test_a_build_is_sent_to_the_host_that_lacks_it_and_runs_there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real.installation()
    ours = builder(Building())
    key = built(ours).bindir.parent.name
    if not portability.movable(ours.cache.directory(key)):  # it was made before builds could be sent
        monkeypatch.setenv(VARIABLE, str(place / "cache"))
        ours = builder(Building(allow_deb_src=bool(os.environ.get(CONSENT))))
        built(ours)
    monkeypatch.delenv(VARIABLE, raising=False)
    with namespaces.lab(place, 2) as lab, ExitStack() as stack:
        first, second = lab.hosts
        for host in lab.hosts:
            assert cache(host).all_keys() == ()
        for note in ours.cache.sources.glob("*.json"):
            shutil.copy(note, cache(first).sources)
        shutil.copytree(ours.cache.directory(key), cache(first).directory(key), symlinks=True)
        fleet = Fleet(lab, stack)
        source = os.environ.get(SOURCE)
        asked = ["postgres", "build", "--block-size", "4kB", "--wal-block-size", "16kB", f"--cflags={CFLAGS}"]
        asked += ["--source", source] if source else []
        assert fleet.head(*asked, "--builds", "sent").wait(WAIT_S) == 0, lab.head.said("head")
        told = lab.head.said("head").splitlines()
        own = [f"{host.name}: {cache(host).directory(key) / 'bin'}" for host in lab.hosts]
        assert sorted(line for line in told if line.startswith("h")) == own
        assert any("h1 sends it to h2: as asked" in line for line in told)
    manifest = cache(second).manifest(key)
    assert manifest is not None
    assert manifest.origin == first.name
    cache(second).check_contents(key)
    shutil.rmtree(cache(first).root)  # what h2 runs is its own
    here = ours.finder.named(cache(second).directory(key) / "bin")
    assert verify(here, manifest.recipe, ours.runner)["block_size"] == "4096"
    libraries = ours.runner.run(["ldd", str(here.bindir / "pgbench")], timeout_s=60.0).stdout
    assert f"libpq.so.5 => {cache(second).directory(key)}/bin/../lib/libpq.so.5" in libraries
