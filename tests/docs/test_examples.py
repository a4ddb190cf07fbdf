"""The code of README and docs is run as it stands: Python, SQL with DuckDB, and study files and drives in TOML."""

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.lab.catalogue import every_factor
from pgassay.probe.registry import PROBES
from pgassay.record.directory import RunDirectory
from pgassay.record.reading import Run
from pgassay.study.document import read
from pgassay.study.parsing import parse
from pgassay.testing import planted
from tests.docs.pages import Example, blocks

LANGUAGES = {"", "prose", "python", "sql", "toml"}
PYTHON = [example for example in blocks("python") if example.page != "commands.md"]  # tests/test_library.py
TOML = blocks("toml")
OTHERS_TOML = {
    "drives.md": "what simulate reads: tests/docs/test_commands.py, and a drive: test_drives.py",
}
QUERIES = [
    Example(block.page, query.strip())
    for block in blocks("sql")
    for query in re.sub(r"--.*", "", block.text).split(";")
    if query.strip()
]
FRAME = {
    "study": {"format": 1, "title": "Shown", "question": "Does it parse?"},
    "responses": {"primary": "tps"},
    "design": {"blocks": {"min": 5, "max": 10}},
}
"""What a page that shows a part of a study file leaves out."""


def test_every_block_is_in_a_language_that_is_tried() -> None:
    fences = set()
    for page in ("README.md", *(f"docs/{path.name}" for path in (Path(__file__).parents[2] / "docs").glob("*.md"))):
        text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
        fences |= set(re.findall(r"^```(\w+)$", text, flags=re.MULTILINE))
    assert fences <= LANGUAGES
    assert min(len(PYTHON), len(QUERIES), len(TOML)) > 1


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_python_says_what_the_product_says(example: Example) -> None:
    assert "assert" in example.text
    exec(compile(example.text, example.page, "exec"), {})


@pytest.mark.parametrize("example", [each for each in TOML if each.page not in OTHERS_TOML], ids=str)
def test_a_study_file_parses(example: Example) -> None:
    document = {**FRAME, **read("shown", example.text)}
    study = parse("shown", document, every_factor())
    assert len(study.arms) > 1


def test_all_toml_is_valid() -> None:
    for example in TOML:
        tomllib.loads(example.text)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with verdicts, and a trial more that has a series of everything that is probed."""
    path = tmp_path_factory.mktemp("queried") / "run"
    planted.make_run(path, discarded=False, finished=False)
    rows = [
        planted.Row(second * 10**9, second * 10**9, source, meter.name, meter.unit, 1000.0 * second)
        for second in range(3)
        for probe in PROBES
        for source, meters in probe.meters.items()
        for meter in meters
    ]
    with RunDirectory.open(path) as directory:
        staging = directory.begin_trial(directory.next_number)
        record = replace(Run.open(path).trials[-1], number=staging.number, attempt=2)
        directory.commit_trial(staging, record, rows)
        directory.finish("queried")
    return path


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_query_finds_something(run: Path, query: Example) -> None:
    # In a process of its own: duckdb complains at the end of one that has loaded other compiled modules.
    program = "import duckdb, json, sys; print(json.dumps(duckdb.execute(sys.argv[1]).fetchall(), default=str))"
    words = [sys.executable, "-c", program, query.text.replace("runs/…", str(run))]
    rows = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert rows, "the query filters what does not exist"
    assert all(value is not None for row in rows for value in row)
