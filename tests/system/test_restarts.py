"""A user's server that is restarted by the user's command: every level in force, and all put back, whatever happens."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgassay.cli import main
from pgassay.errors import PgassayError
from pgassay.interfaces.errors import BenchError, ClusterError, Missing
from pgassay.postgres.attached import attachment
from pgassay.postgres.attached.attachment import Attachment, attach
from pgassay.postgres.attached.restarts import RestartCommand
from pgassay.study.responses import Status
from pgassay.testing import real
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, kill, wait_until
from tests.system.staging import Restartable, staging

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("state_directory")]

PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def server(postgres: None) -> Iterator[Restartable]:
    with staging(Restartable) as found:
        assert isinstance(found, Restartable)
        found.again()
        yield found


def attached(server: Restartable, folder: Path, limit_s: float = PATIENCE_S) -> Attachment:
    return attach(server.dsn(), folder, Missing(), {}, restart=RestartCommand.of(str(server.script), limit_s))


def words(journey: Place, server: Restartable, *more: str) -> tuple[str, ...]:
    tiny = ("-s", "1", "-c", "2", "-j", "1", "-T", "1s", "--set", "load.warmup=0s", "--blocks", "2..2", "--seed", "3")
    levels = ("compare", "shared_buffers=32MB", "shared_buffers=96MB", "--set", "server.max_connections=60")
    where = ("--server", server.dsn(), "--i-own", "--restart-command", str(server.script))
    return (*levels, *tiny, *where, *ANYWHERE, "--out", str(journey.runs / "a"), *more)


def test_settings_that_take_a_restart_are_compared_and_put_back(
    journey: Place, server: Restartable, before: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words(journey, server, "--dry-run")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for setting in ("shared_buffers (now 128MB)", "max_connections (now 100)"):
        assert setting in said.partition("ALTER SYSTEM SET")[2]
    assert "put back after each trial, and in force with the next restart" in said
    assert f"the server is restarted before each trial and at the end, in 120 s at most, by: {server.script}" in said
    calls = server.restarts()
    done = finished(journey.start(*words(journey, server)), LONG_S)
    trials = journey.record("a").trials
    valid = [trial for trial in trials if trial.status is Status.VALID]
    assert done.returncode == (0 if valid else 1), done.stderr  # a machine may be too busy for a single one
    assert len(trials) >= 4
    assert server.restarts() == calls + len(trials) + 2, "one for the data, one at the end"
    assert not any(reason.code == "other_clients" for trial in trials for reason in trial.reasons), "our own sessions"
    for trial in trials:
        level = trial.levels["server.shared_buffers"]
        assert (level.read_back, trial.settings["shared_buffers"]) == (level.canonical, level.typed)
        assert trial.settings["max_connections"] == "60"
        assert trial.regime["restarted_by"] == str(server.script)


def test_a_level_that_prevents_the_start_is_undone_and_the_next_is_tried(
    server: Restartable, before: dict[str, object], tmp_path: Path
) -> None:
    made = attached(server, tmp_path)
    wanted = {"max_connections": "2", "checkpoint_timeout": "9min"}
    made.changes.set_system(wanted)
    with pytest.raises(ClusterError, match="did not start with max_connections = 2"):
        made.changes.restart({"max_connections": "2"})
    assert server.state() == before, "at once, and not at the end alone"
    made.changes.set_system({"max_connections": "50"})
    made.changes.restart({"max_connections": "50"})
    assert server.show("max_connections") == "50"
    made.close()


@pytest.mark.parametrize(
    ("mode", "limit_s", "said"),
    [
        ("fail", PATIENCE_S, "ended with status 3: Job for postgresql.service failed."),
        ("hang", 2.0, "had not ended after 2 s, and was terminated"),
        ("nothing", 2.0, "has not restarted the server at"),
        ("ignore", PATIENCE_S, "shared_buffers is 77MB after the restart, not 64MB: it comes from the command line"),
        (
            "manage",
            PATIENCE_S,
            "shared_buffers is 77MB after the restart, not 64MB: it comes from the configuration file ",
        ),
    ],
)
def test_a_command_that_does_not_do_it_ends_the_run_with_the_reason(
    server: Restartable, before: dict[str, object], tmp_path: Path, mode: str, limit_s: float, said: str
) -> None:
    made = attached(server, tmp_path, limit_s)
    made.changes.set_system({"shared_buffers": "64MB"})
    server.mode(mode)
    with pytest.raises(BenchError) as caught:
        made.changes.restart({"shared_buffers": "64MB"})
    assert said in caught.value.message
    assert mode != "manage" or f"file {server.folder}/managed.conf, line " in caught.value.message
    assert not isinstance(caught.value, ClusterError), "no outcome of a treatment"
    server.mode("as it should")
    made.close()
    if mode in ("ignore", "manage"):
        server.again()  # the script had it on its command line, or in a file of its own


def test_another_server_is_refused_and_nothing_is_changed_there(
    server: Restartable, before: dict[str, object], tmp_path: Path
) -> None:
    second = server.folder / "second"
    done = real.runner().run(
        [str(real.installation().bindir / "initdb"), "-D", str(second), "-U", "owner", "--auth=trust", "--no-sync"]
    )
    assert done.status == 0, done.stderr
    file = second / "postgresql.auto.conf"
    untouched = file.read_text()
    made = attached(server, tmp_path)
    made.changes.set_system({"shared_buffers": "64MB"})
    server.mode("another")
    with pytest.raises(BenchError, match="is another one now"):
        made.changes.restart({"shared_buffers": "64MB"})
    with pytest.raises(BenchError, match="nothing is changed there"):
        made.close()
    assert file.read_text() == untouched
    (failed,) = attachment.repair(tmp_path)[1]
    assert "the changes to undo were made on" in failed.message
    os.system(f"{server._pg_ctl} -D {second} -m immediate -w stop >/dev/null")
    server.mode("as it should")
    assert attachment.repair(tmp_path) == (("the server, which was down",), ())


def test_a_server_that_is_down_after_a_killed_run_is_mended_by_doctor(
    journey: Place, server: Restartable, before: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    server.mode("half")
    process = journey.start(*words(journey, server, "--restart-limit", "10min"))
    wait_until(server.inside, process)
    kill(process)
    with pytest.raises(psycopg.OperationalError):
        server.show("shared_buffers")
    assert main([*words(journey, server, "--out", str(journey.runs / "b"))]) == 2
    said = capsys.readouterr().err
    assert "pgassay doctor --repair" in said
    assert "a killed pgassay left on the server" in said
    _end_commands(server)
    server.mode("as it should")
    main(["doctor", "--repair"])
    said = capsys.readouterr().err
    assert "put back: the server, which was down" in said
    assert "put back: database" in said


def _end_commands(server: Restartable) -> None:
    """The hanging script: doctor would wait for its limit."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and str(server.script) in (entry / "cmdline").read_text():
                os.killpg(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


def test_interrupted_inside_a_restart_it_waits_for_its_end(
    journey: Place, server: Restartable, before: dict[str, object], state_directory: Path
) -> None:
    server.mode("slow")
    process = journey.start(*words(journey, server))
    wait_until(server.inside, process)
    process.terminate()
    assert finished(process).returncode == 130
    assert list(state_directory.glob("attached-*.jsonl")) == []


def test_the_restart_of_a_killed_lab_is_waited_for(
    server: Restartable, before: dict[str, object], tmp_path: Path
) -> None:
    """Its command goes on without it, and stops and starts the server while it is put back."""
    server.mode("slow")
    pid = os.fork()
    if pid == 0:
        try:  # the lab
            made = attached(server, tmp_path)
            made.changes.set_system({"shared_buffers": "64MB"})
            made.changes.restart({"shared_buffers": "64MB"})
        finally:
            os._exit(1)
    deadline = time.monotonic() + PATIENCE_S
    while not server.inside():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    done, failed = attachment.repair(tmp_path)
    assert failed == ()
    assert "shared_buffers of the server" in done


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--restart-command", "no-such-program restart"), 'program "no-such-program" was not found'),
        (("--restart-command", "systemctl restart postgresql && true"), '"&&" means something to a shell only'),
        (("--restart-command", ""), "it is empty"),
        (("--restart-limit", "0s"), "--restart-limit must be 1s at least"),
        (("--set", "server.wal_level=logical"), "wal_level is not changed on a server that is not ours"),
        (("--set", "server.port=1"), '"port" cannot be a factor'),
        (("--set", "server.shared_buffers=12kB"), "shared_buffers"),
        (("--set", "load.clients=70"), "the server of --server lets an ordinary role have 57"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_changed(
    journey: Place,
    server: Restartable,
    before: dict[str, object],
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    said: str,
) -> None:
    calls = server.restarts()
    assert main([*words(journey, server, *more)]) == 2
    assert said in capsys.readouterr().err
    assert server.restarts() == calls


def test_the_command_is_about_a_server_of_the_user_s_own(journey: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "fillfactor", "--restart-command", "true", "--dry-run"]) == 2
    assert "--restart-command needs --server" in capsys.readouterr().err


def test_a_read_only_server_is_refused(server: Restartable, tmp_path: Path) -> None:
    server.query("ALTER ROLE plain SET default_transaction_read_only = on")
    try:
        with pytest.raises(PgassayError, match="is read-only"):
            attach(server.dsn("plain"), tmp_path, Missing(), {})
    finally:
        server.query("ALTER ROLE plain RESET default_transaction_read_only")
