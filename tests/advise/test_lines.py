"""What the screening has shown stays, and a default that does better is taken: a search may be misled."""

from dataclasses import dataclass, replace
from math import log

import pytest

from benchmarks.advise import LIMITS, TRIAL_S, Server
from pgassay.advise import budget, proof
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.proof import TAKEN, Line
from pgassay.advise.report import gain, headline, proof_sentences, render, values
from pgassay.advise.screening import LINES, Screened, Standing
from pgassay.advise.smoothing import expected, trimmed
from pgassay.advise.space import Configuration, Machine, Space, space_of
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice, walk
from pgassay.study.units import canonical
from tests.advise.stepped import Stepped

BAD = {"delay": "20000", "buffers": "32"}
WAITS = {"0": 0.0, "250": 0.25, "500": 0.5, "750": 0.75, "1000": 1.0, "20000": 16.0}


def space() -> Space:
    """Two settings that were made bad, and six that do nothing; the default of one of them is no level."""
    settings = [
        Setting("delay", "0", Scale.LINEAR, low="0", high="1000", step=250),
        Setting("buffers", "-1", Scale.LOG, low="64", high="65536", step=4, rule="16384"),
        *(Setting(f"s{number}", "1", Scale.LOG, low="1", high="16") for number in range(6)),
    ]
    return space_of(settings, Machine(64 << 30, 8), BAD)


@dataclass
class Delayed(Stepped):
    """A commit works and waits; with few buffers it works longer. The search sees neither, and likes a short wait."""

    misled: bool = True

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed: 0 at the start. In the search's own batches, and there only, it is another one."""
        wait, few = WAITS[configuration.values["delay"]], configuration.values["buffers"] == "32"
        if self.misled and self.step.startswith("search-"):
            return -log((1.0 if wait == 0.25 else 1.1 + wait) / 17.4)
        return -log((1.0 + 0.4 * few + wait) / 17.4)


def task(server: Server) -> Task:
    steps = budget.amounts(1200.0, TRIAL_S, len(server.space.dimensions), finalists=1)
    return Task(server.space, LIMITS, steps, True, 0.10, server.seed)


def advised(server: Server) -> Advice:
    found = walk(task(server), server)
    assert found.confirmed
    return found


@pytest.mark.parametrize("seed", range(1, 4))
def test_what_the_screening_has_shown_stays_whatever_the_search_saw(seed: int) -> None:
    found = advised(Delayed(space(), 0.03, seed))
    assert {each.name for each in found.screened if each.standing is Standing.ACTIVE} == set(BAD)
    kept = {each.name: each.value for each in found.lines if each.kept}
    assert set(kept) == set(BAD)
    assert kept["delay"] == "0", "the default does better than what the search chose"
    assert "better still" not in headline(found, ["tps"])


def test_trimming_keeps_what_is_shown_whatever_is_expected_of_it() -> None:
    here = space().narrowed(["delay", "buffers", "s0"])
    start = here.start
    seen = [
        [(start.with_values({"delay": wait, "buffers": some, "s0": other}), (2.0,)) for some in ("64", "256", "1024")]
        for wait, other in (("0", "1"), ("250", "4"), ("0", "16"), ("250", "1"))
    ]
    process = expected(here, seen)
    whole = start.with_values({"delay": "0", "buffers": "256", "s0": "16"})
    measured = {each: [gain] for batch in seen for each, gain in batch}
    assert len(trimmed(process, whole, LIMITS, measured, 0.5, 6).changes_from(start)) == 1
    kept = trimmed(process, whole, LIMITS, measured, 0.5, 6, keep={"delay", "buffers"})
    assert kept.changes_from(start) == {"delay": "0", "buffers": "256"}
    assert trimmed(process, whole, LIMITS, measured, 0.5, 1, keep=BAD).changes_from(start).keys() == BAD.keys()


def screened(name: str, start: str, far: str, effect: float, standing: Standing = Standing.ACTIVE) -> Screened:
    return Screened(name, start, far, effect, effect / 1.05, effect * 1.05, standing)


SCREENED = (screened("delay", "20000", "0", 14.0), screened("buffers", "32", "65536", 1.3))


@dataclass
class Quiet(Server):
    """A server where one setting gains a tenth once nothing hides it."""

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed."""
        return 0.1 * (configuration.values["delay"] == "0") * (configuration.values["s2"] == "16")


def test_what_the_trials_beside_lines_told_is_known_of_a_setting_that_the_screening_left_open() -> None:
    delay, s0, s1, s2 = (
        SCREENED[0],
        *(screened(name, "1", "16", 1.0, Standing.OPEN) for name in ("s0", "s1", "s2")),
    )
    beside = [replace(screened(name, "1", "16", 1.0, standing), along_with=LINES) for name, standing in (
        ("delay", Standing.PLACEBO), ("s0", Standing.PLACEBO), ("s1", Standing.OPEN),
    )]  # fmt: skip
    found = Advice((delay, s0, s1, s2), 0, in_and_out=tuple(beside))
    assert found.known == (delay, beside[1], s1, s2)
    asked = task(Delayed(space(), 0.03, 1))
    told = render(asked, found, ["tps"], "RUN")
    assert (
        "do not matter within ±10 % from start to far level: 1 setting\n  s0 1 to 16 along with the advised lines: "
        in told
    )
    assert "may matter, which was not resolved: s1, s2" in told


def test_what_the_search_leaves_alone_is_put_in_at_the_default_or_the_screened_level() -> None:
    asked = task(Delayed(space(), 0.03, 1))
    one = asked.space.start.with_values({"s0": "4"})
    whole = proof.completed(asked, one, SCREENED)
    assert whole.changes_from(asked.space.start) == {"s0": "4", "delay": "0", "buffers": "65536"}
    assert proof.completed(asked, one, [replace(each, effect=1 / each.effect) for each in SCREENED]) == one
    assert proof.completed(asked, one, [replace(each, standing=Standing.OPEN) for each in SCREENED]) == one


@pytest.mark.parametrize(
    ("effect", "standing", "taken"),
    [
        (1.3, Standing.ACTIVE, "250"),
        (1.3, Standing.OPEN, "250"),
        (1.03, Standing.OPEN, "0"),
        (0.8, Standing.ACTIVE, "0"),
        (None, Standing.OPEN, "0"),
    ],
)
def test_a_level_that_is_not_better_than_the_default_gives_way_to_it(
    effect: float | None, standing: Standing, taken: str
) -> None:
    asked = task(Delayed(space(), 0.03, 1))
    best = asked.space.start.with_values({"delay": "250", "buffers": "256"})
    assert proof.contested(asked, best, SCREENED) == {"delay": "0"}, "the default of buffers is no level"
    tried = [] if effect is None else [replace(screened("delay", "0", "250", effect, standing), along_with=LINES)]
    levels = proof.levels_of(asked, best, SCREENED, tried)
    assert [each.taken for each in levels] == [taken]
    found, why = proof.earned(asked, best, SCREENED, tried, levels)
    assert found.changes_from(asked.space.start) == {"delay": taken, "buffers": "256"}
    assert {each.name: each.start for each in why} == BAD, "what shows it is the screening"
    (said,) = proof_sentences(asked, Advice(SCREENED, 0, levels=tuple(levels)), ["tps"])
    assert f"delay = {taken} and not " in said
    assert proof.unproven(best, found, asked.space.start, tried, {"delay"}) == ()


def test_a_level_about_which_the_screening_says_nothing_must_be_shown() -> None:
    words = Setting("word", "a", Scale.ENUM, levels=("a", "b", "c"), rule="b")
    own = space_of([words, Setting("s0", "1", Scale.LOG, low="1", high="16")], Machine(64 << 30, 8), {})
    asked = replace(task(Delayed(space(), 0.03, 1)), space=own)
    best, shown = own.start.with_values({"word": "c"}), [screened("word", "a", "b", 1.5)]
    assert proof.contested(asked, best, shown) == {"word": "b"}
    for standing, taken in ((Standing.OPEN, "b"), (Standing.ACTIVE, "c")):
        tried = [screened("word", "b", "c", 1.3, standing)]
        levels = proof.levels_of(asked, best, shown, tried)
        found, [why] = proof.earned(asked, best, shown, tried, levels)
        assert found.values["word"] == why.far == taken


class Better(Delayed):
    """Only in studies, whose blocks are many, one more setting of the start is seen to cost speed."""

    cost = 0.2

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed."""
        return super().truth(configuration) - self.cost * (configuration.values["s0"] == "16" and not self.step)


@pytest.mark.parametrize("seed", range(1, 3))
def test_a_default_that_is_shown_to_do_better_is_taken(seed: int) -> None:
    own = space_of([each.setting for each in space().dimensions], Machine(64 << 30, 8), {**BAD, "s0": "16"})
    server = Better(own, 0.02, seed, misled=False)
    found = advised(server)
    assert found.outdone is not None
    assert found.outdone.by in ("default", "rule of thumb")
    assert found.study == TAKEN
    assert found.recommended is not None
    assert found.recommended.values["s0"] == "1"
    told = {each.name: each for each in found.lines if each.kept}
    assert {name: canonical(each.value) for name, each in told.items()} == {
        name: canonical(value) for name, value in found.recommended.changes_from(own.start).items()
    }
    assert "which was shown to do better as a whole; " in gain(told["s0"], "tps"), "lines in and out do not see it"
    assert "better still" not in headline(found, ["tps"])
    asked = task(server)
    assert f"the {found.outdone.by} was shown to do better than the lines of the search" in render(
        asked, found, ["tps"], "x"
    )
    assert values(asked, found, ["tps"], "x")["outdone_by"] == found.outdone.by
    assert server.trials * TRIAL_S <= 1200.0, "its time is in the budget"


def test_a_default_is_taken_where_the_budget_holds_its_proof_and_else_the_headline_says_so() -> None:
    own = space_of([each.setting for each in space().dimensions], Machine(64 << 30, 8), {**BAD, "s0": "16"})
    server = Better(own, 0.02, 1, misled=False)
    asked, count = task(server), len(own.dimensions)
    assert asked.amounts.takeover_s == TRIAL_S * budget.BLOCKS_MIN * 4
    needed_s = asked.amounts.needed_s
    least = budget.amounts(needed_s, TRIAL_S, count, finalists=1)
    assert (least.needed_s, least.takeover_s) == (needed_s, 0.0)
    assert budget.amounts(1200.0, TRIAL_S, count, finalists=1, references=1).takeover_s == 0.0, "there is no other"
    found = walk(replace(asked, amounts=replace(asked.amounts, takeover_s=0.0)), server)
    assert found.outdone is None
    assert "did better still" in headline(found, ["tps"])


def test_a_default_that_does_better_within_the_margin_is_not_taken() -> None:
    own = space_of([each.setting for each in space().dimensions], Machine(64 << 30, 8), {**BAD, "s0": "16"})
    server = Better(own, 0.005, 1, misled=False)
    server.cost = 0.03
    found = advised(server)
    assert log(1 + task(server).margin) > server.cost
    assert found.outdone is None
    assert "did better still" in headline(found, ["tps"]), "it is said all the same"


def test_what_goes_although_the_screening_showed_it_is_told_so() -> None:
    found = advised(Delayed(space(), 0.03, 1))
    asked = task(Delayed(space(), 0.03, 1))
    gone = tuple(replace(each, kept=each.name != "buffers") for each in found.lines)
    told = render(asked, replace(found, lines=gone), ["tps"], "x")
    words = "removed, since it helps {} and not along with the other lines: buffers = "
    assert words.format("in the screening along with delay = 0") in told, "the delay hid it"
    assert "over all of the screening" not in told
    assert "nothing showed that it helps: buffers" not in told
    whole = tuple(replace(each, along_with="") for each in found.screened)
    told = render(asked, replace(found, lines=gone, screened=whole), ["tps"], "x")
    assert words.format("over all of the screening") in told


def test_scripts_are_told_that_the_screening_keeps_a_line_only_where_it_does() -> None:
    asked = task(Delayed(space(), 0.03, 1))
    tried = replace(screened("s0", "1", "16", 1.1), along_with=LINES)
    lines_of = (
        Line("delay", "0", "20000", None, kept=True, screened=SCREENED[0]),
        Line("s0", "16", "1", None, kept=True, screened=tried),
        Line("s1", "16", "1", None, kept=False, screened=replace(tried, name="s1", standing=Standing.OPEN)),
        Line("buffers", "-1", "32", None, kept=False, screened=SCREENED[1]),
        Line("s2", "16", "1", None, kept=True),
    )
    told = values(asked, Advice((), 0, lines=lines_of), ["tps"], "x")["lines"]
    assert {each["name"]: each["screened"] for each in told} == {
        "delay": True, "s0": False, "s1": False, "buffers": False, "s2": False,
    }  # fmt: skip
