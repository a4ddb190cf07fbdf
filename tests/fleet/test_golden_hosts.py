"""Prepared data over hosts with links and data directories of their own: made once, sent, and used by real servers."""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from pgassay.drive.snapshots import FACTS_FILE
from tests.fleet import namespaces
from tests.fleet.namespaces import Host, Lab, awaited, joined
from tests.fleet.test_namespaces import SMALL, Fleet, lab, whole

__all__ = ["lab"]

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(3000)]

WAIT_S = 1400.0
"""Each step starts a bench of its own on every host, on the cores of one machine."""


def snapshots(host: Host) -> list[str]:
    return sorted(path.parent.name for path in host.data.glob(f"pgassay/snapshots/*/{FACTS_FILE}"))


def made(host: Host) -> int:
    """How many data it made itself."""
    return len(list(host.data.glob("pgassay/golden/*.made")))


def test_one_host_makes_the_data_and_the_others_get_them(lab: Lab, place: Path) -> None:
    """Sent because the user asks for it; then to a host that lost its data they are sent, or not, as was measured."""
    third = lab.hosts[2]
    with ExitStack() as stack:
        fleet = Fleet(lab, stack)
        words = ("run", "fillfactor", "--quick", *(each for each in SMALL if each != "--quiet"), "--blocks", "5..5")
        out = place / "run"
        assert fleet.head(*words, "--golden", "sent", "--out", str(out)).wait(WAIT_S) == 0
        run = whole(out, 5)
        dealt = run.host["golden"]
        assert [(each["way"], each["source"], each["hosts"], each["not_sent"]) for each in dealt] == [
            ("sent", "h1", ["h2", "h3"], {})
        ] * 2
        assert all(each["sent_bytes"] < each["bytes"] and each["took_s"] > 0 for each in dealt)
        assert [len(snapshots(host)) for host in lab.hosts] == [2, 2, 2]
        assert [made(host) for host in lab.hosts] == [2, 0, 0]
        assert not [path for host in lab.hosts for path in host.data.glob("pgassay/golden/*") if path.is_dir()]
        said = lab.head.said("head")
        assert "h1 sends them to h2, h3: as asked" in said
        assert "packed from" in said

        for path in third.data.glob("pgassay/snapshots/*"):
            (path / FACTS_FILE).unlink()
        again = place / "again"
        assert fleet.head(*words, "--out", str(again)).wait(WAIT_S) == 0
        for each in whole(again, 5).host["golden"]:
            assert each["way"] == ("sent" if each["sending_s"] < each["making_s"] else "made")
            assert set(each["links_bytes_per_s"]) == {"h3"}
            assert "as measured on h1" in each["why"]
        assert len(snapshots(third)) == 2


def test_sending_to_a_host_of_another_architecture_is_refused_by_name(lab: Lab, place: Path) -> None:
    """h2 says that it is a 32-bit machine (setarch(8)), which could not read the others' files."""
    second = lab.hosts[1]
    with ExitStack() as stack:
        fleet = Fleet(lab, stack)
        namespaces.end(fleet.workers[second.name])
        before = joined(second)
        worker = ("worker", lab.address, "--certs", str(lab.certs), "--name", second.name)
        fleet.keep(second.enter("setarch", "i686", sys.executable, "-m", "pgassay", *worker))
        awaited("it is back as another machine", lambda: joined(second) > before)
        words = ("run", "fillfactor", "--quick", *SMALL, "--blocks", "5..5", "--out", str(place / "refused"))
        assert fleet.head(*words, "--golden", "sent").wait(WAIT_S) == 2
        named = "prepared data cannot be sent: h2: differs from h1 in architecture (x86_64, i686)"
        assert named in lab.head.said("head")
        assert not (place / "refused").exists()
