"""What a replay did not play of its log: read from each trial's results, and said once among what to distrust."""

import json
from pathlib import Path

import pytest

from pgassay.record import replayed
from pgassay.record.values import LevelRecord
from pgassay.report import page, text
from pgassay.report.findings import Findings
from pgassay.report.warnings import reasons
from pgassay.testing.planted import make_run

LEFT_OUT = {"commands": 0, "half_calls": 3, "unread": 1, "doubtful": 2, "torn": 1}
REPLAY = {"load.driver": LevelRecord("replay", "replay")}
SAID = (
    "left out of the log that is played: 3 calls of transactions that begin before the log; 1 record that cannot be"
    " read; 2 statements that may not be whole; 1 log whose last record may not be whole"
)


def test_what_was_not_played_is_said_once(tmp_path: Path) -> None:
    written = json.dumps({"format": 1, "left_out": LEFT_OUT}).encode()
    findings = Findings(make_run(tmp_path / "run", kept={replayed.FILE: written}, levels=REPLAY))
    assert reasons(findings).count(SAID) == 1
    assert text.render(findings).count(SAID[1:]) == 1
    html = page.write(findings, tmp_path / "report", pictures=False).read_text(encoding="utf-8")
    assert html[html.index("What to distrust</h2>") :].count(SAID[1:]) == 1


@pytest.mark.parametrize(
    "written",
    [None, b"{", b"[]", b"{}", b'{"left_out": {}}', b'{"left_out": [1]}', b'{"left_out": {"torn": {}}}',
     json.dumps({"left_out": dict.fromkeys(LEFT_OUT, 0)}).encode()],
)  # fmt: skip
def test_without_counts_nothing_is_said(tmp_path: Path, written: bytes | None) -> None:
    kept = {} if written is None else {replayed.FILE: written}
    findings = Findings(make_run(tmp_path / "run", kept=kept, levels=REPLAY))
    assert not any("left out of the log" in each for each in reasons(findings))
