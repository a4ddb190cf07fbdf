"""Plain Optuna beside an advice, on a simulated server: as many trials, the best sample, one comparison of both."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.advise import Server, space_with
from benchmarks.advise_real import plain, told, trials_of
from pgassay.advise import folder
from pgassay.advise.folder import Kept
from pgassay.advise.question import Question
from pgassay.errors import UsageError
from pgassay.testing.planted import make_run
from tests.advise.test_walk import task


def test_it_takes_as_many_trials_and_its_best_sample_wins() -> None:
    server = Server(space_with(7), 0.02, 1)
    winner = plain(task(server), server, 60)
    assert 60 <= winner.trials < 70
    assert server.trials == winner.trials
    assert server.truth(winner.configuration) > 0
    fewer = plain(task(Server(space_with(7), 0.02, 1)), Server(space_with(7), 0.02, 1), 7)
    assert fewer.trials == 7


def test_both_are_told_from_one_comparison() -> None:
    server = Server(space_with(7), 0.02, 1)
    wanted = task(server)
    winner = plain(wanted, server, 30)
    advised = wanted.space.start.with_values({"s0": "16"})
    compared = server.study("both", advised, [wanted.space.start, winner.configuration], 1, 600.0)
    lines = told(winner, compared, wanted, "tps").splitlines()
    assert lines[0].startswith("the advice: tps +")
    assert f"of {winner.trials} trials" in lines[1]
    assert lines[2].endswith(str(compared[winner.configuration].verdict.kind))


def test_the_lines_of_an_advice_are_read_from_its_result(tmp_path: Path) -> None:
    server = Server(space_with(7), 0.02, 1)
    path = tmp_path / "advice"
    folder.begin(path, Kept(replace(task(server), seed=1), Question({}, "tps")))
    with pytest.raises(UsageError, match="has no result") as raised:
        folder.advised(path)
    assert "--resume" in str(raised.value.hint)
    (path / folder.RESULT_FILE).write_text('{"settings": {"s0": "16"}, "format": 1}')
    assert folder.advised(path) == {"s0": "16"}


def test_trials_of_the_proof_are_not_among_those_before_it(tmp_path: Path) -> None:
    before = ("screening-01", "screening-beside-01", "screening-apart-01", "search-01", "finalists", "lines-01")
    proof = (
        "confirmation", "confirmation-of-the-rest", "confirmation-of-what-did-better", "confirmation-of-its-lines",
        "confirmation-of-the-rest-of-its-lines", "reduction", "restoration", "reduction-again", "taken-reduction",
        "taken-lines-01", "whole", "elsewhere",
    )  # fmt: skip
    one = len(make_run(tmp_path / before[0]).trials)
    for name in (*before[1:], *proof):
        make_run(tmp_path / name)
    assert trials_of(tmp_path) == one * len(before)
