"""No child of ours runs what somebody has put into a directory or a variable of ours.

A module of each name that Python or we import is planted in the working directory, in HOME, in TMPDIR and in
PYTHONPATH. Before, `argparse.py` beside `pgassay run … --live` was executed, as root.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pgassay import children
from pgassay.cli import serve
from pgassay.fleet import worker
from pgassay.host.accounts import choose
from pgassay.host.keeper import Keeper
from pgassay.host.runner import LocalRunner
from pgassay.testing.planted import make_run
from tests.cli.test_live import read

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pgassay"
NAMES = sorted(
    {name for name in sys.stdlib_module_names if not name.startswith("_")}
    | {"pgassay", "msgspec", "numpy", "polars", "scipy", "psycopg", "starlette", "uvicorn", "distributed", "dask"}
    | {"sitecustomize", "usercustomize"}
)
PRINTED = {"plugins.py"}
"""A command for the user to type."""


class Trap:
    """Where modules are planted, and which of them were executed."""

    def __init__(self, folder: Path) -> None:
        self._executed = folder / "executed"
        self.places = [folder / name for name in ("cwd", "home", "tmp", "path")]
        for place in self.places:
            place.mkdir()
            for name in NAMES:
                (place / f"{name}.py").write_text(f"open({str(self._executed)!r}, 'a').write('{name} {place}\\n')\n")

    def executed(self) -> str:
        """All that ran."""
        return self._executed.read_text() if self._executed.exists() else ""


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    """A test is in process, so what is planted can only reach its children."""
    found = Trap(tmp_path)
    here, home, temporary, path = found.places
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("PYTHONPATH", str(path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(serve, "READY_S", 600.0)
    yield found
    assert found.executed() == ""


def test_the_trap_would_catch_a_child(tmp_path: Path) -> None:
    found = Trap(tmp_path)
    subprocess.run([sys.executable, "-c", "import argparse"], cwd=found.places[0], check=True)
    assert "argparse" in found.executed()


@pytest.mark.usefixtures("trap")
def test_live_pages_are_served_by_our_own_code(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run", finished=False).path
    with serve.live_pages(Path(os.path.relpath(run)), argparse.Namespace(live=True)):
        assert "Answer so far" in read(capfd.readouterr().err.rpartition(" ")[2].strip())


def test_the_command_itself_runs_its_own_code(trap: Trap, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run").path
    program = Path(sys.executable).with_name("pgassay")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(
        [program, "serve", str(run), "--port", "0", "--json"], stdout=subprocess.PIPE, env=environment, text=True
    ) as served:
        assert served.stdout is not None
        assert any('"url"' in line for line in served.stdout)
        served.terminate()
    assert trap.executed() == ""


@pytest.mark.usefixtures("trap")
def test_the_bench_of_a_worker_runs_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    known = SimpleNamespace(name="one", get_current_task=lambda: "block")
    monkeypatch.setattr(worker, "get_worker", lambda: known)
    monkeypatch.setattr(worker, "is_wanted", lambda *_: True)
    with pytest.raises(worker.HostError, match=r"msgspec\.ValidationError"):  # no order: it got so far as to read it
        worker.work(b"{}")


@pytest.mark.usefixtures("trap")
def test_launchers_and_keepers_run_their_own_code() -> None:
    assert LocalRunner(choose()).run(["true"]).status == 0
    keeper = Keeper()
    keeper.close()


def test_relative_directories_of_path_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "psql"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (".", "", "bin:.:", str(Path("/nowhere"))):
        assert children.which("psql", {"PATH": path}) is None
    assert children.which("psql", {"PATH": f".:{tmp_path}"}) == str(planted)
    assert "PYTHONPATH" not in children.interpreter_environment({"PYTHONPATH": "x", "LD_PRELOAD": "y", "PGHOST": "z"})


def test_security_md_lists_whatever_keeps_roots_rights() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")]
    nodes = [node for text in texts if "privileged" in text for node in ast.walk(ast.parse(text))]
    given = {ast.unparse(node.value) for node in nodes if isinstance(node, ast.keyword) and node.arg == "privileged"}
    constants = {
        node.targets[0].id: node.value.value
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    reasons = {constants[each] if each in constants else ast.literal_eval(each) for each in given - {"privileged"}}
    listed = set(re.findall(r"^\| ([a-z].+?) \|", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert len(reasons) > 6
    assert reasons <= listed, reasons - listed


def test_no_source_starts_a_child_in_another_way() -> None:
    """Interpreters are isolated, programs are looked for in one way, and each child has an environment by name."""
    faults = []
    for path in SOURCE.rglob("*.py"):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(SOURCE))
        if re.search(r'\[\s*sys\.executable(?!,\s*"-[IP]")', text) and name not in PRINTED:
            faults.append(f"{name}: an interpreter that is not isolated")
        if "shutil.which" in text and name != "children.py":
            faults.append(f"{name}: looks for programs in relative directories, too")
        for node in ast.walk(ast.parse(text)) if "subprocess." in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("subprocess.run", "subprocess.Popen"):
                given = {keyword.arg for keyword in node.keywords}
                if "env" not in given:
                    faults.append(f"{name}:{node.lineno}: a child inherits our environment")
    assert faults == []
