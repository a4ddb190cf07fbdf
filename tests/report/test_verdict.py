"""What trials were lost to: many discarded ones are told, and a treatment that never worked is named by its outcome."""

from dataclasses import replace

import pytest

from pgassay.record.values import Reason, TrialRecord
from pgassay.report.findings import failed
from pgassay.report.trials import failures
from pgassay.report.warnings import losses
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> TrialRecord:
    return make_run(tmp_path_factory.mktemp("made") / "run").trials[1]


def test_a_treatment_that_never_worked_is_named_by_its_outcome(trial: TrialRecord) -> None:
    place = trial.place
    reason = Reason("row_too_large", "row is too big: size 4024, maximum size 2016")
    failed = replace(trial, status=Status.OUTCOME, reasons=(reason,))
    discarded = replace(trial, status=Status.INVALID, reasons=(Reason("steal", "why"),))
    said = "row_too_large: row is too big: size 4024, maximum size 2016"
    assert failures([discarded, failed, discarded]) == {place: said}
    assert failures([failed, trial]) == {}, "it worked once"
    assert failures([trial, failed]) == {}
    assert failures([discarded]) == {}, "not because of its settings"
    assert failures([replace(trial, treatment="another"), failed]) == {place: said}


def test_the_causes_of_many_discarded_trials_are_counted(trial: TrialRecord) -> None:
    steal = replace(trial, status=Status.INVALID, reasons=(Reason("steal", "a"), Reason("foreign_cpu", "b")))
    busy = replace(trial, status=Status.INVALID, reasons=(Reason("foreign_cpu", "c"),))
    told = losses([trial, steal, busy])
    assert told == "2 of 3 trials were discarded because other programs disturbed them (foreign_cpu in 2, steal in 1)"
    assert losses([trial] * 10 + [busy]) == ""


def test_a_treatment_that_was_set_aside_has_not_failed() -> None:
    assert failed("set aside: it needs about 300 more blocks, so …") is None
    assert failed("3 trials in a row failed because of its settings") is not None
    assert failed(None) is None
