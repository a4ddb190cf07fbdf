"""What others install beside the wheel for this machine: one for 64-bit ARM, and a Debian package.

Both take tools that few machines have; where one is missing, its test is skipped by name.
"""

import re
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from pgassay import __version__
from tests.system.conftest import ROOT, Wheel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]  # one build at a time: it may wait for another
ARM = "aarch64-unknown-linux-gnu"
EM_AARCH64 = 183
"""`e_machine` of an ELF file (elf.h)."""


def require(*programs: str) -> None:
    """Skip where one of them is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def lines(*words: object) -> list[str]:
    """What a program prints."""
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_wheel_for_arm_has_programs_for_arm_and_a_true_tag(wheel: Wheel, tmp_path: Path) -> None:
    require("aarch64-linux-gnu-gcc", "rustup")
    if ARM not in lines("rustup", "target", "list", "--installed"):
        pytest.skip(f"Rust's library for {ARM} is not installed")
    (made,) = wheel(ARM).iterdir()
    tag = re.search(r"-cp311-abi3-manylinux_2_(\d+)_aarch64\.whl$", made.name)
    assert tag, made.name
    with zipfile.ZipFile(made) as archive:
        for name in ("_bin/pgassay-drive", "_bin/pgassay-player", "_core.abi3.so"):
            path = Path(archive.extract(f"pgassay/{name}", tmp_path))
            (machine,) = struct.unpack_from("<H", path.read_bytes(), 18)
            assert machine == EM_AARCH64, name
            said = "\n".join(lines("aarch64-linux-gnu-objdump", "-T", path))
            assert max(int(each) for each in re.findall(r"GLIBC_2\.(\d+)", said)) <= int(tag[1])
    if shutil.which("qemu-aarch64"):
        for program in ("pgassay-drive", "pgassay-player"):
            path = tmp_path / "pgassay/_bin" / program
            path.chmod(0o755)
            words = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", str(path), "--help"]
            asked = subprocess.run(words, capture_output=True, text=True, check=False)
            assert program in asked.stdout + asked.stderr


def test_the_debian_package_is_whole_and_lintian_finds_nothing(made: Path, tmp_path: Path) -> None:
    require("dpkg-buildpackage", "dh", "dh_python3", "lintian")
    done = subprocess.run([ROOT / "scripts/deb", made], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    package = Path(done.stdout.splitlines()[-1])
    checked = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", package], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    subprocess.run(["dpkg-deb", "--extract", package, tmp_path], check=True)
    assert (tmp_path / "usr/bin/pgassay").readlink() == Path("../lib/pgassay/bin/pgassay")
    shared = tmp_path / "usr/share"
    assert (shared / "man/man1/pgassay.1.gz").is_file()
    for name in ("bash-completion/completions/pgassay", "zsh/vendor-completions/_pgassay"):
        assert "pgassay" in (shared / name).read_text(encoding="utf-8")
    (packages,) = (tmp_path / "usr/lib/pgassay/lib").glob("python3*/site-packages")
    said = lines("/usr/bin/env", f"PYTHONPATH={packages}", "/usr/bin/python3", "-B", "-m", "pgassay", "--version")
    assert said == [f"pgassay {__version__}"], "by the distribution's Python, which the package's own is a link to"
    assert str(ROOT).encode() not in (tmp_path / "usr/lib/pgassay/bin/pgassay").read_bytes()
