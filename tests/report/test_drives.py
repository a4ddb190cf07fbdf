"""What the report says of drives: never "steady" of a drive that was not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.report import drives
from pgassay.study.responses import Status

AGED: Mapping[str, Any] = {"drive.start": "aged", "window_s": 10.0}
FRESH: Mapping[str, Any] = {"drive.start": "fresh", "window_s": 10.0}
HALVES: Mapping[str, Any] = {"drive.write_amplification_first": 1.5, "drive.write_amplification_second": 1.55}


def trial(number: int, regime: Mapping[str, Any], written: float, erased: float = 9.0, kind: str = "csd",
          amplification: float = 1.5) -> TrialRecord:  # fmt: skip
    return TrialRecord(
        number=number,
        block=number,
        attempt=1,
        treatment="one",
        condition="",
        covariate="",
        levels={"drive.data": LevelRecord(kind, kind, kind)},
        status=Status.VALID,
        started_wall_ns=0,
        finished_wall_ns=0,
        responses={"write_amplification": amplification, "drive_writes": written},
        counters={"drive.blocks_erased": erased},
        regime=dict(regime),
    )


def test_what_real_drives_report_is_labelled_so() -> None:
    note = "of real drives: as the device reports it, which nothing here checks"
    (table,) = drives._tables([replace(trial(1, AGED, 1.2), counters=sent(smart=1.2))], ["one"], "")
    assert note in table.notes
    (emulated,) = drives._tables([trial(1, AGED, 1.2)], ["one"], "")
    assert note not in emulated.notes


@pytest.mark.parametrize(
    ("regime", "written", "erased", "says"),
    [
        ({**AGED, **HALVES}, 1.2, 9.0, ""),
        ({**AGED, **HALVES}, 0.5, 9.0, "0.5 of the drive; about 20 s would write all of it"),
        ({**AGED, **HALVES, "drive.start": "aged, not settled"}, 3.0, 9.0, "had not settled"),
        ({**AGED, **HALVES}, 1.2, 0.0, "nothing was erased"),
        ({**AGED, **HALVES, "drive.write_amplification_second": 2.0}, 1.2, 9.0, "from 1.5 to 2"),
        ({**FRESH, **HALVES}, 1.2, 9.0, "started fresh"),
        ({**FRESH, **HALVES}, 2.5, 9.0, ""),
        (FRESH, 2.5, 9.0, "started fresh"),
        ({"start_state": "copy-on-write; aged", **HALVES}, 1.2, 9.0, ""),
        ({"start_state": "copy-on-write", **HALVES}, 1.2, 9.0, "started fresh"),
    ],
)
def test_steady_is_said_of_a_steady_state_alone(
    regime: Mapping[str, Any], written: float, erased: float, says: str
) -> None:
    trials = [trial(number, regime, written, erased) for number in range(1, 4)]
    why = drives.transient(trials, drives.over_time(trials))
    assert (why == "") == (says == "")
    assert says in why


def sent(**drive_writes: float) -> Mapping[str, float]:
    """Counters of drives that were written so many times each."""
    found: dict[str, float] = {}
    for source, times in drive_writes.items():
        found |= {f"{source}.host_bytes_written": times * 1e9, f"{source}.capacity_bytes": 1e9}
    return found


@pytest.mark.parametrize(
    ("regime", "written", "counted", "says"),
    [
        ({**AGED, **HALVES}, 5.2, sent(drive=0.3, drive_wal=20.0), "0.3 of the drive that holds the data; about 33 s"),
        ({**AGED, **HALVES}, 5.2, sent(smart=0.3, smart_wal=20.0), "0.3 of the drive that holds the data; about 33 s"),
        ({**AGED, **HALVES}, 1.7, sent(drive=2.0, smart_wal=0.5), "0.5 of the WAL's own drive; about 20 s"),
        ({**AGED, **HALVES}, 5.2, sent(drive=1.2, drive_wal=20.0), ""),
        ({**AGED, **HALVES}, 0.5, sent(drive=0.5), "a window wrote 0.5 of the drive; about 20 s"),
        ({**AGED, **HALVES}, 1.2, {"drive.host_bytes_written": 1e9}, ""),  # its capacity is not known
        ({**FRESH, **HALVES}, 5.2, sent(drive=1.2, drive_wal=20.0), "started fresh"),
        ({**FRESH, **HALVES}, 5.2, sent(drive=2.2, drive_wal=20.0), ""),
    ],
)
def test_a_drive_that_was_written_often_does_not_make_the_other_steady(
    regime: Mapping[str, Any], written: float, counted: Mapping[str, float], says: str
) -> None:
    trials = [replace(trial(number, regime, written), counters=counted) for number in range(1, 4)]
    why = drives.transient(trials, drives.over_time(trials))
    assert (why == "") == (says == "")
    assert says in why


def test_a_devices_trials_show_their_course_over_time() -> None:
    worn = [trial(number, {}, 2.0, kind="device:/dev/x", amplification=1 + number / 10) for number in range(1, 9)]
    assert drives.over_time(worn[::-1]) == (1.25, 1.65)
    assert drives.transient(worn, drives.over_time(worn)) == "it went from 1.25 to 1.65"
    assert drives.transient(worn[4:], drives.over_time(worn[4:])) == ""
    assert drives.over_time(worn[:3]) is None, "too few to have halves"
    emulated = [trial(number, {}, 2.0) for number in range(1, 9)]
    assert drives.over_time(emulated) is None, "each starts from the same snapshot"


@pytest.mark.parametrize(
    ("level", "nand", "late"),
    [
        ("normal=device:/dev/x", 0.4e9, True),
        ("normal=directory:/x", 0.85e9, True),
        ("normal=device:/dev/x", 0.95e9, False),
        ("normal=device:/dev/x", 0.0, False),  # stood still, which is told by its own name
        ("compressing=device:/dev/x", 0.4e9, False),
        ("device:/dev/x", 0.4e9, False),  # nobody said what it is
    ],
)
def test_a_late_log_does_not_pass_for_a_drive_that_compresses(level: str, nand: float, late: bool) -> None:
    mine = trial(1, {}, 1.0, kind=level)
    counted = replace(mine, counters={"smart.host_bytes_written": 1e9, "smart.nand_bytes_written": nand})
    assert ("its log is late" in drives.late_logs([counted])) == late
    assert drives.late_logs([mine]) == ""


@pytest.mark.parametrize(
    ("source", "host", "nand", "device", "stood"),
    [
        ("smart", 1e9, 0.0, {}, True),
        ("smart", 0.0, 0.0, {"diskstats.written_bytes": 5e9}, True),
        ("smart", 0.0, None, {"diskstats.written_bytes": 5e9}, True),
        ("smart_wal", 0.0, 0.0, {"diskstats_wal.written_bytes": 5e9}, True),
        ("smart_wal", 0.0, 0.0, {"diskstats.written_bytes": 5e9}, False),  # another drive was written
        ("smart", 0.0, 0.0, {"diskstats.written_bytes": 0.0}, False),
        ("smart", 0.0, 0.0, {}, False),
        ("smart", 1e9, 1e9, {"diskstats.written_bytes": 5e9}, False),
        ("drive", 0.0, 0.0, {"diskstats.written_bytes": 5e9}, False),  # emulated drives are exact
    ],
)
def test_counters_that_stood_still_are_told(
    source: str, host: float, nand: float | None, device: Mapping[str, float], stood: bool
) -> None:
    counted = {f"{source}.host_bytes_written": host, f"{source}.nand_bytes_written": nand, **device}
    (table,) = drives._tables([replace(trial(1, AGED, 1.2), counters=counted)], ["one"], "")
    assert any("stood still" in note for note in table.notes) == stood


@pytest.mark.parametrize(
    ("silent", "telling", "who"),
    [
        ("smart_wal", "drive", "the WAL's own drive"),
        ("smart", "drive_wal", "the drive that holds the data"),
        ("smart", "smart_wal", "the drive that holds the data"),
    ],
)
def test_a_drive_that_counts_nothing_is_named_beside_one_that_does(silent: str, telling: str, who: str) -> None:
    counters = {f"{silent}.host_bytes_written": None, f"{telling}.host_bytes_written": 1e9}
    mine = replace(trial(1, AGED, 1.2), counters=counters)
    (table,) = drives._tables([mine], ["one"], "")
    assert table.notes[-1] == (
        f"{who} did not report what it was sent: host writes, NAND writes and write amplification of both drives"
        " together are not available"
    )
    alone = replace(mine, counters={f"{telling}.host_bytes_written": 1e9})
    (table,) = drives._tables([alone], ["one"], "")
    assert not any("did not report" in note for note in table.notes), "one drive is no set"


def test_what_ageing_settled_at_stands_beside_what_the_windows_saw() -> None:
    found = [
        trial(number, {**AGED, "drive.settled_write_amplification": 1.5 + number / 10}, 1.0) for number in (1, 2, 3)
    ]
    assert drives.settled(found) == pytest.approx(1.7)
    assert drives.settled([trial(1, FRESH, 1.0)]) is None


def test_the_state_before_each_trial_is_told() -> None:
    """Where drives are put back, where they were made again, and where nothing puts them back."""

    def row(*regimes: Mapping[str, Any]) -> str:
        trials = [trial(number, {**AGED, **regime}, 1.0) for number, regime in enumerate(regimes, 1)]
        (table,) = drives._tables(trials, ["one"], "")
        return next((str(cells[1]) for cells in table.rows if cells[0] == "state before each trial"), "")

    kept, other = {"drive.state_before": "gc 20"}, {"drive.state_before": "gc 24"}
    assert row(kept, kept, kept) == "the same in 3 trials"
    assert row(kept, kept, other) == "made again 1 time in 3 trials"
    assert row({"drive.host_bytes_before": 1e9}, {"drive.host_bytes_before": 1e9 + (3 << 30)}) == (
        "as the trial before left it, 3.00 GB from first to last"
    )
    assert row({}, {}) == ""


def test_the_life_of_flash_follows_from_what_it_programs() -> None:
    """3,000 times a TB at 1,000 transactions a second of 10 kB each: 3e15 / 1e7 bytes a second are 9.51 years."""
    plain = trial(1, AGED, 9.0)
    told: list[dict[str, float | None]] = [
        {"nand_bytes_per_transaction": 1e4, "tps": 1e3},
        {"nand_bytes_per_transaction": None, "tps": 1e3},
    ]
    mine = [replace(plain, number=number, responses={**plain.responses, **each}) for number, each in enumerate(told, 1)]
    (table,) = drives._tables(mine, [mine[0].treatment], "")
    assert [row[1] for row in table.rows if row[0] == drives.LIFE] == ["9.51 years"]
