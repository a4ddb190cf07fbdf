"""What exists is named where a reader looks for it, and what the documents name exists.

The text itself is for people to check; tests/docs runs their code and commands.
"""

import re
from pathlib import Path

import pytest

from pgassay.cli import COMMANDS
from pgassay.lab.catalogue import every_factor
from pgassay.load import drivers
from pgassay.study import builtin

ROOT = Path(__file__).parents[2]
PAGES = (*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
EVERYTHING = "\n".join(TEXTS.values())
INTERNAL = {"PGASSAY_BUILDS", "PGASSAY_CLUSTER", "PGASSAY_OWNER", "PGASSAY_DRIVE_SET"}
"""Names of marker files, not of environment variables."""


def test_every_command_is_in_the_page_of_commands() -> None:
    assert [
        name for name in COMMANDS if f"`pgassay {name}" not in TEXTS["commands.md"] and f", `{name}" not in EVERYTHING
    ] == []


def test_every_built_in_study_is_told_of() -> None:
    assert [name for name in builtin.names() if not re.search(rf"`{name}`|run {name}\b", EVERYTHING)] == []


def test_every_factor_is_told_of_by_its_name_or_as_an_option_of_its_owner() -> None:
    patterns = [factor.pattern for factor in every_factor().all()]
    told = [
        pattern
        for pattern in patterns
        if pattern in EVERYTHING
        or f"`{pattern.rpartition('.')[2]}`" in EVERYTHING
        or pattern.replace("*", "NAME") in EVERYTHING
    ]
    assert set(patterns) - set(told) == set()


def test_every_load_driver_is_in_the_table_of_loads() -> None:
    assert [driver.name for driver in drivers.BUILT_IN if f"| `{driver.name}` |" not in TEXTS["loads.md"]] == []


def test_every_variable_that_is_read_is_told_of() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    read = set(re.findall(r'"(PGASSAY_[A-Z_]+)"', "\n".join(sources))) - INTERNAL
    assert len(read) > 3
    assert {name for name in read if name not in EVERYTHING} == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_a_page_points_at_is_there(path: Path) -> None:
    text = TEXTS[path.name]
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^):\s]+)\)", text)} - {""}
    files = set(re.findall(r"\b((?:src|tests|benchmarks|crates|scripts)/[\w./-]*\w)", text))
    files |= {f"{each.replace('.', '/')}" for each in re.findall(r"python -m (benchmarks\.\w+)", text)}
    missing = [link for link in links if not (path.parent / link).exists()]
    missing += [file for file in files if not (ROOT / file).exists() and not (ROOT / f"{file}.py").exists()]
    assert missing == []
