"""The cuts of a trial as a file: what goes in comes out, and a later version's additions do no harm."""

import json
from dataclasses import replace

import pytest

from pgassay.analysis.power_cuts import ServerAtCut
from pgassay.record.power_cuts import CutRecord, decode, encode

CUT = CutRecord(1, 2, 3, "all", 4, 5, 6, 7, 8, 0.5, 900.0, "sound", page={"block": 3}, strip=[[1, 2, 0]])


def test_what_goes_in_comes_out() -> None:
    cuts = (CUT, replace(CUT, verdict="lost_commits", detail="3 …", recovery_ms=70.5, ledger=True))
    assert decode(encode(cuts)) == cuts
    assert decode(b"") == ()


def test_what_a_cut_met_comes_out_and_older_records_have_none_of_it() -> None:
    met = ServerAtCut(3, in_checkpoint=True, recycled_wal=False, written=("heap", "wal"))
    line = json.loads(encode([replace(CUT, met=met)]))
    assert decode(json.dumps(line).encode()) == (replace(CUT, met=met),)
    assert decode(json.dumps({**line, "met": {**line["met"], "weather": "fine"}}).encode()) == (replace(CUT, met=met),)
    del line["met"]
    assert decode(json.dumps(line).encode()) == (CUT,)


@pytest.mark.parametrize("checkpoints", [-1, 10**15])
def test_a_number_of_checkpoints_that_no_window_has_is_refused(checkpoints: int) -> None:
    met = ServerAtCut(checkpoints, in_checkpoint=True, recycled_wal=False, written=())
    with pytest.raises(ValueError, match="checkpoints"):
        decode(encode([replace(CUT, met=met)]))


def test_what_a_later_version_adds_is_left_out() -> None:
    line = json.dumps({**json.loads(encode([CUT])), "weather": "fine"})
    assert decode(line.encode() + b"\n\n") == (CUT,)
