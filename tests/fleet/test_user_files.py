"""Files of the user's travel to the hosts, and the record is what one machine would have written."""

import hashlib
import os
import stat
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pytest

from pgassay.errors import UsageError
from pgassay.fleet import blocks
from pgassay.fleet.blocks import Bench, BlockOrder, DamagedError, HostedBlock, Job, UserFile
from pgassay.fleet.parcels import Arrived
from pgassay.host import accounts
from pgassay.interfaces.load import LoadResult
from pgassay.interfaces.places import UserFiles
from pgassay.interfaces.server import Server
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.lab.named_files import bounds_of
from pgassay.load.pgbench.options import PgbenchOptions, show_scripts
from pgassay.study import document as documents
from pgassay.study.model import Study
from tests.fleet.fleet_of_fakes import Fleet
from tests.lab.machine import ROOT, MachineLoad
from tests.lab.simulation import DOCUMENT, Simulation, simulate, study_of


def document_of(**load: object) -> str:
    return documents.write({**DOCUMENT, "load": {**DOCUMENT["load"], **load}})


class ScriptLoad(MachineLoad):
    """Keeps what it is to play, and names it as pgbench does."""

    def run(self, server: Server, options: PgbenchOptions, output: Path, seed: int) -> LoadResult:
        found = super().run(server, options, output, seed)
        for number, each in enumerate(options.scripts, start=1):
            self._keep(output / f"script_{number}_{each.path.name}", each.path.read_text(encoding="utf-8"))
        self._keep(output / "pgbench.err", "".join(f"reading {each.path}\n" for each in options.scripts))
        return replace(found, read_back={**found.read_back, "load.script": show_scripts(options.scripts)})


@dataclass
class Scripted(Simulation):
    """A machine whose load plays scripts, which lie where `files` says."""

    files: UserFiles = field(default_factory=UserFiles)

    def resolved(self) -> ResolvedStudy:
        load = ScriptLoad(self.machine, self.speeds, {}, {})
        environment = replace(
            self.environment(), files=self.files, load=lambda options, installation: load.with_options(options)
        )
        return resolve(self.study, environment)


def scripted(place: Path, study: Study, files: UserFiles | None = None) -> Scripted:
    return Scripted(simulate(place).machine, study, {}, files=files or UserFiles())


@dataclass
class FleetWithFiles(Fleet):
    """Hosts that get files with each block."""

    files: tuple[UserFile, ...] = ()
    seen: list[Path] = field(default_factory=list)
    """Where the files were, on all hosts."""

    def _host(self, changes: dict[str, object]) -> Callable[[BlockOrder, str], Arrived]:
        def run(order: BlockOrder, host: str) -> Arrived:
            job = msgspec.json.decode(Bench("simulated", "", files=self.files).job(order), type=Job)
            with blocks.files_laid_out(job.bench.files) as own:
                self.seen += own.places.values()
                simulation = scripted(self.place, self.head.study, own)
                work = ROOT / "block"
                simulation.machine.disk.mkdir(work)
                return HostedBlock(simulation.resolved(), job.order, "h", work).run()

        return run


@pytest.fixture
def scripts(tmp_path: Path) -> tuple[Path, Path]:
    """Two of one name."""
    found = tmp_path / "a" / "mine.sql", tmp_path / "b" / "mine.sql"
    for number, each in enumerate(found):
        each.parent.mkdir()
        each.write_text(f"SELECT {number};\n", encoding="utf-8")
    return found


def read_files(text: str, known: dict[str, str] | None = None) -> tuple[UserFile, ...]:
    return blocks.read_files(text, bounds_of("simulated", documents.read("simulated", text)), known)


def test_contents_and_paths_of_the_record_are_those_of_one_machine(tmp_path: Path, scripts: tuple[Path, Path]) -> None:
    first, second = scripts
    load = {"script": [f"{first}@3", str(second)]}
    study, files = study_of(load=load), read_files(document_of(**load))
    assert [each.path for each in files] == [str(first), str(second)]
    alone = scripted(tmp_path, study)
    alone.carry_on()
    for each in scripts:
        each.rename(each.with_suffix(".gone"))
    fleet = FleetWithFiles(scripted(tmp_path, study), tmp_path, alike=True, files=files)
    fleet.carry_on()
    assert len(fleet.seen) > 2
    assert not any(each.exists() or each.is_relative_to(tmp_path / "a") for each in fleet.seen)
    one, many = alone.run, fleet.head.run
    assert {trial.levels["load.script"].read_back for trial in many.trials} == {f"{first}@3,{second}@1"}
    assert [(each.arm, each.status, each.levels) for each in many.trials] == [
        (each.arm, each.status, each.levels) for each in one.trials
    ]
    raw = ("pgbench.err", "script_1_mine.sql", "script_2_mine.sql")
    wanted = {path: data for path, data in alone.committed().items() if path.name in raw}
    assert len(wanted) == 3 * len(one.trials)
    assert {path: data for path, data in fleet.head.committed().items() if path.name in raw} == wanted


def test_a_host_keeps_files_for_itself_while_it_needs_them(tmp_path: Path, scripts: tuple[Path, Path]) -> None:
    files = read_files(document_of(script=[str(each) for each in scripts], init=str(scripts[0])))
    assert len(files) == 2, "a file that is named twice is sent once"
    account = accounts.choose()
    with blocks.files_laid_out(files) as own:
        assert [own.here(each).read_text(encoding="utf-8") for each in scripts] == ["SELECT 0;\n", "SELECT 1;\n"]
        for each in own.places.values():
            for path in (each, each.parent):
                mode = path.stat()
                assert mode.st_uid == os.geteuid()
                assert not mode.st_mode & (stat.S_IWGRP | stat.S_IRWXO)
                assert mode.st_gid == account.gid or not mode.st_mode & stat.S_IRWXG
        assert own.with_user_paths(f"in {own.here(scripts[1])}: error") == f"in {scripts[1]}: error"
        folder = next(iter(own.places.values())).parents[1]
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.parametrize("path", ["/a/..", "/", "mine.sql", "../mine.sql", "/a/mi\0ne.sql", f"/{'x' * 300}"])
def test_no_name_of_a_head_leads_out_of_the_folder(path: str) -> None:
    content = b"SELECT 1;"
    file = UserFile(path, hashlib.sha256(content).hexdigest(), zlib.compress(content))
    with pytest.raises(DamagedError), blocks.files_laid_out([file]):
        raise AssertionError("it was laid out")


def test_what_is_damaged_or_swells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FILES_BYTES_MAX", 1000)
    large = bytes(1001)
    for content, packed in ((b"one", zlib.compress(b"two")), (large, zlib.compress(large)), (b"one", b"one")):
        file = UserFile("/mine.sql", hashlib.sha256(content).hexdigest(), packed)
        with pytest.raises(DamagedError, match=r"/mine\.sql"), blocks.files_laid_out([file]):
            raise AssertionError("it was laid out")
    half = bytes(600)
    both = [UserFile(path, hashlib.sha256(half).hexdigest(), zlib.compress(half)) for path in ("/a.sql", "/b.sql")]
    with pytest.raises(DamagedError, match=r"/b\.sql"), blocks.files_laid_out(both):
        raise AssertionError("they were laid out")


def refused(text: str, known: dict[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as raised:
        read_files(text, known)
    return raised.value.message


def test_what_cannot_travel_is_named(
    tmp_path: Path, scripts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, odd, schema = tmp_path / "pipe.sql", tmp_path / 'o"dd.sql', tmp_path / "schema.sql"
    os.mkfifo(pipe)
    odd.touch()
    assert f'"{pipe}" is not a plain file' in refused(document_of(script=str(pipe)))
    assert f'"{odd}" has a quote' in refused(document_of(script=str(odd)))
    assert f'"{tmp_path}/none.sql" cannot be read' in refused(document_of(script=[f"{tmp_path}/none.sql"]))
    for line in ("\\ir tables.sql", "  \\i /tables.sql", "\\copy t from 'rows.csv'"):
        schema.write_text(f"CREATE TABLE t (i int);\n{line}\n", encoding="utf-8")
        assert f'"{schema}" has psql read another file: {line.strip()}' in refused(document_of(init=str(schema)))
    schema.write_text(
        "\\copy t from  stdin\n\\.\n\\copy (SELECT 1 FROM t) TO 't.csv'\n\\copy t from stdin\n1\n\\.\n"
        "COPY t FROM stdin;\n\\\\i 2\n\\.\n",
        encoding="utf-8",
    )
    assert len(read_files(document_of(init=str(schema)))) == 1
    monkeypatch.setattr(blocks, "FILES_BYTES_MAX", 15)
    read_files(document_of(script=str(scripts[0])))
    told = refused(document_of(script=[str(each) for each in scripts]))
    assert f'"{scripts[1]}" is too large' in told
    assert str(scripts[0]) not in told


def test_a_file_that_has_changed_since_the_run_began_is_refused(scripts: tuple[Path, Path]) -> None:
    text = document_of(script=[str(each) for each in scripts])
    known = {each.path: each.sha256 for each in read_files(text)}
    assert len(read_files(text, known)) == 2
    scripts[1].write_text("SELECT 2;\n", encoding="utf-8")
    told = refused(text, known)
    assert "changed since the run began" in told
    assert str(scripts[1]) in told
    assert str(scripts[0]) not in told
