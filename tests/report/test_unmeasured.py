"""Where the baseline or everything failed nothing is advised: the first sentence is why, in the server's words."""

from collections.abc import Collection, Iterable
from dataclasses import replace

import pytest

from pgassay.analysis.claims import Mark
from pgassay.analysis.verdicts import Kind
from pgassay.record.journal import Entry
from pgassay.record.journal import Kind as Line
from pgassay.record.reading import Run
from pgassay.record.values import Reason, TrialRecord
from pgassay.report import contents
from pgassay.report.findings import Findings
from pgassay.report.headline import headline_of
from pgassay.report.text import brief, render
from pgassay.report.warnings import reasons
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run

DETAIL = 'error: client 0 script 0 aborted in command 1 query 0: ERROR:  relation "acounts" does\n not exist'
WORDS = 'ERROR: relation "acounts" does not exist'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("unmeasured") / "run", discarded=False)


def failing(run: Run, levels: Collection[str]) -> Findings:
    """The run as it would be if these levels had failed in each of their trials."""

    def failed(trial: TrialRecord) -> TrialRecord:
        if trial.treatment.partition("=")[2] not in levels:
            return trial
        why = (Reason("aborted", DETAIL), Reason("no_transactions", "no transaction was processed"))
        return replace(trial, status=Status.OUTCOME, reasons=why, responses={})

    return with_trials(run, map(failed, run.trials))


def with_trials(run: Run, trials: Iterable[TrialRecord]) -> Findings:
    findings = Findings(run)
    vars(findings)["trials"] = tuple(trials)
    return findings


@pytest.mark.parametrize("levels", [("100",), ("100", "75", "50")])
def test_without_a_baseline_nothing_was_measured(run: Run, levels: tuple[str, ...]) -> None:
    findings = failing(run, levels)
    assert list(headline_of(findings).sentences) == [f"nothing was measured: the baseline failed: {WORDS}"]
    first = reasons(findings)[0]
    assert first == f"the baseline, table.fillfactor=100, failed in all of its 8 trials: {WORDS}"
    kinds = {each.verdict.kind for each in findings.verdicts}
    assert kinds <= {Kind.FAILED, Kind.NOT_COMPARED}, "no verdict, and no number of blocks that would bring one"
    for text in (brief(findings, ()), render(findings)):
        assert "more blocks" not in text
        assert "Keep " not in text
    assert {each.mark for each in findings.claims} <= {Mark.NOT_TESTABLE}
    assert findings.claims


def test_where_every_treatment_failed_there_is_nothing_to_advise(run: Run) -> None:
    findings = failing(run, ("75", "50"))
    assert list(headline_of(findings).sentences) == [f"nothing was compared: table.fillfactor=75 failed: {WORDS}"]
    assert [each.partition(" failed")[0] for each in reasons(findings)[:2]] == [
        "table.fillfactor=75",
        "table.fillfactor=50",
    ]


def test_one_comparison_is_an_answer_with_what_failed_named_first(run: Run) -> None:
    findings = failing(run, ("50",))
    assert findings.unmeasured == ""
    assert "table.fillfactor=75 is better" in " ".join(headline_of(findings).sentences)
    assert reasons(findings)[0].startswith("table.fillfactor=50 failed in all of its 8 trials")


def test_a_run_that_has_only_begun_is_no_failure(run: Run) -> None:
    assert with_trials(run, run.trials[:1]).unmeasured == ""


def test_every_section_can_be_written_of_nothing(run: Run) -> None:
    findings = failing(run, ("100", "75", "50"))
    for section in contents.sections():
        tuple(section.blocks(findings))
        section.plain(findings)


@pytest.mark.parametrize("reason", ['script "a.sql" line 1: relation "acounts" does not exist', "signal"])
def test_a_run_that_a_fault_ended_before_its_first_trial_measured_nothing(run: Run, reason: str) -> None:
    """Of a script with a wrong name it was said that `pgassay resume` goes on with it."""
    ended = Entry(run.journal[-1].seq + 1, 0, Line.INTERRUPTED, {"reason": reason})
    findings = with_trials(replace(run, journal=(*run.journal[:-1], ended)), ())
    shown = brief(findings, ())
    if reason == "signal":
        assert "pgassay resume goes on with it" in shown
        return
    assert list(headline_of(findings).sentences) == [f"nothing was measured: {reason}"]
    for text in (shown, render(findings)):
        assert "more blocks" not in text
        assert "resume goes on" not in text


def test_an_interval_is_explained_only_where_one_is_shown(run: Run) -> None:
    few = with_trials(run, (each for each in run.trials if each.block <= 3))
    assert "in brackets" not in render(few)
    assert "in brackets" in render(Findings(run))


def test_the_window_is_the_same_wherever_a_page_says_it(run: Run) -> None:
    """The line of facts had the median, the verdict's section the last trial's."""
    *others, last = run.trials
    short = replace(last, regime={**last.regime, "window_s": 5.0})
    findings = with_trials(run, [replace(each, regime={**each.regime, "window_s": 8.0}) for each in others] + [short])
    assert "; 8 s a trial" in render(findings)
    assert "window 8 s after" in render(findings)
