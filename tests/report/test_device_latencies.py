"""What the devices of a drive study did: medians by treatment, and a dot a trial where the device read and wrote."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.record.values import LevelRecord
from pgassay.report import drives, formatting
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
from tests.report.blocks import tables
from tests.report.driven import BLOCKS, make_driven

READS = {"ssd": 0.2, "csd": 0.3}
WRITES = {"ssd": 4.0, "csd": 2.0}


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    """Each drive has its latencies, more by a hundredth from block to block."""
    found = Findings(make_driven(tmp_path / "run"))
    trials = []
    for trial in found.trials:
        drive, more = trial.levels["drive.data"].typed, 1.0 + trial.block / 100
        measured = {
            "disk_iops": 900.0,
            "disk_read_bytes_per_s": 3.0 * (1 << 20),
            drives.READ: READS[drive] * more,
            drives.WRITE: WRITES[drive] * more,
        }
        trials.append(replace(trial, responses={**trial.responses, **measured}))
    found.__dict__["trials"] = tuple(trials)
    return found


def test_a_table_has_the_medians_of_each_drive(findings: Findings) -> None:
    mine = [each for each in tables(drives.SECTION, findings) if each.title.endswith("the device under the data")]
    assert len(mine) == 2, "one for each scenario"
    middle = 1.0 + (1 + BLOCKS) / 200
    for table in mine:
        rows = {str(row[0]): [str(cell) for cell in row[1:]] for row in table.rows}
        assert rows["read per second"] == ["3.00 MB"] * 4
        for title, each in (("a read, mean, ms", READS), ("a write, mean, ms", WRITES)):
            shown = [float(cell) for cell in rows[title]]
            wanted = [each["ssd" if "ssd" in str(head) else "csd"] * middle for head in table.head[1:]]
            assert shown == pytest.approx(wanted, rel=0.006)
        assert table.notes == (drives.UNTIMED,)


def test_drives_with_times_of_their_own_carry_no_warning(findings: Findings) -> None:
    timed = {"drive.timing": LevelRecord("sata-ssd", "sata-ssd")}
    findings.__dict__["trials"] = tuple(replace(each, levels={**each.levels, **timed}) for each in findings.trials)
    mine = [each for each in tables(drives.SECTION, findings) if each.title.endswith("the device under the data")]
    assert [each.notes for each in mine] == [(), ()]


def test_a_study_that_names_no_drive_has_none_of_it(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    measured = {drives.READ: 1.0, drives.WRITE: 2.0}
    findings.__dict__["trials"] = tuple(
        replace(each, responses={**each.responses, **measured}) for each in findings.trials
    )
    assert list(drives.blocks(findings)) == []


def test_a_few_milliseconds_of_reading_are_no_latency(findings: Findings) -> None:
    """Of data in memory three pages were read, in 0, 1 or 2 ms of the kernel's clock."""
    first, *others = findings.trials
    few = {"diskstats.read_ms": 2.0, "diskstats.write_ms": 900.0}
    enough = replace(first, counters={**first.counters, "diskstats.read_ms": 20.0, "diskstats.write_ms": 900.0})
    unread = [replace(each, counters={**each.counters, **few}) for each in others]
    findings.__dict__["trials"] = (enough, *unread)
    mine = [each for each in tables(drives.SECTION, findings) if each.title.endswith("the device under the data")]
    assert all(drives.FEW in each.notes for each in mine)
    rows = [{str(row[0]): [str(cell) for cell in row[1:]] for row in table.rows} for table in mine]
    assert ["a read, mean, ms" in each for each in rows] == [True, False]
    assert all(formatting.MISSING not in each["a write, mean, ms"] for each in rows)
