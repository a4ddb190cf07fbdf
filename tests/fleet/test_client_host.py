"""A load on another host than its server: two network namespaces with a cable between them, and real programs."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from pgassay.record.check import check
from pgassay.record.reading import Run
from pgassay.record.slices import read_slices
from pgassay.study.findings import Severity
from pgassay.study.responses import Status
from pgassay.testing import real
from tests.fleet import namespaces
from tests.fleet.namespaces import WAIT_S, Host, Lab, awaited, joined
from tests.load import replayed

pytestmark = [pytest.mark.slow, pytest.mark.system]

STUDY = """\
[study]
format = 1
title = "Apart"
question = "Which?"
[factors]
"server.synchronous_commit" = ["on", "off"]
[load]
driver = "{driver}"
{options}
duration = "{seconds}s"
[responses]
primary = "tps"
[design]
baseline = {{ "server.synchronous_commit" = "on" }}
pairing = "sequential"
resolution = "2%"
blocks = {{ min = 1, max = {blocks} }}
"""
TABLE = "CREATE TABLE mine AS SELECT i, 0 AS n FROM generate_series(1, 100) i;"
SCRIPT = "\\set i random(1, 100)\nUPDATE mine SET n = n + 1 WHERE i = :i;\n"
PORT = "54777"
PLAYER = "pgassay-player"


@pytest.fixture
def lab(place: Path) -> Iterator[Lab]:
    real.installation()
    with namespaces.lab(place, 1) as made:
        yield made


def written(place: Path, seconds: int, blocks: int) -> str:
    """A study of a script and a table of the user's, which are on the head alone."""
    (place / "mine.sql").write_text(SCRIPT, encoding="utf-8")
    (place / "table.sql").write_text(TABLE, encoding="utf-8")
    own = f'script = "{place / "mine.sql"}"\ninit = "{place / "table.sql"}"\nclients = 2'
    return asked(place, "pgbench", own, seconds, blocks)


def asked(place: Path, driver: str, options: str, seconds: int, blocks: int) -> str:
    """A study of one setting with a driver and its options."""
    study = place / "apart.toml"
    text = STUDY.format(driver=driver, options=options, seconds=seconds, blocks=blocks)
    study.write_text(text, encoding="utf-8")
    return str(study)


def conducted(lab: Lab, stack: ExitStack, study: str, out: Path) -> "subprocess.Popen[bytes]":
    """The head runs the study, and its load on h1, whose worker was started."""
    stack.callback(namespaces.end, lab.scheduler())
    awaited("the worker is there", lambda: all(joined(host) for host in lab.hosts))  # a head waits for a minute
    found = ("--client", "h1", "--scheduler", lab.address, "--certs", str(lab.certs), "--client-port", PORT)
    words = ("run", study, *found, "--out", str(out), "--allow-busy", "--allow-volatile", "--quiet")
    head = lab.head.start("pgassay", *words, log="head")
    stack.callback(namespaces.end, head)
    return head


def loads(host: Host, program: str = "pgbench") -> list[str]:
    """What plays on it."""
    return [words for words in host.processes().values() if program in words]


def whole(out: Path) -> Run:
    assert [each for each in check(out) if each.severity is Severity.ERROR] == []
    return Run.open(out)


@pytest.mark.timeout(600)
def test_a_load_plays_on_another_host_over_its_cable(lab: Lab, place: Path) -> None:
    (host,) = lab.hosts
    out = place / "run"
    with ExitStack() as stack:
        stack.callback(namespaces.end, lab.worker(host))
        head = conducted(lab, stack, written(place, 3, 1), out)
        awaited("a load on the host", lambda: loads(host) or head.poll() is not None)
        assert lab.head.servers(), lab.head.said("head")
        assert not loads(lab.head)
        assert not host.servers()
        assert head.wait(WAIT_S) == 0, lab.head.said("head")
        assert not lab.head.servers()
    run = whole(out)
    assert {trial.status for trial in run.trials} <= {Status.VALID, Status.INVALID}, "a busy machine makes some invalid"
    assert len({trial.arm for trial in run.trials if trial.status is Status.VALID}) == 2
    for trial in run.trials:
        assert trial.levels["load.host"].canonical == "h1"
        assert trial.levels["load.script"].read_back == str(place / "mine.sql")
        trip_us, error_us = trial.responses["network_round_trip_us"], trial.responses["client_clock_error_us"]
        offset_us, cpu_us = trial.responses["client_clock_offset_us"], trial.responses["client_cpu_us_per_transaction"]
        assert trip_us is not None
        assert trip_us > 0
        assert error_us is not None
        assert offset_us is not None
        assert abs(offset_us) <= error_us, "the two hosts have one clock"
        assert cpu_us is not None
        assert cpu_us > 0
    series = run.series().collect().filter(source="pgbench", name="tps")
    assert set(series["trial"]) == {trial.number for trial in run.trials}, (
        "seconds by the client's clock are in the window"
    )


OTHERS = {
    "sysbench": ("sysbench", "rows = 100\ntables = 1\nthreads = 2"),
    "tpcc": ("pgbench", "warehouses = 1\nclients = 2"),
    "replay": (PLAYER, 'log = ["{log}"]\nlog_prefix = "{prefix}"\ninit = "{init}"'),
}
"""By driver: the program that plays on the other host, and the smallest data and few clients."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("driver", OTHERS)
def test_other_loads_play_on_another_host_too(driver: str, lab: Lab, place: Path) -> None:
    program, options = OTHERS[driver]
    if driver == "sysbench" and shutil.which(program) is None:
        pytest.skip("sysbench is not installed")
    (host,) = lab.hosts
    out = place / "run"
    log = replayed.write(place / "server.log", replayed.sums(2, 4.0))  # the head alone has the log, and the data
    (place / "init.sql").write_text(replayed.SCHEMA, encoding="utf-8")
    options = options.format(log=log, prefix=replayed.PREFIX, init=place / "init.sql")
    with ExitStack() as stack:
        stack.callback(namespaces.end, lab.worker(host))
        head = conducted(lab, stack, asked(place, driver, options, 3, 1), out)
        awaited("a load on the host", lambda: loads(host, program) or head.poll() is not None)
        assert lab.head.servers(), lab.head.said("head")
        assert not host.servers()
        assert head.wait(WAIT_S) == 0, lab.head.said("head")
        assert not lab.head.servers()
        assert not loads(host, program)
    run = whole(out)
    assert {trial.status for trial in run.trials} <= {Status.VALID, Status.INVALID}, "a busy machine makes some invalid"
    assert len({trial.arm for trial in run.trials if trial.status is Status.VALID}) == 2
    for trial in run.trials:
        assert trial.levels["load.host"].canonical == "h1"
        assert trial.levels["load.driver"].canonical == driver
        for name in ("tps", "network_round_trip_us", "client_cpu_us_per_transaction"):
            value = trial.responses[name]
            assert value is not None, name
            assert value > 0, name


@pytest.mark.timeout(600)
def test_servers_take_turns_under_a_load_on_another_host(lab: Lab, place: Path) -> None:
    (host,) = lab.hosts
    out = place / "run"
    study = Path(written(place, 3, 1))
    turns = 'pairing = "alternate"\nslice = "300ms"'
    text = study.read_text(encoding="utf-8").replace('pairing = "sequential"', turns)
    study.write_text(text.replace("[load]", '[load]\ncheckpoint = "none"'), encoding="utf-8")
    with ExitStack() as stack:
        stack.callback(namespaces.end, lab.worker(host))
        head = conducted(lab, stack, str(study), out)
        awaited("a player on the host", lambda: loads(host, PLAYER) or head.poll() is not None)
        assert lab.head.servers(), lab.head.said("head")
        assert head.wait(WAIT_S) == 0, lab.head.said("head")
        assert not loads(host, PLAYER)
        assert not lab.head.servers()
    run = whole(out)
    assert {trial.status for trial in run.trials} <= {Status.VALID, Status.INVALID}, "a busy machine makes some invalid"
    for trial in run.trials:
        assert trial.regime["pairing"] == "alternate"
        slices = read_slices(run, trial.number)
        assert sum(each.transactions for each in slices) > 0
        for name in ("network_round_trip_us", "client_cpu_us_per_transaction"):
            value = trial.responses[name]
            assert value is not None
            assert value > 0
    moments = sorted(
        (each.opened_ns, each.drained_ns) for trial in run.trials[:2] for each in read_slices(run, trial.number)
    )
    assert all(sooner[1] <= later[0] for sooner, later in pairwise(moments)), "one at a time, by the head's clock"


@pytest.mark.timeout(900)
def test_a_client_that_dies_costs_its_trial_and_the_run_goes_on_when_it_is_back(lab: Lab, place: Path) -> None:
    (host,) = lab.hosts
    out = place / "run"
    with ExitStack() as stack:
        first = lab.worker(host)
        stack.callback(namespaces.end, first)
        head = conducted(lab, stack, written(place, 15, 1), out)  # far longer than it takes to see it and to kill
        awaited("a load on the host", lambda: loads(host) or head.poll() is not None)
        first.send_signal(signal.SIGKILL)
        awaited("nothing is left of its load", lambda: not loads(host))
        awaited("its trial is committed", lambda: list(out.glob("trials/[0-9]*")) or head.poll() is not None)
        stack.callback(namespaces.end, lab.worker(host))
        assert head.wait(WAIT_S) == 0, lab.head.said("head")
    trials = whole(out).trials
    lost, *others = trials
    assert (lost.status, [each.code for each in lost.reasons]) == (Status.INVALID, ["client_lost"])
    assert {trial.arm for trial in others if trial.status is Status.VALID} == {trial.arm for trial in trials}
    assert not any(each.processes() for each in (lab.head, host))
