"""`pgassay report` of an advice's folder, and of its confirmation alone: the page is whole, the answer at its head."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmarks.advise_front import OBJECTIVES
from pgassay.advise import folder, report
from pgassay.advise.laboratory import RealLaboratory
from pgassay.advise.report import sections
from pgassay.advise.task import Question
from pgassay.cli import main
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.report.json_values import to_json
from pgassay.testing.planted import make_run
from tests.advise.test_front_walk import found_on, task
from tests.advise.test_page import found as found_of_one

Captured = pytest.CaptureFixture[str]


def advised(place: Path, kind: str) -> Path:
    """The folder of an advice that has ended, whose confirmation is a planted run."""
    if kind == "one":
        wanted, advice = found_of_one()
        question = Question({"driver": "pgbench"}, "tps")
        told = report.values(wanted, advice, ["tps"], "x")
    else:
        server, several = found_on(1)
        wanted = task(server)
        question = Question({"driver": "pgbench"}, "tps", others=("cost",))
        told = report.values(wanted, several, OBJECTIVES, "x")
    path = place / "advice"
    folder.begin(path, folder.SavedTask(wanted, question))
    findings = Findings(make_run(path / "confirmation"))
    names = tuple(findings.responses)[:2]
    own = sections(wanted, advice, ["tps"]) if kind == "one" else sections(wanted, several, names)
    RealLaboratory(path, question, wanted.space, BenchOptions(), lambda study: nullcontext(Watcher())).report(
        told["study"], own
    )
    (path / folder.RESULT_FILE).write_text(to_json(told))
    return path


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has all figures in it; their pictures beside it take seconds."""
    monkeypatch.setattr(page, "write_pictures", lambda *given: None)


@pytest.mark.parametrize("kind", ["one", "several"])
def test_the_page_made_again_is_whole(capsys: Captured, tmp_path: Path, kind: str) -> None:
    path = advised(tmp_path, kind)
    written = path / "confirmation" / "report" / page.PAGE
    whole = written.read_text(encoding="utf-8")
    assert ("front-points" if kind == "several" else "screened-settings") in whole
    for each in (path, path / "confirmation"):
        written.unlink()
        assert main(["report", str(each)]) == 0
        assert capsys.readouterr().out.strip() == str(written)
        assert written.read_text(encoding="utf-8") == whole


def test_an_advice_without_a_page_says_so(capsys: Captured, tmp_path: Path) -> None:
    path = advised(tmp_path, "one")
    result = path / folder.RESULT_FILE
    told = json.loads(result.read_text())
    result.write_text(json.dumps({**told, "study": None}))
    assert main(["report", str(path)]) == 2
    assert f'"{path}" has no page: nothing was confirmed' in capsys.readouterr().err
    result.unlink()
    assert main(["report", str(path)]) == 2
    assert "has no result" in capsys.readouterr().err
    assert main(["report", str(tmp_path)]) == 2
    assert "is not a run directory" in capsys.readouterr().err


def test_two_advices_have_pages_of_their_own_names(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = advised(tmp_path / "a", "one")
    other = advised(tmp_path / "b", "one")
    other = other.rename(tmp_path / "b" / "other")
    out = tmp_path / "pages"
    assert main(["report", str(one), str(other), "--out", str(out), "--no-figures"]) == 0
    assert sorted(each.name for each in out.iterdir()) == ["advice", "other"]
