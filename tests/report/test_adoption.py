"""Another page size is adopted with its own numbers, each step named once; what is not crash-safe is marked."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.report.adoption import advice, build_steps, crash_risks, crash_warnings, side_effects
from pgassay.report.findings import Findings
from pgassay.report.headline import APPLYING as SECTION
from pgassay.report.headline import headline_of
from pgassay.report.section import Listing, Sentences
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Design, Study
from pgassay.testing.planted import make_run
from tests.report.undecided import make_undecided


def test_a_page_size_names_its_option_its_move_and_its_limits() -> None:
    own, move, limits = build_steps("build.block_size", "2kB")
    assert "--with-blocksize=2;" in own
    assert "every minor release" in own
    assert "pg_dump" in move
    assert "pg_upgrade" in move
    assert "2016B" in limits, "as measured: row is too big: size ..., maximum size 2016"


def test_the_move_is_told_once_for_page_and_wal_block() -> None:
    both = {"build.block_size": Level("4kB", "4096B"), "build.wal_block_size": Level("64kB", "65536B")}
    found = advice(Combination(both), {})
    assert len(found) == len(set(found))
    assert sum("pg_upgrade" in step for step in found) == 1
    assert any("--with-wal-blocksize=64" in step for step in found)


def test_what_needs_no_new_cluster_does_not_ask_for_one() -> None:
    for name, typed, says in (
        ("build.cflags", "-O3", "restart"),
        ("build.version", "17", "pg_upgrade"),
        ("build.source", "official", "build of your own"),
        ("init.data_checksums", "on", "pg_checksums --enable"),
        ("init.wal_segment_size", "64MB", "pg_resetwal"),
    ):
        (step,) = build_steps(name, typed)
        assert says in step
        assert "pg_dump" not in step
    assert build_steps("server.work_mem", "8MB") == []


def study_of(*levels: dict[str, str]) -> Study:
    treatments = tuple(Combination({name: Level(text, text) for name, text in each.items()}) for each in levels)
    return Study("safety", "", "", {}, treatments, Design(treatments[0]), "tps")


@pytest.mark.parametrize("name", ["server.fsync", "server.full_page_writes"])
def test_a_level_that_gives_up_crash_safety_is_named_once(name: str) -> None:
    study = study_of({name: "on"}, {name: "off"}, {name: "off", "server.work_mem": "4MB"})
    (warning,) = crash_warnings(study)
    assert warning.startswith(f"{name} = off is not crash-safe: a power failure can")
    assert warning.endswith("never recommended")
    assert crash_risks(study.treatments[0].levels) == ()


def test_a_fillfactor_of_an_old_record_names_no_table_called_table() -> None:
    (step,) = advice(Combination({"table.fillfactor": Level("75", "75")}), {})
    assert "TABLE TABLE" not in step
    assert step.startswith("of each table that is updated: ALTER TABLE NAME SET (fillfactor = 75)")


def test_what_was_not_shown_to_be_better_is_not_applied(tmp_path: Path) -> None:
    """Planted: 75 is a fifth faster, 50 is not."""
    findings = Findings(make_run(tmp_path / "run"))
    assert {each.verdict.kind for each in findings.verdicts} > {"better"}, "one is undecided or alike"
    listings = [block for block in SECTION.blocks(findings) if isinstance(block, Listing)]
    assert [each.title for each in listings] == ["table.fillfactor=75"]
    findings = Findings(make_run(tmp_path / "other"))
    findings.verdicts = tuple(each for each in findings.verdicts if each.effect.treatment.endswith("=50"))
    (said,) = SECTION.blocks(findings)
    assert isinstance(said, Sentences)
    assert said.texts == (
        "no treatment was shown to be better than table.fillfactor=100, so there is nothing to apply",
    )


def test_where_a_level_was_of_no_use_is_among_what_to_distrust(tmp_path: Path) -> None:
    aside = (
        "table.fillfactor was also set on pgbench_history, whose rows this load does not update: leave it at 100 there"
    )
    findings = Findings(make_run(tmp_path / "run"))
    (first, *rest) = findings.trials
    level = replace(first.levels["table.fillfactor"], adopt=f"ALTER TABLE pgbench_accounts\n{aside}")
    assert side_effects([replace(first, levels={"table.fillfactor": level}), *rest]) == (aside,)


def test_what_only_loses_the_last_transactions_is_crash_safe() -> None:
    assert crash_warnings(study_of({"server.synchronous_commit": "off"})) == ()


def test_a_treatment_has_the_steps_of_its_own_level(tmp_path: Path) -> None:
    """Each had those of the level that ran last: 75 was to be applied by `SET (fillfactor = 100)`."""
    findings = Findings(make_run(tmp_path / "run"))
    findings.trials = tuple(
        replace(each, levels={"table.fillfactor": replace(level, adopt=f"SET (fillfactor = {level.typed})")})
        for each in findings.trials
        for level in [each.levels["table.fillfactor"]]
    )
    listings = {block.title: block.items for block in SECTION.blocks(findings) if isinstance(block, Listing)}
    assert listings == {"table.fillfactor=75": ["SET (fillfactor = 75)"]}


def test_what_is_applied_is_what_the_advice_names(tmp_path: Path) -> None:
    """The answer said to decide by WAL and space, and the section that there was nothing to apply."""
    findings = Findings(make_undecided(tmp_path / "run"))
    (advice_said,) = [each for each in headline_of(findings).rest if each.startswith("take")]
    listings = [block for block in SECTION.blocks(findings) if isinstance(block, Listing)]
    assert listings
    assert all(each.title.rpartition("=")[2] in advice_said for each in listings)
    assert all("not settled" in each.about for each in listings)
