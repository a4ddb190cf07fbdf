"""Every page: what it shows of runs that are whole, damaged, or written by somebody who means ill."""

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pgassay.record.reading import Run
from pgassay.report.contents import keep_sections
from pgassay.report.findings import Findings
from pgassay.report.page import DATA, embedded
from pgassay.report.section import Section, Sentences
from tests.live.served import HOSTILE, HOSTILE_NAME, client


def test_a_runs_page_is_its_report_with_a_menu(known: TestClient) -> None:
    answer = known.get("/")
    assert answer.status_code == 200
    assert ">+20\u00a0% speed<" in answer.text
    assert '<a href="/live">Live</a>' in answer.text
    script = re.search(r'<script type="module">(.*)</script>\n</body>', answer.text, flags=re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in answer.headers["content-security-policy"]


def test_its_numbers_can_be_downloaded(known: TestClient) -> None:
    links = re.findall(rf'href="{DATA}/([\w-]+\.json)"', known.get("/").text)
    assert len(links) > 5
    told = json.loads(known.get(f"/{DATA}/{links[0]}").text)
    assert told["rows"]
    assert known.get(f"/{DATA}/nothing.csv").status_code == 404
    assert known.get(f"/{DATA}/..%2freport.html").status_code == 404


@pytest.mark.parametrize("name", ["broken", "empty"])
def test_a_damaged_record_says_so_on_its_page(runs: Path, name: str) -> None:
    with client(runs / name) as found:
        answer = found.get("/")
        assert answer.status_code == 200
        assert "This run cannot be shown" in answer.text
        assert found.get("/live").status_code == 200
        assert found.get(f"/{DATA}/nothing.csv").status_code == 404


def test_a_trial_that_cannot_be_read_is_left_out_by_name(runs: Path) -> None:
    with client(runs / "partly") as found:
        assert "trial 5 cannot be read" in found.get("/").text.casefold()


def test_a_torn_last_line_is_no_fault(runs: Path) -> None:
    with client(runs / "two") as found:
        assert ">+20\u00a0% speed<" in found.get("/").text


@pytest.mark.parametrize("path", ["/", "/live"])
def test_names_that_are_scripts_are_shown_as_names(runs: Path, path: str) -> None:
    with client(runs / HOSTILE_NAME) as found:
        text, _, script = found.get(path).text.partition('<script type="module"')
    assert HOSTILE not in text
    assert "<img" not in text
    assert "<script>alert" not in text + script
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text + script


def test_the_page_is_made_again_when_the_record_was_written_to(tmp_path: Path, runs: Path) -> None:
    run = Path(shutil.copytree(runs / "one", tmp_path / "one"))
    with client(run) as found:
        assert "own words of a section" not in found.get("/").text
        title = "own words of a section"
        keep_sections(Findings(Run.open(run)), [Section("mine", title, lambda _: [Sentences(("x",))], link=title)])
        assert title in found.get("/").text


def test_json_in_a_page_ends_no_script() -> None:
    assert "<" not in embedded({"a": "</script><!--"})
    assert json.loads(embedded({"a": "</script><!--"})) == {"a": "</script><!--"}


@pytest.mark.parametrize("path", ["/run/x/", "/static/nothing.js", "/nowhere"])
def test_what_is_not_there_is_not_found(known: TestClient, path: str) -> None:
    answer = known.get(path)
    assert answer.status_code == 404
    assert "</html>" in answer.text


def test_styles_and_scripts_are_served_from_here(known: TestClient) -> None:
    assert "--ink" in known.get("/static/page.css").text
    script = known.get("/static/live.js")
    assert "vegaEmbed" in script.text
    assert script.headers["content-type"].startswith("text/javascript")


def test_nothing_is_written_into_a_run(known: TestClient, runs: Path) -> None:
    before = sorted(runs.rglob("*"))
    for path in ("/", "/live"):
        known.get(path)
    assert sorted(runs.rglob("*")) == before
