"""Pipelines of pgbench's scripts, played by our player on a real server: the same rows as without and as pgbench."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pgassay.errors import UsageError
from pgassay.host.runner import SystemClock
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import Slice
from pgassay.load.player import PlayedLoad, PlayedScript, Player, check
from pgassay.testing import real

ROWS = 40
START, SYNC, END = "\\startpipeline\n", "\\syncpipeline\n", "\\endpipeline\n"
STEPS = """\
\\set who :client_id * 10 + 1
BEGIN;
UPDATE account SET balance = balance + :who WHERE id BETWEEN :who AND :who + 2;
INSERT INTO history SELECT :client_id, id, balance FROM account WHERE id = :who;
SELECT balance FROM account WHERE id = :who;
END;
"""
BEGINNING, REST = STEPS[: STEPS.index("BEGIN")], STEPS[STEPS.index("BEGIN") :]
PIPELINED = BEGINNING + START + REST + END
SYNCHRONIZED = BEGINNING + START + REST.replace("INSERT", f"{SYNC}INSERT") + END
"""Two Syncs within one transaction block."""
MANY = 5_000


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with real.server(autovacuum="off") as (started, _):
        started.execute("CREATE TABLE account (id int PRIMARY KEY, balance bigint)")
        started.execute("CREATE TABLE history (client int, id int, balance bigint)")
        yield started


@pytest.fixture(autouse=True)
def fresh(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("system"):
        server = request.getfixturevalue("server")
        server.execute("TRUNCATE account, history")
        server.execute(f"INSERT INTO account SELECT n, 0 FROM generate_series(1, {ROWS}) n")


def load(text: str, **more: object) -> PlayedLoad:
    return replace(PlayedLoad((PlayedScript("own", text),), protocol="prepared"), **more)  # type: ignore[arg-type]


def played(server: Server, what: PlayedLoad, transactions: int) -> Slice:
    with Player(what, server.endpoint, real.runner(), SystemClock()) as player:
        return player.play(transactions=transactions)


def contents(server: Server) -> tuple[list[tuple[object, ...]], ...]:
    return tuple(
        server.query(f"SELECT * FROM {table} ORDER BY {order}")
        for table, order in (("account", "id"), ("history", "client, id, balance"))
    )


@pytest.mark.system
@pytest.mark.parametrize("protocol", ["extended", "prepared"])
def test_a_pipeline_changes_the_same_rows_and_counts_the_same_statements(server: Server, protocol: str) -> None:
    found = []
    for text in (STEPS, PIPELINED, SYNCHRONIZED):
        server.execute("UPDATE account SET balance = 0")
        server.execute("TRUNCATE history")
        slice_ = played(server, load(text, protocol=protocol, clients=3, threads=2), 20)
        assert (slice_.transactions, slice_.aborted, dict(slice_.failed)) == (60, (), {})
        assert all(each.least_ns > 0 for each in slice_.statements)
        rows = [(each.count, each.rows) for each in slice_.statements]
        found.append((rows, contents(server)))
    assert found[0] == found[1] == found[2]
    assert found[0][0] == [(60, 0), (60, 180), (60, 60), (60, 60), (60, 0)]


@pytest.mark.system
@pytest.mark.parametrize("protocol", ["extended", "prepared"])
def test_pgbench_plays_the_same_pipeline_to_the_same_rows(server: Server, protocol: str) -> None:
    played(server, load(PIPELINED, protocol=protocol, clients=3, threads=2), 20)
    ours = contents(server)
    server.execute("UPDATE account SET balance = 0")
    server.execute("TRUNCATE history")
    with real.private_folder() as folder:
        script = folder / "own.sql"
        script.write_text(PIPELINED)
        script.chmod(0o644)
        endpoint = server.endpoint
        done = real.runner().run(
            [
                *(str(real.installation().bindir / "pgbench"), "-n", "-M", protocol, "-c", "3", "-j", "2", "-t", "20"),
                *("-f", str(script), "-h", str(endpoint.socket_directory), "-p", str(endpoint.port)),
                *("-U", endpoint.user, endpoint.database),
            ]
        )
    assert done.status == 0, done.stderr
    assert contents(server) == ours


@pytest.mark.system
@pytest.mark.parametrize("clients", [1, 3])
def test_thousands_of_statements_with_long_answers_end(server: Server, clients: int) -> None:
    """The server waits with its answers long before the last statement is sent."""
    many = "SELECT repeat('y', 4000) FROM generate_series(1, 2);\n" * MANY
    slice_ = played(server, load(START + many + END, protocol="extended", clients=clients), 1)
    assert (slice_.transactions, slice_.aborted) == (clients, ())
    assert sum(each.rows for each in slice_.statements) == 2 * MANY * clients
    assert {each.count for each in slice_.statements} == {clients}


@pytest.mark.system
def test_one_that_waits_for_room_holds_up_no_other_of_its_thread(server: Server) -> None:
    """Client 1 fills its socket behind a row that client 0, of the same thread, has locked and gives back later."""
    lock = "UPDATE account SET balance = balance + 1 WHERE id = 1;\n"
    long = f"SELECT length('{'z' * 100_000}');\n" * 20
    holds = f"BEGIN;\n{lock}\\sleep 300 ms\nEND;\n"
    text = f"\\if :client_id = 0\n{holds}\\else\n\\sleep 50 ms\n{START}{lock}{long}{END}\\endif\n"
    slice_ = played(server, load(text, protocol="extended", clients=2), 1)
    assert (slice_.transactions, slice_.aborted) == (2, ())
    assert server.query("SELECT balance FROM account WHERE id = 1") == [(2,)]


@pytest.mark.system
def test_a_gate_that_closes_lets_a_pipeline_end(server: Server) -> None:
    text = BEGINNING + START + REST.replace("INSERT", f"SELECT pg_sleep(0.02);\n{SYNC}INSERT") + END
    with Player(load(text, clients=3), server.endpoint, real.runner(), SystemClock()) as player:
        slices = [player.play(duration_ms=70) for _ in range(3)]
        in_flight = server.query(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgassay-player' AND state <> 'idle'"
        )
    assert in_flight == [(0,)]
    assert [each.aborted for each in slices] == [(), (), ()]
    assert server.query("SELECT count(*) FROM history") == [(sum(each.transactions for each in slices),)]


@pytest.mark.system
def test_an_error_skips_up_to_the_sync_and_ends_the_client(server: Server) -> None:
    change = "UPDATE account SET balance = balance + 1 WHERE id = {};\n"
    text = START + change.format(1) + "SELECT 1 / 0;\n" + change.format(2) + SYNC + change.format(3) + END
    slice_ = played(server, load(text), 5)
    assert (slice_.transactions, slice_.aborted) == (0, ("client 0: division by zero (22012)",))
    assert [each.count for each in slice_.statements] == [1, 1, 0, 1]
    changed = server.query("SELECT id FROM account WHERE balance > 0")
    assert changed == [(3,)], "up to the Sync all is one transaction, and the next is another"


@pytest.mark.system
def test_serialization_failures_are_tried_again(server: Server) -> None:
    """Each reads and changes what all others change; each change that is not lost is counted once."""
    text = f"""\
{START}BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sum(balance) FROM account;
SELECT pg_sleep(0.002);
UPDATE account SET balance = balance + 1 WHERE id = 1;
{SYNC}INSERT INTO history VALUES (:client_id, 1, 0);
END;
{END}"""
    slice_ = played(server, load(text, clients=4, threads=2, max_tries=1_000), 25)
    assert (slice_.transactions, slice_.aborted, dict(slice_.failed)) == (100, (), {})
    assert slice_.retries > 0
    assert server.query("SELECT balance FROM account WHERE id = 1") == [(100,)]
    assert server.query("SELECT count(*) FROM history") == [(100,)]


@pytest.mark.system
def test_a_commit_that_fails_at_the_sync_is_tried_again(server: Server) -> None:
    """Without BEGIN the Sync commits: the refusal then belongs to no statement."""
    server.execute("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
    try:
        text = f"""\
{START}SELECT sum(balance) FROM account WHERE id BETWEEN 1 AND 20;
SELECT pg_sleep(0.002);
UPDATE account SET balance = balance + 1 WHERE id = 1 + :client_id;
{END}"""
        slice_ = played(server, load(text, clients=4, threads=2, max_tries=1_000), 25)
    finally:
        server.execute("ALTER DATABASE postgres RESET default_transaction_isolation")
    assert (slice_.transactions, slice_.aborted, dict(slice_.failed)) == (100, (), {})
    assert slice_.retries > 0
    assert server.query("SELECT id, balance FROM account WHERE balance > 0 ORDER BY id") == [
        (number, 25) for number in range(1, 5)
    ]


@pytest.mark.parametrize(
    ("text", "protocol", "words"),
    [
        (PIPELINED, "simple", "cannot use pipeline mode with the simple query protocol"),
        (START + START, "prepared", "already in pipeline mode"),
        (f"SELECT 1;\n{END}", "prepared", "\\endpipeline: not in pipeline mode"),
        (SYNC, "extended", "\\syncpipeline: not in pipeline mode"),
        (f"{START}SELECT 1 AS a \\gset\n{END}", "prepared", "\\gset is not allowed in pipeline mode"),
        (f"{START}SELECT 1;\n", "prepared", "end of script reached with pipeline open"),
    ],
)
def test_what_fails_in_every_way_is_refused_before_anything_is_connected(text: str, protocol: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        check(load(text, protocol=protocol), real.runner())
    check(load(SYNCHRONIZED), real.runner())
