"""A study on a server that is not ours: to its verdict, and whatever ends it, the server is as it was."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.study.responses import Status
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, kill, load_runs, wait_until
from tests.system.staging import Staging, staging

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("state_directory")]

STUDY = """
[study]
format = 1
title = "A sighup setting and one of a session"
question = "Do they make a difference here?"

[factors]
"server.max_wal_size" = ["1GB", "8GB"]

[fixed]
"server.work_mem" = "8MB"
"server.shared_buffers" = "128MB"

[load]
driver = "pgbench"
script = "simple-update"
scale = 1
clients = 2
jobs = 1
duration = "2s"

[responses]
primary = "tps"

[design]
baseline = { "server.max_wal_size" = "1GB" }
blocks = { min = 5, max = 5 }
seed = 4
"""


@pytest.fixture(scope="module")
def server(postgres: None) -> Iterator[Staging]:
    with staging() as found:
        yield found


def words(journey: Place, server: Staging, *more: str, role: str = "owner", study: str = STUDY) -> tuple[str, ...]:
    """The command of a run on the server."""
    file = journey.path / "mine.toml"
    file.write_text(study)
    return ("run", str(file), "--server", server.dsn(role), *ANYWHERE, "--out", str(journey.runs / "a"), *more)


def owed(folder: Path) -> list[Path]:
    return list(folder.glob("attached-*.jsonl"))


@pytest.mark.parametrize("ending", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_however_a_run_ends_the_server_is_as_it_was(
    journey: Place,
    server: Staging,
    state_directory: Path,
    capsys: pytest.CaptureFixture[str],
    ending: signal.Signals,
) -> None:
    before = server.state()
    process = journey.start(*words(journey, server, "--i-own", "--set", "load.duration=60s"))
    wait_until(lambda: load_runs(journey.runs / "a"), process)
    during = server.state()
    assert during["databases"] != before["databases"]
    assert during["file"] != before["file"]
    assert server.show("checkpoint_timeout") == "30s"
    if ending is signal.SIGTERM:
        process.send_signal(ending)
        assert finished(process).returncode == 130
    else:
        kill(process)
        server.stop()  # the machine goes down, too
        server.start()
        assert server.show("checkpoint_timeout") == "30s", "ALTER SYSTEM outlives that"
        assert len(owed(state_directory)) == 1
        main(["doctor", "--json"])
        shown = json.loads(capsys.readouterr().out)
        (finding,) = [each for each in shown if each["check"] == "attached_servers"]
        assert "checkpoint_timeout" in finding["text"]
        main(["doctor", "--repair"])
        assert "put back: checkpoint_timeout = 7min of the server" in capsys.readouterr().err
    assert server.state() == before
    assert owed(state_directory) == []


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
def test_the_next_run_puts_back_what_a_killed_one_left(
    journey: Place, server: Staging, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = server.state()
    process = journey.start(*words(journey, server, "--i-own", "--set", "load.duration=60s"))
    wait_until(lambda: load_runs(journey.runs / "a"), process)
    kill(process)
    assert server.state() != before
    again = words(journey, server, "--i-own", "--set", "host.cores=1", "--out", str(journey.runs / "b"))
    assert main([*again]) == 2
    assert "host.cores" in capsys.readouterr().err
    assert server.state() == before
    assert owed(state_directory) == []


REFUSED = (
    ((), "needs your permission"),
    (("--set", "server.shared_buffers=1GB"), "shared_buffers takes a restart, which is not ours to make"),
    (("--set", "server.fsync=off"), "fsync is not changed on a server that is not ours"),
    (("--set", "drive.data=ssd"), "drive.data (its files are where they are)"),
    (("--set", "build.block_size=4kB"), "build.block_size (its programs are built already)"),
    (("--set", "host.cores=1"), "host.cores (its machine is not ours to change)"),
    (("--set", "load.cache=cold"), "load.cache=cold (the server's files are not ours)"),
    (("--set", "load.clients=400"), "raising max_connections takes a restart"),
    (("--pairing", "alternate"), "the treatments are databases of a server of yours"),
    (("--set", "server.work_mem=1"), "the server refuses work_mem = '1'"),
    (("--set", "server.nonsense=1"), 'the server has no setting "nonsense"'),
)


@pytest.mark.parametrize(("more", "said"), REFUSED, ids=[" ".join(more[1:]) or "unowned" for more, _ in REFUSED])
def test_what_such_a_server_cannot_have_is_refused_by_name(
    journey: Place, server: Staging, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    before = server.state()
    owned = ("--i-own",) if more else ()
    assert main([*words(journey, server, *owned, *more)]) == 2
    assert said in capsys.readouterr().err
    assert server.state() == before


def test_a_password_on_the_command_line_is_refused(
    journey: Place, server: Staging, capsys: pytest.CaptureFixture[str]
) -> None:
    words(journey, server)
    password = server.dsn() + " password=secret"
    assert main(["run", str(journey.path / "mine.toml"), "--server", password, "--i-own"]) == 2
    assert "--server holds a password" in capsys.readouterr().err


def test_a_plan_names_what_would_change_and_changes_nothing(
    journey: Place, server: Staging, capsys: pytest.CaptureFixture[str]
) -> None:
    before = server.state()
    assert main([*words(journey, server, "--dry-run")]) == 0
    said = capsys.readouterr().out
    assert "ALTER DATABASE … SET work_mem" in said
    assert "checkpoint_timeout (now 7min)" in said
    assert "max_wal_size (now 1GB)" in said
    assert "shared_buffers" not in said.partition("changes")[2].partition("clusters")[0], "it has that value"
    assert server.state() == before


def test_a_server_with_other_clients_is_refused_and_they_are_named(
    journey: Place, server: Staging, capsys: pytest.CaptureFixture[str]
) -> None:
    before = server.state()
    with server.connected("app") as session:
        ((pid,),) = session.execute("SELECT pg_backend_pid()").fetchall()
        assert main([*words(journey, server, "--i-own")]) == 2
        assert f"other clients: pid {pid}, application_name the owner's own, database app" in capsys.readouterr().err
        assert main([*words(journey, server, "--dry-run")]) == 1, "a dry run that lacks something"
        said = capsys.readouterr().out
        assert "missing     the server of --server has other clients" in said
        assert """add: --companion 'application_name=the owner'"'"'s own'""" in said, "our own role is never proposed"
        declared = ("--companion", "application_name=the owner's own")
        assert main([*words(journey, server, "--dry-run", *declared)]) == 0
        assert "other clients" not in capsys.readouterr().out
    assert server.state() == before


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
@pytest.mark.parametrize("role", ["owner", "plain"])
def test_a_study_comes_to_its_verdict(journey: Place, server: Staging, state_directory: Path, role: str) -> None:
    before = server.state()
    study = STUDY if role == "owner" else STUDY.replace("server.max_wal_size", "server.synchronous_commit")
    if role == "plain":
        study = study.replace('["1GB", "8GB"]', '["on", "off"]').replace('"1GB"', '"on"')
    done = finished(journey.start(*words(journey, server, "--i-own", role=role, study=study)), LONG_S)
    assert done.returncode == 0, done.stderr
    assert server.state() == before
    assert owed(state_directory) == []
    trials = journey.record("a").trials
    assert len(trials) >= 10
    assert {trial.status for trial in trials} <= {Status.VALID, Status.INVALID}, "busy machines make some invalid"
    assert not any(reason.code == "other_clients" for trial in trials for reason in trial.reasons), "our own sessions"
    assert all(trial.settings["work_mem"] == "8MB" for trial in trials)
    (pinned,) = {trial.settings["checkpoint_timeout"] for trial in trials}
    assert pinned == ("30s" if role == "owner" else "7min")
    remarks = journey.record("a").host["remarks"]
    assert ("no_checkpoint" in remarks) == (role == "plain")
    assert {trial.regime["checkpoint"] for trial in trials} == {"cycle" if role == "owner" else "somewhere"}
    assert all(trial.responses["wal_bytes_per_transaction"] for trial in trials)


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
def test_a_load_of_ones_own_works_on_copies_of_ones_own_database(
    journey: Place, server: Staging, state_directory: Path
) -> None:
    """Every trial once failed its read-back: a copy has a name of ours."""
    before = server.state()
    script = journey.path / "orders.sql"
    script.write_text("UPDATE orders SET n = n + 1 WHERE n % 100 = 1;\n")
    study = STUDY.replace("server.max_wal_size", "server.synchronous_commit").replace("simple-update", str(script))
    study = study.replace('["1GB", "8GB"]', '["on", "off"]').replace('"1GB"', '"on"').replace("scale = 1\n", "")
    study = study.replace('"server.work_mem" = "8MB"', '"init.copy_database" = "app"')
    done = finished(journey.start(*words(journey, server, "--i-own", study=study)), LONG_S)
    assert done.returncode == 0, done.stderr
    assert server.state() == before, "the user's own rows as well"
    assert owed(state_directory) == []
    trials = journey.record("a").trials
    assert {trial.status for trial in trials} <= {Status.VALID, Status.INVALID}, [each.reasons for each in trials]
    assert all(trial.settings["work_mem"] == "17MB" for trial in trials), "what the database sets for its sessions"
    assert all(trial.levels["init.copy_database"].read_back is None for trial in trials)
