"""The source's own pace: the rate of what is played, the busiest minute's, and what does not tell it."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.capture import question
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Load, Logged, Statement
from pgassay.capture.question import AT_OWN_PACE, pace_line, parse
from pgassay.capture.scripts import CapturedScript
from pgassay.lab.run import write_study
from tests.capture.test_asking import KEYED, SORTED, asked
from tests.capture.test_scripts import capture

READ, WRITE = Statement(1, "SELECT", 300, 90.0, 300), Statement(2, "UPDATE", 60, 60.0, 60)
LOAD = Load(60.0, (READ, WRITE))
MINUTES = Logged(180.0, 360, calls_by_minute=((0, 60), (1, 240), (3, 60)))
SCRIPTS = (
    CapturedScript((READ,), "001", "SELECT 1;\n", 240),
    CapturedScript((READ, WRITE), "t001", "BEGIN;\n", 60, transaction=True),
    CapturedScript((WRITE,), "002", "SELECT 1;\n", 0),
)


def test_the_rate_is_that_of_all_that_is_played_and_a_transaction_is_due_once() -> None:
    found = question.pace_of(question.SOURCE, LOAD, SCRIPTS)
    assert found == question.Pace(5.0, 5.0, None)
    without = question.pace_of(question.SOURCE, LOAD, SCRIPTS[1:])
    assert without is not None
    assert without.rate_tps == 1.0, "what cannot be played is no part of it"
    assert question.pace_of(question.FULL, LOAD, SCRIPTS) is None
    assert question.pace_of(question.SOURCE, LOAD, ()) is None


def test_the_busiest_minute_is_so_many_times_the_mean() -> None:
    load = replace(LOAD, logged=MINUTES)
    assert question.burst(load) == 2.0, "240 calls in a minute, 120 on average"
    found = question.pace_of(question.BUSIEST, load, SCRIPTS)
    assert found == question.Pace(10.0, 5.0, 10.0)
    assert found.multiple == 2.0
    said = "pace: 10 transactions a second are due, as in the source's busiest minute (5 on average)\n"
    assert pace_line(found) == said
    mean = question.pace_of(question.SOURCE, load, SCRIPTS)
    assert mean is not None
    assert pace_line(mean) == "pace: 5 transactions a second are due, the source's mean (10 in its busiest minute)\n"
    alone = question.pace_of(question.SOURCE, LOAD, [each for each in SCRIPTS if not each.transaction])
    assert alone is not None
    assert " statements, each a transaction, a second are due" in pace_line(alone)
    assert pace_line(question.Pace(5.0, 5.0, None)) == "pace: 5 transactions a second are due, the source's mean\n"


def test_a_log_of_less_than_a_minute_has_no_minute_that_is_busier() -> None:
    assert question.burst(replace(LOAD, logged=Logged(12.0, 120, calls_by_minute=((0, 120),)))) == 1.0
    assert question.burst(replace(LOAD, logged=Logged(12.0, 0))) is None


@pytest.mark.parametrize(
    ("asked_for", "load", "said"),
    [
        (question.SOURCE, None, 'the capture has no load, so the pace "source" is not known'),
        (question.BUSIEST, None, 'the capture has no load, so the pace "busiest" is not known'),
        (question.SOURCE, Load(60.0, ()), "has no load"),
        (question.BUSIEST, LOAD, "has no log, so its busiest minute is not known"),
    ],
)
def test_a_pace_that_the_capture_does_not_tell_is_refused(asked_for: str, load: Load | None, said: str) -> None:
    with pytest.raises(CaptureError, match=said):
        question.require_pace(asked_for, load)
    question.require_pace(question.FULL, load)


def test_rates_are_written_as_an_option_takes_them() -> None:
    assert [question.level(rate) for rate in (123456.78, 49.26666, 1 / 3000)] == ["123456.78", "49.267", "0.001"]


def test_a_question_at_the_sources_pace_is_a_study_at_its_rate(tmp_path: Path) -> None:
    """32 calls in 10 s; without a script that fails here, 30."""
    written = replace(asked(tmp_path, capture(KEYED, SORTED)), pace=question.SOURCE)
    written = replace(written, question=parse(["work_mem=4MB,64MB"], [], AT_OWN_PACE))
    document = written.document()
    assert (document["load"]["rate"], document["load"]["clients"]) == ("3.2", 4)
    assert document["responses"] == {"primary": "latency_ms"}
    study = write_study("ask", document).study
    assert study.fixed["load.rate"].canonical == "3.2"
    assert written.without({"002": "it fails"}).document()["load"]["rate"] == "3"
    assert "rate" not in replace(written, pace=question.FULL).document()["load"]
