"""The script of the page's figures: kept between reports, and made anew when what was kept does not fit."""

from pathlib import Path

import pytest
import vl_convert

from pgassay.report import vega


def test_it_is_made_once_and_again_when_it_was_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def bundle(snippet: str) -> str:
        made.append(snippet)
        return f"/* ü */ {snippet}"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    folder = tmp_path / "pgassay"
    first = vega.kept(folder)
    assert vega.kept(folder) == first == "/* ü */ window.vegaEmbed = vegaEmbed;"
    (path,) = folder.iterdir()
    path.write_text(path.read_text(encoding="utf-8")[:-1], encoding="utf-8")
    assert vega.kept(folder) == first, "cut short"
    path.write_bytes(b"\xff")
    assert vega.kept(folder) == first
    assert len(made) == 3
    assert [each.name for each in folder.iterdir()] == [path.name], "nothing half-written stays"


def test_a_place_that_takes_nothing_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda snippet: snippet)
    (tmp_path / "file").touch()
    assert vega.kept(tmp_path / "file") == "window.vegaEmbed = vegaEmbed;"
    assert vega.directory({"XDG_CACHE_HOME": "/c"}) == Path("/c/pgassay")
    assert vega.directory({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache/pgassay"
