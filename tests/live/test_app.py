"""Every page: what it shows of runs that are whole, damaged, or written by somebody who means ill."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pgassay.live.catalogue import identity_of
from pgassay.live.progress import KILLED
from pgassay.report.page import DATA, embedded
from tests.live.served import HOSTILE, address

HOSTILE_PATH = "<img src=x onerror=alert(2)>"


def test_the_list_shows_every_run_and_what_is_wrong_with_it(known: TestClient) -> None:
    text = known.get("/").text
    assert "1 to 6 of 6 runs" in text
    assert KILLED in text
    assert "line 1 of journal.jsonl does not match its checksum" in text
    assert all(address(path) in text for path in ("one", "deep/two", "broken", "empty", "partly"))


def test_the_list_is_searched(known: TestClient) -> None:
    text = known.get("/", params={"search": "deep fillfactor"}).text
    assert "1 to 1 of 1 run," in text
    assert "No run fits." in known.get("/", params={"search": "nothing like it"}).text
    assert known.get("/", params={"page": "99999999999999999999"}).status_code == 200
    assert known.get("/", params={"page": "2"}).status_code == 200


def test_the_list_has_what_each_run_that_ended_found(known: TestClient) -> None:
    """A killed one, too."""
    text = known.get("/").text
    for _ in range(100):  # what a look has no time for comes with the next one
        if text.count("75: +20 % speed") >= 4:
            break
        text = known.get("/").text
    assert text.count("75: +20 % speed") >= 4


def test_a_runs_page_is_its_report_with_a_menu(known: TestClient) -> None:
    answer = known.get(address("one"))
    assert answer.status_code == 200
    assert ">+20\u00a0% speed<" in answer.text
    assert f'<a href="/run/{identity_of("one")}/live">Live</a>' in answer.text
    script = re.search(r'<script type="module">(.*)</script>\n</body>', answer.text, flags=re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in answer.headers["content-security-policy"]


def test_its_numbers_can_be_downloaded(known: TestClient) -> None:
    links = re.findall(rf'href="{DATA}/([\w-]+\.json)"', known.get(address("one")).text)
    assert len(links) > 5
    told = json.loads(known.get(f"{address('one')}{DATA}/{links[0]}").text)
    assert told["rows"]
    assert known.get(f"{address('one')}{DATA}/nothing.csv").status_code == 404
    assert known.get(f"{address('one')}{DATA}/..%2freport.html").status_code == 404
    assert known.get(f"{address('broken')}{DATA}/{links[0]}").status_code == 404


@pytest.mark.parametrize("path", ["broken", "empty"])
def test_a_damaged_record_says_so_on_its_page(known: TestClient, path: str) -> None:
    answer = known.get(address(path))
    assert answer.status_code == 200
    assert "This run cannot be shown" in answer.text


def test_a_trial_that_cannot_be_read_is_left_out_by_name(known: TestClient) -> None:
    assert "trial 5 cannot be read" in known.get(address("partly")).text.casefold()


def test_a_torn_last_line_is_no_fault(known: TestClient) -> None:
    assert ">+20\u00a0% speed<" in known.get(address("deep/two")).text


@pytest.mark.parametrize("path", ["/", address(HOSTILE_PATH)])
def test_names_that_are_scripts_are_shown_as_names(known: TestClient, path: str) -> None:
    text, _, script = known.get(path).text.partition('<script type="module">')
    assert HOSTILE not in text
    assert "<img" not in text
    assert "<script>alert" not in text + script
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_what_is_searched_for_is_shown_as_text(known: TestClient) -> None:
    text = known.get("/", params={"search": HOSTILE}).text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_json_in_a_page_ends_no_script() -> None:
    assert "<" not in embedded({"a": "</script><!--"})
    assert json.loads(embedded({"a": "</script><!--"})) == {"a": "</script><!--"}


@pytest.mark.parametrize("path", ["/run/0000000000000000/", "/run/x/", "/static/nothing.js", "/nowhere"])
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
    for path in ("/", address("one"), address("deep/two")):
        known.get(path)
    assert sorted(runs.rglob("*")) == before
