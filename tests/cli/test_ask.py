"""What each variant answered, as the record of a question keeps it."""

from pathlib import Path

from pgassay.capture.replaying import Examined
from pgassay.cli.ask import statement_records
from tests.capture.test_asking import KEYED, SORTED, asked
from tests.capture.test_scripts import capture


def test_each_statement_is_kept_with_the_plans_and_rows_of_the_arms(tmp_path: Path) -> None:
    written = asked(tmp_path, capture(KEYED, SORTED))
    answers = {
        "old": {"001": Examined(50, 50, "Index Scan"), "002": Examined(4, 400)},
        "new": {"001": Examined(50, 0, "Seq Scan"), "002": Examined(4, failed="no such operator")},
    }
    keyed, sorted_ = statement_records(written, answers, "old")
    assert (keyed.script, keyed.text, keyed.calls) == ("001", KEYED.text, 50)
    assert keyed.plans == {"old": "Index Scan", "new": "Seq Scan"}
    assert keyed.rows == {"old": 50, "new": 0}
    assert keyed.differs("new", "old")
    assert (sorted_.plans, sorted_.rows) == ({}, {"old": 400}), "one that fails gives no rows"


def test_rows_tell_nothing_of_a_statement_whose_baseline_differs_from_itself(tmp_path: Path) -> None:
    written = asked(tmp_path, capture(KEYED, SORTED))
    answers = {arm: {"001": Examined(50, rows), "002": Examined(4, rows)} for arm, rows in (("old", 50), ("new", 49))}
    again = {"001": Examined(50, 51), "002": Examined(4, 50)}
    keyed, sorted_ = statement_records(written, answers, "old", again)
    assert (keyed.differs("new", "old"), sorted_.differs("new", "old")) == (False, True)
