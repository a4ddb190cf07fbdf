"""A surface drawn through recorded trials is the planted one, and its file is read back as it was written."""

import random
from math import exp, log
from pathlib import Path

import pytest

from benchmarks.advise import searched, servers
from benchmarks.recorded_surrogate import Axis, Recorded, Trial, read, recorded, surface, told, write
from pgassay.advise import folder
from pgassay.advise.asking import settings_of
from pgassay.advise.budget import amounts
from pgassay.advise.constraints import Limits
from pgassay.advise.folder import Kept
from pgassay.advise.question import Question
from pgassay.advise.space import Machine, space_of
from pgassay.advise.task import Task
from pgassay.testing.planted import make_run

NOISE = 0.03
LEVELS = ("1", "2", "4", "8", "16")


def planted(changes: dict[str, str]) -> float:
    """`a` has its best level inside, `w` and `b` help only together, `c` does nothing."""
    at = {name: LEVELS.index(changes.get(name, "1")) / 4 for name in "abc"}
    word = float(changes.get("w") == "on")
    return 0.4 * at["a"] - 0.3 * at["a"] ** 2 + 0.5 * at["b"] * word


def trials(count: int, higher: bool) -> Recorded:
    chance = random.Random("planted")
    axes = (*(Axis(name, LEVELS, "1", "1", "", ordered=True) for name in "abc"),
            Axis("w", ("off", "on"), "off", "off", "", ordered=False))  # fmt: skip
    found = []
    for number in range(count):
        batch = number // 8
        changes = {each.name: chance.choice(each.levels) for each in axes if chance.random() < 0.7}
        changes = {} if number % 8 == 0 else {"a": "8", "b": "16"} if number % 8 == 1 else changes
        value = planted(changes) + 0.2 * (batch % 3) + chance.gauss(0, NOISE)
        found.append(Trial(f"search-{batch}/1", changes, 1000 * exp(value if higher else -value)))
    return Recorded("planted", "tps", higher, axes, Limits(64 << 30, 4), 6.0, tuple(found))


@pytest.mark.parametrize("higher", [True, False])
def test_the_surface_is_the_planted_one_whatever_batches_have_in_common(higher: bool) -> None:
    kept = trials(320, higher)
    found = surface(kept)
    for changes in ({}, {"a": "8"}, {"b": "16"}, {"b": "16", "w": "on"}, {"c": "16"}, {"a": "16", "b": "4", "w": "on"}):
        assert found.gain(kept.space.start.with_values(changes)) == pytest.approx(planted(changes), abs=0.05)
    assert found.gain(kept.space.start) == 0
    assert NOISE / 1.4 < found.noise < NOISE * 1.4
    assert found.predicted > 0.9
    assert found.highest(kept.limits) == pytest.approx(0.5 + 0.4 * 0.75 - 0.3 * 0.75**2, abs=0.06)


def test_of_noise_alone_nothing_is_predicted() -> None:
    kept = trials(80, higher=True)
    chance = random.Random("noise")
    flat = tuple(Trial(each.batch, each.changes, 1000 * exp(chance.gauss(0, NOISE))) for each in kept.trials)
    found = surface(Recorded("flat", "tps", True, kept.axes, kept.limits, 6.0, flat))
    assert found.predicted < 0.1
    assert found.highest(kept.limits) < 0.06


def test_a_sampler_searches_a_file_and_its_regret_is_by_the_surface(tmp_path: Path) -> None:
    kept = trials(160, higher=True)
    write(tmp_path / "kept.json", kept)
    assert read(tmp_path / "kept.json") == kept
    made, noise = servers(tmp_path / "kept.json", 15)
    assert float(noise) == pytest.approx(surface(kept).noise, abs=1e-4)
    outcome = searched(made(0.001, 1), 60, "tpe")
    assert -1e-9 <= outcome.regret < 0.3
    assert outcome.placebos is None


def test_the_trials_of_an_advice_are_read_by_what_they_set(tmp_path: Path) -> None:
    space = space_of(settings_of({"table.fillfactor": {"levels": ["50", "75", "100"]}}, ["table.fillfactor"]),
                     Machine(8 << 30, 2), {})  # fmt: skip
    task = Task(space, Limits(8 << 30, 4), amounts(1e6, 6.0, 1, finalists=1), True, 0.05, 1)
    folder.begin(tmp_path / "advice", Kept(task, Question({"driver": "pgbench"}, "tps")))
    make_run(tmp_path / "advice" / "search-01", discarded=False)
    kept = recorded(tmp_path / "advice")
    assert len(kept.trials) == 24
    assert {tuple(each.changes.items()) for each in kept.trials} == {
        (), (("table.fillfactor", "75"),), (("table.fillfactor", "50"),)
    }  # fmt: skip
    assert len({each.batch for each in kept.trials}) == 8
    found = surface(kept)
    assert found.gain(space.start.with_values({"table.fillfactor": "75"})) == pytest.approx(log(1.2), abs=0.03)
    assert found.gain(space.start.with_values({"table.fillfactor": "50"})) == pytest.approx(0, abs=0.03)
    assert "24 trials, 1 setting:" in told(kept, found)
