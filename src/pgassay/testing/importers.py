"""The contract of a reader of foreign files (`pgassay.importing.reader.Reader`), for the tests of a plug-in."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pgassay.importing.files import READERS
from pgassay.importing.reader import ForeignFile, Options, Reader
from pgassay.importing.values import Reading


def check_reader(reader: Reader, samples: Sequence[Path], options: Options | None = None) -> list[Reading]:
    """Hold a reader to its contract by real outputs of its program; returns what it read.

    It recognises each sample and no empty, binary or other text, no other reader recognises one, every sample gives
    runs, each run says where it stands, and every name that it uses is declared. Raises `AssertionError`.
    """
    options = options or Options()
    files = [ForeignFile.open(path) for path in samples]
    for file in files:
        assert reader.recognises(file, options), f"{reader.name} does not recognise {file.path}"
        taken = [each.name for each in READERS if each.name != reader.name and each.recognises(file, options)]
        assert not taken, f"{file.path} is recognised by {taken}, too"
    with TemporaryDirectory() as folder:
        for contents in (b"", b"\0\1\2", b"some words of no program\n"):
            path = Path(folder, "other.txt")
            path.write_bytes(contents)
            assert not reader.recognises(ForeignFile.open(path), options), f"{reader.name} recognises {contents!r}"
    groups = [files] if reader.reads_together else [[file] for file in files]
    found = [each for group in groups for each in reader.read(group, options)]
    readings = []
    for path, reading in found:
        assert isinstance(reading, Reading), f"{path} {reading}"
        assert reading.runs, f"{path} gives no run"
        declared = {response.name for response in reading.responses}
        for run in reading.runs:
            assert run.place, f"a run of {path} does not say where it stands"
            assert set(run.responses) <= declared, f"{run.place}: {set(run.responses) - declared} is not declared"
            assert any(value is not None for value in run.responses.values()), f"{run.place} has no value"
        readings.append(reading)
    return readings
