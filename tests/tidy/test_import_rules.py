"""The arrows of the design (who may import whom) hold, and the rules can tell when one does not.

The rules are in .importlinter; `make lint` prints the same findings with the chain of imports behind each.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(folder: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package ``pgassay`` under ``source`` by the rules in ``folder``."""
    program = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from importlinter.cli import lint_imports\n"
        "sys.exit(lint_imports(no_cache=True, no_logo=True))"
    )
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


def test_the_arrows_hold() -> None:
    done = lint_imports(ROOT, ROOT / "src")
    assert done.returncode == 0, done.stdout


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """A tree with the packages and layers of pgassay, all empty, and its rules."""
    for package in (ROOT / "src" / "pgassay").iterdir():
        if (package / "__init__.py").exists():
            (tmp_path / "pgassay" / package.name).mkdir(parents=True)
            (tmp_path / "pgassay" / package.name / "__init__.py").touch()
    for module in (ROOT / "src" / "pgassay").glob("*.py"):
        (tmp_path / "pgassay" / module.name).touch()
    for path in (ROOT / "src" / "pgassay" / "advise").glob("*.py"):  # of which some modules have a rule of their own
        (tmp_path / "pgassay" / "advise" / path.name).touch()
    (tmp_path / "pgassay" / "__init__.py").write_text("import pgassay.library")
    (tmp_path / ".importlinter").write_text((ROOT / ".importlinter").read_text())
    return tmp_path


def test_empty_packages_keep_the_rules(skeleton: Path) -> None:
    assert lint_imports(skeleton, skeleton).returncode == 0


@pytest.mark.parametrize(
    ("module", "line", "rule"),
    [
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
    ],
)
def test_a_wrong_arrow_is_found(skeleton: Path, module: str, line: str, rule: str) -> None:
    """One wrong import breaks the rule that is there for it."""
    (skeleton / "pgassay" / module).parent.mkdir(exist_ok=True)
    (skeleton / "pgassay" / module).write_text(line)
    done = lint_imports(skeleton, skeleton)
    assert done.returncode == 1
    assert any(rule in row and "BROKEN" in row for row in done.stdout.splitlines()), done.stdout
