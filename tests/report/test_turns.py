"""Runs whose servers took turns: what a turn leaves to the next, slices on the page, and records that lack some."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from pgassay.record import slices
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report import seconds, warnings
from pgassay.report.findings import Findings
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run
from tests.report.turned import NS, make_turned, played


def in_turns(path: Path, lines: Callable[[TrialRecord], bytes] | None = None) -> Findings:
    return Findings(make_turned(path, lines) if lines else make_turned(path))


def test_what_a_turn_leaves_to_the_next_is_a_reason_to_distrust(tmp_path: Path) -> None:
    """The first tenth of one treatment's slices is slower by 40 %, which shifts its comparison by some 4 %."""

    def slow_start(trial: TrialRecord) -> bytes:
        made = played(trial)
        if trial.treatment.endswith("=50"):
            made = [replace(each, parts=(round(each.parts[0] * 0.6), *each.parts[1:])) for each in made]
        return slices.encode(made)

    whole = in_turns(tmp_path / "whole")
    assert [*warnings.carried_over(whole)] == []
    shifted = in_turns(tmp_path / "shifted", slow_start)
    (sentence,) = warnings.carried_over(shifted)
    assert sentence.startswith("table.fillfactor=50: the first tenth of its slices shifts the comparison by -4")
    assert sentence in warnings.reasons(shifted)


def test_slices_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    findings = in_turns(tmp_path / "run", lambda trial: b"{torn" if trial.number == 2 else slices.encode(played(trial)))
    (said,) = (each for each in warnings.reasons(findings) if "slices" in each)
    assert said.startswith("the slices of trial 2 cannot be read and are left out here: ")


def test_an_older_record_without_parts_is_read(tmp_path: Path) -> None:
    def older(trial: TrialRecord) -> bytes:
        kept = ("round", "position", "wall_ns", "thawed_ns", "opened_ns", "closed_ns", "drained_ns", "flush_ns")
        lines = [{name: getattr(each, name) for name in (*kept, "transactions")} for each in played(trial)]
        return b"".join(repr(line).replace("'", '"').encode() + b"\n" for line in lines)

    assert warnings.carried_over(in_turns(tmp_path / "run", older)) == []


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
