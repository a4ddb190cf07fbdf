"""What benchmarks/turns_against_sequential asks of a server, and what it makes of the speeds."""

from dataclasses import replace
from math import exp, log
from random import Random

import pytest

from benchmarks.turns_against_sequential import (
    SETTINGS,
    STUDIES,
    WAYS,
    Speed,
    baseline_of,
    contrasts,
    study,
    table,
    welch,
)


def speeds(apart: float) -> list[Speed]:
    """Both ways of a question: in turns "off" is 10 % faster, one after the other by `apart`."""
    source, made = Random(5), []
    for way, effect, noise in zip(WAYS, (0.1, apart), (0.01, 0.05), strict=True):
        for block in range(1, 7):
            for treatment, gain in (("on", 0.0), ("off", effect)):
                tps = 1000.0 * (1.0 + gain) * exp(source.gauss(0, noise))
                made.append(Speed("synchronous_commit", way, f"server.synchronous_commit={treatment}", block, tps))
    return made


@pytest.mark.parametrize("question", [*SETTINGS, *STUDIES])
def test_a_question_is_asked_both_ways_of_the_same_treatments(question: str) -> None:
    made = [study(question, way, 5, 20).study for way in WAYS]
    assert [each.design.pairing for each in made] == list(WAYS)
    assert {(each.design.blocks_min, each.design.blocks_max) for each in made} == {(5, 5)}
    names = [sorted(arm.name for arm in each.arms) for each in made]
    assert names[0] == names[1]
    assert baseline_of(question) in names[0]


def test_ways_agree_where_their_effects_do() -> None:
    (row,) = table(speeds(apart=0.1))[2:]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:3] == ["server.synchronous_commit=off", "paired", "6, 6"]
    assert float(cells[3].split(" %")[0]) == pytest.approx(10.0, abs=1.5)
    assert cells[6] == "yes"
    assert table(speeds(apart=0.5))[2].endswith("| no |")
    assert table([each for each in speeds(apart=0.1) if each.way == WAYS[0]])[2:] == []


def test_each_placement_of_servers_in_turns_has_a_row() -> None:
    made = speeds(apart=0.1)
    free = [replace(each, placement="free", tps=each.tps * 1.5) for each in made if each.way == WAYS[0]]
    assert [row.split("|")[2].strip() for row in table([*made, *free])[2:]] == ["paired", "free"]


def test_a_block_without_one_of_both_is_left_out() -> None:
    made = [each for each in speeds(0.1) if each.way == WAYS[0]]
    found = contrasts(made[:-1], "server.synchronous_commit=off", "server.synchronous_commit=on")
    assert len(found) == 5
    assert sum(found) / 5 == pytest.approx(log(1.1), abs=0.02)


def test_welch_is_that_of_a_textbook() -> None:
    mean, half = welch([0.0, 2.0, 4.0], [0.0, 2.0, 4.0])
    assert mean == 0.0
    assert half == pytest.approx(2.776445 * (2 * 4.0 / 3) ** 0.5, rel=1e-6)
