"""An arm is resolved once: its snapshot costs one look at the user's data, however often its key is asked for."""

import hashlib
from pathlib import Path

import pytest

from pgassay.bench.file_hashes import FileHashes
from pgassay.bench.load import Load, LoadOptions, Tools
from pgassay.bench.server import Installation
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.load import drivers
from pgassay.testing.fakes.clock import FakeClock
from pgassay.testing.fakes.runner import FakeRunner
from tests.lab.simulation import fake_site, study_of


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each file whose contents are hashed, in order."""
    seen: list[str] = []
    plain = hashlib.file_digest

    def counting(file: object, digest: str) -> object:
        seen.append(Path(file.name).name)  # type: ignore[attr-defined]
        return plain(file, digest)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", counting)
    return seen


def resolved_with(init: Path) -> ResolvedStudy:
    """Three fillfactors on the user's own data, as a workbench resolves them: a load for each arm, hashes for all."""
    hashes = FileHashes()

    def load(options: LoadOptions, installation: Installation) -> Load:
        return drivers.make(options, Tools(installation.bindir, FakeRunner(), FakeClock(), hashes))

    study = study_of(load={"init": str(init), "script": "simple-update"})
    return resolve(study, fake_site(load=load))


def test_the_users_data_are_read_once_whatever_asks_for_a_snapshot(tmp_path: Path, reads: list[str]) -> None:
    init = tmp_path / "data.sql"
    init.write_text("CREATE TABLE a ();\n")
    resolved = resolved_with(init)
    first = [arm.snapshot_key for arm in resolved.arms]
    assert len(set(first)) == 3
    assert [arm.snapshot_key for arm in resolved.arms] == first
    resolved.needs({})
    assert reads == ["data.sql"], "the next trial goes by size, time and inode"


def test_data_that_changed_during_a_run_are_noticed(tmp_path: Path, reads: list[str]) -> None:
    init = tmp_path / "data.sql"
    init.write_text("CREATE TABLE a ();\n")
    arm = resolved_with(init).arms[0]
    before = arm.snapshot_key
    init.write_text("CREATE TABLE ab ();\n")
    assert arm.snapshot_key != before, "another size"
    replaced = tmp_path / "new.sql"
    replaced.write_text("CREATE TABLE a ();\n")
    replaced.rename(init)
    assert arm.snapshot_key == before, "the same contents again, in another file"
    assert len(reads) == 3
