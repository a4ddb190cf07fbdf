"""Counts along with times: one answer, and what the instructions explain of the CPU time that was measured."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import share_explained
from pgassay.lab.counted import INSTRUCTIONS
from pgassay.report.findings import Findings
from pgassay.report.headline import headline_of
from pgassay.study.responses import Scale
from pgassay.testing.planted import make_run
from tests.report.blocks import body, plain
from tests.report.test_functions import with_counts

NAME, CPU = INSTRUCTIONS.name, "server_cpu_us_per_transaction"


def found(place: Path, instructions: float, cpu: Sequence[float], blocks: int = 5) -> Findings:
    """The planted run; what rows that leave room take, against the others: of the CPU in each block in turn."""
    findings = with_counts(place)
    findings.__dict__["responses"] = {**findings.responses, NAME: INSTRUCTIONS}
    trials = []
    for trial in findings.trials:
        mine = trial.treatment == "table.fillfactor=75"
        wander = 1 + trial.block / 1000
        responses = {**trial.responses, CPU: 100.0 * (cpu[trial.block % len(cpu)] if mine else 1.0)}
        regime = {**trial.regime, "counted_along": "a fake"}
        if trial.block <= blocks:
            responses[NAME] = 1e5 * wander * (instructions if mine else 1.0)
        trials.append(replace(trial, responses=responses, regime=regime))
    findings.__dict__["trials"] = tuple(trials)
    return findings


def test_the_timed_verdict_comes_first_and_then_what_is_executed_and_explained(tmp_path: Path) -> None:
    findings = found(tmp_path, 1.10, [1.19, 1.20, 1.21])
    first, executes, explains, *_, advice = headline_of(findings).sentences
    assert first == headline_of(Findings(make_run(tmp_path / "timed"))).sentences[0]
    assert executes.startswith("with table.fillfactor=75 each transaction executes 10 % more instructions")
    assert "table.fillfactor=50 is equivalent to 100 within ±0.2 %" in executes
    assert "20.1 % more server CPU" in explains
    assert explains.endswith("of which the instructions explain 50 % (45 to 56 %)")
    assert advice == "take table.fillfactor=75, unless space and instructions count more"
    values: Any = plain(findings)["counted_along"]
    mine = next(each for each in values if each["instructions"]["treatment"] == "table.fillfactor=75")
    share, low, high = mine["explained"]
    assert low < share < high
    assert share == pytest.approx(0.5, abs=0.03)


def test_what_is_not_told_of_the_cpu_is_not_explained(tmp_path: Path) -> None:
    said = " | ".join(headline_of(found(tmp_path, 1.10, [0.7, 1.4])).sentences)
    assert "what the instructions explain of it is not known" in said
    assert "instructions explain 1" not in said


def test_of_a_cpu_time_that_is_equivalent_nothing_is_left_to_explain(tmp_path: Path) -> None:
    said = headline_of(found(tmp_path, 1.10, [0.999, 1.0, 1.001])).sentences
    (cpu,) = [each for each in said if "server CPU" in each and "75 is equivalent to 100" in each]
    assert "explain" not in cpu


def test_counts_say_nothing_before_a_verdict_and_nothing_where_none_are(tmp_path: Path) -> None:
    early = headline_of(found(tmp_path, 1.10, [1.2], blocks=2)).sentences
    none = headline_of(Findings(make_run(tmp_path / "none"))).sentences
    assert not any("instructions" in each for each in (*early, *none))


def test_a_run_that_counted_shows_no_time(tmp_path: Path) -> None:
    """Under an instrument all times are long; what is shown of a timed run shows that the words are looked for."""
    timed = Findings(make_run(tmp_path / "run"))
    counted = Findings(timed.run)
    regime = {"counted": "a fake", "window_s": None, "warmup_s": None}
    counted.__dict__["trials"] = tuple(
        replace(each, regime={**each.regime, **regime}, responses={**each.responses, "tps": None})
        for each in timed.trials
    )
    for words in ("8 s a trial", "window 8 s", "each trial&#39;s speed", "explains the speed"):
        assert words.lower() in body(timed).lower(), words
        assert words.lower() not in body(counted).lower(), words
    of_tps = [each.text for each in counted.claims if each.claim.response == "tps" and not each.claim.untestable]
    assert {text.partition(": ")[2] for text in of_tps} == {"this run did not measure tps"}


def effect(estimate: float, low: float, high: float) -> Effect:
    return Effect("a", "", "", "cost", Scale.RATIO, 8, estimate, low, high, 0.95, "", ())


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        ((1.10, 1.09, 1.11), (1.20, 1.16, 1.25), (0.5, 0.36, 0.6875)),
        ((0.90, 0.89, 0.91), (1.20, 1.10, 1.30), (-0.5, -1.1, -0.3)),
        ((1.0, 0.999, 1.001), (0.9, 0.85, 0.95), (0.0, -0.02, 0.02)),
        ((1.10, 1.09, 1.11), (1.05, 0.95, 1.15), None),
    ],
)
def test_the_share_explained_is_the_ratio_of_both_changes(
    part: tuple[float, float, float], whole: tuple[float, float, float], expected: tuple[float, float, float] | None
) -> None:
    share = share_explained(effect(*part), effect(*whole))
    assert share == (None if expected is None else pytest.approx(expected))
