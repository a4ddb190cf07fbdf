"""Set-up and pgassay agree on where a PostgreSQL may be and which is too old.

Set-up runs before any of our Python can, so the shell script has the list again. A place known to only one of them
would install a second PostgreSQL, or leave a user with none.
"""

import re
import subprocess
from pathlib import Path

import pytest

from pgassay.interfaces import versions
from pgassay.postgres import find

ROOT = Path(__file__).parents[2]
SCRIPT = (ROOT / "scripts" / "postgresql").read_text()
PROGRAMS = {
    "initdb": "",
    "pgbench": "",
    "postgres": "echo 'postgres (PostgreSQL) VERSION (Debian VERSION-1.pgdg120+1)'",
}


def test_the_places_are_the_same() -> None:
    patterns = re.findall(r"^  '(.*)'$", SCRIPT, flags=re.MULTILINE)
    assert patterns == [pattern for _, pattern in find._GLOBS]


def test_the_oldest_version_is_the_same() -> None:
    found = re.search(r"^oldest=(\d+)$", SCRIPT, flags=re.MULTILINE)
    assert found is not None
    assert int(found.group(1)) == versions.OLDEST


@pytest.mark.parametrize(("version", "answer"), [("16.2", 0), ("9.6.24", 1), ("12.20", 1), ("19beta1", 0)])
def test_a_version_is_read_and_judged(tmp_path: Path, version: str, answer: int) -> None:
    """The script's own functions, on a directory of programs that only know their version."""
    for name, line in PROGRAMS.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{line.replace('VERSION', version)}\n")
        program.chmod(0o755)
    functions = SCRIPT[SCRIPT.index("oldest=") : SCRIPT.index("# The package would")]
    only_there = f"{functions}\ncandidates() {{ echo '{tmp_path}'; }}\nis_installed"
    assert subprocess.run(["bash", "-euo", "pipefail", "-c", only_there], check=False).returncode == answer


def test_a_directory_without_pgbench_is_none(tmp_path: Path) -> None:
    functions = SCRIPT[SCRIPT.index("oldest=") : SCRIPT.index("# The package would")]
    only_there = f"{functions}\ncandidates() {{ echo '{tmp_path}'; }}\nis_installed"
    assert subprocess.run(["bash", "-euo", "pipefail", "-c", only_there], check=False).returncode == 1


@pytest.mark.parametrize(
    ("refused", "said"),
    [("absent", "without absent: "), ("update", "without absent here: "), ("nothing", "")],
    ids=["one package", "no network", "all is there"],
)
def test_programs_for_tests_are_installed_one_by_one_and_what_fails_is_named(
    tmp_path: Path, refused: str, said: str
) -> None:
    """By a fake apt-get that fails where it reads the refused word; the script goes on."""
    for name, line in {
        "apt-get": f'echo "${{@: -2}}" >>{tmp_path}/asked; [[ "$*" != *{refused}* ]]',
        "id": "echo 0",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{line}\n")
        (tmp_path / name).chmod(0o755)
    call = "source scripts/_say.sh; install_programs absent-program=absent here-program=here bash=bash; echo on"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"PATH={tmp_path}:$PATH; {call}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "on\n"), done.stderr
    assert said in done.stderr
    assert ("without" in done.stderr) == bool(said)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert any(line.endswith("here") for line in asked) == (refused != "update")
    assert not any("bash" in line for line in asked)
