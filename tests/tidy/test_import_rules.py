"""The rules of who may import whom can tell when an arrow of the design is wrong; that all hold says `make lint`.

The rules are in .importlinter.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = """
import contextlib, io, json, os, sys
from importlinter.cli import lint_imports

said = {}
for folder in sys.argv[1:]:
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = lint_imports(no_cache=True, no_logo=True)
    said[os.path.basename(folder)] = [status, printed.getvalue()]
print(json.dumps(said))
"""
"""One process for all, since starting it takes ten times what it does."""
WRONG = [
    ("study/model.py", "import pgassay.lab", "From the ground up"),
    ("report/page.py", "import pgassay.lab", "From the ground up"),
    ("load/pgbench.py", "import pgassay.probe", "From the ground up"),
    ("importing/table.py", "import pgassay.lab", "From the ground up"),
    ("importing/table.py", "import pgassay.report", "From the ground up"),
    ("load/pgbench.py", "import pgassay.importing", "From the ground up"),
    ("compressibility.py", "import pgassay.lab", "From the ground up"),
    ("postgres/files.py", "import pgassay.compressibility", "From the ground up"),
    ("lab/run.py", "import pgassay.library", "From the ground up"),
    ("live/server.py", "import pgassay.lab", "know no lab"),
    ("live/server.py", "import pgassay.probe", "Only the lab and the command line"),
    ("lab/run.py", "import pgassay.live", "From the ground up"),
    ("library.py", "import pgassay.cli", "From the ground up"),
    ("newcomer/__init__.py", "", "From the ground up"),
    ("drive/image.py", "import pgassay.record", "A room knows the interfaces"),
    ("report/page.py", "import pgassay.postgres", "Only the lab and the command line"),
    ("probe/wal.py", "import pytest", "Only tests need"),
    ("plugins.py", "import pgassay.study", "From the ground up"),
    ("analysis/effect.py", "import time", "are pure"),
    ("advise/screening.py", "import time", "are pure"),
    ("lab/run.py", "import pgassay.advise", "From the ground up"),
]


def skeleton(folder: Path) -> Path:
    """Make a tree with the packages and layers of pgassay, all empty, and its rules."""
    for package in (ROOT / "src" / "pgassay").iterdir():
        if (package / "__init__.py").exists():
            (folder / "pgassay" / package.name).mkdir(parents=True)
            (folder / "pgassay" / package.name / "__init__.py").touch()
    for module in (ROOT / "src" / "pgassay").glob("*.py"):
        (folder / "pgassay" / module.name).touch()
    for path in (ROOT / "src" / "pgassay" / "advise").glob("*.py"):  # of which some modules have a rule of their own
        (folder / "pgassay" / "advise" / path.name).touch()
    (folder / "pgassay" / "__init__.py").write_text("import pgassay.library")
    (folder / ".importlinter").write_text((ROOT / ".importlinter").read_text())
    return folder


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, str]]:
    """Status and output of import-linter: on an `empty` skeleton, and on one with each wrong import, by number."""
    place = tmp_path_factory.mktemp("skeletons")
    folders = [skeleton(place / "empty")]
    for number, (module, line, _) in enumerate(WRONG):
        folders.append(skeleton(place / str(number)))
        path = folders[-1] / "pgassay" / module
        path.parent.mkdir(exist_ok=True)
        path.write_text(line)
    done = subprocess.run([sys.executable, "-c", LINT, *map(str, folders)], capture_output=True, text=True, check=True)
    found: dict[str, tuple[int, str]] = json.loads(done.stdout)
    return found


def test_empty_packages_keep_the_rules(said: Mapping[str, tuple[int, str]]) -> None:
    status, printed = said["empty"]
    assert status == 0, printed


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda number: f"{WRONG[number][0]}: {WRONG[number][1]}")
def test_a_wrong_arrow_is_found(said: Mapping[str, tuple[int, str]], number: int) -> None:
    """One wrong import breaks the rule that is there for it."""
    status, printed = said[str(number)]
    assert status == 1
    assert any(WRONG[number][2] in row and "BROKEN" in row for row in printed.splitlines()), printed
