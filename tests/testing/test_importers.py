"""Every reader of others' results keeps the contract of readers."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pgassay.importing.files import READERS
from pgassay.importing.reader import Reader
from pgassay.testing.contracts import ImporterContract
from tests.importing import made

SAMPLES = Path(__file__).parents[1] / "samples"
FILES: dict[str, Callable[[Path], Sequence[Path]]] = {
    "pgbench": lambda folder: [SAMPLES / "pgbench15_N.txt", SAMPLES / "pgbench18_tpcb.txt"],
    "sysbench": lambda folder: [SAMPLES / "sysbench_oltp_delete.txt"],
    "HammerDB": lambda folder: [made.hammerdb(folder / "hammer.DB")],
    "BenchBase": lambda folder: [_written(folder / "tpcc.summary.json", made.benchbase(100.0))],
}


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_every_reader_has_a_sample() -> None:
    assert {reader.name for reader in READERS} == set(FILES)


class TestImporters(ImporterContract):
    @pytest.fixture(params=READERS, ids=[reader.name for reader in READERS])
    def reader(self, request: pytest.FixtureRequest) -> Reader:
        reader: Reader = request.param
        return reader

    @pytest.fixture
    def files(self, reader: Reader, tmp_path: Path) -> Sequence[Path]:
        return FILES[reader.name](tmp_path)
