"""Costs of a transaction: the arithmetic on plain numbers, and None wherever a number is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.probe import checkpoints, database, io, sizes, tables, wal
from pgassay.probe.costs import RESPONSES, costs
from pgassay.study.responses import Scale

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
    assert costs(old, 1000)["full_page_bytes_per_transaction"] == pytest.approx(0.25 * 8192)


def test_nothing_done_has_no_cost() -> None:
    found = costs(COUNTERS, 0)
    assert all(value is None for name, value in found.items() if name.endswith("_per_transaction"))
    assert found["table_bytes"] == 123.0


def test_everything_is_declared_and_only_shares_are_shares() -> None:
    assert set(costs({}, 1)) == {response.name for response in RESPONSES}
    assert len({response.name for response in RESPONSES}) == len(RESPONSES)
    for response in RESPONSES:
        if response.unit == "share":
            assert response.scale is Scale.DIFFERENCE, response.name


@given(st.dictionaries(st.sampled_from(sorted(COUNTERS)), st.none() | st.floats(0, 1e12)), st.integers(0, 10**9))
def test_missing_numbers_never_become_zero(counters: dict[str, float | None], transactions: int) -> None:
    found = costs(counters, transactions)
    if counters.get("wal.wal_fpi") is None or transactions == 0:
        assert found["full_page_images_per_transaction"] is None
    for name in ("hot_share", "buffer_hit_share", "steal_share", "iowait_share", "cpu_busy_share"):
        value = found[name]
        assert value is None or value >= 0


def test_every_counter_that_costs_use_is_read_by_a_probe() -> None:
    views = [module.view(18) for module in (database, tables, wal, checkpoints, io, sizes)]
    read = {f"{view.source}.{meter.name}" for view in views for meter in view.meters}
    used = {name for name in COUNTERS if name.split(".")[0] in {view.source for view in views}}
    assert used <= read
