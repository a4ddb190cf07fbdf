"""pgbench's command lines: every option arrives, by version, and the connection is always explicit."""

from pathlib import Path

from pgassay.interfaces.places import Endpoint
from pgassay.load.pgbench.options import FILL, MAKE, PgbenchOptions, init_command, run_command

ENDPOINT = Endpoint(Path("/s"), 5433, "postgres", "me")
HERE = ["-h", "/s", "-p", "5433", "-U", "me", "postgres"]
PROGRAM = Path("/b/pgbench")


def run(version: int = 15, seed: int = 7, log_prefix: Path | None = None, **levels: str) -> str:
    command = run_command(
        PROGRAM, ENDPOINT, PgbenchOptions.from_levels(levels), version=version, seed=seed, log_prefix=log_prefix
    )
    assert command[-len(HERE) :] == HERE
    return " ".join(command[: -len(HERE)])


def test_a_plain_run() -> None:
    assert run() == "/b/pgbench -n -P 1 -M simple -c 1 -j 1 --random-seed=7 -T 60 -b tpcb-like@1"


def test_everything_arrives() -> None:
    found = run(
        script="simple-update@2,/x/a.sql",
        protocol="prepared",
        clients="8",
        jobs="4",
        duration="10s",
        rate="500",
        latency_limit="20ms",
        max_tries="3",
        log_prefix=Path("/o/log"),
    )
    assert found == (
        "/b/pgbench -n -P 1 -M prepared -c 8 -j 4 --random-seed=7 -T 10 -R 500 -L 20 --max-tries=3"
        " -l --log-prefix=/o/log -b simple-update@2 -f /x/a.sql@1"
    )


def test_transactions_take_the_place_of_the_duration() -> None:
    assert " -t 1000 " in run(transactions="1000")
    assert " -T " not in run(transactions="1000")


def test_own_scripts_alone_are_told_the_scale() -> None:
    assert " -s 50 " in run(script="/x/a.sql", scale="50")
    assert " -s " not in run(script="/x/a.sql,select-only", scale="50"), "pgbench counts the branches itself"


def test_aborts_end_the_run_from_17_on() -> None:
    assert "--exit-on-abort" in run(version=17)
    assert "--exit-on-abort" not in run(version=16)


def test_any_seed_fits() -> None:
    assert "--random-seed=1 " in run(seed=(1 << 31) + 1)


def test_preparing_is_parted() -> None:
    assert init_command(PROGRAM, ENDPOINT, 5, MAKE) == [str(PROGRAM), "-i", "-I", "dt", "-q", "-s", "5", *HERE]
    assert init_command(PROGRAM, ENDPOINT, 5, FILL) == [str(PROGRAM), "-i", "-I", "gp", "-q", "-s", "5", *HERE]


def test_variables_arrive_each_by_itself() -> None:
    assert " -D rows=5 -D note=a b -f " in run(script="/x/a.sql", variables="rows=5, note=a b")
