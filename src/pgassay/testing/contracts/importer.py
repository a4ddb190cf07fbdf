"""What every reader of others' results keeps: it knows its own files and no others, and makes no number up."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from pgassay.importing.files import READERS
from pgassay.importing.reader import ForeignFile, Options, Reader, Reading

STRANGERS = ("", "#!/bin/sh\necho done\n", "a,b\n1,2\n", '{"a": 1}\n', "tps\n")
"""Texts that no program of benchmarks writes."""


class ImporterContract:
    """What every reader keeps; give fixtures `reader` and `files`: outputs of its program, each with its runs."""

    @pytest.fixture
    def reader(self) -> Reader:
        """The reader under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `reader`")

    @pytest.fixture
    def files(self, tmp_path: Path) -> Sequence[Path]:
        """At least one file that it reads; each holds at least one run."""
        raise NotImplementedError("the test class must have a fixture `files`")

    def test_it_says_what_it_is(self, reader: Reader) -> None:
        assert reader.name
        assert reader.name not in {other.name for other in READERS if other is not reader}

    def test_it_recognises_its_files_by_their_contents(
        self, reader: Reader, files: Sequence[Path], tmp_path: Path
    ) -> None:
        for number, path in enumerate(files):
            other_name = tmp_path / f"renamed-{number}"
            other_name.write_bytes(path.read_bytes())
            assert reader.recognises(ForeignFile.open(other_name), Options()), path.name

    def test_no_other_reader_recognises_its_files(self, reader: Reader, files: Sequence[Path]) -> None:
        for path in files:
            file = ForeignFile.open(path)
            assert not [other.name for other in READERS if other is not reader and other.recognises(file, Options())]

    def test_it_declares_the_responses_of_its_runs(self, reader: Reader, files: Sequence[Path]) -> None:
        for reading in _readings(reader, files):
            declared = {response.name for response in reading.responses}
            for run in reading.runs:
                assert set(run.responses) <= declared

    @pytest.mark.parametrize("text", STRANGERS, ids=["empty", "script", "table", "json", "word"])
    def test_it_leaves_other_files_to_others(self, reader: Reader, tmp_path: Path, text: str) -> None:
        path = tmp_path / "stranger"
        path.write_text(text, encoding="utf-8")
        assert not reader.recognises(ForeignFile.open(path), Options())

    def test_it_reads_runs_with_a_place_and_values(self, reader: Reader, files: Sequence[Path]) -> None:
        readings = _readings(reader, files)
        runs = [run for reading in readings for run in reading.runs]
        assert len(runs) >= len(files)
        for run in runs:
            assert run.place
            for value in run.responses.values():
                assert value is None or math.isfinite(value)
            assert any(value is not None for value in run.responses.values()) or run.problems

    def test_it_reads_the_same_again(self, reader: Reader, files: Sequence[Path]) -> None:
        once, again = (
            [run.responses for reading in _readings(reader, files) for run in reading.runs] for _ in range(2)
        )
        assert once == again

    def test_a_file_that_was_cut_short_gives_a_reason_or_a_problem(
        self, reader: Reader, files: Sequence[Path], tmp_path: Path
    ) -> None:
        for number, path in enumerate(files):
            content = path.read_bytes()
            cut = tmp_path / f"cut-{number}"
            for share in (0.3, 0.6, 0.9):
                cut.write_bytes(content[: int(len(content) * share)])
                file = ForeignFile.open(cut)
                if reader.recognises(file, Options()):
                    for _, found in reader.read([file], Options()):
                        assert isinstance(found, Reading | str), "a reason, or what there is of it"


def _readings(reader: Reader, files: Iterable[Path]) -> Iterator[Reading]:
    opened = [ForeignFile.open(path) for path in files]
    for path, found in reader.read(opened, Options()):
        assert isinstance(found, Reading), f"{path}: {found}"
        yield found
