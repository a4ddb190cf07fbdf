"""A configuration that is refused beforehand costs its own place in a run, not the search."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.advise.asking import settings_of
from pgassay.advise.laboratory import REFUSED_FILE, RealLaboratory, failed, refused_by, refused_in
from pgassay.advise.report import render
from pgassay.advise.space import Configuration, Machine, space_of
from pgassay.advise.task import Cause, Failure, Question, relative
from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces.errors import SettingError
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.report.findings import Findings
from pgassay.study.document import Document
from tests.advise.test_lines import Delayed, advised, task
from tests.advise.test_lines import space as bad_space

SPACE = space_of(settings_of({}, ["work_mem", "jit", "random_page_cost"]), Machine(8 << 30, 2), {})
START = SPACE.start
JIT, MEMORY, COST = (
    START.with_values({name: SPACE.dimension(name).far}) for name in ("jit", "work_mem", "random_page_cost")
)


def refusing(*refused: Configuration, words: str = "no such value") -> Callable[[Sequence[Configuration]], None]:
    def check(configurations: Sequence[Configuration]) -> None:
        for number, each in enumerate(refused):
            if each in configurations:
                raise SettingError(f"{words} {number}")

    return check


def test_those_that_are_refused_are_found_with_their_reasons() -> None:
    everything = [START, JIT, MEMORY, COST]
    assert refused_by(refusing(JIT, COST), START, everything) == {
        JIT: "no such value 0",
        COST: "no such value 1",
    }
    assert refused_by(refusing(JIT), START, [START, JIT]) == {JIT: "no such value 0"}
    assert refused_by(refusing(START), START, everything) == {}, "it is not they that are refused"


class RanError(Exception):
    """A run would begin, of so many treatments."""


class Lab(RealLaboratory):
    """Refuses a configuration whose study holds a word; runs nothing."""

    def _check(self, wanted: Document) -> None:
        if any("off" in each.values() for each in wanted["treatments"]):
            raise UsageError("jit is refused")

    def _measured(self, name: str, wanted: Document) -> Findings:
        self._check(wanted)
        raise RanError(str(len(wanted["treatments"])))


def laboratory(folder: Path, told: list[str] | None = None) -> Lab:
    heard: list[str] = [] if told is None else told
    question = Question({"driver": "pgbench"}, "tps")
    return Lab(
        folder,
        question,
        SPACE,
        BenchOptions(),
        lambda study: nullcontext(Watcher()),
        notify=lambda text: heard.append(text),
    )


def test_a_run_goes_on_without_what_is_refused(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(RanError, match="3"):
        laboratory(tmp_path, told).batch("search-01", START, [JIT, MEMORY, COST], 1)
    assert told == ["left out, since it is refused: jit = off: jit is refused"]
    with pytest.raises(RanError, match="2"):
        laboratory(tmp_path, told).study("confirmation", MEMORY, [JIT, START], 1, 10.0)
    assert len(told) == 1, "it is known, and not asked again"
    lab = laboratory(tmp_path)
    for name in ("search-02", "search-03"):
        assert lab.batch(name, START, [JIT], 1) == {JIT: None}
    assert lab.refused() == (Failure({"jit": "off"}, 1, Cause.REFUSED, "jit is refused", 1),), "once, and not each time"
    assert laboratory(tmp_path).study("confirmation", JIT, [START, MEMORY], 1, 10.0) == {}


def test_what_was_refused_is_kept_for_a_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def strict(self: RealLaboratory, wanted: Document) -> None:
        if any(COST.values["random_page_cost"] in each.values() for each in wanted["treatments"]):
            raise UsageError("the cost is refused")

    assert refused_in(tmp_path) == {}
    with pytest.raises(RanError, match="2"):
        laboratory(tmp_path).batch("search-01", START, [JIT, MEMORY], 1)
    assert refused_in(tmp_path) == {JIT: "jit is refused"}
    monkeypatch.setattr(Lab, "_check", strict)
    with pytest.raises(RanError, match="2"):
        laboratory(tmp_path).batch("search-02", START, [COST, MEMORY], 1)
    assert refused_in(tmp_path) == {JIT: "jit is refused", COST: "the cost is refused"}


def test_what_no_configuration_is_to_blame_for_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(self: RealLaboratory, name: str, wanted: Document) -> Findings:
        raise PgassayError("the disk is full")

    monkeypatch.setattr(Lab, "_measured", busy)
    with pytest.raises(PgassayError, match="the disk is full"):
        laboratory(tmp_path).batch("search-01", START, [JIT, MEMORY], 1)
    assert not (tmp_path / REFUSED_FILE).exists()


def test_refused_it_fails_against_any_other() -> None:
    server = Delayed(bad_space(), 0.03, 1, misled=False)
    asked, found = task(server), advised(server)
    proof = {**found.proof, "default": failed("tps", "jit is refused")}
    told = render(asked, replace(found, proof=proof), ["tps"], "x")
    assert "against the default: it fails: jit is refused" in told


def test_what_is_refused_has_failed_even_where_the_start_was_disturbed() -> None:
    asked = replace(task(Delayed(bad_space(), 0.03, 1)), space=SPACE)

    def trials(
        name: str, start: Configuration, configurations: Sequence[Configuration], seed: int
    ) -> dict[Configuration, tuple[float, ...] | None]:
        return {JIT: None, COST: (2.0,)}

    measure = relative(asked, trials)
    assert measure("x", [JIT, COST], 1) == {JIT: None}
