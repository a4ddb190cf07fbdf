"""A fleet whose links are slow and break: a study ends whole all the same, with the decisions that its trials lead to.

Where the kernel has netem (tc-netem(8)) the cables of emulated hosts are late and lose packets. Everywhere a relay
stands between a worker and its scheduler (`relay`), which is late with every piece, and breaks each worker's
connections while its servers run: the worker then comes again, and its block is begun again or taken over.
"""

import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from pgassay.fleet import certificates
from pgassay.fleet.dask_executor import connect, names
from pgassay.lab.decisions import replay
from pgassay.testing import real
from tests.fleet import namespaces
from tests.fleet.namespaces import WAIT_S, awaited
from tests.fleet.relay import Relay
from tests.fleet.test_dask import READY_S, fleet, folder, started
from tests.fleet.test_namespaces import SMALL, Fleet, whole

__all__ = ["folder"]

pytestmark = [pytest.mark.slow, pytest.mark.system]

LATE_S = 0.02
"""Each way, so that a round trip takes 40 ms: from one continent to another."""
BREAKS = 2
BLOCKS = 5


def serves(data: Path) -> Callable[[], bool]:
    """Does a server run whose cluster is below a folder?"""

    def look() -> bool:
        for each in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = each.read_bytes().split(b"\0")
                if b"-D" in words and words[words.index(b"-D") + 1].startswith(bytes(data)):
                    return True
        return False

    return look


def broken(relay: Relay, data: Path, head: "subprocess.Popen[bytes]") -> bool:
    """Break a worker's link while its server runs, and wait for it to come again; False where the head has ended."""
    serving = serves(data)
    awaited(f"a server in {data}", lambda: serving() or head.poll() is not None)
    if head.poll() is not None:
        return False
    before = relay.passed
    assert relay.cut() > 0
    awaited("its worker comes again", lambda: relay.passed > before)
    return True


@pytest.mark.timeout(1800)
def test_a_study_ends_whole_where_links_are_slow_and_break_now_and_then(place: Path, folder: Path) -> None:
    real.installation()
    out = place / "run"
    with ExitStack() as stack:
        address = stack.enter_context(fleet(folder, ()))
        relays = {}
        for name in ("h1", "h2"):
            (place / name).mkdir(mode=0o755)
            relays[name] = stack.enter_context(Relay(int(address.rpartition(":")[2]), LATE_S))
            words = ("fleet", "worker", f"tls://127.0.0.1:{relays[name].port}", "--certs", str(folder), "--name", name)
            stack.enter_context(started("pgassay", *words, PGASSAY_DATA_DIR=str(place / name)))
        with connect(certificates.parse_address(address), certificates.find(folder, "head"), READY_S) as client:
            awaited("the workers are there", lambda: len(names(client)) == 2, READY_S)  # a head waits for a minute
        where = ["--on", address, "--certs", str(folder), "--hosts", "2", "--shared-machine"]
        run = ("run", "fillfactor", "--quick", *SMALL, "--blocks", f"{BLOCKS}..{BLOCKS}", *where, "--out", str(out))
        head = stack.enter_context(started("pgassay", *run))
        for turn in range(BREAKS):
            for name, relay in relays.items():
                # Later, the other host may have run all that was left.
                assert broken(relay, place / name, head) or turn > 0, "it ended before its links broke"
        assert head.wait(WAIT_S) == 0
        assert {name for name in relays if serves(place / name)()} == set()
    assert {trial.host for trial in whole(out, BLOCKS).trials} <= {"h1", "h2"}
    assert list(replay(out)) == [], "decisions are those that its trials lead to"


@pytest.mark.timeout(1800)
def test_a_study_ends_whole_over_cables_that_are_late_and_lose_packets(place: Path) -> None:
    real.installation()
    namespaces.require_netem()
    out = place / "run"
    with namespaces.lab(place, 2) as lab, ExitStack() as stack:
        for number, host in enumerate(lab.hosts, start=1):
            for space, device in ((host.space, "eth0"), (lab.head.space, f"port{number}")):
                assert namespaces.link(space, device, "delay", "20ms", "5ms", "loss", "2%")
        head = Fleet(lab, stack).head(
            "run", "fillfactor", "--quick", *SMALL, "--blocks", f"{BLOCKS}..{BLOCKS}", "--out", str(out)
        )
        assert head.wait(WAIT_S) == 0, lab.head.said("head")
        assert not any(host.servers() for host in lab.hosts)
    assert {trial.host for trial in whole(out, BLOCKS).trials} <= {"h1", "h2"}
    assert list(replay(out)) == [], "decisions are those that its trials lead to"
