"""What a report says of power cuts: safe with a bound, unsafe with the first damage, and the same on every surface."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.analysis.claims import ClaimJudgement, Mark
from pgassay.analysis.numbers import bound_per_cent
from pgassay.analysis.power_cuts import KINDS, UNRECORDED, ServerAtCut, sequence_upper
from pgassay.analysis.verdicts import Kind
from pgassay.record.power_cuts import CutRecord
from pgassay.record.reading import Run
from pgassay.report import headline, power_cuts, published, text, verdict, warnings
from pgassay.report.findings import Findings
from pgassay.report.formatting import MISSING
from pgassay.report.power_cuts import SECTION, arms
from pgassay.report.section import Figure, Folded, Surface, Table, Verdicts
from pgassay.study.levels import Arm
from pgassay.study.model import Claim
from tests.report.blocks import plain, tables
from tests.report.cut_runs import BLOCKS, CUTS, MET, SOUND, make_cuts
from tests.report.cut_runs import TORN as TORN_PAGE

FULL, TORN, UNSYNCED, LYING, WHOLE, DATA_FIRST = range(6)
"""Treatments of the study, in its order."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_cuts(tmp_path_factory.mktemp("cuts") / "run")


def rows(findings: Findings) -> Verdicts:
    (found,) = (block for block in verdict.SECTION.shown(findings, Surface.PAGE) if isinstance(block, Verdicts))
    return found


def test_each_treatment_is_judged_by_its_own_cuts(run: Run) -> None:
    found = [each.verdict for each in arms(Findings(run))]
    assert [each.kind for each in found] == [Kind.SAFE, Kind.UNSAFE, Kind.UNSAFE, Kind.UNSAFE, Kind.SAFE, Kind.UNSAFE]
    assert found[FULL].text == (
        "safe: 0 of 60 cuts after a whole checkpoint lost or damaged anything: below 5.77 % a cut with 95 % certainty,"
        " across 10 checkpoints (60 cuts in all, 60 within one)"
    )
    assert found[TORN].text == (
        "unsafe: 5 of 60 cuts did damage, the first at cut 3: invalid page in block 3 of relation base/5/16396"
    )


def test_comparisons_of_other_responses_are_folded_on_the_page(run: Run) -> None:
    shown = verdict.SECTION.shown(Findings(run), Surface.PAGE)
    assert not any(isinstance(block, Table | Figure) for block in shown)
    assert "Other responses against the baseline (secondary)" in [
        block.summary for block in shown if isinstance(block, Folded)
    ]
    assert len(tables(verdict.SECTION, Findings(run), Surface.TERMINAL)) == 1


def test_headline_verdicts_and_section_hold_one_opinion(run: Run) -> None:
    """Once the table compared means and called unresolved, or equivalent, what the section below called unsafe."""
    findings = Findings(run)
    said = {each.name: each.verdict for each in arms(findings)}
    assert {row.place: row.text for row in rows(findings).rows} == {name: each.text for name, each in said.items()}
    assert {row.place: row.verdict for row in rows(findings).rows} == {name: each.kind for name, each in said.items()}
    compared = {each.effect.place.name: each.verdict for each in findings.verdicts}
    assert all(said[name] == found for name, found in compared.items())
    document = plain(findings)
    assert {each["treatment"]: each["verdict"] for each in document["power_cuts"]} == {
        name: each.kind for name, each in said.items()
    }
    assert all(each["verdict"] == said[each["treatment"]].kind for each in document["verdicts"])
    shown = [text.brief(findings), text.render(findings)]
    for each in shown:
        assert "does a power cut lose or damage anything?" in each.lower()
        assert "unresolved: needs" not in each.partition("What to distrust")[0]


def test_the_headline_names_what_is_safe_and_what_is_not(run: Run) -> None:
    safe, unsafe = headline.headline_of(Findings(run)).sentences
    assert safe == (
        "on an emulated drive, safe: the baseline (0 of 60 cuts across 10 checkpoints lost or damaged anything: below"
        " 5.77 % a cut) and server.full_page_writes=off, drive.atomic_write_bytes=16384 (0 of 60 cuts across 10"
        " checkpoints: below 5.77 %), with 95 % certainty; not judged are commits answered within the last 50 ms before"
        " a cut, and whatever no check reads"
    )
    assert unsafe.startswith("unsafe: server.full_page_writes=off (5 of 60 cuts did damage)")
    assert "drive.flush=lies (30 of 60 cuts did damage)" in unsafe


def test_a_single_damage_stands_in_the_headline(tmp_path: Path) -> None:
    made = make_cuts(tmp_path / "run", lambda arm: [SOUND, replace(SOUND, verdict="no_recovery", epoch=2)])
    (said,) = headline.headline_of(Findings(made)).sentences
    assert said.startswith("on an emulated drive, unsafe: the baseline (5 of 10 cuts did damage), ")


def test_no_doubt_contradicts_what_was_measured(run: Run) -> None:
    assert not any("crash-safe" in each for each in warnings.reasons(Findings(run)))


def test_speed_as_the_primary_is_compared_after_what_the_cuts_did(tmp_path: Path) -> None:
    """The answer was once the speed alone, and damage stood in a section further down."""
    findings = Findings(make_cuts(tmp_path / "run", primary="tps"))
    assert not power_cuts.decide(findings)
    assert all(each.verdict.kind not in (Kind.SAFE, Kind.UNSAFE) for each in findings.verdicts)
    about_cuts = headline.headline_of(Findings(make_cuts(tmp_path / "alone")))
    found = headline.headline_of(findings)
    count = len(about_cuts.sentences)
    assert [*found.sentences[:count]] == [*about_cuts.sentences]
    assert not found.badges
    assert found.sentences[count].startswith("transactions per second: ")
    assert plain(findings)["headline"]["sentences"][0].startswith("On an emulated drive, safe: ")
    for surface in (Surface.PAGE, Surface.TERMINAL):
        table, *_ = tables(verdict.SECTION, findings, surface)
        assert [text for _, text in table.rows] == [each.verdict.text for each in arms(findings)]
    for shown in (text.brief(findings), text.render(findings)):
        words = " ".join(shown.split()).lower()
        assert 0 < words.index("on an emulated drive, safe: ") < words.index("transactions per second: ")
    assert not any("crash-safe" in each for each in warnings.reasons(findings)), "the section says what was found"
    assert SECTION.shown(findings, Surface.PAGE), "the section is there all the same"


def test_cuts_of_a_lying_drive_are_one_epoch_a_trial(run: Run) -> None:
    """It answers flushes and keeps nothing, so no flush begins anything new: five trials are five, not sixty."""
    found = arms(Findings(run))
    assert (found[LYING].risk.cuts, found[LYING].risk.epochs) == (BLOCKS * CUTS, BLOCKS)
    assert found[DATA_FIRST].risk.epochs == BLOCKS
    assert found[UNSYNCED].risk.epochs == BLOCKS * CUTS
    assert found[FULL].risk.upper == sequence_upper(0, BLOCKS * CUTS)


def test_the_middle_of_an_even_number_of_recoveries_is_between_two(tmp_path: Path) -> None:
    made = make_cuts(
        tmp_path / "run", lambda arm: [replace(SOUND, recovery_ms=100.0), replace(SOUND, recovery_ms=300.0)]
    )
    overview, *_ = tables(SECTION, Findings(made))
    assert overview.rows[0][overview.head.index("recovery, median")] == "200 ms"
    assert made.trials[0].responses["crash_recovery_ms"] == 200.0


def test_the_tables_have_the_evidence(run: Run) -> None:
    overview, damage = tables(SECTION, Findings(run))
    assert len(overview.rows) == len(arms(Findings(run)))
    assert damage.rows[0][1:] == ("3", "5", "damaged a page", "invalid page in block 3 of relation base/5/16396")
    assert not any("not looked for" in note for note in overview.notes)


def test_what_was_not_looked_for_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_cuts, "power_cuts", lambda run, number: (replace(SOUND, ledger=False),))
    overview, *_ = tables(SECTION, Findings(run))
    assert any("lost commits are not looked for" in note for note in overview.notes)


def test_commits_that_may_be_lost_are_told_in_ms_and_are_no_damage(tmp_path: Path) -> None:
    made = make_cuts(tmp_path / "run", lambda arm: [replace(SOUND, lost_commits=3, loss_ms=312.4)])
    found = arms(Findings(made))[FULL].verdict
    assert found.kind is Kind.SAFE
    assert found.text.startswith("safe: 0 of 5 cuts after a whole checkpoint did damage: below ")
    assert found.text.endswith("; at most the last 312 ms of commits were lost, as synchronous_commit = off allows")
    safe, *_ = headline.headline_of(Findings(made)).sentences
    assert "(0 of 5 cuts across 10 checkpoints did damage: below " in safe
    assert "; at most the last 312 ms of commits were lost" in safe


@pytest.mark.parametrize("epochs", [1, 3, 9, 60, 200, 1000, 10_000])
def test_a_bound_is_rounded_up_so_that_what_is_said_holds(epochs: int) -> None:
    exact = 100 * sequence_upper(0, epochs)
    shown = float(bound_per_cent(exact / 100))
    assert exact <= shown <= exact * 1.01
    assert bound_per_cent(1.0) == "100"


UNTRIED = {
    "across a checkpoint": replace(MET, checkpoints=0),
    "within a checkpoint": replace(MET, in_checkpoint=False),
    "with WAL in recycled segments": replace(MET, recycled_wal=False),
    **{
        f"with writes to {words}": replace(MET, written=tuple(each for each in MET.written if each != kind))
        for kind, words in KINDS.items()
    },
    UNRECORDED: None,
}
"""What may be missing, with cuts that lack nothing else."""


@pytest.mark.parametrize("missing", UNTRIED)
def test_nothing_is_called_safe_that_was_not_tried(tmp_path: Path, missing: str) -> None:
    """Once a window without a single checkpoint made a server safe that never flushes pg_xact."""
    run = make_cuts(
        tmp_path / "run", lambda arm: [replace(SOUND, epoch=place, met=UNTRIED[missing]) for place in (1, 2)]
    )
    findings = Findings(run)
    for each in arms(findings):
        assert each.verdict.kind is Kind.UNRESOLVED
        assert each.verdict.text == f"not tried {missing}; 0 of 10 cuts lost or damaged anything"
    (said,) = headline.headline_of(findings).sentences
    assert said.startswith(f"on an emulated drive, not tried {missing}: the baseline (0 of 10 cuts lost or damaged")
    shown = [text.brief(findings), text.render(findings), json.dumps(plain(findings))]
    assert not any(re.search(r"(?<!crash-)\bsafe\b", each) for each in shown)
    assert {each.mark for each in findings.claims} == {Mark.NOT_TESTABLE}
    assert plain(findings)["power_cuts"][0]["untried"] == [missing]


@pytest.mark.parametrize("others", [None, replace(MET, checkpoints=0)])
def test_the_bound_of_safe_counts_only_cuts_after_a_whole_checkpoint(
    tmp_path: Path, others: ServerAtCut | None
) -> None:
    """Once the other cuts, which could show little, made it a small part of that."""
    cuts = [replace(SOUND, epoch=place, met=MET if place == 1 else others) for place in range(1, 41)]
    findings = Findings(make_cuts(tmp_path / "run", lambda arm: cuts))
    found = arms(findings)[FULL]
    bound = bound_per_cent(sequence_upper(0, BLOCKS))
    assert found.verdict.text.startswith(
        f"safe: 0 of 5 cuts after a whole checkpoint lost or damaged anything: below {bound} % a cut"
    )
    assert "(200 cuts in all, " in found.verdict.text
    assert (
        f"(0 of 5 cuts across 10 checkpoints lost or damaged anything: below {bound} % a cut)"
        in (headline.headline_of(findings).sentences[0])
    )
    overview, *_ = tables(SECTION, findings)
    assert overview.rows[0][1:5] == ("200", "5", "0", f"{bound} %")
    (row, *_) = plain(findings)["power_cuts"]
    assert (row["cuts"], row["epochs"], row["upper"]) == (200, 5, sequence_upper(0, BLOCKS))


def test_damage_counts_among_all_cuts(tmp_path: Path) -> None:
    early = replace(MET, checkpoints=0)
    cuts = [replace(SOUND, epoch=1, met=early), replace(TORN_PAGE, epoch=2, met=early), replace(SOUND, epoch=3)]
    found = arms(Findings(make_cuts(tmp_path / "run", lambda arm: cuts)))[FULL]
    assert found.verdict.text.startswith("unsafe: 5 of 15 cuts did damage, the first at cut 2: ")
    assert found.risk.upper == sequence_upper(5, 15)


@pytest.mark.parametrize("met", [MET, None])
def test_nothing_is_said_of_lost_commits_that_nobody_looked_for(tmp_path: Path, met: ServerAtCut | None) -> None:
    def cuts(arm: Arm) -> list[CutRecord]:
        return [replace(SOUND, met=met, ledger=arm.levels["drive.atomic_write_bytes"].typed == "16384")]

    findings = Findings(make_cuts(tmp_path / "run", cuts))
    blind, full = "damaged anything (lost commits were not looked for)", "lost or damaged anything"
    said = headline.headline_of(findings).sentences[0]
    for each in arms(findings):
        words, other = (full, blind) if "=16384" in each.name else (blind, full)
        assert words in each.verdict.text
        assert other not in each.verdict.text
        name = "the baseline" if each.name == findings.baseline else power_cuts.called(findings, each)
        about = said.partition(f"{name} (0 of 5 cuts")[2].partition("0 of 5 cuts")[0]
        assert (blind in about) is (words == blind)


def test_what_several_trials_did_not_try_is_named_at_once(tmp_path: Path) -> None:
    met = replace(MET, checkpoints=0, in_checkpoint=False, written=("wal",))
    found = arms(Findings(make_cuts(tmp_path / "run", lambda arm: [replace(SOUND, met=met)])))[FULL].verdict.text
    assert found.startswith(
        "not tried across a checkpoint, within a checkpoint or with writes to a table, an index, pg_xact, pg_control, a"
        " visibility or free space map; 0 of 5 cuts"
    )


def test_damage_is_damage_whatever_was_not_tried(tmp_path: Path) -> None:
    made = make_cuts(tmp_path / "run", lambda arm: [replace(SOUND, verdict="no_recovery", met=None)])
    assert {each.verdict.kind for each in arms(Findings(made))} == {Kind.UNSAFE}


@pytest.mark.parametrize("verdict", ["damaged_page", "lost_commits", "no_recovery", "endless_recovery"])
def test_damage_in_a_discarded_trial_is_damage(tmp_path: Path, verdict: str) -> None:
    """Other programs that were busy damage nothing; a server that recovers they may well keep from starting."""
    seen = iter(range(1, 10**6))
    broken = replace(SOUND, verdict=verdict, detail="found")
    plan = lambda _: [SOUND, broken if next(seen) == 1 else SOUND]  # noqa: E731
    first, *others = arms(Findings(make_cuts(tmp_path / "run", plan, discarded=1)))
    on_the_drive = verdict in ("damaged_page", "lost_commits")
    assert first.verdict.kind is (Kind.UNSAFE if on_the_drive else Kind.SAFE)
    assert first.risk.cuts == 2 * (BLOCKS if on_the_drive else BLOCKS - 1)
    assert {each.risk.cuts for each in others} == {2 * (BLOCKS - 1)}


def test_the_table_has_the_checkpoints_beside_the_bound(run: Run, tmp_path: Path) -> None:
    overview, *_ = tables(SECTION, Findings(run))
    at = overview.head.index("may do damage, below") + 1
    assert overview.head[at : at + 2] == ("checkpoints", "cuts within one, after one")
    assert overview.rows[0][at : at + 2] == ("10", "60, 60")
    older, *_ = tables(SECTION, Findings(make_cuts(tmp_path / "run", lambda arm: [replace(SOUND, met=None)])))
    assert set(older.rows[0][at : at + 2]) == {MISSING}


def test_a_section_beside_other_verdicts_says_what_was_not_tried(tmp_path: Path) -> None:
    made = make_cuts(tmp_path / "run", lambda arm: [replace(SOUND, met=None)], primary="tps")
    overview, *_ = tables(SECTION, Findings(made))
    assert any(note == f"the baseline: not tried {UNRECORDED}" for note in overview.notes)


def test_an_arm_without_a_cut_is_not_judged(tmp_path: Path) -> None:
    made = make_cuts(tmp_path / "run", lambda arm: [SOUND] if arm.levels["server.fsync"].typed == "on" else [])
    judged = {each.effect.place.name: each.verdict for each in Findings(made).verdicts}
    (uncut,) = (found for name, found in judged.items() if "server.fsync=off" in name)
    assert (uncut.kind, uncut.text) == (Kind.UNRESOLVED, "not judged: no cut was made")


def test_a_run_without_cuts_says_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_cuts, "power_cuts", lambda run, number: ())
    findings = Findings(run)
    assert SECTION.shown(findings, Surface.PAGE) == ()
    assert any("crash-safe" in each for each in warnings.reasons(findings)), "nothing was measured of it"
    assert "power_cuts" not in plain(findings)


def claim(run: Run, treatment: str, *, low: float | None = None, high: float | None = None) -> ClaimJudgement:
    levels = dict(part.split("=") for part in treatment.split(", "))
    return published.judged(Findings(run), Claim("text", "source", "unsafe_cuts", levels, {}, low, high))


def test_damage_marks_a_claim_at_once_with_the_torn_page(run: Run) -> None:
    torn = arms(Findings(run))[TORN].name
    found = claim(run, torn, low=0.01)
    assert found.mark is Mark.REPRODUCED
    assert found.text.endswith("; 60 of 60 pages in flight were torn")
    assert claim(run, torn, high=0.01).mark is Mark.CONTRADICTED


def test_without_damage_the_bound_decides_and_too_few_cuts_do_not(run: Run) -> None:
    whole = arms(Findings(run))[WHOLE].name
    few = claim(run, whole, low=0.01)
    assert few.mark is Mark.NOT_TESTABLE
    assert "too few cuts to say that below 1 % do damage: safe: 0 of 60 cuts" in few.text
    assert few.text.endswith("; 0 of 60 pages in flight were torn")
    assert claim(run, whole, low=0.06).mark is Mark.CONTRADICTED
    assert claim(run, whole, high=0.06).mark is Mark.REPRODUCED


def test_a_claim_about_damage_without_a_share_or_without_cuts_is_not_testable(run: Run, tmp_path: Path) -> None:
    whole = arms(Findings(run))[WHOLE].name
    assert "no share" in claim(run, whole).text
    uncut = make_cuts(tmp_path / "run", lambda arm: [])
    assert "no cut was made" in claim(uncut, whole, low=0.01).text


def test_every_claim_of_the_study_is_judged_by_cuts(run: Run) -> None:
    marks = [each.mark for each in Findings(run).claims]
    alone = [Mark.NOT_TESTABLE] * 2  # of file systems that the quick study leaves out
    assert marks == [
        Mark.NOT_TESTABLE, *alone, Mark.REPRODUCED, Mark.NOT_TESTABLE, Mark.REPRODUCED, Mark.REPRODUCED, Mark.REPRODUCED
    ]  # fmt: skip


def test_a_bound_that_was_asked_for_and_is_not_reached_is_no_verdict(tmp_path: Path) -> None:
    run = make_cuts(tmp_path / "run", design={"risk_below": "1%"})
    findings = Findings(run)
    kinds = {each.verdict.kind for each in arms(findings)}
    assert kinds == {Kind.UNSAFE, Kind.UNRESOLVED}
    answer = " ".join(headline.headline_of(findings).sentences)
    assert "not shown to be as safe as was asked for (below 1 % a cut)" in answer
    assert " safe:" not in answer
