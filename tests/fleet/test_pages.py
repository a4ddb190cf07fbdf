"""Pages of runs rendered on hosts: byte for byte those of one machine, whichever host is lost or damages what."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from pgassay.cli import main
from pgassay.errors import PgassayError
from pgassay.fleet import carriage, cores, messages, pages
from pgassay.fleet.messages import FleetError
from pgassay.fleet.pages import Rendering, Style, Wanted, render_on
from pgassay.testing.planted import make_run
from tests.fleet.clusters import SLOW_DISK, in_process

pytestmark = SLOW_DISK
PICTURELESS = Style(pictures=False)


@dataclass
class Hosts:
    """Hosts that are folders of this process: `lost` ones go when they shall render, pieces come damaged so often."""

    place: Path
    lost: frozenset[str] = frozenset()
    damaged: int = 0
    full: bool = False

    def __call__(self, host: str, work: Callable[..., Any], *given: Any) -> Any:
        if work is pages.folder:
            return tempfile.mkdtemp(dir=self.place)
        if work is pages.rendered and host in self.lost:
            raise messages.host_gone(host)
        if work is carriage.write and self.damaged:
            self.damaged -= 1
            return carriage.DAMAGED
        if work is carriage.write and self.full:
            return "no space left on device"
        return work(*given)


def named(run: Path, out: Path, style: Style) -> None:
    """In place of a page: what the record says, and that its earlier page has not come along."""
    if (run / "bad").exists():
        raise PgassayError("this record is bad", "take another")
    out.mkdir()
    (out / "data").mkdir()
    earlier = "report" if (run / "report").exists() else "none"
    (out / "data" / "report.html").write_text(f"{run.name}: {(run / 'run.json').read_text()}, earlier: {earlier}")


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Wanted]:
    """Five that stand for runs, two pieces each."""
    monkeypatch.setattr(pages, "write_page", named)
    monkeypatch.setattr(cores, "cores", lambda: 1)
    for number in range(5):
        run = tmp_path / "runs" / f"r{number}"
        (run / "report").mkdir(parents=True)
        (run / "report" / "report.html").write_text("earlier")
        (run / "run.json").write_text(f"record {number}")
        (run / "raw").write_bytes(bytes([number]) * (5 << 20))
    return [Wanted(tmp_path / "runs" / f"r{number}", tmp_path / "out" / f"r{number}") for number in range(5)]


def rendered(hosts: Hosts, records: list[Wanted]) -> list[str]:
    for name in ("hosts", "head"):
        (hosts.place / name).mkdir(exist_ok=True)
    Rendering(hosts, PICTURELESS, hosts.place / "head").all_of(records, ["h1", "h2"])
    return [(each.out / "data" / "report.html").read_text() for each in records]


ALL = [f"r{number}: record {number}, earlier: none" for number in range(5)]


def test_every_page_comes_home_and_nothing_of_it_stays(tmp_path: Path, records: list[Wanted]) -> None:
    (place := tmp_path / "place").mkdir()
    assert rendered(Hosts(place), records) == ALL
    assert list((place / "head").iterdir()) == []
    assert [path for path in place.rglob("*") if path.is_file()] == []


def test_a_host_that_is_lost_leaves_its_runs_to_the_others(tmp_path: Path, records: list[Wanted]) -> None:
    assert rendered(Hosts(tmp_path, lost=frozenset({"h1"})), records) == ALL


def test_without_any_host_it_is_said(tmp_path: Path, records: list[Wanted]) -> None:
    with pytest.raises(FleetError, match="the hosts were lost: h1, h2"):
        rendered(Hosts(tmp_path, lost=frozenset({"h1", "h2"})), records)


def test_what_comes_damaged_is_sent_again_but_not_for_ever(tmp_path: Path, records: list[Wanted]) -> None:
    assert rendered(Hosts(tmp_path, damaged=2), records) == ALL
    with pytest.raises(FleetError, match="damaged"):
        rendered(Hosts(tmp_path, damaged=1000), records)


def test_a_host_that_can_keep_no_record_is_named(tmp_path: Path, records: list[Wanted]) -> None:
    with pytest.raises(FleetError, match=r"h[12]: no space left on device"):
        rendered(Hosts(tmp_path, full=True), records)


def test_a_record_that_no_host_can_render_is_named(tmp_path: Path, records: list[Wanted]) -> None:
    (records[3].run / "bad").touch()
    with pytest.raises(FleetError, match=r"h[12]: r3: this record is bad") as raised:
        rendered(Hosts(tmp_path), records)
    assert raised.value.hint == "take another"


@pytest.mark.slow
def test_pages_of_two_workers_are_those_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "cores", lambda: 1)
    (tmp_path / "a").mkdir()
    runs = [make_run(tmp_path / "a" / "one").path, make_run(tmp_path / "a" / "two", hosts={"x": 1.0, "y": 1.1}).path]
    assert main(["report", *map(str, runs), "--no-figures", "--out", str(tmp_path / "here")]) == 0
    wanted = [Wanted(run, tmp_path / "there" / run.name) for run in runs]
    with in_process(tmp_path, 2) as cluster, Client(cluster, set_as_default=False) as client:
        render_on(client, wanted, PICTURELESS)
    here, there = (files(tmp_path / place) for place in ("here", "there"))
    assert here == there
    assert {"one/report.html", "two/report.html"} <= here.keys()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
