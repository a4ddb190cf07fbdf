"""A script and a schema that only the head has: blocks run with them on a worker that cannot see where they lie."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.fleet import certificates
from pgassay.fleet.dask_executor import connect, names
from pgassay.record.check import check
from pgassay.record.journal import FILE
from pgassay.record.reading import Run
from pgassay.study.findings import Severity
from pgassay.testing import real
from tests.fleet.namespaces import awaited, end
from tests.fleet.test_dask import READY_S, ROOT, fleet

pytestmark = [pytest.mark.slow, pytest.mark.system]

STUDY = """
[study]
format = 1
title = "Mine"
question = "Does work_mem matter?"

[factors]
"server.work_mem" = ["4MB", "8MB"]

[load]
driver = "pgbench"
script = "mine.sql"
init = "schema.sql"
duration = "1s"
cache = "warm"

[responses]
primary = "tps"

[design]
blocks = { min = 2, max = 2 }
pairing = "sequential"
"""
SCRIPT = "SELECT count(*) FROM mine;\n"
_BLIND = ("unshare", "--mount", "--propagation", "slave", "sh", "-ec", 'mount -t tmpfs none "$0" && exec "$@"')
"""In a mount namespace of its own, with nothing in the folder that comes next, runs the program behind it."""


@contextmanager
def blind_worker(folder: Path, address: str, certs: Path, data: Path) -> Iterator[None]:
    """A worker that does not see what is in the folder."""
    if shutil.which("unshare") is None or subprocess.run([*_BLIND, str(folder), "true"], check=False).returncode:
        pytest.skip("no mount namespace can be made here")
    command = [*_BLIND, str(folder), sys.executable, "-m", "pgassay", "fleet", "worker", address, "--certs", str(certs)]
    search = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "PGASSAY_DATA_DIR": str(data)}
    process = subprocess.Popen([*command, "--name", "h1"], env={**os.environ, **search}, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        end(process)


@pytest.mark.timeout(1800)
def test_a_script_and_a_schema_of_the_head_alone_are_played_by_a_worker(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real.installation()
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    certs = tmp_path / "certs"
    certificates.make(certs, 2)
    mine, data, out = place / "mine", place / "data", place / "run"
    for each in (mine, data):
        each.mkdir(mode=0o755)
    (mine / "study.toml").write_text(STUDY, encoding="utf-8")
    (mine / "mine.sql").write_text(SCRIPT, encoding="utf-8")
    (mine / "schema.sql").write_text("CREATE TABLE mine AS SELECT generate_series(1, 1000) AS i;\n", encoding="utf-8")
    monkeypatch.chdir(mine)
    with fleet(certs, ()) as address, blind_worker(mine, address, certs, data):
        with connect(certificates.parse_address(address), certificates.find(certs, "head"), READY_S) as client:
            awaited("the worker is there", lambda: names(client), READY_S)
        where = ["--on", address, "--certs", str(certs), "--allow-busy", "--allow-volatile", "--data-dir", str(data)]
        assert main(["run", "study.toml", *where, "--out", str(out), "--quiet"]) == 0
        journal = (out / FILE).read_bytes().splitlines(keepends=True)
        (out / FILE).write_bytes(b"".join(journal[:-1]))
        (mine / "mine.sql").write_text("SELECT 1;\n", encoding="utf-8")
        capsys.readouterr()
        assert main(["resume", str(out), *where, "--quiet"]) == 2
        assert f'changed since the run began: "{mine}/mine.sql"' in capsys.readouterr().err
        (mine / "mine.sql").write_text(SCRIPT, encoding="utf-8")
        assert main(["resume", str(out), *where, "--quiet"]) == 0
    run = Run.open(out)
    assert [each for each in check(out) if each.severity is Severity.ERROR] == []
    assert {trial.host for trial in run.trials} == {"h1"}
    assert len(run.trials) >= 4
    assert [trial.reasons for trial in run.trials if trial.status == "outcome"] == []
    for trial in run.trials:
        folder = out / "trials" / f"{trial.number:06d}"
        for name, path in (("load.script", mine / "mine.sql"), ("load.init", mine / "schema.sql")):
            assert trial.levels[name].canonical == str(path)
        assert trial.levels["load.script"].read_back == str(mine / "mine.sql")
        assert f"transaction type: {mine}/mine.sql" in (folder / "pgbench.out").read_text(encoding="utf-8")
        assert (folder / "script_1_mine.sql").read_bytes() == (mine / "mine.sql").read_bytes()
    assert set(run.host["files"]) == {str(mine / "mine.sql"), str(mine / "schema.sql")}
