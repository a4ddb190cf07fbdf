"""The Containerfile: what its text must keep, and a build where podman or buildah is installed.

A build takes a network and a wheel, so it is slow, and skipped by name where one of them is missing.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
INSTRUCTIONS = [
    (line.split()[0], line)
    for line in re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE)).splitlines()
    if line.strip()
]
IGNORED = (ROOT / ".containerignore").read_text(encoding="utf-8").split()


def of(name: str) -> list[str]:
    """The lines of one instruction, without its name."""
    return [line.partition(" ")[2].strip() for each, line in INSTRUCTIONS if each == name]


def test_it_has_only_instructions_that_every_builder_knows() -> None:
    known = {"ARG", "FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in INSTRUCTIONS} == known


def test_it_ends_as_an_account_that_is_not_root_with_its_files_in_the_volume() -> None:
    assert of("USER") == ["pgassay"]
    assert of("VOLUME") == of("WORKDIR") == ["/runs"]
    assert all(value.startswith("/runs/") for value in re.findall(r"=(\S+)", of("ENV")[0]))


def test_what_it_copies_is_let_through_and_nothing_else() -> None:
    (copied,) = (line.split()[:-1] for line in of("COPY"))
    assert IGNORED[0] == "*"
    assert sorted(copied) == sorted(each.removeprefix("!") for each in IGNORED[1:])


def test_the_versions_of_the_lock_are_read_as_the_file_reads_them(tmp_path: Path) -> None:
    """Its sed makes constraints of the lock: every pin, and no hash."""
    found = re.search(r"sed -n '([^']+)' /tmp/pgassay/requirements.lock", TEXT)
    assert found
    said = subprocess.run(
        ["sed", "-n", found[1], ROOT / "requirements.lock"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    pins = re.findall(r"^([\w.-]+==\S+)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    assert [line.split()[0] for line in said] == pins
    assert not any("--hash" in line or "\\" in line for line in said)


@pytest.mark.slow
def test_an_image_is_built_and_knows_its_studies() -> None:
    builder = shutil.which("podman")
    if builder is None:
        pytest.skip("podman is not installed")
    if not list((ROOT / "dist").glob("pgassay-*.whl")):
        pytest.skip("no wheel in dist/: make wheel")
    subprocess.run([builder, "build", "--tag", "pgassay-test", ROOT], check=True, capture_output=True, timeout=800)
    said = subprocess.run([builder, "run", "--rm", "pgassay-test", "studies"], check=True, capture_output=True)
    assert b"fillfactor" in said.stdout
