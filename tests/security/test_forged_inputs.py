"""Studies, results of other programs, tables, captures and capsules that somebody changed: answered or refused."""

import contextlib
import hashlib
import json
import shutil
import stat
import tomllib
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pgassay import cli
from pgassay.capture import files
from pgassay.errors import PgassayError
from pgassay.lab.catalogue import every_factor
from pgassay.record import capsule
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve
from pgassay.study.parsing import parse, parse_recorded
from tests.capture.test_files import written
from tests.security.forging import Forger, bounded, to_json, to_toml
from tests.security.test_forged_records import first_seed

FEW, MANY = 100, 1000
SAMPLES = Path(__file__).parents[1] / "samples"
TABLE = "arm,tps,seconds,started\n" + "".join(
    f"{arm},{1000 + 7 * each},60,{1_700_000_000 + 100 * each}\n" for each in range(8) for arm in ("a", "b")
)


def attack_study(forger: Forger, folder: Path) -> None:
    """A built-in study with one thing changed, as its file and as a record's."""
    name = forger.chance.choice(builtin.names())
    text = builtin.find(name)[1]
    forger.said += f" {name}"
    whole = forger.chance.random() < 0.8
    data = to_toml(forger.value(tomllib.loads(text))) if whole else forger.data(text.encode())
    (folder / "mine.toml").write_bytes(data)
    try:
        document = read(*builtin.find(str(folder / "mine.toml")))
        for size in ("", "quick"):
            asked = resolve("mine", document, Overrides(size=size), every_factor())
            _ = parse_recorded("mine", asked).design
            _ = parse("mine", asked, every_factor()).design
    except PgassayError:
        pass


def attack_results(forger: Forger, folder: Path) -> None:
    """What other programs wrote, or a table, with bytes changed."""
    names = [each for each in sorted(SAMPLES.iterdir()) if each.is_file()]
    chosen = forger.chance.choice([None, *names])
    data = TABLE.encode() if chosen is None else chosen.read_bytes()
    path = folder / (chosen.name if chosen else "runs.csv")
    forger.said += f" {path.name}"
    path.write_bytes(forger.data(data))
    words = ["--columns", "treatment=arm,value=tps,duration=seconds,started=started"] if chosen is None else []
    assert cli.main(["lint", str(path), *words]) in (0, 1, 2)
    path.unlink()


def attack_capture(forger: Forger, folder: Path) -> None:
    """A capture with one value of one of its files changed, or a file as a whole."""
    path = written(folder / "app.capture")
    file = forger.chance.choice(sorted(each for each in path.iterdir() if each.is_file()))
    forger.said += f" {file.name}"
    way = forger.chance.random()
    if way < 0.15:
        forger.file(file, [each for each in path.iterdir() if each != file])
    elif file.suffix == ".json" and way < 0.8:
        file.write_bytes(to_json(forger.value(json.loads(file.read_bytes()))))
    else:
        file.write_bytes(forger.data(file.read_bytes()))
    with contextlib.suppress(PgassayError):
        files.read(path)
    shutil.rmtree(path)


def attack_capsule(forger: Forger, folder: Path) -> None:
    """A capsule with hostile names, kinds of entries, sizes or a changed manifest, whose checksums are right."""
    entries = {f"run/{name}": b"{}" for name in ("run.json", "study.toml", "host.json", "journal.jsonl")}
    hostile = (
        "../evil", "/tmp/evil", "run/../../evil", "run//evil", "run/./x", "evil", "run", "run/run.json/x", "run/\0",
        "scripts/../../x", "report/\\..\\x", "run/" + "x" * 5000, "run/\x1b[2J", "capsule.json", "run/é",
    )  # fmt: skip
    if forger.chance.random() < 0.6:
        entries[forger.chance.choice(hostile)] = b"x"
    manifest = {
        "format": 1, "study": "s", "run": "r", "started_utc": "", "program_version": "", "postgres": [], "scripts": {},
        "files": {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                  for name, data in entries.items()},
    }  # fmt: skip
    changed = to_json(forger.value(manifest)) if forger.chance.random() < 0.6 else json.dumps(manifest).encode()
    path, out = folder / "x.capsule", folder / "inside" / "out"
    out.parent.mkdir(exist_ok=True)
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path, "w") as archive:
        for name, data in {"capsule.json": changed, **entries}.items():
            entry = zipfile.ZipInfo(name)
            if forger.chance.random() < 0.1:
                kind = forger.chance.choice((stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR))
                entry.external_attr = (kind | 0o777) << 16
            if forger.chance.random() < 0.05:
                entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    if forger.chance.random() < 0.2:
        path.write_bytes(forger.data(path.read_bytes()))
    try:
        capsule.unpack(path, out)
    except PgassayError:
        assert not out.exists(), "nothing is left of what was refused"
    else:
        assert not [each for each in out.rglob("*") if each.is_symlink() or not (each.is_file() or each.is_dir())]
        shutil.rmtree(out)
    assert sorted(each.name for each in folder.iterdir()) == ["inside", "x.capsule"], "nothing is written elsewhere"
    assert not list(out.parent.iterdir())
    assert not Path("/tmp/evil").exists()
    path.unlink()
    out.parent.rmdir()


KINDS: dict[str, Callable[[Forger, Path], None]] = {
    "study": attack_study, "results": attack_results, "capture": attack_capture, "capsule": attack_capsule,
}  # fmt: skip


def attack(kind: str, seed: int, folder: Path) -> None:
    forger = Forger(seed)
    with bounded(lambda: f"{kind}: {forger.said}"):
        KINDS[kind](forger, folder)


@pytest.mark.parametrize("kind", KINDS)
def test_changed_inputs_end_nothing(kind: str, tmp_path: Path) -> None:
    first = first_seed()
    for seed in range(first, first + FEW):
        attack(kind, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_changed_inputs_end_nothing(kind: str, tmp_path: Path) -> None:
    first = first_seed()
    for seed in range(first, first + MANY):
        attack(kind, seed, tmp_path)


def test_a_capsule_with_a_file_that_has_no_name_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.capsule", "w") as archive:
        archive.writestr("capsule.json", "{}")
        archive.writestr(zipfile.ZipInfo(""), "x")
    with pytest.raises(PgassayError):
        capsule.unpack(tmp_path / "x.capsule", tmp_path / "out")
