"""The statements of a run as they were tried before it: written, read, and told apart where their rows differ."""

import base64
import json
from pathlib import Path

import pytest

from pgassay._core import LatencySketch
from pgassay.record.ask import (
    LATENCIES_FILE,
    STATEMENTS_FILE,
    StatementRecord,
    encode_statements,
    mean_latencies_us,
    statements,
)
from pgassay.record.errors import DamagedError
from pgassay.testing.planted import make_run

LOOKUP = StatementRecord("001", "SELECT 1", 50, {"a": "Seq Scan"}, {"a": 50, "b": 0})


def test_what_is_written_is_read_and_a_run_without_it_has_none(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert statements(run) == ()
    (run.path / STATEMENTS_FILE).write_bytes(encode_statements([LOOKUP]))
    assert statements(run) == (LOOKUP,)
    (run.path / STATEMENTS_FILE).write_text("[]")
    with pytest.raises(DamagedError, match=STATEMENTS_FILE):
        statements(run)


def test_rows_differ_where_both_are_known_and_the_baseline_repeats_itself() -> None:
    assert LOOKUP.differs("b", "a")
    assert not LOOKUP.differs("a", "a")
    assert not LOOKUP.differs("c", "a"), "it was not asked"
    assert not StatementRecord("002", "SELECT 2", 1, {}, {"a": 1, "b": 2}, repeats=False).differs("b", "a")


def test_a_trial_has_the_mean_of_each_script_and_one_without_has_none(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    kept = {}
    for place, latency_us in enumerate((1000, 8000)):
        sketch = LatencySketch()
        sketch.record(latency_us, 90)
        kept[str(place)] = base64.b64encode(sketch.to_bytes()).decode()
    path = run.trial_directory(2) / LATENCIES_FILE
    path.write_text(json.dumps({"scripts": kept}))
    assert mean_latencies_us(run, 2) == {0: 1000.0, 1: 8000.0}
    assert mean_latencies_us(run, 3) == {}
    for broken in ("{", "[]", '{"scripts": {"0": "AA=="}}', '{"scripts": {"0": 1}}', '{"scripts": {"x": ""}}'):
        path.write_text(broken)
        assert mean_latencies_us(run, 2) == {}, "a table lacks it, the report does not end"
