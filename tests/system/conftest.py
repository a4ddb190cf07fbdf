"""A place for each journey, the wheel, and skipping by name where there is no PostgreSQL or no compiler."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.testing import real
from tests.system.journeys import Place, place
from tests.system.staging import Restartable

ROOT = Path(__file__).parents[2]
Wheel = Callable[..., Path]
"""Runs scripts/wheel, for another target if it is named; the directory that it wrote to."""
Command = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs pgassay with these words to its end."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    """Builds as `make wheel` does; skips where there is no cargo."""
    cargo = shutil.which("cargo", path=f"{os.environ['PATH']}:{Path.home()}/.cargo/bin")
    if cargo is None or shutil.which("objdump") is None:
        pytest.skip("cargo or objdump is not installed")
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:{Path(cargo).parent}"}

    def build(*target: str) -> Path:
        out = tmp_path_factory.mktemp("dist")
        script = [str(ROOT / "scripts/wheel"), str(Path(sys.executable).parents[1]), str(out), *target]
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return out

    return build


@pytest.fixture(scope="session")
def made(wheel: Wheel) -> Path:
    """A directory with the wheel and the sdist, as `make wheel` makes them."""
    return wheel()


@pytest.fixture(scope="session")
def postgres() -> None:
    """Skips where this machine has no PostgreSQL with pgbench."""
    real.installation()


@pytest.fixture
def journey(postgres: None) -> Iterator[Place]:
    """A place of the test's own."""
    with place() as found:
        yield found


@pytest.fixture
def command(journey: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """As `journey.pgassay`, in this process: importing all of it once more is a second of CPU each time."""

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        capsys.readouterr()
        with monkeypatch.context() as here:  # not for longer: pytest's own directory is where TMPDIR says
            here.setenv("TMPDIR", str(journey.temporary))
            here.setattr(tempfile, "tempdir", None)
            here.setenv("PGASSAY_DATA_DIR", str(journey.data))
            here.chdir(journey.here)
            status = main(words)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, status, said.out, said.err)

    return run


@pytest.fixture
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the lists of what is owed to servers are: never the machine's own."""
    monkeypatch.setenv("PGASSAY_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def before(server: Restartable) -> Iterator[dict[str, object]]:
    """What the module's server must be like at the end of the test as well."""
    server.mode("as it should")
    found = server.state()
    yield found
    assert server.state() == found
