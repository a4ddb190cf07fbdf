"""The headline of whole records: of a comparison, of curves, of what others ran; and the line of facts."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.report import cache, contents, headline, text
from pgassay.report.findings import Findings
from pgassay.report.section import Surface
from pgassay.testing.planted import make_run
from tests.report import cacherun
from tests.report.blocks import body, plain, tables
from tests.report.scaled import make_scaled


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


def test_what_was_planted_is_the_answer(findings: Findings) -> None:
    first, costs, advice = headline.headline_of(findings).sentences
    assert first.startswith("table.fillfactor=75 is better than 100: throughput is 19.6 % higher")
    assert "table.fillfactor=50 is equivalent to 100 within ±10 %" in first
    assert costs == (
        "with table.fillfactor=75 p99 is 16.4 % lower and the database is 25 % larger; with table.fillfactor=50 the"
        " database is 2 times as large"
    )
    assert advice == "take table.fillfactor=75, unless space counts more"


def test_it_comes_first_on_every_surface(findings: Findings) -> None:
    assert contents.sections()[0].name == "headline"
    assert "take table.fillfactor=75" in text.render(findings).partition("\nVerdict")[0].lower()
    page = body(findings)
    assert page.index("Take table.fillfactor=75") < page.index("Transactions per second: each treatment against")
    assert list(plain(findings))[1] == "headline", "behind the format"


def test_its_sentences_are_in_the_json(findings: Findings) -> None:
    assert plain(findings)["headline"]["sentences"][2] == "Take table.fillfactor=75, unless space counts more"


def test_facts_are_one_line(findings: Findings) -> None:
    assert headline.facts(findings).line == ("planted; 2026-01-02; 8 s a trial; 8 blocks, 26 trials, 1 discarded")


def test_facts_name_server_machine_and_load(tmp_path: Path) -> None:
    found = Findings(make_run(tmp_path / "run"))
    found.run.host.update(
        {
            "postgres": [{"version": "postgres (PostgreSQL) 17.6 (Debian 17.6-1)"}, {"version": "x (PostgreSQL) 18.1"}],
            "cpu": {"model": "AMD EPYC", "cores": 2},
            "memory": {"total_bytes": 25276063744},
        }
    )
    assert headline.facts(found).line.startswith("PostgreSQL 17.6, 18.1; AMD EPYC, 2 cores, 23.5 GB; 2026-01-02; ")


def test_a_curve_is_told_by_its_highest_point(tmp_path: Path) -> None:
    found = Findings(make_scaled(tmp_path / "run"))
    first, known, *_ = headline.headline_of(found).sentences
    best = max((point for curve in found.curves for point in curve.points), key=lambda point: point.value)
    assert "highest measured" in first
    assert "transactions per second (between" in first
    assert best.covariate in first
    assert "known to ±" in known
    assert not any("is better" in each for each in headline.headline_of(found).sentences)


def test_the_cache_study_recommends_what_its_section_does(tmp_path: Path) -> None:
    found = Findings(cacherun.make_run(tmp_path / "run"))
    (table,) = [each for each in tables(cache.SECTION, found) if each.title.startswith("Recommended shared_buffers")]
    sizes = {str(row[1]) for row in table.rows}
    assert sizes == {"256MB"}
    assert headline.headline_of(found).sentences[-1] == "for this pattern shared_buffers of 256MB is recommended"


def test_early_curves_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Findings(make_run(tmp_path / "run"))
    assert headline.SECTION.shown(found, Surface.TERMINAL)
    monkeypatch.setattr("pgassay.testing.planted.BLOCKS", 3)
    early = Findings(make_run(tmp_path / "early"))
    assert headline.headline_of(early).sentences[0] == (
        "no verdict yet on throughput: it takes 5 blocks, and 3 count so far; provisional, no verdict: with"
        " table.fillfactor=50 throughput is 0.2 % lower (blocks -0.32 to +0.02 %); with table.fillfactor=75 throughput"
        " is 19 % higher (blocks 18.9 to 19.1 %)"
    )
    assert len(headline.headline_of(early).sentences) == 2
    assert headline.extensible(early)
    early.study = replace(early.study, design=replace(early.study.design, blocks_max=2))
    assert not headline.extensible(early), "no look is planned as far as a verdict"


@pytest.mark.parametrize(
    ("size", "said"), [("1", "; 1 client; "), ("4", "; 4 clients; "), ("1, 2", "; 1, 2 clients; ")]
)
def test_the_line_of_facts_counts_one_client(size: str, said: str) -> None:
    assert said in headline.Facts(["15.18"], "here", "2026-01-02", {"clients": size}, 4.0, 5, 10, 0).line


@pytest.mark.parametrize(("window_s", "said"), [(0.1674, "; 167 ms a trial; "), (1.2, "; 1 s a trial; ")])
def test_the_line_of_facts_has_no_window_of_0_s(window_s: float, said: str) -> None:
    assert said in headline.Facts([], "here", "2026-01-02", {}, window_s, 5, 10, 0).line


@pytest.mark.parametrize("images", [1.84, 0.001])
def test_a_count_names_the_full_page_images_that_it_depends_on(tmp_path: Path, images: float) -> None:
    counted, name = Findings(make_run(tmp_path / "run")), "full_page_images_per_transaction"
    counted.trials = tuple(
        replace(
            each,
            responses={**each.responses, name: images * (1 + each.block / 400)},
            regime={**each.regime, "counted": "a fake"},
        )
        for each in counted.trials
    )
    _, *others = headline.headline_of(counted).sentences
    said = "on average each of the first transactions after a checkpoint writes 1.84 to 1.88 full-page images"
    assert others[0].startswith(said if images > 1 else "time depends on waiting")
    assert any("not counted" in each for each in others)
