"""Crossed, linked or partly so; equal time or equal work: said in words that follow from the study alone."""

from itertools import product

import pytest

from pgassay.report.regimes import equality, layout
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Design, Study
from pgassay.study.work import TRANSACTION

PAGE, WAL = "build.block_size", "build.wal_block_size"


def study_of(pairs: list[tuple[str, str]], **fixed: str) -> Study:
    made = tuple(Combination({PAGE: Level(page, page), WAL: Level(wal, wal)}) for page, wal in pairs)
    factors = {
        name: tuple({each.levels[name].typed: each.levels[name] for each in made}.values()) for name in (PAGE, WAL)
    }
    held = {f"load.{name}": Level(typed, typed) for name, typed in fixed.items()}
    return Study("s", "", "", factors, made, Design(made[0]), "tps", fixed=held)


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (list(product(("2kB", "8kB"), ("8kB", "64kB"))), "crossed: "),
        ([("2kB", "2kB"), ("4kB", "4kB"), ("8kB", "8kB")], "linked: "),
        ([("8kB", "8kB"), ("4kB", "8kB"), ("8kB", "64kB")], "partly crossed: "),
    ],
)
def test_the_layout_is_told(pairs: list[tuple[str, str]], says: str) -> None:
    assert layout(study_of(pairs)).startswith(says)


def test_one_factor_has_no_layout() -> None:
    single = tuple(Combination({PAGE: Level(page, page)}) for page in ("4kB", "8kB"))
    factors = {PAGE: tuple(each.levels[PAGE] for each in single)}
    assert layout(Study("s", "", "", factors, single, Design(single[0]), "tps")) == ""


def test_what_was_equal_is_told() -> None:
    pairs = [("4kB", "8kB"), ("8kB", "8kB")]
    assert equality(study_of(pairs, transactions="25000"), TRANSACTION).startswith(
        "costs are compared at equal work: 25000 "
    )
    assert "page-size-costs" in equality(study_of(pairs, duration="66s"), TRANSACTION)
    assert equality(study_of(pairs, duration="66s", transactions="none"), TRANSACTION).startswith(
        "costs are compared at equal time,"
    )
    assert "equal offered rate" in equality(study_of(pairs, rate="500"), TRANSACTION)
