"""Levels follow the machine, hold the start, and are as postgresql.conf writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.advise.knowledge import Scale, Setting, known_settings
from pgassay.advise.space import (
    Configuration,
    Limits,
    Machine,
    Space,
    allowed,
    index_of,
    objections,
    require_room,
    space_of,
    within,
)
from pgassay.errors import UsageError

KNOWN = known_settings()
MACHINE = Machine(16 << 30, 4, 16)
LIMITS = Limits(16 << 30, 8)


def space(*names: str, start: dict[str, str] | None = None, **how: object) -> Space:
    return space_of([KNOWN[name] for name in names], MACHINE, start or {}, **how)  # type: ignore[arg-type]


def test_levels_double_up_to_a_share_of_memory() -> None:
    found = space("shared_buffers").dimension("shared_buffers")
    assert found.levels == ("16MB", "32MB", "64MB", "128MB", "256MB", "512MB", "1GB", "2GB", "4GB")
    assert (found.start, found.rule, found.far) == ("128MB", "4GB", "4GB")


def test_a_bad_start_is_a_level_and_the_far_one_is_away_from_it() -> None:
    found = space("shared_buffers", start={"shared_buffers": "1MB"}).dimension("shared_buffers")
    assert (found.levels[0], found.far) == ("1MB", "4GB")
    high = space("random_page_cost", start={"random_page_cost": "40"}).dimension("random_page_cost")
    assert (high.levels[-1], high.far) == ("40", "1")


def test_words_go_to_the_other_word() -> None:
    found = space("jit", "wal_sync_method", allowed=["wal_sync_method"])
    assert [each.far for each in found.dimensions] == ["off", "open_datasync"]
    assert not found.dimension("jit").ordered


def test_what_the_machine_asks_for_is_left_out_and_said() -> None:
    found = space(
        "effective_io_concurrency", "jit", "max_wal_size", "synchronous_commit", "hash_mem_multiplier", window_s=5
    )
    assert {each.name for each in found.dimensions} == {"effective_io_concurrency", "jit", "hash_mem_multiplier"}
    assert "600 s" in found.left_out["max_wal_size"]
    assert "--allow synchronous_commit" in found.left_out["synchronous_commit"]
    quick = space("jit", "huge_pages", "wal_init_zero", start={"wal_init_zero": "off"}, quick=True)
    assert set(quick.left_out) == {"huge_pages"}, "what the start sets is tried all the same"


def test_one_point_is_no_space() -> None:
    with pytest.raises(UsageError, match="one point") as raised:
        space_of([Setting("x", "1", Scale.LOG, low="1", high="1")], MACHINE, {})
    assert "two levels" in str(raised.value.hint)
    with pytest.raises(UsageError, match="one point"):
        space("fsync")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [("8", "4", "no level"), ("many", "4", "not an amount"), ("1", "4 horses", "not an amount")],
)
def test_bounds_that_cannot_be_are_refused(low: str, high: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        space_of([Setting("x", "4", Scale.LOG, low=low, high=high)], MACHINE, {})


def test_the_rule_of_thumb_and_the_default_leave_the_rest_of_the_start() -> None:
    found = space("shared_buffers", "jit", start={"shared_buffers": "1MB", "fsync": "off"})
    assert found.rule_of_thumb.values == {"shared_buffers": "4GB", "jit": "on", "fsync": "off"}
    assert found.default.values == {"shared_buffers": "128MB", "jit": "on", "fsync": "off"}
    assert found.default.changes_from(found.start) == {"shared_buffers": "128MB"}
    assert found.narrowed({"jit"}).start == found.start


def test_an_unknown_dimension_names_the_nearest() -> None:
    with pytest.raises(UsageError) as raised:
        space("work_mem").dimension("wrok_mem")
    assert raised.value.hint == 'did you mean "work_mem"?'


def test_values_are_compared_as_postgresql_reads_them() -> None:
    assert Configuration({"work_mem": "4MB"}) == Configuration({"work_mem": "4096kB"})
    assert len({Configuration({"jit": "on"}), Configuration({"jit": "yes"})}) == 1
    assert Configuration({"jit": "true"}).changes_from(Configuration({"jit": "on"})) == {}


def test_memory_is_summed_before_a_trial() -> None:
    greedy = Configuration({"shared_buffers": "10GB", "work_mem": "1GB"})
    assert [each for each in objections(greedy, LIMITS) if "memory" in each and "work_mem of 8 clients" in each]
    assert allowed(Configuration({"shared_buffers": "10GB"}), LIMITS)


GB = 1 << 30


@pytest.mark.parametrize(
    ("values", "limits", "fits"),
    [
        # 8 clients of 1 GB for each sort, or hash, without workers
        ({"work_mem": "1GB", "hash_mem_multiplier": "1"}, Limits(11 * GB, 8), True),
        ({"work_mem": "1GB", "hash_mem_multiplier": "1.5"}, Limits(11 * GB, 8), False),
        ({"work_mem": "1GB", "hash_mem_multiplier": "1"}, Limits(11 * GB, 8, nodes=2), False),
        # each of two workers a client may take as much, up to all workers that there are
        ({"work_mem": "1GB", "hash_mem_multiplier": "1", "max_parallel_workers_per_gather": "2"},
         Limits(20 * GB, 8), False),
        ({"work_mem": "1GB", "hash_mem_multiplier": "1", "max_parallel_workers_per_gather": "2",
          "max_parallel_workers": "2"}, Limits(14 * GB, 8), True),
        ({"work_mem": "1GB", "hash_mem_multiplier": "1", "max_parallel_workers_per_gather": "2",
          "max_worker_processes": "2", "max_parallel_workers": "2"}, Limits(14 * GB, 8), True),
        # vacuum's own memory in its place
        ({"maintenance_work_mem": "4GB"}, Limits(8 * GB, 1), False),
        ({"maintenance_work_mem": "4GB", "autovacuum_work_mem": "64MB"}, Limits(8 * GB, 1), True),
        ({"maintenance_work_mem": "4GB", "autovacuum_work_mem": "-1"}, Limits(8 * GB, 1), False),
        # a server that has less than the machine
        ({"shared_buffers": "1GB"}, Limits(16 * GB, 1), True),
        ({"shared_buffers": "1GB", "host.memory": "1GB"}, Limits(16 * GB, 1), False),
        ({"shared_buffers": "1GB", "host.memory": "all"}, Limits(16 * GB, 1), True),
    ],
)  # fmt: skip
def test_memory_is_counted_as_the_manual_says(values: dict[str, str], limits: Limits, fits: bool) -> None:
    assert allowed(Configuration({"max_parallel_workers_per_gather": "0", **values}), limits) is fits


def test_a_memory_sum_says_who_takes_it() -> None:
    why = next(objections(Configuration({"work_mem": "1GB"}), Limits(16 * GB, 3, nodes=2)))
    assert "work_mem of 3 clients and 6 parallel workers, 2 sorts or hashes each" in why
    assert KNOWN["work_mem"].nodes == 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"min_wal_size": "2GB", "max_wal_size": "1GB"}, "min_wal_size"),
        ({"max_parallel_workers_per_gather": "16"}, "max_parallel_workers_per_gather = 16 is above"),
        ({"max_connections": "9"}, "max_connections"),
    ],
)
def test_settings_limit_each_other(values: dict[str, str], said: str) -> None:
    assert said in next(objections(Configuration(values), LIMITS))


def test_a_start_that_cannot_be_is_a_contradiction() -> None:
    with pytest.raises(UsageError, match="no configuration of the space can be run"):
        require_room(space("shared_buffers", start={"work_mem": "8GB"}), LIMITS)
    require_room(space("shared_buffers", "work_mem"), LIMITS)


@given(st.data())
def test_within_finds_what_may_be_tried(data: st.DataObject) -> None:
    found = space("shared_buffers", "work_mem", "hash_mem_multiplier", "jit")
    chosen = {each.name: data.draw(st.sampled_from(each.levels)) for each in found.dimensions}
    wanted = found.start.with_values(chosen)
    limits = Limits(data.draw(st.integers(1 << 30, 16 << 30)), 8)
    nearest = within(found.dimensions, wanted, limits)
    assert allowed(nearest, limits)
    assert nearest == wanted or not allowed(wanted, limits)
    for each in found.dimensions:
        assert index_of(each.levels, nearest.values[each.name]) <= index_of(each.levels, wanted.values[each.name])


def test_nothing_to_try_in_so_short_a_window_is_said() -> None:
    with pytest.raises(UsageError, match="max_wal_size: its effect takes windows of 600 s, and these are 10 s"):
        space_of([known_settings()["max_wal_size"]], MACHINE, {}, window_s=10)
