"""The one list of what trades durability, which reports and advice have in common."""

import pytest

from pgassay.advise.knowledge import Risk, known_settings, setting_of
from pgassay.report.adoption import crash_risks, durability_traded
from pgassay.study.durability import SETTINGS, loss
from pgassay.study.levels import Level


@pytest.mark.parametrize(
    ("factor", "level", "said"),
    [
        ("server.synchronous_commit", "off", "loses commits of the last moments"),
        ("server.synchronous_commit", "LOCAL", "no standby has yet"),
        ("server.synchronous_commit", "remote_apply", None),
        ("server.wal_sync_method", "open_datasync", "honours the call"),
        ("server.wal_sync_method", "fdatasync", None),
        ("schema.change", "ALTER TABLE t SET UNLOGGED", "is empty"),
        ("schema.change", "CREATE INDEX ON t (a)", None),
        ("server.work_mem", "off", None),
    ],
)
def test_what_a_level_gives_up_is_said(factor: str, level: str, said: str | None) -> None:
    found = loss(factor, level)
    assert (found is None) is (said is None)
    assert found is None or said is None or said in found.text


def test_only_what_may_damage_the_cluster_is_not_crash_safe() -> None:
    levels = {f"server.{name}": Level("off", "off") for name in SETTINGS}
    assert [each.split(" is not crash-safe: ")[0] for each in crash_risks(levels)] == [
        "server.fsync = off", "server.full_page_writes = off",
    ]  # fmt: skip


def test_a_treatment_trades_what_its_baseline_does_not() -> None:
    off, on = {"server.synchronous_commit": Level("off", "off")}, {"server.synchronous_commit": Level("on", "on")}
    assert "loses commits" in durability_traded(off, on)
    assert durability_traded(on, off) == durability_traded(off, off) == ""
    assert "no standby has yet" in durability_traded({"server.synchronous_commit": Level("local", "local")}, off)


def test_advice_has_the_same_list() -> None:
    assert {each.name for each in known_settings().values() if each.risk is Risk.DURABILITY} == set(SETTINGS)
    assert setting_of("fsync", {"default": "on", "levels": ["on", "off"]}).risk is Risk.DURABILITY, "of a user's space"
