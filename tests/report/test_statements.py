"""Statements in a report: planted latencies of scripts come back as one family, worst first, with plans and rows."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pgassay._core import LatencySketch
from pgassay.record.ask import LATENCIES_FILE as FILE
from pgassay.record.ask import STATEMENTS_FILE as TRIED
from pgassay.record.ask import StatementRecord, encode_statements
from pgassay.report import contents, headline, statements, warnings
from pgassay.report.findings import Findings
from pgassay.report.section import Code, Folded, Table
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run

BASELINE, WIDE, HALF = (f"table.fillfactor={level}" for level in ("100", "75", "50"))
SCRIPTS = ("reads", "writes", "joins", "counts", "sorts", "merges", "scans")
SLOWER: Mapping[tuple[str, str], float] = {("writes", "75"): 3.0, ("joins", "50"): 1.5, ("reads", "75"): 0.5}
"""By script and level; all others take as long as with the baseline."""


def text_of(sketch: LatencySketch) -> str:
    return base64.b64encode(sketch.to_bytes()).decode()


def planted(path: Path, scripts: tuple[str, ...] = SCRIPTS) -> Findings:
    """Each script takes a millisecond, a little more or less by block, times what is planted."""
    run = make_run(path, fixed=[f"load.script={','.join(f'/x/{each}.sql@1' for each in scripts)}"])
    for trial in run.trials:
        level, whole, mine = trial.treatment.partition("=")[2], LatencySketch(), {}
        for number, script in enumerate(scripts):
            sketch = LatencySketch()
            wander = 1 + 0.02 * ((trial.number * (number + 3)) % 5)
            sketch.record(round(1000 * wander * SLOWER.get((script, level), 1.0)), 100)
            mine[str(number)] = text_of(sketch)
            whole.merge(sketch)
        kept = {"format": 1, "interval_us": 1_000_000, "total": text_of(whole), "intervals": [], "scripts": mine}
        if trial.status is Status.VALID:
            (run.trial_directory(trial.number) / FILE).write_text(json.dumps(kept))
    return Findings(run)


def with_answers(findings: Findings) -> Findings:
    """As `pgassay ask` tries them: `writes` has another plan, `joins` other rows."""
    plans = {BASELINE: "Index Scan  (cost=1)", WIDE: "Seq Scan  (cost=9)", HALF: "Index Scan  (cost=1)"}
    tried = [
        StatementRecord("writes", "UPDATE t SET a = $1", 50, plans, {BASELINE: 50, WIDE: 50, HALF: 50}),
        StatementRecord("joins", "SELECT * FROM t JOIN u USING (id)", 50, {}, {BASELINE: 1200, WIDE: 1200, HALF: 0}),
    ]
    (findings.run.path / TRIED).write_bytes(encode_statements(tried))
    return findings


def test_the_slower_statements_come_first_and_share_one_error_rate(tmp_path: Path) -> None:
    found = statements.of_run(planted(tmp_path / "run"))
    assert [(each.script, each.effect.treatment) for each in found.effects if each.slower] == [
        ("writes", WIDE), ("joins", HALF),
    ]  # fmt: skip
    assert [each.script for each in found.effects[:2]] == ["writes", "joins"]
    assert [(each.script, each.effect.treatment) for each in found.effects if each.faster] == [("reads", WIDE)]
    assert {each.effect.comparisons for each in found.effects} == {len(SCRIPTS) * 2}
    worst = found.effects[0].effect
    assert worst.low < 3.0 < worst.high
    assert worst.estimate == pytest.approx(3.0, rel=0.03)


def test_answer_and_page_tell_the_worst_with_their_plans(tmp_path: Path) -> None:
    findings = with_answers(planted(tmp_path / "run"))
    answers, *_, slower = findings.once(headline.headline_of).sentences
    assert answers == (
        "1 statement gives another number of rows: SELECT * FROM t JOIN u USING (id) gives 0 instead of 1,200 with"
        f" {HALF}"
    )
    first, second = slower.split("; ")
    assert first.startswith("2 of 7 statements are slower (intervals for all together): UPDATE t SET a = $1 ×3")
    assert first.endswith(f" with {WIDE}")
    assert second.startswith("SELECT * FROM t JOIN u USING (id) ×1.5")
    blocks = tuple(statements.SECTION.blocks(findings))
    tables = [each for each in blocks if isinstance(each, Table)]
    assert [table.title for table in tables] == ["Statements whose answers differ", "The worst statements"]
    assert [len(table.rows) for table in tables] == [1, statements.SHOWN]
    plans, every = (each for each in blocks if isinstance(each, Folded))
    assert plans.blocks == (
        Code("Index Scan  (cost=1)", f"with {BASELINE}"),
        Code("Seq Scan  (cost=9)", f"with {WIDE}"),
    )
    (whole,) = every.blocks
    assert isinstance(whole, Table)
    assert len(whole.rows) == len(SCRIPTS) * 2


def test_answers_that_differ_are_doubted_and_in_the_json(tmp_path: Path) -> None:
    findings = with_answers(planted(tmp_path / "run"))
    assert warnings.reasons(findings)[0] == (
        f"1 statement gives another number of rows with {HALF}: SELECT * FROM t JOIN u USING (id) 0 instead of 1,200"
    )
    part = contents.document(findings)["statements"]
    assert part["other_rows"] == [
        {"statement": "SELECT * FROM t JOIN u USING (id)", "arm": HALF, "calls": 50, "baseline_rows": 1200, "rows": 0}
    ]
    assert part["effects"][0]["statement"] == "UPDATE t SET a = $1"


def test_what_answers_otherwise_is_never_recommended(tmp_path: Path) -> None:
    findings = planted(tmp_path / "run")
    assert f"take {WIDE}, unless space counts more" in findings.once(headline.headline_of).sentences
    wrong = StatementRecord("joins", "SELECT * FROM t", 50, {}, {BASELINE: 1200, WIDE: 1199, HALF: 1200})
    (findings.run.path / TRIED).write_bytes(encode_statements([wrong]))
    said = Findings(findings.run).once(headline.headline_of).sentences
    assert f"{WIDE} answers statements otherwise than the baseline: find out why before anything else" in said


def test_where_none_is_slower_the_headline_says_so(tmp_path: Path) -> None:
    findings = planted(tmp_path / "run", ("counts", "sorts"))
    assert statements.slower(statements.of_run(findings)) == "none of 2 statements was shown to be slower"


def test_a_load_of_one_script_has_no_statements(tmp_path: Path) -> None:
    findings = planted(tmp_path / "run", ("writes",))
    assert statements.of_run(findings) == statements.Statements()
    assert tuple(statements.SECTION.blocks(findings)) == ()
    assert statements.slower(statements.of_run(findings)) == ""
