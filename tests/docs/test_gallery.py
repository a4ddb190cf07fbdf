"""The gallery: a page a study, verdicts and thumbnails from records, and nothing where no run is kept."""

import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

import pgassay
from pgassay.study import builtin
from pgassay.testing import planted
from tests.docs import gallery

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a planted run, and one that is damaged."""
    folder = tmp_path_factory.mktemp("runs")
    planted.make_run(folder / "fillfactor-one", discarded=False)
    (folder / "broken").mkdir()
    (folder / "broken/run.json").write_text("{", encoding="utf-8")
    return folder


def test_every_study_has_a_page_and_a_place_in_the_index() -> None:
    files = gallery.files(None)
    assert re.findall(r"^## (.+)$", files[gallery.INDEX], flags=re.MULTILINE) == [*builtin.names()]
    assert {f"{gallery.FOLDER}/{name}.md" for name in builtin.names()} <= files.keys()


def test_a_study_without_a_run_says_so_and_has_no_thumbnail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gallery, "KEPT", tmp_path)
    files = gallery.files(None)
    assert "keeps no run of `wal-block`" in files["reference/gallery/wal-block.md"]
    assert "keeps no run of `wal-block`" in files[gallery.INDEX]
    assert not [name for name in files if name.endswith(".svg")]


def test_a_given_run_has_its_intervals_on_the_page_and_in_the_thumbnail(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = gallery.files(runs)
    page, drawn = (files[f"reference/gallery/fillfactor.{end}"] for end in ("md", "svg"))
    rows = list(pgassay.Run.open(runs / "fillfactor-one").verdicts().iter_rows(named=True))
    assert rows
    for each in rows:
        low, high = (100 * (each[end] - 1) for end in ("low", "high"))
        assert f"{low:+.3g} % to {high:+.3g} %" in page
    shapes = ElementTree.fromstring(drawn)
    assert len(shapes.findall(f"{SVG}circle")) == len(rows)
    assert {each["treatment"] for each in rows} <= {each.text for each in shapes.findall(f"{SVG}text")}
    assert "broken is not in the gallery" in capsys.readouterr().err


def test_what_is_kept_of_a_run_is_what_the_run_says(
    runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(gallery, "KEPT", tmp_path / "kept")
    assert gallery.main([str(runs / "fillfactor-one")]) == 0
    assert gallery.kept() == {"fillfactor": gallery.digest(runs / "fillfactor-one")}


def test_each_finding_of_the_authors_is_judged_on_the_page(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = gallery.digest(runs / "fillfactor-one")
    claim = gallery.JudgedClaim("lower is faster", "a blog", "contradicted", "here 0.9 [0.8, 0.95], outside 1.1–1.3")
    monkeypatch.setattr(
        gallery,
        "kept",
        lambda: {
            "fillfactor": msgspec.structs.replace(found, claims=(claim,)),
            "keys": msgspec.structs.replace(found, claims=()),
        },
    )
    files = gallery.files(None)
    line = "| lower is faster | a blog | contradicted | here 0.9 [0.8, 0.95], outside 1.1–1.3 |"
    assert line in files["reference/gallery/fillfactor.md"].splitlines()
    assert "that a run judges" in files["reference/gallery/keys.md"], "its digest is from before claims were kept"


def test_a_thumbnail_shows_few_bars_and_takes_texts_for_text(runs: Path) -> None:
    found = gallery.digest(runs / "fillfactor-one")
    hostile = msgspec.structs.replace(found.comparisons[0], treatment="<script>", condition="&")
    many = msgspec.structs.replace(found, comparisons=(hostile,) * (gallery.BARS_MAX + 3))
    drawn = gallery.thumbnail(many)
    shapes = ElementTree.fromstring(drawn)
    assert len(shapes.findall(f"{SVG}circle")) == gallery.BARS_MAX
    assert "3 more on its page" in drawn
    assert "<script>" not in drawn


def test_what_the_repository_keeps_is_small_and_of_studies_that_are_built_in() -> None:
    kept = gallery.kept()
    assert kept
    assert {name: each.study for name, each in kept.items()} == {name: name for name in kept}
    assert kept.keys() <= {*builtin.names()}
    assert all(path.stat().st_size < 20_000 for path in gallery.KEPT.iterdir())
    assert not any("/" in each.command or '"/' in " ".join(each.doubts) for each in kept.values())


def test_what_spoke_against_measuring_is_told_beside_the_answer(monkeypatch: pytest.MonkeyPatch, runs: Path) -> None:
    found = msgspec.structs.replace(gallery.digest(runs / "fillfactor-one"), doubts=("another server is busy",))
    monkeypatch.setattr(gallery, "kept", lambda: {"fillfactor": found})
    files = gallery.files(None)
    assert "- another server is busy" in files["reference/gallery/fillfactor.md"]
    assert "what to distrust" in files[gallery.INDEX]


@pytest.mark.parametrize("name", ["tpcc-fillfactor", "wal-drive"])
def test_a_whole_run_of_a_scale_model_is_kept_and_says_by_how_much_it_is_smaller(name: str) -> None:
    kept = gallery.kept()[name]
    assert kept.finished
    assert "--as-published --scale-to" in kept.command
    files = gallery.files(None)
    assert "Scale model 1:" in files[f"reference/gallery/{name}.md"]
    (answer,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", files[gallery.INDEX], flags=re.MULTILINE | re.DOTALL)
    assert "Scale model 1:" in answer
