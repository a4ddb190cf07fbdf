"""The catalogue, an arm as it is resolved, the key of its snapshot, the settings of its server, its regime."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.bench.counters import Sample
from pgassay.bench.factor import Factor, Stage
from pgassay.bench.load import LoadOptions
from pgassay.bench.places import Version
from pgassay.lab import regime
from pgassay.lab.arms import ResolvedArm, resolve
from pgassay.lab.catalogue import FactorCatalogue, every_factor
from pgassay.lab.notes import Laps
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Design, Study
from pgassay.testing.fakes.clock import FakeClock
from pgassay.testing.fakes.server import FakeInstallation
from tests.lab.simulation import fake_site


def made(**typed: str) -> ResolvedArm:
    """The only arm of a study with these levels, on a PostgreSQL of today; `__` stands for a dot."""
    catalogue = every_factor()
    levels: dict[str, Level] = {}
    for name, text in typed.items():
        dotted = name.replace("__", ".")
        factor = catalogue.find(dotted)
        assert factor is not None
        levels[dotted] = factor.parse(dotted, text)
    return resolve(replace(STUDY, fixed=levels), fake_site()).arms[0]


ANY = Combination({})
STUDY = Study("parts", "", "", {}, (ANY,), Design(ANY), "tps")


class Named(Factor):
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern


def test_the_most_specific_factor_is_found_first() -> None:
    exact, wide, narrow = Named("table.fillfactor"), Named("*"), Named("table.*.fillfactor")
    for factors in ([exact, wide, narrow], [wide, narrow, exact]):
        catalogue = FactorCatalogue(factors)
        assert catalogue.find("table.fillfactor") is exact
        assert catalogue.find("table.orders.fillfactor") is narrow
        assert catalogue.find("anything") is wide
    assert FactorCatalogue([exact]).find("table.orders") is None


def test_every_room_has_its_factors_in_the_catalogue_and_each_is_explained() -> None:
    catalogue = every_factor()
    names = catalogue.names()
    assert {"server.*", "table.fillfactor", "load.clients", "drive.data", "init.data_checksums"} <= set(names)
    assert len(set(names)) == len(names)
    assert all(factor.summary for factor in catalogue.all())


def test_every_level_reaches_the_room_that_it_is_for() -> None:
    arm = made(server__work_mem="8MB", load__clients="4", init__wal_segment_size="64MB", table__fillfactor="90")
    assert arm.setup.settings == {"work_mem": "8MB"}
    assert arm.setup.load["clients"] == "4"
    assert arm.setup.init_options == {"wal_segment_size": "64MB"}
    stages = [bound.factor.stage for bound in arm.bound]
    assert stages == sorted(stages, key=list(Stage).index), "in the order in which they are applied"
    assert [bound.name for bound in arm.at(Stage.DATA)] == ["table.fillfactor"]


def test_arms_that_differ_in_the_server_alone_share_a_snapshot() -> None:
    base = made(server__work_mem="4MB", load__clients="1").snapshot_key
    assert made(server__work_mem="8MB", load__clients="64").snapshot_key == base


@pytest.mark.parametrize(
    "other", [{"table__fillfactor": "90"}, {"load__scale": "2"}, {"init__data_checksums": "on"}, {"load__age": "2x"}]
)
def test_whatever_is_baked_into_the_data_makes_another_snapshot(other: dict[str, str]) -> None:
    usual = {"table__fillfactor": "100", "load__scale": "1", "init__data_checksums": "off", "load__age": "none"}
    assert made(**usual).snapshot_key != made(**{**usual, **other}).snapshot_key


def test_another_postgresql_makes_another_snapshot() -> None:
    older = FakeInstallation(Version(16, 1, "postgres (PostgreSQL) 16.1 (fake)"))
    arm = made(load__scale="1")
    assert (
        arm.snapshot_key
        != resolve(arm.study, fake_site(installation=lambda version, build: older)).arms[0].snapshot_key
    )


def test_levels_typed_differently_but_equal_share_a_snapshot() -> None:
    assert made(init__wal_segment_size="16MB").snapshot_key == made(init__wal_segment_size="16384kB").snapshot_key


def test_a_window_by_time_spans_two_checkpoints() -> None:
    settings = made(load__duration="66s", load__checkpoint="cycle").settings
    assert settings == {"checkpoint_timeout": "32s", "max_wal_size": "16GB"}
    assert made(load__duration="5s").settings["checkpoint_timeout"] == "30s", "PostgreSQL takes no less"


def test_equal_work_has_one_cycle_and_no_checkpoint_by_time_or_wal() -> None:
    settings = made(load__transactions="1000", load__duration="66s", load__checkpoint="cycle").settings
    assert settings == {"checkpoint_timeout": "1h", "max_wal_size": "16GB"}
    assert [regime.mode_of(each) for each in (LoadOptions(), PgbenchOptions(), PgbenchOptions(transactions=9))] == [
        "cycle",
        "cycle",
        "work",
    ]
    assert regime.mode_of(PgbenchOptions(transactions=9, checkpoint="wal")) == "wal", "the user's own word stands"


def test_what_the_user_sets_is_left_alone() -> None:
    settings = made(load__duration="66s", server__max_wal_size="1GB", server__checkpoint_timeout="5min").settings
    assert settings == {"max_wal_size": "1GB", "checkpoint_timeout": "5min"}


def test_large_wal_files_get_room_for_four() -> None:
    short = {"load__duration": "8s", "load__checkpoint": "wal"}
    assert made(**short).settings["max_wal_size"] == "128MB"
    assert made(**short, init__wal_segment_size="256MB").settings["max_wal_size"] == "1GB"


def test_many_clients_get_connections() -> None:
    assert "max_connections" not in made(load__clients="80").settings
    assert made(load__clients="200").settings["max_connections"] == "220"
    assert made(load__clients="200", server__max_connections="300").settings["max_connections"] == "300"


@pytest.mark.parametrize(
    ("mode", "cycles", "words"),
    [
        ("cycle", 2.0, "2 whole checkpoint cycles, by time"),
        ("wal", 5.0, "5 whole checkpoint cycles, short ones driven by WAL"),
        ("wal", 1.0, "only one whole checkpoint cycle in the window: mostly the burst after a checkpoint"),
        ("cycle", 0.0, "no whole checkpoint cycle in the window: mostly the burst after a checkpoint"),
        ("none", 3.0, "the burst after a checkpoint"),
        ("work", 1.0, "one whole checkpoint cycle of equal work, closed by a CHECKPOINT in the window"),
        ("cycle", None, "whole checkpoint cycles, by time; the number of cycles could not be read"),
    ],
)
def test_the_regime_says_what_was_covered(mode: str, cycles: float | None, words: str) -> None:
    assert regime.describe(mode, cycles) == words


def test_cycles_are_the_checkpoints_that_began_in_the_window() -> None:
    timed, asked = "checkpoints.checkpoints_timed", "checkpoints.checkpoints_requested"
    assert regime.cycles_covered({timed: 2.0, asked: 1.0}) == 3.0
    assert regime.cycles_covered({timed: 2.0, asked: None}) == 2.0
    assert regime.cycles_covered({timed: None}) is None
    assert regime.cycles_covered({}) is None


def test_laps_add_up_whatever_happens_in_them() -> None:
    clock = FakeClock()
    laps = Laps(clock)

    def step(name: str, seconds: float, failure: OSError | None = None) -> None:
        with laps(name):
            clock.advance(seconds)
            if failure is not None:
                raise failure

    step("start", 2.0)
    with pytest.raises(OSError, match="gone"):
        step("measure", 3.0, OSError("gone"))
    step("start", 0.5)
    assert laps.timings_s == {"start": 2.5, "measure": 3.0}


def test_the_place_of_a_script_is_no_part_of_the_data(tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("SELECT 1;\n")
    assert made(load__script=str(script)).snapshot_key == made(load__script="select-only").snapshot_key


def test_the_part_of_a_cycle_at_the_end_of_a_window_is_told() -> None:
    second = 1_000_000_000

    def sample(moment_s: int, name: str, value: float | None) -> Sample:
        return Sample(moment_s * second, moment_s * second, "checkpoints", name, "count", value)

    begun = [sample(at, "checkpoints_timed", 1.0 + (at > 40) + (at > 70)) for at in range(5, 101)]
    asked = [sample(at, "checkpoints_requested", 7.0) for at in range(5, 101)]
    assert regime.unfinished([*begun, *asked], 10 * second, 90 * second) == pytest.approx(29 / 90)
    assert regime.unfinished([*begun, *asked], 10 * second, 63 * second) == pytest.approx(2 / 63)
    assert regime.unfinished([*begun, *asked], 75 * second, 20 * second) is None
    assert regime.unfinished([sample(at, "checkpoints_timed", None) for at in range(9)], 0, 9 * second) is None
    assert (
        regime.describe("cycle", 2.0, 0.31)
        == "2 whole checkpoint cycles, by time; 31% of the window in a cycle cut off"
    )
    assert regime.describe("cycle", 2.0, 0.05) == "2 whole checkpoint cycles, by time"
