"""Two real servers of somebody's, compared: equal ones, one with a handicap, and both as they were, however it ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.analysis.verdicts import Kind
from pgassay.cli import main
from pgassay.interfaces.errors import Missing
from pgassay.postgres.attached.attachment import attach
from pgassay.record.live_sample import FILE
from pgassay.report import headline, servers
from pgassay.report.findings import Findings
from pgassay.study.responses import Status
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, kill, load_runs, wait_until
from tests.system.staging import PORT, Staging, staging

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("state_directory")]

PLANS = ("enable_indexscan", "enable_bitmapscan")
"""Without these each transaction scans the whole table: a handicap that shows on a machine with other work, too."""


CLIENTS = (
    "SELECT 1 FROM pg_stat_activity WHERE datname LIKE 'pgassay%' AND application_name IN ('pgbench', 'pgassay-player')"
)


def let_plan(server: Staging, value: str) -> None:
    for name in PLANS:
        server.query(f"ALTER SYSTEM SET {name} = {value}")
    server.query("SELECT pg_reload_conf()")


@pytest.fixture(scope="module")
def pair(postgres: None) -> Iterator[tuple[Staging, Staging]]:
    with staging() as first, staging() as second:
        yield first, second


def words(journey: Place, name: str, first: str, second: str, *more: str) -> tuple[str, ...]:
    """The command of a comparison of these connection strings."""
    named = ("--server", f"A={first}", "--server", f"B={second}")
    load = (
        "-S",
        "-s",
        "1",
        "-c",
        "2",
        "-j",
        "1",
        "-T",
        "2",
        "--set",
        "load.warmup=1s",
        "--blocks",
        "5..6",
        "--seed",
        "4",
    )
    return ("compare", *named, *load, *ANYWHERE, "--out", str(journey.runs / name), *more)


def owed(folder: Path) -> list[Path]:
    return list(folder.glob("attached-*.jsonl"))


def test_a_plan_says_of_each_what_would_change_and_changes_nothing(
    journey: Place, pair: tuple[Staging, Staging], capsys: pytest.CaptureFixture[str]
) -> None:
    before = [each.state() for each in pair]
    assert main([*words(journey, "a", pair[0].dsn(), pair[1].dsn(), "--dry-run")]) == 0
    said = capsys.readouterr().out
    for name, each in zip("AB", pair, strict=True):
        assert f"{name}: {each.folder}:" in said
        assert f"{name}: databases pgassay_…: one prepared" in said
    assert "2 servers at once take turns" in said
    assert main([*words(journey, "a", pair[0].dsn(), pair[1].dsn(), "--dry-run", "--companion", "standby")]) == 0
    assert "companions are observed once a second, over a window that is not cut into turns" in capsys.readouterr().out
    assert [each.state() for each in pair] == before


def test_what_cannot_be_compared_is_refused_by_name(
    journey: Place,
    pair: tuple[Staging, Staging],
    state_directory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = pair
    before = [each.state() for each in pair]
    assert main([*words(journey, "a", first.dsn(), first.dsn(database="app"), "--i-own")]) == 2
    assert f"server B of --server is the one at {first.folder}:5999 again" in capsys.readouterr().err
    with second.connected("app") as session:
        session.execute("SELECT 1")
        assert main([*words(journey, "a", first.dsn(), second.dsn(), "--i-own")]) == 2
    assert "server B of --server has other clients" in capsys.readouterr().err
    unknown = ("--set", "server.nonsense=1")
    assert main([*words(journey, "a", first.dsn(), second.dsn(), "--i-own", *unknown)]) == 2
    assert 'server A of --server: the server has no setting "nonsense"' in capsys.readouterr().err
    several = first.dsn().replace("port=", f"port={PORT},")
    assert main([*words(journey, "a", first.dsn(), several, "--i-own")]) == 2
    assert "server B of --server names several hosts" in capsys.readouterr().err
    second.query("ALTER SYSTEM SET default_transaction_read_only = on")
    second.query("SELECT pg_reload_conf()")
    try:
        assert main([*words(journey, "a", first.dsn(), second.dsn(), "--i-own")]) == 2
        assert "server B of --server is read-only" in capsys.readouterr().err
    finally:
        second.query("ALTER SYSTEM RESET default_transaction_read_only")  # which no server counts as a write
        second.query("SELECT pg_reload_conf()")
    another = attach(second.dsn(database="app"), tmp_path, Missing(), {})
    try:
        assert main([*words(journey, "a", first.dsn(), second.dsn(), "--i-own")]) == 2
        assert f"another pgassay is attached to the server at {second.folder}" in capsys.readouterr().err
    finally:
        another.close()
    assert [each.state() for each in pair] == before
    assert owed(state_directory) == []


def test_a_slot_that_holds_wal_back_on_one_ends_the_run_and_both_are_as_they_were(
    journey: Place, pair: tuple[Staging, Staging], state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = pair
    before = [each.state() for each in pair]
    second.query("SELECT pg_create_physical_replication_slot('forgotten', true)")
    try:
        assert main([*words(journey, "a", first.dsn(), second.dsn(), "--i-own", "--slot-limit", "1MB")]) == 2
        assert 'server B of --server: replication slot "forgotten" holds back' in capsys.readouterr().err
    finally:
        second.query("SELECT pg_drop_replication_slot('forgotten')")
    assert [each.state() for each in pair] == before
    assert owed(state_directory) == []


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
@pytest.mark.parametrize(("name", "pairing"), [("A", "sequential"), ("B", "sequential"), ("A", "alternate")])
def test_a_failover_of_one_ends_the_run_by_name_and_the_other_is_as_it_was(
    journey: Place, pair: tuple[Staging, Staging], state_directory: Path, name: str, pairing: str
) -> None:
    """It goes down, and recovers from an archive that has no more: on a timeline of its own. Once it is the server that
    the load runs on, and once the other."""
    first = pair[0]
    before = first.state()
    with staging() as failing:
        failing.query("ALTER SYSTEM SET restore_command = 'false'")
        failing.query("SELECT pg_reload_conf()")
        both = (failing.dsn(), first.dsn()) if name == "A" else (first.dsn(), failing.dsn())
        command = words(journey, "a", *both, "--i-own", "--set", "load.duration=20s", "--pairing", pairing)
        process = journey.start(*command)
        wait_until(lambda: any((journey.runs / "a" / "trials").glob(f".staging-*/{FILE}")), process)
        wait_until(lambda: any(each.query(CLIENTS) for each in (failing, first)), process)
        failing.stop()
        (failing.data / "recovery.signal").touch()
        failing.start()
        done = finished(process, LONG_S)
        assert done.returncode == 2, done.stdout
        assert f"the server at {failing.folder}:{PORT} has failed over: it is on timeline 2" in done.stderr
        assert first.state() == before
        assert failing.query("SELECT datname FROM pg_database WHERE datname LIKE 'pgassay%'") == []


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
def test_data_that_differ_end_the_run(
    journey: Place, pair: tuple[Staging, Staging], state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = pair
    with second.connected("app") as session:
        session.execute("CREATE TABLE more (n int)")
    try:
        before = [each.state() for each in pair]
        script = journey.path / "orders.sql"
        script.write_text("SELECT count(*) FROM orders;\n")
        own = ("-f", str(script), "--set", "init.copy_database=app", "--i-own")
        command = [each for each in words(journey, "a", first.dsn(), second.dsn(), *own) if each != "-S"]
        command[command.index("-s") : command.index("-s") + 2] = []
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "the data of the servers differ: public.more has" in said
        assert "no such relation on A" in said
        assert [each.state() for each in pair] == before
        assert owed(state_directory) == []
    finally:
        with second.connected("app") as session:
            session.execute("DROP TABLE more")


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
def test_two_servers_of_which_one_has_a_handicap_after_a_run_that_was_killed(
    journey: Place, pair: tuple[Staging, Staging], state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = pair
    before = [each.state() for each in pair]
    long = words(
        journey,
        "killed",
        first.dsn(),
        second.dsn(),
        "--i-own",
        "--set",
        "load.duration=20s",
        "--blocks",
        "1..1",
        "--pairing",
        "sequential",
    )
    process = journey.start(*long)
    wait_until(
        lambda: load_runs(journey.runs / "killed") and all("pgassay" in str(each.state()) for each in pair), process
    )
    kill(process)
    assert len(owed(state_directory)) == 2
    main(["doctor", "--repair"])
    assert "put back" in capsys.readouterr().err
    assert [each.state() for each in pair] == before
    assert owed(state_directory) == []

    let_plan(second, "off")
    before = [each.state() for each in pair]
    done = finished(journey.start(*words(journey, "a", first.dsn(), second.dsn(), "--i-own")), LONG_S)
    assert done.returncode == 0, done.stderr
    assert [each.state() for each in pair] == before
    assert owed(state_directory) == []
    run = journey.record("a")
    findings = Findings(run)
    (judged,) = findings.verdicts
    assert judged.verdict.kind is Kind.WORSE
    assert headline.headline_of(findings).sentences[0].startswith("on these two instances: postgres.server=B is worse")
    assert "a round trip takes" not in str(findings.once(lambda each: list(servers.SECTION.blocks(each)))), "both here"
    valid = [trial for trial in run.trials if trial.status is Status.VALID]
    assert all((trial.responses["network_round_trip_us"] or 0.0) > 0.0 for trial in valid)
    assert {trial.settings.get(PLANS[0]) for trial in valid if trial.treatment.endswith("B")} == {"off"}
    assert [facts["system"] for facts in run.host["attached"].values()] == [
        str(each.query("SELECT system_identifier FROM pg_control_system()")[0][0]) for each in pair
    ]


@pytest.mark.slow
@pytest.mark.timeout(LONG_S)
def test_equal_servers_are_not_called_different(
    journey: Place, pair: tuple[Staging, Staging], state_directory: Path
) -> None:
    """By more than 15 %: an interval at 95 % misses in one of twenty runs, and then by little."""
    let_plan(pair[1], "on")
    before = [each.state() for each in pair]
    done = finished(journey.start(*words(journey, "a", pair[0].dsn(), pair[1].dsn(), "--i-own")), LONG_S)
    assert done.returncode == 0, done.stderr
    (judged,) = Findings(journey.record("a")).verdicts
    assert judged.verdict.kind in (Kind.EQUIVALENT, Kind.UNRESOLVED) or 0.85 < judged.effect.estimate < 1.15
    assert [each.state() for each in pair] == before
    assert owed(state_directory) == []
