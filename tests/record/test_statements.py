"""The statements of a run as they were tried before it: written, read, and told apart where their rows differ."""

from pathlib import Path

import pytest

from pgassay.record.ask import STATEMENTS_FILE, StatementRecord, encode_statements, statements
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
