"""Hints on what is not installed: a command that works where we run, for no index has pgassay."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pgassay import plugins
from pgassay.plugins import install_command

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_packages_of_an_extra_are_named_and_not_pgassay(extra: str) -> None:
    words = shlex.split(install_command(extra))
    assert words[words.index("install") + 1 :] == EXTRAS[extra]
    assert sys.executable in words


def test_the_command_is_one_that_this_python_has() -> None:
    program = shlex.split(install_command("live"))
    done = subprocess.run([*program[: program.index("install")], "--version"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_pip_another_pythons_pip_installs_it_for_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    words = shlex.split(install_command("fleet"))
    assert words[:6] == ["python3", "-m", "pip", "--python", sys.executable, "install"]


def test_an_extra_that_is_none_is_no_command() -> None:
    with pytest.raises(LookupError):
        install_command("liev")


def test_nobody_is_sent_to_an_index_for_pgassay() -> None:
    """Except the page that says that it is on none."""
    asked = re.compile(r"pip3? install[^\n#]*[\"' ]pgassay(?![-\w])|PACKAGE: pgassay|default: pgassay\[")
    files = [
        path
        for folder in ("src", "docs", "examples", "README.md")
        for path in ([ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".yml", ".yaml", ".sh", ".toml", ".html", ".js")
    ]
    found = [str(path.relative_to(ROOT)) for path in files if asked.search(path.read_text(encoding="utf-8"))]
    assert found == ["src/pgassay/plugins.py", "docs/install.md"]
