"""The whole way on a PostgreSQL 17 or 18 of its own: captured while its shop runs, and asked about what was planted.

Planted are a missing index, a work_mem so small that a sort spills, and a setting that does nothing for this load. A
PostgreSQL of these versions with pg_stat_statements is taken where one is installed; else it is built, once, where that
can be done (`tests.postgres.builds`), and skipped by name where not.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.analysis.verdicts import Kind
from pgassay.capture import files
from pgassay.cli import main
from pgassay.cli.postgres import builder
from pgassay.errors import PgassayError
from pgassay.lab.places import Building
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.installation import LocalInstallation
from pgassay.record.ask import Likeness, likeness
from pgassay.record.reading import Run
from pgassay.report.findings import Findings, Judged
from pgassay.testing import real
from tests import machine
from tests.capture import web_shop
from tests.capture.watched import Watched, watched_shop

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
"""The first of them may build a PostgreSQL."""

VERSIONS = ("18", "17")
SMALL = "64kB"
SETTINGS = {"shared_buffers": "64MB", "work_mem": SMALL, "autovacuum": "off"}
INDEX = "CREATE INDEX ON orders (customer_id)"
EXPORTS = 0.05
WINDOW = "20s"
WITHIN = 0.1
OF_THE_WORK = {
    "calls by statement", "rows a call", "blocks a call", "WAL records a call", "temporary blocks a call",
}  # fmt: skip
"""Figures that no other work on the machine changes, unlike times, waits, and what is in memory."""
OF_SERVERS = ("settings", "extensions", "states", "waits", "counters")
"""Fields whose keys are a server's own names."""


def newer() -> LocalInstallation:
    """One of `VERSIONS` with pg_stat_statements, installed or built; skips with what is missing."""
    for each in real.finder().all():
        if str(each.version.major) in VERSIONS and has_statements(each):
            return each
    ours = builder(Building(allow_deb_src=bool(os.environ.get("PGASSAY_TEST_DEB_SRC"))))
    source = os.environ.get("PGASSAY_TEST_SOURCE")
    for version in VERSIONS:
        try:
            return ours.installation(BuildRequest(version=version, source=parse_spec(source) if source else None))
        except PgassayError as error:
            reason = error.message
    pytest.skip(f"no PostgreSQL {' or '.join(VERSIONS)} with pg_stat_statements is here, none can be built: {reason}")


def has_statements(installation: LocalInstallation) -> bool:
    """Does it come with the extension? The embedded wheel does not."""
    told = real.runner().run([str(installation.bindir / "pg_config"), "--sharedir"])
    return (Path(told.stdout.strip()) / "extension" / "pg_stat_statements.control").is_file()


@pytest.fixture(scope="module")
def shop() -> Iterator[Watched]:
    with watched_shop(newer(), SETTINGS) as found:
        yield found


@pytest.fixture(scope="module")
def captured(shop: Watched) -> Path:
    path = shop.folder / "shop.capture"
    with web_shop.driven(shop.server.endpoint, exports=EXPORTS):
        assert main(["capture", shop.conninfo(), "--for", WINDOW, "--out", str(path), *programs(shop)]) == 0
    return path


def programs(shop: Watched) -> tuple[str, str]:
    return "--pg-bindir", str(shop.installation.bindir)


def asked(shop: Watched, captured: Path, *words: str) -> tuple[Judged, Likeness]:
    """The one verdict, and how like the shop's load the played one was."""
    with machine.own_folder() as folder:
        run = folder / "run"
        where = ("--data-dir", str(folder / "data"), "--out", str(run))
        assert main(["ask", str(captured), *words, *web_shop.SHORT, *where, *programs(shop)]) == 0
        record = Run.open(run)
        (verdict,) = Findings(record).verdicts
        alike = likeness(record)
    assert alike is not None
    return verdict, alike


def test_a_capture_leaves_it_byte_by_byte_as_it_was(shop: Watched) -> None:
    before = shop.contents(), shop.transactions()
    assert main(["capture", shop.conninfo(), "--for", "2s", "--out", str(shop.folder / "idle"), *programs(shop)]) == 0
    assert (shop.contents(), shop.transactions()) == before


def test_while_the_shop_runs_no_setting_changes_and_every_write_is_the_shops(shop: Watched, captured: Path) -> None:
    path, before = shop.folder / "again.capture", shop.settings()
    with web_shop.driven(shop.server.endpoint, exports=EXPORTS):
        assert main(["capture", shop.conninfo(), "--for", "2s", "--out", str(path), *programs(shop)]) == 0
    assert shop.settings() == before
    assert shop.changes_by_us() == []
    assert files.read(path).source.major == shop.installation.version.major


def test_a_server_of_another_version_gives_a_capture_of_the_same_format(shop: Watched, captured: Path) -> None:
    with watched_shop(real.installation(), SETTINGS) as other:
        path = other.folder / "other.capture"
        with web_shop.driven(other.server.endpoint, exports=EXPORTS):
            assert main(["capture", other.conninfo(), "--for", "3s", "--out", str(path), *programs(other)]) == 0
        assert files.read(path).source.major == other.installation.version.major
        assert {each.name for each in path.iterdir()} == {each.name for each in captured.iterdir()} - {"asked"}
        for name in (files.HEAD, files.LOAD, files.STATISTICS):
            one, two = (fields(json.loads((each / name).read_text())) for each in (captured, path))
            assert one == two, name


def fields(value: object, below: str = "") -> set[str]:
    """The paths of all fields that the format declares; what a server itself has names for (settings, waits) is not."""
    if isinstance(value, list):
        return set().union(*(fields(each, f"{below}[]") for each in value))
    if not isinstance(value, dict) or below.rpartition(".")[2] in OF_SERVERS:
        return {below}
    return set().union(*(fields(each, f"{below}.{name}") for name, each in value.items()))


def test_the_missing_index_is_found(shop: Watched, captured: Path) -> None:
    verdict, _ = asked(shop, captured, "--index", INDEX)
    assert (verdict.verdict.kind, verdict.effect.estimate > 1.2) == (Kind.BETTER, True)


def test_the_small_work_mem_is_found_on_a_load_like_the_shops(shop: Watched, captured: Path) -> None:
    verdict, alike = asked(shop, captured, f"work_mem={SMALL},16MB")
    assert (verdict.verdict.kind, verdict.effect.estimate > 1.1) == (Kind.BETTER, True)
    far = {each.name: each for each in alike.parts if each.name in OF_THE_WORK and (each.likeness or 0) < 1.0 - WITHIN}
    assert far == {}
    assert {each.name for each in alike.parts if each.counts} >= OF_THE_WORK
    assert (alike.score or 0.0) >= alike.enough


def test_of_a_setting_that_does_nothing_no_effect_is_found(shop: Watched, captured: Path) -> None:
    """With 20 % as the smallest effect of interest, so that one run in twenty does not fail by chance."""
    verdict, _ = asked(shop, captured, "deadlock_timeout=1s,2s", "--resolution", "20%")
    assert verdict.verdict.kind in (Kind.EQUIVALENT, Kind.UNRESOLVED)
    assert verdict.effect.low < 1.0 < verdict.effect.high or verdict.verdict.kind is Kind.EQUIVALENT
