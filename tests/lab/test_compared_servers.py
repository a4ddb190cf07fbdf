"""Servers of the user's that are compared: each arm runs on its own, blocks go to the sets in turn, data are alike."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.errors import BenchError, NotSettableError
from pgassay.interfaces.places import Endpoint, Version
from pgassay.interfaces.server import Server
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.lab.attached import called, named, owner_of, refusals, require_same_rows
from pgassay.lab.catalogue import every_factor
from pgassay.lab.environment import Environment, ServerAccess
from pgassay.lab.pairing import NO_PAIRS, ONE_SERVER, WRITES, resolve_pairing
from pgassay.lab.run import require_same_servers
from pgassay.lab.workbench import Workbench
from pgassay.postgres.attached.changes import AttachedLedger, ServerChanges
from pgassay.postgres.attached.facts import NO_PROCESS, Facts
from pgassay.postgres.attached.server import AttachedInstallation, rows_of_relations
from pgassay.record.journal import Kind
from pgassay.study.parsing import parse
from pgassay.study.responses import Status
from tests.fakes.drive import FakeDrive
from tests.fakes.staging import FakeStaging
from tests.lab.machine import Crashed, Machine, MachineLoad, Planned
from tests.lab.simulation import Simulation, fake_site, study_of

SPEEDS = {"A1": 1000.0, "B1": 800.0, "A2": 1100.0, "B2": 870.0, "A3": 900.0, "B3": 710.0}
STUDY = study_of(
    factors={"postgres.server": ["A", "B"]},
    fixed={"table.fillfactor": "100"},
    design={"baseline": {"postgres.server": "A"}, "blocks": {"min": 6, "max": 6}},
)


@dataclass
class Compared(Simulation):
    """A machine that reaches six servers: `loaded` are those that data were made on, each with its key."""

    loaded: "list[tuple[str, str]] | None" = None

    def environment(self) -> Environment:
        own = super().environment()
        self.loaded = self.loaded or []

        def of(name: str) -> Environment:
            load = MachineLoad(self.machine, {"100": SPEEDS[name]}, {}, {})

            def noted(key: str, server: object) -> None:
                assert self.loaded is not None
                self.loaded.append((name, key))

            access = ServerAccess(ours=False, preparing={}, require_alike=noted)
            return replace(own, load=lambda options, installation: load.with_options(options), server=access)

        sets = {f"A{n} and B{n}": {"A": of(f"A{n}"), "B": of(f"B{n}")} for n in (1, 2, 3)}
        return replace(own, server=ServerAccess(ours=False), sets=sets)


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    (tmp_path / "drive").mkdir()
    found = Compared(Machine(tmp_path / "drive"), study=STUDY)
    found.carry_on()
    return found


def test_blocks_go_to_the_sets_in_turn_and_each_arm_runs_on_its_own_server(compared: Compared) -> None:
    trials = [trial for trial in compared.run.trials if trial.status is Status.VALID]
    assert len(trials) == 12
    for trial in trials:
        number = (trial.block - 1) % 3 + 1
        assert trial.host == f"A{number} and B{number}"
        server = f"{trial.levels['postgres.server'].canonical}{number}"
        assert trial.responses["tps"] == pytest.approx(SPEEDS[server], rel=0.05)


def test_data_are_made_on_every_server_once_and_compared_under_one_key(compared: Compared) -> None:
    assert compared.loaded is not None
    names, keys = zip(*compared.loaded, strict=True)
    assert sorted(names) == sorted(SPEEDS)
    assert len(set(keys)) == 1, "which server it is makes no other data"
    prepared = [entry.data["key"] for entry in compared.run.journal if entry.kind == Kind.PREPARED]
    assert len(set(prepared)) == 6


def test_a_run_on_servers_that_is_cut_short_goes_on_with_the_same_set(compared: Compared, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    again = Compared(Machine(tmp_path / "again"), study=STUDY)
    again.machine.planned = {len(compared.machine.moments) // 2: Planned.KILL}
    with pytest.raises(Crashed):
        again.carry_on()
    again.go_on()
    assert [(each.block, each.treatment, each.host) for each in again.run.trials] == [
        (each.block, each.treatment, each.host) for each in compared.run.trials
    ]


def test_each_server_is_first_in_every_second_block_and_each_trial_has_data_of_its_own(compared: Compared) -> None:
    """So roles need no swap where the load writes: no trial sees what an earlier one wrote."""
    order = [[each.levels["postgres.server"].canonical for each in compared.run.trials if each.block == block]
             for block in range(1, 7)]  # fmt: skip
    assert all(sorted(block) == ["A", "B"] for block in order)
    assert all(order[block] == order[block + 1][::-1] for block in (0, 2, 4))
    clones = [name for name in compared.machine.moments if name.startswith("drive clone ")]
    assert len(set(clones)) == len(compared.run.trials) == 12


def in_turns(script: str = "select-only", crossed: bool = False, **of_each: Any) -> ResolvedStudy:
    """A comparison of two servers, by pgbench's script; `of_each` is what the lab may do on both."""
    setting = {"server.work_mem": ["4MB", "8MB"]} if crossed else {}
    asked = {key: of_each.pop(key) for key in ("placement", "pairing") if key in of_each}
    load = {"driver": "pgbench", "scale": "1", "checkpoint": "wal", "duration": "8s", "script": script}
    document = {
        "factors": {"postgres.server": ["A", "B"], **setting}, "load": load, "design": {"pairing": "auto", **asked},
    }  # fmt: skip
    each = fake_site(server=ServerAccess(ours=False, **of_each))
    return resolve(parse("x", document, every_factor()), replace(each, sets={"": {"A": each, "B": each}}))


def test_two_servers_take_turns_with_a_load_that_only_reads_in_pairs_with_it() -> None:
    found, reasons = resolve_pairing(in_turns())
    assert (found.study.design.pairing, found.study.design.placement, reasons) == ("alternate", "paired", ())
    found, _ = resolve_pairing(in_turns(pairs=False))
    assert found.study.design.placement == "free", "another account's backends are not ours to move"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"script": "simple-update"}, WRITES),
        ({"crossed": True}, ONE_SERVER),
        ({"in_one_piece": "it has companions"}, "it has companions"),
        ({"placement": "paired", "pairs": False}, NO_PAIRS),
    ],
)
def test_otherwise_they_run_one_after_the_other_and_it_is_said_why(asked: Mapping[str, Any], said: str) -> None:
    found, reasons = resolve_pairing(in_turns(**asked))
    assert (found.study.design.pairing, reasons) == ("sequential", (said,))


def test_servers_in_turns_are_simulated_each_with_its_own_speed(tmp_path: Path) -> None:
    (tmp_path / "drive").mkdir()
    design = {"baseline": {"postgres.server": "A"}, "blocks": {"min": 6, "max": 6}}
    study = study_of(
        factors={"postgres.server": ["A", "B"]},
        fixed={"table.fillfactor": "100"},
        design={**design, "pairing": "alternate", "slice": "1s"},
    )
    found = Compared(Machine(tmp_path / "drive"), study=study)
    found.carry_on()
    assert {each.regime["pairing"] for each in found.run.trials} == {"alternate"}
    for trial in found.run.trials:
        server = f"{trial.levels['postgres.server'].canonical}{(trial.block - 1) % 3 + 1}"
        assert trial.responses["tps"] == pytest.approx(SPEEDS[server], rel=0.05)


def test_one_server_of_each_is_no_host_of_a_fleet(tmp_path: Path) -> None:
    (tmp_path / "drive").mkdir()
    pair = Compared(Machine(tmp_path / "drive"), study=STUDY)
    environment = pair.environment
    pair.environment = lambda: replace(environment(), sets=dict([next(iter(environment().sets.items()))]))  # type: ignore[method-assign]
    pair.carry_on()
    assert {trial.host for trial in pair.run.trials} == {""}


def test_the_arms_of_a_server_have_its_drive_and_its_rights() -> None:
    drives = {name: FakeDrive() for name in "AB"}
    access = {"A": ServerAccess(ours=False), "B": ServerAccess(ours=False, checkpoints=False)}

    def of(name: str) -> Environment:
        return fake_site(drive=lambda options, needs: drives[name], server=access[name])

    resolved = resolve(STUDY, fake_site(server=ServerAccess(ours=False), sets={"": {"A": of("A"), "B": of("B")}}))
    assert [arm.drive for arm in resolved.arms] == [drives["A"], drives["B"]]
    assert [arm.environment.server.checkpoints for arm in resolved.arms] == [True, False]
    assert list(refusals(resolved)) == [], "the factor is no build"
    assert len({arm.snapshot_key for arm in resolved.arms}) == 2


def test_on_clusters_of_ours_there_is_no_server_to_name() -> None:
    with pytest.raises(UsageError, match=r"postgres\.server names servers of yours"):
        Workbench.require(None, resolve(STUDY, fake_site()))  # type: ignore[arg-type]


def test_several_of_a_kind_are_numbered() -> None:
    assert named({"": ["x"]}) == {"": "x"}
    assert named({"A": ["x"], "B": ["y"]}) == {"A": "x", "B": "y"}
    assert named({"A": ["x", "y"], "B": ["z", "w"]}) == {"A1": "x", "A2": "y", "B1": "z", "B2": "w"}


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"public.t": 10, "public.t_pkey": 0}, ""),
        ({"public.t": 9, "public.t_pkey": 0}, "public.t has 10 rows on A, and 9 rows on B"),
        ({"public.t": 10}, "public.t_pkey has 0 rows on A, and no such relation on B"),
        ({"public.t": 10, "public.t_pkey": 0, "a.u": 1}, "a.u has no such relation on A, and 1 row on B"),
    ],
)
def test_data_that_differ_are_refused_by_their_relation(there: Mapping[str, int], said: str) -> None:
    rows = {"A": {"public.t": 10, "public.t_pkey": 0}, "B": there}
    if not said:
        require_same_rows(rows)
        return
    with pytest.raises(BenchError, match=f"the data of the servers differ: {said}"):
        require_same_rows(rows)


def test_rows_are_counted_of_tables_alone() -> None:
    rows = {"pg_class": [("public.t", True), ("public.t_pkey", False)], "count(*) FROM public.t": [(7,)]}
    server = SimpleNamespace(query=lambda sql: next(found for text, found in rows.items() if text in sql))
    assert rows_of_relations(cast("Server", server)) == {"public.t": 7, "public.t_pkey": 0}


class Unknowing(FakeStaging):
    """A server that knows no setting."""

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return [] if "vartype" in sql else super().query(sql, parameters)


def test_a_setting_that_only_one_has_is_refused_with_the_name_of_the_other(tmp_path: Path) -> None:
    facts = Facts(Version(17, 1, "17.1"), "712", False, "me", True, True, True, True, True, True, 100, None)
    sql, endpoint = Unknowing(), Endpoint(tmp_path, 1, "d", "u")
    changes = ServerChanges(sql, AttachedLedger.of(tmp_path, endpoint, "712"), facts)
    server = AttachedInstallation(tmp_path, sql, endpoint, facts, changes, called=called("B"))
    with pytest.raises(NotSettableError) as caught:
        server.check_settings({"auto_explain.log_timing": "off"})
    assert caught.value.message == 'server B of --server: the server has no setting "auto_explain.log_timing"'


def test_a_run_goes_on_with_no_other_server() -> None:
    before = {"A": {"system": "1"}, "B": {"system": "2"}}
    require_same_servers(before, before)
    with pytest.raises(UsageError, match="is not the one that this run began on"):
        require_same_servers(before, {"A": {"system": "1"}, "B": {"system": "3", "address": "b:5432"}})
    with pytest.raises(UsageError, match="the server at b:5432 is not the one"):
        require_same_servers({"system": "1"}, {"": {"system": "3", "address": "b:5432"}})


def test_the_account_of_a_server_elsewhere_is_not_known() -> None:
    assert (owner_of(os.getpid()), owner_of(NO_PROCESS)) == (os.getuid(), None)
