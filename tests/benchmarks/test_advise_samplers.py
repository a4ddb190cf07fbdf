"""Ways to propose beside each other: each fills a batch and learns, and what a machine lacks is said by name."""

import pytest

from benchmarks import advise_samplers
from benchmarks.advise import LIMITS, Server, searched, space_with
from benchmarks.advise_samplers import CMA_ES, GP, HALF, NEEDS, Living, possible, proposer_of, sampler_of
from pgassay.advise.budget import BATCH


@pytest.mark.parametrize("way", ["random", "tpe", "tpe multivariate", GP, CMA_ES, HALF])
def test_every_way_fills_its_batches_and_takes_its_trials(way: str) -> None:
    if way in NEEDS:
        pytest.importorskip(NEEDS[way])
    server = Server(space_with(6), 0.02, 1)
    found = searched(server, 40, way)
    assert server.trials == found.trials == 42, "a batch and its start are seven"
    assert found.regret < server.best(), "it is better than the start"


def test_one_study_knows_what_is_under_way_and_what_became_of_it() -> None:
    space = space_with(6)
    living = Living(space, sampler_of("random", 1))
    first = living.batch()
    assert len(set(first)) == BATCH
    assert space.start not in first
    assert living.batch() == first, "they are under way"
    living.learn([(each, None if each == first[0] else 0.1) for each in first])
    assert living.batch() != first
    assert living.choice() is None


def test_half_of_a_batch_is_where_the_process_hopes() -> None:
    server = Server(space_with(6), 0.02, 1)
    half = proposer_of(HALF, server.space, LIMITS, 1)
    for _ in range(6):
        values = [(each, server.truth(each)) for each in half.batch()]
        half.learn(values)
    assert max(gain for _, gain in values[:3]) > 0.7 * server.best()
    chosen = half.choice()
    assert chosen is not None
    assert server.truth(chosen) > 0.7 * server.best()


def test_what_is_not_installed_is_said_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(advise_samplers, "find_spec", lambda name: None if name == "torch" else object())
    assert possible() == ("random", "tpe", "tpe multivariate", CMA_ES, HALF)
    assert capsys.readouterr().out == "gaussian process: not compared, torch is not installed\n"
