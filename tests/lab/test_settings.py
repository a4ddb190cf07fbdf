"""With which settings a server starts: those that pin the regime, connections, and what is counted in blocks."""

from typing import Any

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.load import LoadOptions
from pgassay.lab import settings as server_settings
from pgassay.lab.arms import resolve
from pgassay.lab.catalogue import every_factor
from pgassay.lab.settings import COUNTED, Counted, common_bytes
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.study.model import Study
from pgassay.study.parsing import parse
from pgassay.study.units import parse_memory
from tests.lab.simulation import arm_with, fake_site


def test_a_window_by_time_spans_two_checkpoints() -> None:
    settings = arm_with(load__duration="66s", load__checkpoint="cycle").settings
    assert settings == {"checkpoint_timeout": "32s", "max_wal_size": "16GB"}
    assert arm_with(load__duration="5s").settings["checkpoint_timeout"] == "30s", "PostgreSQL takes no less"


def test_a_study_may_leave_checkpoints_as_the_server_has_them() -> None:
    assert arm_with(load__duration="1000s", load__checkpoint="default").settings == {}


def test_equal_work_has_one_cycle_and_no_checkpoint_by_time_or_wal() -> None:
    settings = arm_with(load__transactions="1000", load__duration="66s", load__checkpoint="cycle").settings
    assert settings == {"checkpoint_timeout": "1h", "max_wal_size": "16GB"}
    assert [
        server_settings.mode_of(each) for each in (LoadOptions(), PgbenchOptions(), PgbenchOptions(transactions=9))
    ] == [
        "cycle",
        "cycle",
        "work",
    ]
    assert server_settings.mode_of(PgbenchOptions(transactions=9, checkpoint="wal")) == "wal", (
        "the user's own word stands"
    )


def test_what_the_user_sets_is_left_alone() -> None:
    settings = arm_with(load__duration="66s", server__max_wal_size="1GB", server__checkpoint_timeout="5min").settings
    assert settings == {"max_wal_size": "1GB", "checkpoint_timeout": "5min"}


def test_large_wal_files_get_room_for_four() -> None:
    short = {"load__duration": "8s", "load__checkpoint": "wal"}
    assert arm_with(**short).settings["max_wal_size"] == "128MB"
    assert arm_with(**short, init__wal_segment_size="256MB").settings["max_wal_size"] == "1GB"


def test_many_clients_get_connections() -> None:
    assert "max_connections" not in arm_with(load__clients="80").settings
    assert arm_with(load__clients="200").settings["max_connections"] == "220"
    assert arm_with(load__clients="200", server__max_connections="300").settings["max_connections"] == "300"


def _study(sizes: list[str], fixed: dict[str, Any] | None = None, **design: Any) -> Study:
    document: dict[str, Any] = {
        "study": {"format": 1, "title": "t", "question": "q"},
        "factors": {"build.block_size": sizes} if len(sizes) > 1 else {"table.fillfactor": [100, 90]},
        "fixed": {**(fixed or {}), **({"build.block_size": sizes[0]} if len(sizes) == 1 else {})},
        "load": {"driver": "pgbench", "script": "simple-update", "duration": "10s"},
        "design": design,
    }
    return parse("t", document, every_factor())


def _pinned(study: Study) -> dict[str, dict[str, str]]:
    return {
        arm.arm.levels["build.block_size"].typed: server_settings.pinned_in_bytes(study, arm.setup)
        for arm in resolve(study, fake_site()).arms
    }


def test_every_page_size_gets_the_bytes_of_a_stock_server() -> None:
    found = _pinned(_study(["2kB", "4kB", "8kB"]))
    assert found["8kB"] == {
        "shared_buffers": "128MB",
        "wal_buffers": "4MB",
        "effective_cache_size": "4GB",
        "temp_buffers": "8MB",
        "checkpoint_flush_after": "256kB",
        "bgwriter_flush_after": "512kB",
        "backend_flush_after": "0",
        "bgwriter_lru_maxpages": "100",
        "vacuum_cost_limit": "200",
    }
    assert found["2kB"] == {**found["8kB"], "bgwriter_lru_maxpages": "400", "vacuum_cost_limit": "800"}


def test_bytes_are_those_that_every_page_size_of_the_study_allows() -> None:
    found = _pinned(_study(["1kB", "32kB"]))
    assert found["1kB"]["bgwriter_flush_after"] == found["32kB"]["bgwriter_flush_after"] == "256kB"
    assert found["32kB"]["vacuum_cost_limit"] == "50"
    for name, counted in COUNTED.items():
        for size in (1024, 32768):
            value = found["1kB"][name]
            blocks = (0 if value == "0" else parse_memory(value)) // size
            assert counted.blocks_min <= blocks <= counted.blocks_max


def test_a_minimum_of_blocks_is_that_of_the_largest_page() -> None:
    assert common_bytes(Counted(8 << 20, 100, 1 << 30), (1024, 32768)) == 8 << 20
    assert common_bytes(Counted(1 << 20, 100, 1 << 30), (1024, 32768)) == 100 * 32768


def test_what_the_user_sets_is_left_and_wal_buffers_follow_shared_buffers() -> None:
    study = _study(["2kB", "8kB"], {"server.shared_buffers": "1GB", "server.temp_buffers": "32MB"})
    for settings in _pinned(study).values():
        assert settings["wal_buffers"] == "16MB"
        assert not {"shared_buffers", "temp_buffers"} & set(settings)
    study = _study(["2kB", "8kB"], {"server.Wal_Buffers": "1MB"})
    assert all("wal_buffers" not in settings for settings in _pinned(study).values())


def test_nothing_is_pinned_where_nothing_varies_or_defaults_are_plain() -> None:
    assert server_settings.describe_defaults(_study(["2kB"])) == ""
    plain = _study(["2kB", "8kB"], defaults="plain")
    assert _pinned(plain) == {"2kB": {}, "8kB": {}}
    assert server_settings.describe_defaults(plain).startswith("plain defaults: settings counted in blocks differ")
    assert "wal_buffers" in server_settings.describe_defaults(_study(["2kB", "8kB"]))


def test_a_trial_starts_with_them_and_with_its_regime() -> None:
    study = _study(["2kB", "8kB"])
    settings = resolve(study, fake_site()).arms[0].settings
    assert settings["bgwriter_lru_maxpages"] == "400"
    assert settings["checkpoint_timeout"] == "30s"


@pytest.mark.parametrize("name", ["server.shared_buffers", "server.WAL_buffers", "server.temp_buffers"])
def test_bare_numbers_of_blocks_are_refused_while_the_size_varies(name: str) -> None:
    with pytest.raises(UsageError, match=f'"{name}" = 4096 counts blocks') as caught:
        server_settings.check_block_counts(_study(["2kB", "8kB"], {name: 4096}))
    assert caught.value.hint is not None
    assert "give it a unit" in caught.value.hint
    server_settings.check_block_counts(_study(["2kB", "8kB"], {name: "32MB"}))
    server_settings.check_block_counts(_study(["2kB", "8kB"], {"server.wal_buffers": -1}))
    server_settings.check_block_counts(_study(["2kB"], {name: 4096}))


def test_a_word_that_is_neither_is_refused() -> None:
    with pytest.raises(UsageError, match="defaults"):
        _study(["2kB", "8kB"], defaults="fair")


@pytest.mark.parametrize(
    ("sizes", "fixed", "names"),
    [
        (["2kB", "8kB"], {"server.debug_io_direct": "data"}, '= data does not work with "build.block_size" = 2kB'),
        (["1kB"], {"server.debug_io_direct": "wal, data"}, '= data does not work with "build.block_size" = 1kB'),
        (
            ["4kB", "8kB"],
            {"server.debug_io_direct": "wal", "build.wal_block_size": "2kB"},
            '= wal does not work with "build.wal_block_size" = 2kB',
        ),
    ],
)
def test_direct_io_on_blocks_below_4kb_is_refused_before_anything_is_built(
    sizes: list[str], fixed: dict[str, Any], names: str
) -> None:
    with pytest.raises(UsageError, match=names) as caught:
        server_settings.check_block_counts(_study(sizes, fixed))
    assert "at least 4kB" in str(caught.value.hint)


def test_direct_io_where_the_blocks_allow_it() -> None:
    server_settings.check_block_counts(_study(["4kB", "8kB"], {"server.debug_io_direct": "data"}))
    server_settings.check_block_counts(_study(["2kB", "8kB"], {"server.debug_io_direct": "wal"}))
