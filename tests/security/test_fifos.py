"""A FIFO under the name of any file of a run, an advice or a capture keeps no command waiting.

Opening one waits for a writer that never comes. What a record needs is refused by its name; what it may lack is passed
over.
"""

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pgassay import cli, untrusted
from pgassay.advise import folder as advice
from pgassay.advise import laboratory
from pgassay.capture import files as captures
from pgassay.errors import PgassayError
from pgassay.live.progress import Seconds, Watched
from pgassay.live.server import pieces
from pgassay.record import ask, calibrations, directory, known, live_sample, power_cuts, slices, trials
from pgassay.record.directory import HEADER_FILE, HOST_FILE, LOCK_FILE, STUDY_FILE, holder
from pgassay.record.disk import RealDisk
from pgassay.record.journal import FILE as JOURNAL
from pgassay.record.series import INDEX_FILE, series_file
from pgassay.report import contents
from pgassay.testing.planted import make_run
from tests.capture.test_files import written
from tests.security.forging import bounded

Said = pytest.CaptureFixture[str]
STAGED = f"{trials.DIRECTORY}/.staging-000099"
TRIAL = f"{trials.DIRECTORY}/000002"
NEEDED = [HEADER_FILE, STUDY_FILE, HOST_FILE, JOURNAL, f"{TRIAL}/{trials.TRIAL_FILE}", f"{TRIAL}/{trials.SERIES_FILE}"]
LACKING = [
    LOCK_FILE, directory.STOP_FILE, INDEX_FILE, series_file(0), calibrations.FILE, contents.KEPT_FILE,
    ask.STATEMENTS_FILE, ask.LIKENESS_FILE, f"{TRIAL}/{trials.SUMS_FILE}", f"{TRIAL}/{trials.LEFT_OUT_FILE}",
    f"{STAGED}/{live_sample.FILE}", f"{STAGED}/pgbench.err", f"{STAGED}/{trials.TRIAL_FILE}",
    *(f"{TRIAL}/{name}" for name in (ask.LATENCIES_FILE, power_cuts.FILE, slices.FILE)),
    f"{TRIAL}/{known.DISK_FILE}",
]  # fmt: skip
"""A run goes without these, or is damaged there alone."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("original") / "run", discarded=False).path


def planted(original: Path, folder: Path, *names: str) -> Path:
    """A copy of the run with a FIFO under each of these names."""
    run = shutil.copytree(original, folder / "run")
    for name in names:
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)
    return run


def commands(run: Path, out: Path) -> list[list[str]]:
    return [
        ["check", str(run)],
        ["show", str(run)],
        ["show", "--json", str(run)],
        ["report", str(run), "--no-figures", "--out", str(out)],
        ["export", "--csv", str(run)],
        ["export", "--capsule", str(out / "a.capsule"), str(run)],
        ["compare", str(run), str(run)],
        ["rerun", "--dry-run", str(run)],
        ["resume", str(run)],
    ]


def answered(run: Path, out: Path, capsys: Said) -> None:
    """Every command says something of the run, and so does its page in a browser."""
    out.mkdir()
    for words in commands(run, out):
        with bounded(lambda words=words: " ".join(words)):  # type: ignore[misc]
            assert cli.main(words) in (0, 1, 2)
        assert not re.search("Traceback|usage:", capsys.readouterr().err)
    with bounded(lambda: "serve"):
        with suppress(PgassayError, OSError):
            Watched(run).progress()
        Seconds(run).more()
        assert holder(run) is None


@pytest.mark.parametrize("name", NEEDED)
def test_no_file_that_a_record_needs_keeps_a_command_waiting(
    original: Path, tmp_path: Path, name: str, capsys: Said
) -> None:
    answered(planted(original, tmp_path, name), tmp_path / "out", capsys)


def test_no_file_that_a_record_may_lack_keeps_a_command_waiting(original: Path, tmp_path: Path, capsys: Said) -> None:
    answered(planted(original, tmp_path, *LACKING), tmp_path / "out", capsys)


@pytest.mark.parametrize(
    "reading",
    [
        lambda path: advice.read(path.parent),
        lambda path: advice.answered(path.parent),
        lambda path: laboratory.refused_in(path.parent),
        lambda path: list(untrusted.json_lines(path)),
        lambda path: list(pieces(path)),
        lambda path: directory.ask_to_stop(path.parent),
        lambda path: RealDisk().append(path, b"line\n"),
        lambda path: RealDisk().truncate(path, 0),
        lambda path: RealDisk().sync_tree(path.parent),
    ],
)
def test_nothing_else_that_is_read_or_written_waits(tmp_path: Path, reading: Callable[[Path], object]) -> None:
    for name in (advice.TASK_FILE, advice.RESULT_FILE, laboratory.REFUSED_FILE, directory.STOP_FILE, "any"):
        os.mkfifo(tmp_path / name)

    def ends() -> None:
        try:
            reading(tmp_path / "any")
        except (PgassayError, OSError):
            return

    with bounded(lambda: "it"):
        ends()


@pytest.mark.parametrize("name", [captures.HEAD, captures.STATISTICS, captures.LOAD])
def test_a_capture_is_read_at_once(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "app.capture")
    (path / name).unlink()
    os.mkfifo(path / name)
    for words in (["ask", str(path), "work_mem=4MB,64MB", "--dry-run"], ["advise", str(path), "--dry-run"]):
        with bounded(lambda words=words: " ".join(words)):  # type: ignore[misc]
            assert cli.main(words) == 2
