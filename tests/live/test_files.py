"""A report's data are sent, and nothing else of the disk, whatever an address says."""

import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from pgassay.live import server
from pgassay.report.page import DATA
from tests.live.served import PORT

SECRET = "what nobody may read"
PARTS = (
    "..",
    ".",
    "",
    "trials",
    "000001",
    "trial.json",
    "secret",
    "~",
    "\0",
    "%2e%2e",
    "..%2f",
    "/",
    "\\",
    "out",
    "in",
)


@pytest.fixture(scope="module")
def fenced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with links inside and outside, beside a secret."""
    folder = tmp_path_factory.mktemp("fenced")
    (folder / "secret").write_text(SECRET)
    run = folder / "run"
    (run / "trials" / "000001").mkdir(parents=True)
    (run / "trials" / "000001" / "trial.json").write_text("ours")
    (run / "out").symlink_to(folder / "secret")
    (run / "trials" / "out").symlink_to(folder)
    (run / "in").symlink_to(run / "trials")
    (run / "round").symlink_to(run / "round")
    os.mkfifo(run / "pipe")
    return run


@settings(max_examples=500)
@given(st.one_of(st.text(), st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=4))).map("/".join)))
def test_no_path_leads_out(fenced: Path, path: str) -> None:
    found = server.inside(fenced, path)
    if found is not None:
        assert found.is_relative_to(fenced.resolve())
        assert not found.is_file() or found.read_text() == "ours"


@pytest.mark.parametrize(
    "path", ["out", "trials/out", "trials/out/secret", "../secret", "/etc/passwd", "round", "pipe", "a\0b"]
)
def test_ways_out_are_no_files(fenced: Path, path: str) -> None:
    assert server.inside(fenced, path) is None


def test_a_link_that_stays_inside_is_followed(fenced: Path) -> None:
    assert server.inside(fenced, "in/000001/trial.json") == fenced.resolve() / "trials" / "000001" / "trial.json"


@settings(max_examples=100)
@given(st.lists(st.sampled_from((*PARTS, "%2e%2e", "%252e%252e", "..%5c", "etc", "passwd"))))
def test_no_address_leads_out(known: TestClient, parts: list[str]) -> None:
    for path in ("/".join(parts), quote("/".join(parts), safe="")):
        answer = known.get(f"/data/{quote(path, safe='/%')}")
        assert answer.status_code in (200, 307, 404)
        assert answer.headers.get("location", f"http://127.0.0.1:{PORT}/").startswith(f"http://127.0.0.1:{PORT}/")
        assert "root:x:0:" not in answer.text  # scripts of a report have a "root:", too


def test_a_file_is_something_to_keep_and_no_page(known: TestClient) -> None:
    link = re.findall(rf'href="({DATA}/[\w-]+\.json)"', known.get("/").text)[0]
    answer = known.get(f"/{link}")
    assert answer.json()["rows"]
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")


def test_a_file_that_grows_is_cut_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "series"
    path.write_bytes(b"x" * 600_000)
    parts = server.pieces(path)
    first = next(parts)
    with path.open("ab") as file:
        file.write(b"y" * 10)
    assert first + b"".join(parts) == b"x" * 600_000
