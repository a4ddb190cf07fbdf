"""What costs are costs of: named by the load, kept by the record; only in old records guessed by the driver's name."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.load import drivers
from pgassay.record.formats import decode_header, encode
from pgassay.report.findings import Findings
from pgassay.study.work import IO, QUERY, TRANSACTION, Work
from pgassay.testing.planted import make_run
from tests.report.scaled import make_scaled

MESSAGE = Work("message", "a message")


@pytest.mark.parametrize(("driver", "work"), [("pgbench", TRANSACTION), ("fio", IO), ("cacheprobe", QUERY)])
def test_a_driver_names_its_work(driver: str, work: Work) -> None:
    assert drivers.find(driver).work is work


def test_the_record_keeps_it_and_the_report_speaks_by_it(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert run.header.work is None, "as records of earlier versions"
    header = decode_header(encode(replace(run.header, work=MESSAGE)), run.path)
    assert header.work == MESSAGE
    findings = Findings(replace(run, header=header))
    assert findings.responses["wal_bytes_per_transaction"].title == "WAL, per message"
    assert any("neither can any cost per message" in each.text for each in findings.explanations)
    assert Findings(run).work is TRANSACTION


def test_a_covariate_is_fitted_as_scaling_if_its_factor_said_so(tmp_path: Path) -> None:
    run = make_scaled(tmp_path / "run")
    assert run.header.scales is None
    assert Findings(run).scalings, "load.clients is known"
    assert not Findings(replace(run, header=replace(run.header, scales=()))).scalings
    assert Findings(replace(run, header=replace(run.header, scales=("load.clients",)))).scalings
