"""The list of probes: costs of a transaction from plain numbers, None wherever one is missing, and foreign probes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.interfaces.errors import QueryError
from pgassay.interfaces.probe import (
    Cost,
    Differences,
    FileReader,
    Meter,
    Probe,
    Reader,
    Reading,
    Target,
    per_transaction,
    value_at_end,
)
from pgassay.interfaces.running import Clock
from pgassay.plugins import PluginError
from pgassay.probe.registry import PROBES, Probes, every_probe
from pgassay.probe.statistics import Statistics, View, ViewProbe, counter
from pgassay.study.responses import Better, Response, Scale
from pgassay.testing.fakes import FakeClock, FakeInstallation, FakeServer
from tests.packages import Install

COUNTERS: dict[str, float | None] = {
    "process_tree.user_us": 30_000.0,
    "process_tree.system_us": 70_000.0,
    "process_tree.context_switches": 8_000.0,
    "lab_tree.user_us": 10_000.0,
    "lab_tree.system_us": 40_000.0,
    "wal.wal_bytes": 2_000_000.0,
    "wal.lsn_bytes": 2_100_000.0,
    "wal.wal_records": 4_000.0,
    "wal.wal_fpi": 250.0,
    "tables.n_tup_upd": 1_000.0,
    "tables.n_tup_hot_upd": 750.0,
    "tables.n_tup_newpage_upd": None,
    "tables.heap_blks_read": 100.0,
    "tables.heap_blks_hit": 5_900.0,
    "tables.idx_blks_read": 0.0,
    "tables.idx_blks_hit": 4_000.0,
    "diskstats.written_bytes": 9_000_000.0,
    "diskstats.writes": 1_500.0,
    "diskstats.write_ms": 300.0,
    "diskstats.read_bytes": 0.0,
    "diskstats.reads": 0.0,
    "diskstats.read_ms": 0.0,
    "diskstats.flushes": 800.0,
    "checkpoints.checkpoints_timed": 2.0,
    "checkpoints.checkpoints_requested": 1.0,
    "checkpoints.buffers_checkpoint": 1_500.0,
    "checkpoints.buffers_clean": 300.0,
    "checkpoints.buffers_backend": 200.0,
    "io.relation_writes": None,
    "sizes.block_bytes": 4096.0,
    "sizes.table_bytes": 123.0,
    **{f"machine.{kind}_us": 0.0 for kind in ("nice", "irq", "softirq")},
    "machine.user_us": 100_000.0,
    "machine.system_us": 100_000.0,
    "machine.idle_us": 180_000.0,
    "machine.iowait_us": 12_000.0,
    "machine.steal_us": 8_000.0,
}


def costs(counters: Differences, transactions: int) -> dict[str, float | None]:
    return Probes().costs(counters, transactions)


def test_per_transaction_and_shares() -> None:
    found = costs(COUNTERS, 1000)
    wanted = {
        "server_cpu_us_per_transaction": 100.0,
        "client_cpu_us_per_transaction": 50.0,
        "context_switches_per_transaction": 8.0,
        "wal_bytes_per_transaction": 2000.0,
        "full_page_images_per_transaction": 0.25,
        "hot_share": 0.75,
        "newpage_share": None,
        "heap_blocks_read_per_transaction": 0.1,
        "buffer_hit_share": 0.99,
        "disk_written_bytes_per_transaction": 9000.0,
        "disk_flushes_per_transaction": 0.8,
        "pages_written_per_transaction": 2.0,
        "relation_written_bytes_per_transaction": 8192.0,
        "page_read_bytes_per_transaction": 409.6,
        "disk_write_latency_ms": 0.2,
        "disk_read_latency_ms": None,
        "checkpoints": 3.0,
        "table_bytes": 123.0,
        "database_bytes": None,
        "cpu_busy_share": 0.5,
        "iowait_share": 0.03,
        "steal_share": 0.02,
        "foreign_cpu_share": 0.125,
    }
    for name, value in wanted.items():
        assert found[name] == (None if value is None else pytest.approx(value)), name


def test_the_emulation_s_processor_time_is_neither_the_server_s_nor_a_stranger_s() -> None:
    alone, beside = (
        costs(COUNTERS, 1000),
        costs({**COUNTERS, "drive.cpu_us": 20_000.0, "drive_wal.cpu_us": 5_000.0}, 1000),
    )
    assert (alone["drive_cpu_us_per_transaction"], beside["drive_cpu_us_per_transaction"]) == (None, 25.0)
    assert beside["server_cpu_us_per_transaction"] == alone["server_cpu_us_per_transaction"]
    assert (alone["foreign_cpu_share"], beside["foreign_cpu_share"]) == (0.125, 0.0625)


def test_what_the_load_writes_was_written_by_no_other_program() -> None:
    mib = 1 << 20
    idle = {**COUNTERS, "diskstats.written_bytes": 1000.0 * mib, "process_io.passed_written_bytes": 1.0 * mib}
    share = {
        told: costs({**idle, "lab_io.passed_written_bytes": lab, "load.written_bytes": load}, 1000)[
            "foreign_write_share"
        ]
        for told, lab, load in (
            ("by the kernel", 990.0 * mib, None),
            ("by the load", 0.0, 990.0 * mib),
            ("by both", 990.0 * mib, 990.0 * mib),
            ("a tenth", 100.0 * mib, 90.0 * mib),
            ("unknown", None, 990.0 * mib),
        )
    }
    assert [share[told] for told in ("by the kernel", "by the load", "by both", "unknown")] == [0.0, 0.0, 0.0, None]
    assert share["a tenth"] == pytest.approx(1 - 2 * 101 / 1000), "one write counts once, by the kernel or the load"


def test_how_far_drives_kept_to_their_service_times() -> None:
    asked = {
        "drive.asked_us": 9_000.0,
        "drive.late_us": 300.0,
        "drive.timed_requests": 90.0,
        "drive.late_requests": 9.0,
    }
    wal = {"drive_wal.asked_us": 1_000.0, "drive_wal.late_us": 700.0, "drive_wal.timed_requests": 10.0}
    found = costs({**COUNTERS, **asked, **wal, "drive_wal.late_requests": 1.0}, 1000)
    assert (found["asked_service_us"], found["service_time_error"], found["late_answers"]) == (100.0, 0.1, 0.1)
    assert costs(COUNTERS, 1000)["service_time_error"] is None


def test_thirteen_counts_wal_by_position() -> None:
    found = costs({**COUNTERS, "wal.wal_bytes": None}, 1000)
    assert found["wal_bytes_per_transaction"] == 2100.0


def test_what_the_server_wrote_is_told_by_io_or_by_its_buffers() -> None:
    buffers = {f"checkpoints.buffers_{kind}": 10.0 for kind in ("checkpoint", "clean", "backend")}
    old = {**COUNTERS, **buffers, "sizes.block_bytes": 8192.0}
    assert costs(old, 1000)["relation_written_bytes_per_transaction"] == pytest.approx(30 * 8.192)
    new = {**old, "io.relation_write_bytes": 5_000.0, "checkpoints.buffers_backend": None}
    assert costs(new, 1000)["relation_written_bytes_per_transaction"] == 5.0
    untold = {**old, "checkpoints.buffers_backend": None}
    assert costs(untold, 1000)["relation_written_bytes_per_transaction"] is None


def test_nothing_done_has_no_cost() -> None:
    found = costs(COUNTERS, 0)
    assert all(value is None for name, value in found.items() if name.endswith("_per_transaction"))
    assert found["table_bytes"] == 123.0


def test_everything_is_declared_and_only_shares_are_shares() -> None:
    assert set(costs({}, 1)) == {response.name for response in Probes().responses}
    assert len({response.name for response in Probes().responses}) == len(Probes().responses)
    for response in Probes().responses:
        if response.unit == "share":
            assert response.scale is Scale.DIFFERENCE, response.name


@given(st.dictionaries(st.sampled_from(sorted(COUNTERS)), st.none() | st.floats(0, 1e12)), st.integers(0, 10**9))
def test_missing_numbers_never_become_zero(counters: dict[str, float | None], transactions: int) -> None:
    found = costs(counters, transactions)
    if counters.get("wal.wal_fpi") is None or transactions == 0:
        assert found["full_page_images_per_transaction"] is None
    declared = {cost.response.name: cost for probe in PROBES for cost in probe.costs}
    for name in ("hot_share", "buffer_hit_share", "steal_share", "iowait_share", "cpu_busy_share"):
        if any(counters.get(used) is None for used in counters_used(declared[name])):
            assert found[name] is None


class Asked(dict[str, float | None]):
    """Counters that remember which of them were asked for; all are there but those in `missing`."""

    def __init__(self, missing: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.names: set[str] = set()
        self._missing = missing

    def get(self, name: str, default: object = None) -> float | None:
        self.names.add(name)
        return None if name in self._missing else 1.0


def counters_used(cost: Cost) -> set[str]:
    """Also those that a cost turns to where others are missing (in an old version, on another drive)."""
    used: set[str] = set()
    while True:
        asked = Asked(frozenset(used))
        cost.value(asked, 100)
        whole = Asked()
        cost.value(whole, 100)
        if asked.names | whole.names <= used:
            return used
        used |= asked.names | whole.names


def counters_read(probes: Probes) -> set[str]:
    return {
        f"{source}.{meter.name}" for probe in probes.all for source, meters in probe.meters.items() for meter in meters
    }


def unread(probes: Probes) -> dict[str, set[str]]:
    """Costs with the counters that they use and no probe reads."""
    found = {
        cost.response.name: counters_used(cost) - counters_read(probes) for probe in probes.all for cost in probe.costs
    }
    return {name: missing for name, missing in found.items() if missing}


def test_every_counter_that_costs_use_is_read_by_a_probe() -> None:
    assert unread(Probes()) == {}
    assert "checkpoints.buffers_backend" in counters_used(
        next(cost for probe in PROBES for cost in probe.costs if cost.response.name == "pages_written_per_transaction")
    ), "what a cost turns to in old versions is seen, too"


class Misspelt(Probe):
    name = "misspelt"
    costs = (per_transaction("commits", "commits", "count", "database.xact_comit"),)
    meters: Mapping[str, tuple[Meter, ...]] = {}


def test_a_cost_of_a_counter_that_nobody_reads_is_seen() -> None:
    assert unread(Probes(foreign=(Misspelt(),))) == {"commits_per_transaction": {"database.xact_comit"}}


class Load(FileReader):
    """A reader of another package's probe."""

    per_second = True

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        return LoadAverage.meters

    def read(self) -> tuple[Reading, ...]:
        return (Reading("loadavg", self.clock.monotonic_ns(), self.clock.wall_ns(), {"one_minute": 0.5}),)


class LoadAverage(Probe):
    """Another package's probe of a file."""

    name = "loadavg"
    summary = "the load average"
    meters: Mapping[str, tuple[Meter, ...]] = {"loadavg": (Meter("one_minute", "count", cumulative=False),)}
    costs = (value_at_end("load_average", "load average at the end", "count", "loadavg.one_minute", Better.NEITHER),)

    def readers(self, target: Target) -> Sequence[Reader]:
        return (Load(target.clock),)


class Replication(ViewProbe):
    """Another package's probe of SQL, which `needs` a version."""

    name = "replication"
    needs = 13

    def view(self, version: int) -> View:
        return View("replication", (counter("slots", "count", "count(*)"),), "FROM pg_replication_slots")

    def unavailable(self, target: Target) -> str | None:
        return None if target.server.version.major >= self.needs else f"needs PostgreSQL {self.needs}"


class RefusesSlots(FakeServer):
    """A server that does not let us read replication slots."""

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if "pg_replication_slots" in sql:
            raise QueryError("permission denied")
        return []


@pytest.fixture
def target(tmp_path: Path) -> Target:
    installation = FakeInstallation()
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path / "socket")
    return Target(server, tmp_path / "data", FakeClock())


def test_another_package_s_probe_is_opened_and_its_responses_follow_ours(target: Target) -> None:
    probes = Probes(foreign=(LoadAverage(),))
    assert probes.responses[-1] == Response("load_average", "load average at the end", "count", Better.NEITHER)
    (reader,) = (each for each in probes.open(target) if "loadavg" in each.meters)
    (reading,) = reader.read()
    assert probes.costs({f"loadavg.{name}": value for name, value in reading.values.items()}, 10)["load_average"] == 0.5


class Faulty(LoadAverage):
    """Another package's probe with faults: its reader raises, and its cost divides by nothing."""

    name = "faulty"
    costs = (Cost(Response("per_nothing", "per nothing", "count", Better.LOWER), lambda counters, _: 1.0 / 0.0),)

    def readers(self, target: Target) -> Sequence[Reader]:
        class Raising(Load):
            def read(self) -> tuple[Reading, ...]:
                raise ValueError("no such file")

        return (Raising(target.clock),)


def test_the_faults_of_another_package_s_probe_cost_its_own_numbers_only(target: Target) -> None:
    probes = Probes(foreign=(Faulty(),))
    (reader,) = (each for each in probes.open(target) if "loadavg" in each.meters)
    reader.settle()
    (reading,) = reader.read()
    assert (reading.source, reading.values) == ("loadavg", {"one_minute": None})
    reader.close()
    found = probes.costs({"wal.wal_records": 10.0}, 5)
    assert (found["per_nothing"], found["wal_records_per_transaction"]) == (None, 2.0)


def test_views_of_all_probes_are_one_statement_a_second(target: Target) -> None:
    sources = [set(reader.meters) for reader in Probes(foreign=(Replication(),)).open(target) if reader.per_second]
    (together,) = (each for each in sources if "wal" in each)
    assert {"database", "tables", "wal", "checkpoints", "io", "replication"} <= together


def test_a_probe_says_when_it_does_not_apply(target: Target) -> None:
    newer = Replication()
    newer.needs = 99
    probes = Probes(foreign=(newer,))
    assert probes.unavailable(target)["replication"] == "needs PostgreSQL 99"
    assert all("replication" not in reader.meters for reader in probes.open(target))
    assert "drive" in Probes().unavailable(target)
    counting = Target(target.server, target.directory, target.clock, {"drive": lambda: {"host_bytes_written": 1.0}})
    assert any("drive" in reader.meters for reader in Probes().open(counting))


def test_a_view_that_the_server_refuses_takes_no_other_with_it(target: Target) -> None:
    server = target.server
    assert isinstance(server, FakeServer)
    server.__class__ = RefusesSlots
    readers = Probes(foreign=(Replication(),)).open(target)
    (together,) = (reader for reader in readers if "replication" in reader.meters)
    assert isinstance(together, Statistics)
    assert "pg_replication_slots" not in together.sql
    assert "pg_stat_wal" in together.sql


PROBE = """
from pgassay.interfaces.probe import Meter
from pgassay.interfaces.probe import Probe, value_at_end

class Frequency(Probe):
    name = "{name}"
    summary = "clock of the first processor"
    meters = {{"frequency": (Meter("mhz", "MHz", cumulative=False),)}}
    costs = (value_at_end("frequency_mhz", "clock at the end", "MHz", "frequency.mhz"),)

PROBE = Frequency()
"""


def test_another_package_s_probe_is_found(install: Install) -> None:
    install(
        "pg-clock", "[pgassay.probes]\nfrequency = pg_clock_a:PROBE\n", PROBE.format(name="frequency"), "pg_clock_a"
    )
    probes = every_probe()
    assert [probe.name for probe in probes.foreign] == ["frequency"]
    assert probes.responses[-1].name == "frequency_mhz"
    assert probes.costs({"frequency.mhz": 2400.0}, 1)["frequency_mhz"] == 2400.0


def test_another_package_s_probe_takes_no_name_of_ours(install: Install) -> None:
    install("pg-clock", "[pgassay.probes]\nwal = pg_clock_b:PROBE\n", PROBE.format(name="wal"), "pg_clock_b")
    with pytest.raises(PluginError, match="pgassay has a probe of this name"):
        every_probe()
