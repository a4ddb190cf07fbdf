"""What this machine and this load cannot try is left out with its reason; a level that no factor accepts is refused."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.advise.asking import CheckSettings, barred, built, require_levels, settings_of
from pgassay.advise.knowledge import Setting, known_settings, setting_of
from pgassay.advise.space import Machine, Space, space_of
from pgassay.advise.task import Question
from pgassay.errors import UsageError
from pgassay.host.factors import NO_ROOT
from pgassay.interfaces.errors import SettingError
from pgassay.lab.catalogue import every_factor
from pgassay.postgres.settings import Described
from tests.host import made

KNOWN = known_settings()
PGBENCH = Question({"scale": "1"}, "tps")
CATALOGUE = every_factor()
MACHINE = Machine(8 << 30, 2)


def meminfo(root: Path) -> Path:
    made.put(root, "proc/meminfo", "MemTotal:       16000000 kB\nHugepagesize:       2048 kB\n")
    return root


def test_huge_pages_are_left_out_where_none_are_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [KNOWN["huge_pages"]]
    why = barred(pages, PGBENCH, CATALOGUE, meminfo(tmp_path))["huge_pages"]
    assert "try and off are the same" in why
    place = made.huge_pages(tmp_path, 2048, total=4, free=2, reserved=2)
    assert barred(pages, PGBENCH, CATALOGUE, tmp_path), "they are promised to others"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "only root may reserve some" in barred(pages, PGBENCH, CATALOGUE, tmp_path)["huge_pages"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--only host.huge_pages" in barred(pages, PGBENCH, CATALOGUE, tmp_path)["huge_pages"]
    (place / "nr_overcommit_hugepages").write_text("8\n")
    assert barred(pages, PGBENCH, CATALOGUE, tmp_path) == {}
    made.huge_pages(tmp_path, 2048, total=4, free=3, reserved=2)
    (place / "nr_overcommit_hugepages").unlink()
    assert barred(pages, PGBENCH, CATALOGUE, tmp_path) == {}


def test_two_ways_to_the_same_pages_are_not_tried_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    both = [KNOWN["huge_pages"], KNOWN["host.huge_pages"]]
    assert barred(both, PGBENCH, CATALOGUE, tmp_path) == {"huge_pages": "host.huge_pages sets it"}
    held = Question({"scale": "1"}, "tps", held={"host.huge_pages": "2MB"})
    found = barred(both, held, CATALOGUE, tmp_path)
    assert found["huge_pages"] == "host.huge_pages sets it"
    assert "--set holds host.huge_pages" in found["host.huge_pages"]


def test_what_this_user_may_not_change_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert barred([KNOWN["host.huge_pages"]], PGBENCH, CATALOGUE) == {"host.huge_pages": NO_ROOT}
    assert list(barred([KNOWN["table.fillfactor"]], Question({}, "tps"), CATALOGUE)) == ["table.fillfactor"]


def test_a_factor_that_there_is_not_names_the_nearest() -> None:
    stranger = setting_of("host.huge_page", {"default": "none", "levels": ["none", "2MB"]})
    with pytest.raises(UsageError, match=r'no factor "host\.huge_page"') as raised:
        barred([stranger], PGBENCH, CATALOGUE)
    assert raised.value.hint == 'did you mean "host.huge_pages"?'


def accepts(values: Mapping[str, str]) -> None:
    """A PostgreSQL that takes everything."""


def knows(*words: str) -> CheckSettings:
    """A PostgreSQL that takes only these words."""

    def check(values: Mapping[str, str]) -> None:
        for name, value in values.items():
            if value not in words:
                raise SettingError(f"PostgreSQL refuses {name} = '{value}'")

    return check


def space(*settings: Setting) -> Space:
    return space_of(settings, MACHINE, {})


def test_a_level_that_its_factor_does_not_accept_is_refused() -> None:
    bad = setting_of("host.memory", {"default": "all", "levels": ["all", "plenty"]})
    with pytest.raises(UsageError, match="plenty"):
        require_levels(space(bad), CATALOGUE, {}, accepts)
    require_levels(space(KNOWN["jit"], KNOWN["table.fillfactor"]), CATALOGUE, {}, accepts)


LOCKS = Described("max_locks_per_transaction", "integer", "postmaster", "64", None, 10, 2147483647)
NAPTIME = Described("autovacuum_naptime", "integer", "sighup", "60s", "s", 1, 2147483)
LEVEL = Described("wal_level", "enum", "postmaster", "replica")
DEBUG = Described("enable_seqscan", "bool", "user", "on")


def test_a_stranger_is_as_postgresql_describes_it() -> None:
    described = {each.name: each for each in (LOCKS, LEVEL, DEBUG)}
    tables: dict[str, dict[str, object]] = {
        "max_locks_per_transaction": {"low": "64", "high": "256", "scale": "log"},
        "wal_level": {"levels": ["replica", "minimal"]},
        "enable_seqscan": {},
    }
    locks, level, plan = settings_of(tables, (), described)
    assert (locks.default, locks.apply, plan.apply) == ("64", "restart", "reload")
    found = space(locks, level, plan)
    assert {each.name: each.levels for each in found.dimensions} == {
        "max_locks_per_transaction": ("64", "128", "256"),
        "wal_level": ("replica", "minimal"),
        "enable_seqscan": ("on", "off"),
    }
    require_levels(found, CATALOGUE, described, accepts)
    with pytest.raises(UsageError, match="cannot be tried"):
        settings_of({"block_size": {}}, (), {"block_size": replace(LOCKS, name="block_size", context="internal")})
    with pytest.raises(UsageError, match="is not a setting") as raised:
        settings_of({"wrok_mem": {"high": "1GB"}}, (), {})
    assert raised.value.hint == 'did you mean "work_mem"?'


@pytest.mark.parametrize(
    ("described", "levels", "limits"),
    [
        (LOCKS, ["64", "5"], "10 to 2147483647"),
        (LOCKS, ["64", "many"], "10 to 2147483647"),
        (NAPTIME, ["60s", "1000h"], "1s to 2147483s"),
        (NAPTIME, ["1min", "64kB"], "1s to 2147483s"),
    ],
)
def test_a_level_outside_of_postgresqls_limits_is_refused_with_them(
    described: Described, levels: list[str], limits: str
) -> None:
    tried = setting_of(described.name, {"default": described.default, "levels": levels})
    with pytest.raises(UsageError, match=f'{described.name} cannot be "{levels[1]}"') as raised:
        require_levels(space(tried), CATALOGUE, {described.name: described}, accepts)
    assert raised.value.hint == f"this PostgreSQL takes {limits}"


def test_a_word_is_judged_by_postgresql() -> None:
    tried = setting_of("wal_level", {"default": "replica", "levels": ["replica", "least"]})
    with pytest.raises(SettingError, match="least"):
        require_levels(space(tried), CATALOGUE, {"wal_level": LEVEL}, knows("replica", "minimal", "logical"))


def test_levels_that_postgresql_was_not_built_with_are_left_out() -> None:
    method = KNOWN["io_method"]
    (found, jit) = built([method, KNOWN["jit"]], 18, knows("worker", "sync"))
    assert (found.levels, jit) == (("worker", "sync"), KNOWN["jit"])
    assert built([method], 18, accepts) == (method,)
    assert built([method], 17, knows()) == (method,), "17 does not have it anyway"
