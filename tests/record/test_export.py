"""A run as CSV (a row a trial) and JSON (an object a trial), both read back exactly."""

import csv
import io
import json
from dataclasses import replace

from pgassay.record.export import write_csv, write_json
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord
from pgassay.study.responses import Status
from tests.record.runs import RUN, create, fake_disk, trial


def two_trials() -> Run:
    """One valid trial, and one that was discarded, with a level that has no read-back and an undeclared response."""
    disk = fake_disk()
    second = trial(2, Status.INVALID, None)
    second = replace(
        second,
        levels={**second.levels, 'a "quoted", name': LevelRecord("1", "1")},
        responses={"extra": 0.1},
        condition='load.file=C:\\a "b"',
    )
    with create(disk) as run:
        run.commit_trial(run.begin_trial(1), replace(trial(1), started_wall_ns=1_700_000_000_123_456_789), [])
        run.commit_trial(run.begin_trial(2), second, [])
    return Run.open(RUN, disk)


def test_every_trial_is_a_row_with_all_levels_and_responses() -> None:
    text = io.StringIO(newline="")
    write_csv(two_trials(), text)
    first, last = csv.DictReader(io.StringIO(text.getvalue()))
    assert text.getvalue().count("\n") == 3
    assert first["started"] == "2023-11-14T22:13:20.123456Z"
    assert (first["number"], first["status"], first["reasons"]) == ("1", "valid", "")
    assert (first["build.block_size"], first["build.block_size read back"]) == ("8kB", "8192")
    assert (first["tps"], first["wal_bytes_per_transaction"], first["extra"]) == ("1000.0", "512.5", "")
    assert (last['a "quoted", name'], last['a "quoted", name read back']) == ("1", "")
    assert (last["tps"], last["extra"], last["reasons"]) == ("", "0.1", "steal: 9 % of CPU time was stolen")
    assert list(first)[:8] == [
        *("number", "block", "attempt", "treatment", "condition", "covariate", "status", "reasons")
    ]


def test_every_trial_is_an_object() -> None:
    text = io.StringIO()
    write_json(two_trials(), text)
    first, last = json.loads(text.getvalue())
    assert (first["number"], first["status"], first["reasons"]) == (1, "valid", [])
    assert first["started"] == "2023-11-14T22:13:20.123456Z"
    assert first["levels"]["build.block_size"] == {"typed": "8kB", "canonical": "8192", "read_back": "8192"}
    assert first["responses"] == {"tps": 1000.0, "wal_bytes_per_transaction": 512.5, "extra": None}
    assert last["reasons"] == [{"code": "steal", "detail": "9 % of CPU time was stolen"}]
    assert last["levels"]['a "quoted", name']["read_back"] is None
    assert (last["responses"]["tps"], last["responses"]["extra"]) == (None, 0.1)
    assert list(first) == list(last)
