"""The knowledge file says of every setting what a search needs, and refuses what means nothing."""

import pytest

from pgassay.advise.knowledge import Risk, Scale, Setting, known_settings, setting_of
from pgassay.advise.space import Machine, space_of
from pgassay.errors import UsageError
from pgassay.study.units import canonical

KNOWN = known_settings()


@pytest.mark.parametrize("setting", KNOWN.values(), ids=lambda each: each.name)
def test_each_setting_is_whole(setting: Setting) -> None:
    assert setting.reason
    assert setting.apply in ("reload", "restart") or setting.factor == setting.name
    assert bool(setting.levels) == (setting.scale is Scale.ENUM)
    assert bool(setting.risks) == (setting.risk is not Risk.SAFE), "a risk is said in words"
    if setting.levels:
        assert canonical(setting.default) in map(canonical, setting.levels)


def test_what_trades_durability_is_marked() -> None:
    assert {each.name for each in KNOWN.values() if each.risk is Risk.DURABILITY} == {
        "fsync",
        "full_page_writes",
        "synchronous_commit",
        "wal_sync_method",
    }


@pytest.mark.parametrize("setting", KNOWN.values(), ids=lambda each: each.name)
def test_a_text_that_speaks_of_lost_or_torn_data_marks_durability(setting: Setting) -> None:
    said = any(word in setting.risks for word in ("durable", "lose", "lost", "torn", "destroy"))
    assert said == (setting.risk is Risk.DURABILITY)


def test_durability_is_traded_only_where_it_is_asked_for_by_name() -> None:
    """In the full form as in the quick one, whatever a space file says of it, and also as a rule of thumb."""
    traded = [each for each in KNOWN.values() if each.risk is Risk.DURABILITY]
    for quick in (False, True):
        space = space_of(KNOWN.values(), Machine(16 << 30, 4, 16), {}, quick=quick)
        for each in traded:
            assert f"--allow {each.name}" in space.left_out[each.name]
            assert each.name not in space.rule_of_thumb.values
    for each in traded:
        named = setting_of(each.name, {"levels": list(each.levels)}, each)
        assert (
            f"--allow {each.name}" in space_of([named, KNOWN["jit"]], Machine(16 << 30, 4, 16), {}).left_out[each.name]
        )
        asked = space_of([named], Machine(16 << 30, 4, 16), {}, allowed=[each.name])
        assert [one.name for one in asked.dimensions] == [each.name]


def test_what_is_no_setting_is_a_factor_of_its_own_and_a_comment_among_the_lines() -> None:
    fillfactor, work_mem = KNOWN["table.fillfactor"], KNOWN["work_mem"]
    assert (fillfactor.factor, work_mem.factor) == ("table.fillfactor", "server.work_mem")
    assert fillfactor.line("80") == "# no setting: table.fillfactor = 80"
    assert work_mem.line("8MB") == "work_mem = '8MB'"


def test_a_factor_of_the_host_keeps_its_name() -> None:
    pages = KNOWN["host.huge_pages"]
    assert (pages.factor, pages.line("2MB")) == ("host.huge_pages", "# no setting: host.huge_pages = 2MB")
    own = setting_of("host.memory", {"default": "all", "levels": ["all", "2GB"]})
    assert own.factor == "host.memory"
    assert "host" in own.apply


def test_a_table_is_laid_over_what_is_known() -> None:
    found = setting_of("work_mem", {"high": "1GB"}, KNOWN["work_mem"])
    assert (found.low, found.high, found.reason) == ("1MB", "1GB", KNOWN["work_mem"].reason)
    own = setting_of("my.setting", {"default": "a", "levels": ["a", True]})
    assert own.levels == ("a", "on")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"hihg": "1GB"}, "hihg"),
        ({"scale": "cubic"}, "cubic"),
        ({"risk": "brave"}, "brave"),
        ({"step": 1}, "step"),
        ({"levels": "on"}, "list"),
        ({"nodes": 0}, "nodes"),
        ({"nodes": "many"}, "nodes"),
    ],
)
def test_a_wrong_table_is_refused(table: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        setting_of("work_mem", table, KNOWN["work_mem"])
    assert raised.value.hint


def test_a_stranger_needs_its_default_and_a_scale() -> None:
    with pytest.raises(UsageError, match="is not a setting"):
        setting_of("stranger", {"low": "1"})
    with pytest.raises(UsageError, match="scale"):
        setting_of("stranger", {"default": "1", "low": "1", "high": "4"})


def test_a_default_is_that_of_the_version() -> None:
    ahead = KNOWN["effective_io_concurrency"]
    assert (ahead.of_version(17).default, ahead.of_version(18).default) == ("1", "16")
    new = space_of([ahead], Machine(16 << 30, 4, 18), {})
    assert new.dimension("effective_io_concurrency").start == "16"
    assert new.default.values == {"effective_io_concurrency": "16"}
    for major, there in ((17, False), (18, True)):
        found = space_of([KNOWN["jit"], KNOWN["io_method"], KNOWN["io_workers"]], Machine(16 << 30, 4, major), {})
        assert ("io_method" in [each.name for each in found.dimensions]) is there
        assert ("io_workers" in found.left_out) is not there


def test_all_of_it_makes_a_space() -> None:
    space = space_of(KNOWN.values(), Machine(16 << 30, 4, 16), {}, allowed=["fsync"])
    assert {each.name for each in space.dimensions} | set(space.left_out) == set(KNOWN)
    assert "fsync" not in space.left_out
    assert "synchronous_commit" in space.left_out
