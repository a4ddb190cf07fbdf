"""Records that somebody forged, with right checksums: each command answers or says what is wrong, and none hangs."""

import hashlib
import json
import os
import random
import shutil
import tomllib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pgassay import cli
from pgassay.testing.planted import make_run
from tests.report.cacherun import make_run as make_cache_run
from tests.report.crossed import make_crossed
from tests.report.cut_runs import make_cuts
from tests.report.driven import make_driven
from tests.report.turned import make_turned
from tests.security.forging import Forger, bounded, to_json, to_toml

FEW, MANY = 50, 1000
KINDS: dict[str, Callable[[Path], object]] = {
    "planted": make_run, "turned": make_turned, "cache": make_cache_run, "crossed": make_crossed, "cuts": make_cuts,
    "driven": make_driven,
}  # fmt: skip
JSON = (".json", ".jsonl")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("originals")
    for name, make in KINDS.items():
        make(folder / name)
        with_right_checksums(folder / name)  # some put files beside trials that were committed
    return {name: folder / name for name in KINDS}


def first_seed() -> int:
    """The same on CI each time, else another."""
    return 1 if "CI" in os.environ else random.SystemRandom().randrange(10**9)


def journal_of(run: Path) -> list[Any]:
    return [json.loads(line) for line in (run / "journal.jsonl").read_bytes().splitlines()]


def write_journal(run: Path, entries: list[Any], forge: Callable[[Any], Any] | None = None, line: int = -1) -> None:
    """Lines with right checksums, that of number `line` forged."""
    said = []
    for number, entry in enumerate(entries):
        body = {key: value for key, value in entry.items() if key != "crc32"} if isinstance(entry, dict) else entry
        text = to_json(forge(body) if forge and number == line else body).rstrip()
        text = text[:-1] if text.endswith(b"}") else text
        said.append(text + b',"crc32":"%08x"}\n' % zlib.crc32(text))
    (run / "journal.jsonl").write_bytes(b"".join(said))


def with_right_checksums(run: Path) -> None:
    """As a program would have written it that meant what it wrote: sums of trials, hashes and sums of the journal."""
    entries = journal_of(run)
    if isinstance(entries[0], dict) and isinstance(entries[0].get("data"), dict):
        sums = entries[0]["data"].get("sha256", {})
        there = [name for name in sums if (run / name).is_file() and (run / name).stat().st_size < 1 << 30]
        entries[0]["data"]["sha256"] = {**sums, **{name: digest_of(run / name) for name in there}}
    for entry in entries:
        data = entry.get("data") if isinstance(entry, dict) else None
        if not isinstance(data, dict) or entry.get("kind") != "trial_committed":
            continue
        trial = run / "trials" / f"{data['number']:06d}"
        if not (trial / "trial.json").is_file():
            continue
        files = (path for path in sorted(trial.rglob("*")) if path.is_file() and path.name != "SHA256SUMS")
        files = (path for path in files if not path.is_symlink() and path.stat().st_size < 1 << 30)
        sums = "".join(f"{digest_of(path)}  {path.relative_to(trial)}\n" for path in files)
        (trial / "SHA256SUMS").write_text(sums)
        data["sha256"] = digest_of(trial / "trial.json")
        data["sums_sha256"] = digest_of(trial / "SHA256SUMS")
    write_journal(run, entries)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def forge(run: Path, forger: Forger) -> None:
    """Change one file of a record, and make all checksums right again."""
    (run / "index.parquet").unlink(missing_ok=True)
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name not in ("lock", "SHA256SUMS"))
    own = [path for path in files if path.parent == run]
    path = forger.chance.choice(own if forger.chance.random() < 0.6 else files)
    forger.said += f", {path.relative_to(run)}"
    way = forger.chance.random()
    if path.suffix == ".parquet" and way < 0.8:
        forge_series(path, forger)
        with_right_checksums(run)
        return
    if path.name == "journal.jsonl" and way < 0.9:
        entries = journal_of(run)
        write_journal(run, entries, forger.value, forger.chance.randrange(len(entries)))
        return
    if way < 0.1 and path.name != "journal.jsonl":
        forger.file(path, [each for each in files if each.name != "journal.jsonl"])  # whose sums are made right below
    elif path.name.endswith(JSON) and way < 0.85:
        lines = path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]
        number = forger.chance.randrange(len(lines))
        lines[number] = to_json(forger.value(json.loads(lines[number])))
        path.write_bytes(b"\n".join(lines) + b"\n")
    elif path.suffix == ".toml" and way < 0.85:
        path.write_bytes(to_toml(forger.value(tomllib.loads(path.read_text()))))
    else:
        path.write_bytes(forger.data(path.read_bytes()))
    if path.name != "journal.jsonl":
        with_right_checksums(run)


def forge_series(path: Path, forger: Forger) -> None:
    """A series with other values, types, columns or rows."""
    table = pl.read_parquet(path)
    name = forger.chance.choice(table.columns)
    numbers = (0, -1, 2**62, -(2**62), 10**18)
    new = forger.chance.choice(
        (
            pl.lit(None).alias(name), pl.lit(float("nan")).alias(name), pl.lit("x" * 1000).alias(name),
            pl.lit(b"\xff").alias(name), pl.col(name).cast(pl.String), pl.col(name).reverse(), pl.col(name).implode(),
            *(pl.lit(number, pl.Int64).alias(name) for number in numbers),
            pl.lit(float("inf")).alias(name), pl.lit(1e300).alias(name), pl.lit("").alias(name),
        )
    )  # fmt: skip
    forger.said += f"; {name}: {new}"
    if forger.chance.random() < 0.5 and len(table):
        half = table.with_columns(new).select(name)
        try:
            last = table.tail(1).with_columns(half[name][:1].cast(table.schema[name]))
            table = pl.concat([table.head(len(table) // 2), last])
        except pl.exceptions.PolarsError:
            table = table.drop(name)
    else:
        table = table.with_columns(new)
    table.write_parquet(path)


def commands(run: Path, *, report: bool) -> Iterator[list[str]]:
    yield ["check", str(run)]
    yield ["show", "--json", str(run)]
    yield ["export", "--csv", str(run)]
    if report:
        yield ["report", str(run), "--no-figures"]


def attack(originals: dict[str, Path], folder: Path, seed: int, *, report: bool) -> None:
    """One forged record."""
    forger = Forger(seed)
    kind = forger.chance.choice(sorted(originals))
    forger.said += f" {kind}"
    run = folder / str(seed)
    shutil.copytree(originals[kind], run)
    forge(run, forger)
    for words in commands(run, report=report):
        with bounded(lambda words=words: f"{words[0]}: {forger.said}"):  # type: ignore[misc]
            assert cli.main(words) in (0, 1, 2)
    shutil.rmtree(run)


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_forged_records_end_no_command(
    originals: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    first = first_seed()
    for seed in range(first, first + count):
        attack(originals, tmp_path, seed, report=seed % 10 == 0)
        assert "Traceback" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("seed", [483, 920266353])
def test_what_a_thousand_found_is_mended(originals: dict[str, Path], tmp_path: Path, seed: int) -> None:
    """483: seconds of no trial in a series; 920266353: a value there that cannot be squared."""
    attack(originals, tmp_path, seed, report=False)
