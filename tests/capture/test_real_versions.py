"""A question about versions on real servers: the data of the older one are restored and played by both.

It needs two major versions on this machine; $PGASSAY_BINDIR may name one of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from pgassay.cli import main
from pgassay.interfaces.server import Server
from pgassay.postgres.installation import LocalInstallation
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.testing import real
from tests import machine

pytestmark = pytest.mark.slow

SCHEMA = """
CREATE TABLE orders (id int PRIMARY KEY, total int NOT NULL);
INSERT INTO orders SELECT n, n % 100 FROM generate_series(1, 10000) n;
ANALYZE;
"""
GONE, GONE_SINCE = "old_snapshot_threshold", 17
SHORT = (
    "--blocks", "5..5", "--allow-busy", "--allow-volatile", "--slice", "500ms", "--set", "load.duration=1s",
    "--set", "load.warmup=0s",
)  # fmt: skip


def two_versions() -> tuple[LocalInstallation, LocalInstallation]:
    """The oldest and the newest major version here; skips where there is one."""
    finder = real.finder()
    found = sorted((finder.named(Path(each)) for each in machine.bindirs()), key=lambda each: each.version.major)
    if len({each.version.major for each in found}) < 2:
        pytest.skip("one major version of PostgreSQL is on this machine")
    return found[0], found[-1]


@contextmanager
def started(installation: LocalInstallation, folder: Path) -> Iterator[Server]:
    """A small server of that version, with a setting that later ones do not know where there is such a setting."""
    installation.initialize(folder / "source", {})
    more = {GONE: "1h"} if installation.version.major < GONE_SINCE else {}
    server = installation.start(folder / "source", {"fsync": "off", **more}, folder / "socket")
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize("asked", ["newer", "older"])
def test_another_version_is_compared_with_the_servers_own(
    asked: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = two_versions()
    own, other = found if asked == "newer" else (found[1], found[0])
    newest = found[1].bindir
    script = tmp_path / "lookup.sql"
    script.write_text("\\set id random(1, 10000)\nSELECT total FROM orders WHERE id = :id;\n")
    with machine.own_folder() as folder, real.private_folder() as home:
        path, run = folder / "shop.capture", folder / "run"
        with started(own, home) as server:
            with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
                connection.execute(SCHEMA)
            where = server.endpoint
            conninfo = f"host={where.socket_directory} port={where.port} user={where.user} dbname={where.database}"
            programs = ("--pg-bindir", str(newest))
            assert main(["capture", conninfo, "--without-load", "--out", str(path), *programs]) == 0
        words = ("--version", str(other.version.major), "--set", f"load.script={script}")
        place = ("--data-dir", str(folder / "d"), "--out", str(run))
        status = main(["ask", str(path), *words, *SHORT, *place])
        said = capsys.readouterr().err
        assert status == 0, said
        record = Run.open(run)
        served = {trial.levels["postgres.version"].read_back for trial in record.trials}
        (verdict,) = Findings(record).verdicts
    assert (GONE in said) == (own.version.major < GONE_SINCE <= other.version.major)
    assert served == {str(each.version.major) for each in found}
    assert verdict.effect.treatment == f"postgres.version={other.version.major}"
    assert {each["version"] for each in record.host["postgres"]} == {each.version.text for each in found}
