"""What every runner keeps: real and fake."""

from pathlib import Path

import pytest

from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.running import Runner
from tests.fakes.runner import FakeRunner


@pytest.fixture(params=["fake", "real"])
def runner(request: pytest.FixtureRequest) -> Runner:
    return FakeRunner() if request.param == "fake" else LocalRunner(choose())


def test_a_failure_is_an_outcome_not_an_exception(runner: Runner) -> None:
    completed = runner.run(["false"])
    assert (completed.status, completed.command) == (1, ("false",))


def test_arguments_pass_no_shell(runner: Runner) -> None:
    assert runner.run(["echo", "$HOME", "a  b;c"]).stdout == "$HOME a  b;c\n"


def test_input_reaches_the_program(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("größer\n")
    assert runner.run(["cat"], input_file=tmp_path / "given").stdout == "größer\n"


def test_without_input_the_program_reads_nothing(runner: Runner) -> None:
    assert runner.run(["cat"]).stdout == ""


def test_a_missing_program_is_an_error_that_names_it(runner: Runner) -> None:
    with pytest.raises(BenchError, match="no-such-program"):
        runner.run(["no-such-program"])


def test_run_gives_up_after_its_time(runner: Runner) -> None:
    with pytest.raises(TimeoutError):
        runner.run(["sleep", "1000"], timeout_s=0.1)


def test_a_started_program_runs_until_it_is_ended(runner: Runner, tmp_path: Path) -> None:
    running = runner.start(["sleep", "1000"], stdout=tmp_path / "out", stderr=tmp_path / "err")
    assert running.pid > 0
    with pytest.raises(TimeoutError):
        running.wait(0.0)
    running.terminate()
    assert running.wait(0.0).status < 0
    running.terminate()
    running.send(15)


def test_a_signal_ends_it_with_that_status(runner: Runner, tmp_path: Path) -> None:
    running = runner.start(["sleep", "1000"], stdout=tmp_path / "out", stderr=tmp_path / "err")
    running.send(2)
    assert running.wait(300.0).status == -2


def test_output_goes_to_the_files_and_is_appended(runner: Runner, tmp_path: Path) -> None:
    both = tmp_path / "log"
    for word in ("one", "two"):
        completed = runner.start(["echo", word], stdout=both, stderr=both).wait(300.0)
        assert completed.status == 0
    assert both.read_text() == "one\ntwo\n"
    assert completed.stdout == "one\ntwo\n"
