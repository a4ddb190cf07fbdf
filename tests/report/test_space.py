"""The table of space: wholes first, then the largest relations, each against the baseline's."""

from dataclasses import replace
from pathlib import Path

from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.report.measurements import ROWS_MAX
from pgassay.report.measurements import SPACE as SECTION
from pgassay.testing.planted import make_run
from tests.report.blocks import tables


class Grown(Findings):
    """Findings whose trials tell their relations: FILLFACTOR 50 doubles the table and leaves the index."""

    def __init__(self, run: Run, tables: int = 1) -> None:
        super().__init__(run)
        self.__dict__["trials"] = tuple(
            replace(
                trial,
                counters={
                    **{
                        f"relation.table.t{number}_bytes": (2e8 if trial.treatment.endswith("=50") else 1e8) / number
                        for number in range(1, tables + 1)
                    },
                    "relation.index.t_pkey_bytes": 1e7,
                },
            )
            for trial in run.trials
        )


def test_each_relation_is_set_against_the_baselines(tmp_path: Path) -> None:
    (table,) = tables(SECTION, Grown(make_run(tmp_path / "run")))
    assert table.head[1:] == ("table.fillfactor=100", "table.fillfactor=75", "table.fillfactor=50")
    found = {row[0]: row[1:] for row in table.rows}
    assert list(found) == ["database", "all tables", "table t1", "index t_pkey"], "no pg_wal was told"
    assert found["table t1"] == ("95.4 MB", "95.4 MB (1)", "191 MB (2)")
    assert found["index t_pkey"][2] == "9.54 MB (1)"


def test_of_many_relations_the_largest_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    (table,) = tables(SECTION, Grown(make_run(tmp_path / "run"), tables=30))
    assert len(table.rows) == 2 + ROWS_MAX
    assert "19 smaller relations are only in the trials' counters" in table.notes


def test_a_record_without_sizes_has_no_table(tmp_path: Path) -> None:
    assert not tables(SECTION, Findings(make_run(tmp_path / "run")))
