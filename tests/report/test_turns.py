"""The section on what the machine did: slices on the page, where noise came from, and records that lack some of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pgassay.record import slices
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report import seconds, turns, warnings
from pgassay.report.findings import Findings
from pgassay.report.section import Sentences, Surface
from pgassay.study.responses import Status
from pgassay.testing.planted import BLOCKS, make_run
from tests.report.blocks import body, plain, tables
from tests.report.turned import NS, OWN, ROUNDS, START, make_turned, played


def in_turns(path: Path, lines: Callable[[TrialRecord], bytes] | None = None) -> Findings:
    return Findings(make_turned(path, lines) if lines else make_turned(path))


def said(findings: Findings) -> str:
    shown = turns.SECTION.shown(findings, Surface.PAGE)
    return " ".join(text for block in shown if isinstance(block, Sentences) for text in block.texts)


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    return in_turns(tmp_path / "run")


def test_a_run_without_slices_has_no_such_section(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    assert [block for block in turns.SECTION.shown(findings, Surface.BOTH) if not isinstance(block, Sentences)] == []
    assert said(findings) == ""
    assert "turns" not in plain(findings)
    assert 'id="turns"' not in body(findings)


def test_it_says_what_turns_left_of_the_noise(findings: Findings) -> None:
    (place,) = turns.places_of(findings)
    assert (place.blocks, place.rounds, place.lost) == (BLOCKS, BLOCKS * ROUNDS, 0)
    assert place.turns is not None
    assert place.turns.noise < 2 * (START**2 + OWN**2 / ROUNDS) ** 0.5
    text = said(findings)
    assert f"{BLOCKS * ROUNDS} rounds in {BLOCKS} blocks" in text
    assert "in turns" in turns.SECTION.brief(findings)


def test_shares_of_variance_are_whole(findings: Findings) -> None:
    (found,) = tables(turns.SECTION, findings)
    shares = [float(str(row[2]).removesuffix(" %")) for row in found.rows]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert [row[0] for row in found.rows][1] == "the start of a server: stays"


def test_what_a_turn_leaves_to_the_next_is_a_reason_to_distrust(tmp_path: Path) -> None:
    """The first tenth of one treatment's slices is slower by 40 %, which shifts its comparison by some 4 %."""

    def slow_start(trial: TrialRecord) -> bytes:
        made = played(trial)
        if trial.treatment.endswith("=50"):
            made = [replace(each, parts=(round(each.parts[0] * 0.6), *each.parts[1:])) for each in made]
        return slices.encode(made)

    whole = in_turns(tmp_path / "whole")
    assert [*turns.carried_over(whole)] == []
    assert "no comparison shifts by more than ±1 %" in said(whole)
    shifted = in_turns(tmp_path / "shifted", slow_start)
    (sentence,) = turns.carried_over(shifted)
    assert sentence.startswith("table.fillfactor=50: the first tenth of its slices shifts the comparison by -4")
    assert sentence in warnings.reasons(shifted)
    assert "no comparison shifts" not in said(shifted)


def test_slices_that_cannot_be_read_are_named_and_take_nothing_from_the_others(tmp_path: Path) -> None:
    findings = in_turns(tmp_path / "run", lambda trial: b"{torn" if trial.number == 2 else slices.encode(played(trial)))
    text = said(findings)
    assert "the slices of trial 2 cannot be read" in text
    assert len(findings.once(turns.slices_of).played) == 3 * BLOCKS - 1
    (place,) = findings.once(turns.places_of)
    assert place.turns is not None
    assert len(plain(findings)["slices_unread"]) == 1


def test_an_older_record_without_parts_says_what_it_can(tmp_path: Path) -> None:
    def older(trial: TrialRecord) -> bytes:
        kept = ("round", "position", "wall_ns", "thawed_ns", "opened_ns", "closed_ns", "drained_ns", "flush_ns")
        lines = [{name: getattr(each, name) for name in (*kept, "transactions")} for each in played(trial)]
        return b"".join(repr(line).replace("'", '"').encode() + b"\n" for line in lines)

    findings = in_turns(tmp_path / "run", older)
    (found,) = tables(turns.SECTION, findings)
    assert [row[0] for row in found.rows][-1] == "from slice to slice: averaged"


def test_one_arm_that_died_takes_the_rounds_that_it_missed(tmp_path: Path) -> None:
    def lines(trial: TrialRecord) -> bytes:
        mine = played(trial)
        dies = trial.block == 1 and trial.treatment.endswith("=50")
        return slices.encode(mine[:3] if dies else mine)

    findings = in_turns(tmp_path / "run", lines)
    (place,) = turns.places_of(findings)
    assert place.lost == ROUNDS - 3
    assert f"; {ROUNDS - 3} more were left out, for all of them" in said(findings)
    assert place.turns is not None


def test_a_single_block_tells_no_noise(tmp_path: Path) -> None:
    findings = in_turns(tmp_path / "run", lambda trial: slices.encode(played(trial)) if trial.block == 1 else b"")
    assert "where the noise came from is not known" in said(findings)
    assert plain(findings)["turns"][0]["noise"] is None
    assert turns.SECTION.brief(findings) == "speed over time, slice by slice"


class Given(seconds.Seconds):
    """Series that a test wrote."""

    def __init__(self, run: Run, rows: list[tuple[int, str, str, int, float]]) -> None:
        super().__init__(run)
        columns = ("trial", "source", "name", "monotonic_ns", "value")
        self._frame = pl.DataFrame(rows, schema=columns, orient="row")

    def gather(self, query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """The rows that a query asks for."""
        return query(self._frame.lazy()).collect()


def test_seconds_of_servers_in_turns_are_drawn_from_their_slices(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    trial = next(each for each in run.trials if each.status is Status.VALID)
    written = [(trial.number, "slices", "tps", (10 + 4 * each) * NS, 100.0 + each) for each in range(5)]
    before = (trial.number, "slices_warmup", "tps", 8 * NS, 90.0)
    other = (trial.number, "elsewhere", "tps", 9 * NS, 1.0)
    rows = seconds.rows_of(run.trials, Given(run, [before, other, *written]), [trial.place.name])
    assert [(row["second"], row["value"]) for row in rows if row["phase"] == seconds.MEASURED] == [
        (4.0 * each, 100.0 + each) for each in range(5)
    ]
    assert [(row["second"], row["value"]) for row in rows if row["phase"] == seconds.WARMING_UP] == [(-2.0, 90.0)]
    assert len(rows) == 6
