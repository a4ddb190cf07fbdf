"""The site's navigation holds every page, once; what is made from the code is whole; nothing comes from elsewhere.

Building it takes mkdocs, which `scripts/site-packages` keeps in an environment of its own (`make site` and the slow
suite call it); where that is missing, the test that builds is skipped by its name.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import msgspec
import pytest

import pgassay
from pgassay.cli import COMMANDS
from tests.docs import gallery, site
from tests.docs.pages import ROOT

MKDOCS = ROOT / "target/site-env/bin/mkdocs"


def leaves(entry: object) -> list[str]:
    """The pages of a part of the navigation."""
    if isinstance(entry, dict):
        return [page for below in entry.values() for page in leaves(below)]
    return [page for below in entry for page in leaves(below)] if isinstance(entry, list) else [str(entry)]


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = leaves(msgspec.yaml.decode((ROOT / "mkdocs.yml").read_bytes())["nav"])
    own = [*site.OWN, *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
    examples = [str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("README.md")]
    pages = [name for name in gallery.files(None) if name.endswith(".md")]
    assert Counter(navigation) == Counter([*own, *examples, *site.made(), *pages])


def test_the_pages_from_the_code_have_every_command_study_and_name() -> None:
    made = site.made()
    headings = set(re.findall(r"^## (.+)$", made["reference/options.md"], flags=re.MULTILINE))
    assert {f"pgassay {name}" for name in COMMANDS} <= headings
    assert made["reference/library.md"].count("\n::: ") == len(pgassay.__all__)


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', ["//fonts.example/a.css"]),
        ('<img src="../images/report.png"><a href="https://www.postgresql.org/">manual</a>', []),
    ],
)
def test_what_a_page_would_load_from_elsewhere_is_found(page: str, found: list[str]) -> None:
    assert site.loaded_from_elsewhere(page) == found


def without_a_network() -> list[str]:
    """What a command is called by so that it has no network; empty where the kernel lets us make no such place."""
    for words in (["unshare", "--net"], ["unshare", "--net", "--map-root-user"]):
        if (
            shutil.which(words[0])
            and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
        ):
            return words
    return []


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """In a place without a network where one can be made: a build that asks for anything fails there."""
    if not MKDOCS.exists():
        pytest.skip("mkdocs is not installed: scripts/site-packages .venv, which takes a network, or make site")
    site.write(tmp_path / "pages")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("paths: [src]", f"paths: [{ROOT / 'src'}]")
    (tmp_path / "mkdocs.yml").write_text(settings.replace("target/site-docs", "pages"), encoding="utf-8")
    done = subprocess.run(
        [*without_a_network(), MKDOCS, "build", "--quiet", "--strict", "--site-dir", tmp_path / "site"],
        cwd=tmp_path, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert site.main(["--check", str(tmp_path / "site")]) == 0
    assert all(name in (tmp_path / "site/reference/library.html").read_text() for name in pgassay.__all__)
