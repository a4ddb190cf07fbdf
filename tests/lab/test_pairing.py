"""Whether the servers of a block may take turns: what is refused by name, and what `auto` comes to."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.design.schedule import cells, order, rounds_of, turns
from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces.factor import Factor, Turns
from pgassay.interfaces.kinds import SWITCH
from pgassay.interfaces.options import Options, factors_of, option
from pgassay.lab import run
from pgassay.lab.arms import WAL_BYTES, resolve
from pgassay.lab.calibration import document_of, turns_document
from pgassay.lab.catalogue import every_factor
from pgassay.lab.environment import Environment
from pgassay.lab.pairing import MEMORY_SHARE, factor_refusals, refusals, resolve_pairing
from pgassay.lab.preflight import check
from pgassay.lab.run import write_study
from pgassay.load.pgbench.output import RESPONSES
from pgassay.study.findings import Finding, Severity
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Design, Study
from pgassay.study.parsing import parse
from tests.fakes.drive import FakeDrive
from tests.fakes.load import BoundFakeLoad
from tests.lab.simulation import SEED, fake_bench, fake_site, simulate, study_of


def of(environment: Environment | None = None, **changes: Any) -> tuple[str, ...]:
    return refusals(resolve(study_of(**changes), environment or fake_site()))


def test_a_study_of_checkpoints_by_wal_may() -> None:
    assert of() == ()
    assert of(load={"checkpoint": "none"}) == ()
    assert of(fixed={"host.cores": "1"}) == ()


def baseline(name: str, level: str) -> dict[str, Any]:
    return {"design": {"baseline": {name: level}}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"load": {"checkpoint": "cycle"}}, "checkpoints by the clock"),
        ({"load": {"checkpoint": "default"}}, "checkpoints by the clock"),
        ({"load": {"transactions": "100"}}, "counts the work"),
        ({"fixed": {"host.transparent_huge_pages": "never"}}, "host.transparent_huge_pages changes the whole machine"),
        ({"load": {"rate": "100"}}, "load.rate"),
        ({"responses": {"primary": "schedule_lag_ms"}}, "schedule_lag_ms is not measured in slices"),
        (
            {"factors": {"server.max_wal_size": ["1GB", "2GB"]}, **baseline("server.max_wal_size", "1GB")},
            "server.max_wal_size",
        ),
        ({"factors": {"server.autovacuum": ["on", "off"]}, **baseline("server.autovacuum", "on")}, "server.autovacuum"),
    ],
)
def test_what_turns_cannot_tell_is_refused_by_name(
    changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "responses" in changes:
        monkeypatch.setattr(BoundFakeLoad, "responses", RESPONSES)
    found = of(**changes)
    assert [each for each in found if words in each], found
    by_name = {**changes, "design": {**changes.get("design", {}), "pairing": "alternate"}}
    with pytest.raises(UsageError, match="cannot take turns") as refused:
        resolve_pairing(resolve(study_of(**by_name), fake_site()))
    assert words in refused.value.message
    assert "--pairing sequential" in (refused.value.hint or "")


@pytest.mark.parametrize(("place", "kind"), [("csd", "csd"), ("{}/mine.toml", "mine")])
def test_a_drive_for_one_cluster_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str, kind: str
) -> None:
    (tmp_path / "mine.toml").write_text('[drive]\nkind = "page-mapped"\n')
    monkeypatch.setattr(FakeDrive, "kind", kind)
    found = of(fixed={"drive.data": place.format(tmp_path)})
    assert found == (f"a drive of the kind {kind} holds one cluster at a time",)


def test_a_load_that_its_own_program_plays_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundFakeLoad, "ungated", property(lambda self: "its program cannot stand still"))
    assert of() == ("its program cannot stand still",)


def test_a_program_is_asked_once_for_all_arms_of_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of 10,000 arms would start it as often."""
    asked: list[object] = []

    def ungated(load: BoundFakeLoad) -> str:
        asked.append(load)
        return "no"

    monkeypatch.setattr(BoundFakeLoad, "ungated", property(ungated))
    assert of() == ("no",)
    assert len(asked) == 1
    of(conditions={"load.clients": ["1", "2"]})
    assert len(asked) == 1 + 2


def test_memory_for_all_servers_at_once() -> None:
    """Three servers of 8 GB need 24 GB and their data: 32 GB hold them, 24 GB do not, although each fits."""
    levels = {"fixed": {"server.shared_buffers": "8GB"}}
    assert of(replace(fake_site(), memory_bytes=32 << 30), **levels) == ()
    (said,) = of(replace(fake_site(), memory_bytes=24 << 30), **levels)
    assert "3 servers at once need 24" in said
    assert "one needs 8" in said
    assert f"{24 * MEMORY_SHARE:.1f}GB may be used" in said


def test_only_those_that_are_compared_live_at_once() -> None:
    conditions: dict[str, Any] = {"conditions": {"load.clients": ["1", "2"]}, "fixed": {"server.shared_buffers": "8GB"}}
    assert of(replace(fake_site(), memory_bytes=32 << 30), **conditions) == ()
    arms = study_of(**conditions).arms
    assert [len(each) for each in cells(arms)] == [3, 3]
    drawn = cells(order(study_of(**conditions), 1, 1, arms))
    assert all(len({arm.condition.name for arm in each}) == 1 for each in drawn)


def test_auto_comes_to_one_of_the_two() -> None:
    asked = study_of(design={"pairing": "auto"})
    found, reasons = resolve_pairing(resolve(asked, fake_site()))
    assert (found.study.design.pairing, reasons) == ("alternate", ())
    found, reasons = resolve_pairing(
        resolve(study_of(design={"pairing": "auto"}, load={"checkpoint": "cycle"}), fake_site())
    )
    assert found.study.design.pairing == "sequential"
    assert len(reasons) == 1
    plain = resolve(study_of(load={"checkpoint": "cycle"}), fake_site())
    assert resolve_pairing(plain) == (plain, ())


@pytest.mark.parametrize(
    ("script", "asked", "placed"),
    [
        ("select-only", {}, "paired"),
        ("simple-update", {}, "free"),
        ("select-only,simple-update@9", {}, "free"),
        ("select-only", {"placement": "free"}, "free"),
        ("simple-update", {"placement": "paired"}, "paired"),
    ],
)
def test_servers_are_paired_with_their_load_only_where_nothing_is_written(
    script: str, asked: dict[str, str], placed: str
) -> None:
    load = {"driver": "pgbench", "scale": "1", "checkpoint": "wal", "duration": "8s", "script": script}
    document = {"factors": {"server.jit": ["on", "off"]}, "load": load, "design": {"pairing": "alternate", **asked}}
    found, _ = resolve_pairing(resolve(parse("x", document, every_factor()), fake_site()))
    assert found.study.design.placement == placed


def test_why_servers_take_no_turns_is_no_reason_to_distrust_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It once stood among the remarks, which a disk study reads as "while other programs were running"."""
    monkeypatch.setattr(run, "surroundings", lambda bench, mount, study: ())
    monkeypatch.setattr(run, "drive_remarks", lambda resolved, bench: ())
    asked = study_of(design={"pairing": "auto"}, load={"checkpoint": "cycle"})
    prepared = run.prepare(resolve(asked, fake_site()), fake_bench())
    assert prepared.remarks == ()
    assert "one server after the other: " in prepared.pairing


@pytest.mark.parametrize(("pairing", "refused"), [("auto", False), ("sequential", True)])
def test_a_busy_postgresql_is_a_warning_where_servers_take_turns(
    monkeypatch: pytest.MonkeyPatch, pairing: str, refused: bool
) -> None:
    busy = Finding("busy_neighbour", Severity.ERROR, "another PostgreSQL server is busy", "")
    monkeypatch.setattr(run, "busy_neighbour", lambda: busy)
    monkeypatch.setattr(run, "drive_remarks", lambda resolved, bench: ())
    resolved = resolve(study_of(design={"pairing": pairing}), fake_site())
    bench = fake_bench(options={"allow_busy": False})
    if refused:
        with pytest.raises(PgassayError, match="is busy") as raised:
            run.prepare(resolved, bench)
        assert "--allow-busy" in (raised.value.hint or "")
    else:
        (remark,) = run.prepare(resolved, bench).remarks
        assert (
            remark.warning == remark.recorded == f"{busy.text}; the servers take turns, so it slows all of them equally"
        )


def test_a_new_study_is_auto_unless_it_says_otherwise() -> None:
    """What is written for a new run; a record or a study file that names nothing is read as one server after the other
    (`test_sequential_is_what_a_study_without_the_word_is`)."""
    document: dict[str, Any] = {"factors": {"server.work_mem": ["4MB", "8MB"]}}
    new = write_study("new", document)
    assert (new.study.design.pairing, new.document["design"]["pairing"]) == ("auto", "auto")
    assert "design" not in document, "the caller's own document stays as it was"
    for word in ("sequential", "alternate"):
        assert write_study("new", {**document, "design": {"pairing": word}}).study.design.pairing == word
    found, reasons = resolve_pairing(resolve(new.study, fake_site()))
    assert (found.study.design.pairing, len(reasons)) == ("sequential", 1), "checkpoints by the clock are the default"


def test_all_clones_need_room(place: Path) -> None:
    simulation = simulate(place, study=study_of(design={"pairing": "alternate"}), events={})
    scale = 16_000_000
    each = [scale, scale * 100 // 90, scale * 2]
    assert check(simulation.resolved()).rooms[0].needed_bytes == sum(each) + sum(each) + 3 * WAL_BYTES


@pytest.mark.parametrize("number", [2, 3, 5])
def test_rounds_come_in_mirrored_pairs_that_chance_orders(number: int) -> None:
    names = [f"arm {place}" for place in range(number)]
    rounds = [turns(SEED, 1, round_, names) for round_ in range(1, 401)]
    for first, second in zip(rounds[::2], rounds[1::2], strict=True):
        assert sorted(first) == sorted(names)
        assert second == tuple(reversed(first))
    firsts = [each[0] for each in rounds[::2]]
    for name in names:
        assert abs(firsts.count(name) - 200 / number) < 4 * (200 / number * (1 - 1 / number)) ** 0.5
    assert turns(SEED, 1, 7, names) == turns(SEED, 1, 7, list(reversed(names)))
    assert [turns(SEED, 2, round_, names) for round_ in range(1, 401)] != rounds


def test_rounds_are_even_and_at_least_two() -> None:
    assert [rounds_of(8, 1), rounds_of(7, 1), rounds_of(1, 1), rounds_of(20, 0.5), rounds_of(3, 10)] == [8, 8, 2, 40, 2]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pairing", "both"),
        ("slice", "50ms"),
        ("slice", "11s"),
        ("slice", "0"),
        ("lead_in", "soon"),
        ("placement", "apart"),
    ],
)
def test_words_and_lengths_are_checked(key: str, value: str) -> None:
    with pytest.raises(UsageError):
        study_of(design={key: value})


def test_lengths_are_read() -> None:
    design = study_of(design={"slice": "500ms", "lead_in": "0"}).design
    assert (design.slice_s, design.slice_asked, design.lead_in_s) == (0.5, True, 0.0)
    assert (design.placement, study_of(design={"placement": "free"}).design.placement) == ("auto", "free")
    assert parse("x", {"factors": {"table.fillfactor": ["100", "90"]}}, every_factor()).design.slice_s == Design.slice_s


def test_equal_servers_of_a_calibration_may_take_turns() -> None:
    load = {"driver": "pgbench", "scale": "1", "checkpoint": "wal"}
    calibration = document_of({**load, "duration": "8s"}, 3, 2, (5, 30), "8min", 7)
    study = parse("x", turns_document(calibration), every_factor())
    resolved = resolve(study, fake_site())
    assert refusals(resolved) == ()
    assert len({arm.snapshot_key for arm in resolved.arms}) == 1, "one snapshot for both"
    assert (study.design.blocks_min, study.design.blocks_max, study.design.budget_s) == (10, 10, 480.0)
    for budget, each_s in (("0.5", 0.5), ("90min", 5400.0), ("800h", 2880000.0)):
        asked = turns_document(document_of({**load, "duration": "8s"}, 2, 2, (2, 2), budget, 7))
        assert parse("x", asked, every_factor()).design.budget_s == each_s
    few = document_of({**load, "duration": "8s"}, 2, 2, (2, 2), "60s", 7)
    assert parse("x", turns_document(few), every_factor()).design.blocks_max == 2
    counted = document_of({**load, "transactions": "100"}, 2, 2, (2, 2), "60s", 7)
    assert refusals(resolve(parse("x", turns_document(counted), every_factor()), fake_site())) != ()


def of_levels(name: str, *levels: str) -> Study:
    factors = {name: tuple(Level(each, each) for each in levels)}
    return Study("s", "S", "?", factors, (), Design(Combination({})), "tps")


def factor_words(study: Study) -> tuple[str, ...]:
    catalogue = every_factor()
    varied = (*study.factors, *study.conditions, *study.covariates)
    factors = {name: factor for name in varied if (factor := catalogue.find(name)) is not None}
    return tuple(factor_refusals(study, factors))


@pytest.mark.parametrize("factor", every_factor().all(), ids=lambda factor: factor.pattern)
def test_every_factor_says_whether_it_may_take_turns(factor: Factor) -> None:
    turns = factor.turns(factor.pattern)
    assert turns is not None
    assert not (turns.refusal and turns.note), "what is refused has no condition under which it is valid"
    assert turns.refusal or not turns.one_value


def test_an_option_says_it_itself_or_as_its_class_does_and_not_as_a_derived_class() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Plain(Options):
        namespace = "mine"
        turns = Turns("too slow")
        slow: bool = option(SWITCH, default=False, summary="…")
        quick: bool = option(SWITCH, default=False, summary="…", turns=Turns())

    @dataclass(frozen=True, kw_only=True)
    class Derived(Plain):
        own: bool = option(SWITCH, default=False, summary="…")

    said = {each.pattern: each.turns(each.pattern) for each in factors_of(Derived)}
    assert said == {"mine.slow": Turns("too slow"), "mine.quick": Turns(), "mine.own": None}


@pytest.mark.parametrize(
    "factor",
    [
        "server.synchronous_commit", "server.wal_compression", "server.work_mem", "server.jit", "table.fillfactor",
        "build.block_size", "postgres.version", "load.protocol", "init.data_checksums", "server.random_page_cost",
    ],
)  # fmt: skip
def test_what_shows_within_a_slice_may_alternate(factor: str) -> None:
    assert factor_words(of_levels(factor, "1", "2")) == ()


@pytest.mark.parametrize(
    ("factor", "word"),
    [
        ("server.max_wal_size", "minutes"),
        ("server.checkpoint_timeout", "minutes"),
        ("server.autovacuum_naptime", "minutes"),
        ("server.shared_buffers", "caches"),
        ("server.huge_pages", "huge pages"),
        ("host.memory", "one value at a time"),
        ("drive.data", "own work"),
        ("load.probes", "cannot be played"),
        ("mine.factor", "not known"),
    ],
)
def test_what_lives_longer_is_refused_by_name(factor: str, word: str) -> None:
    (said,) = factor_words(of_levels(factor, "1", "2"))
    assert said.startswith(f"{factor}: ")
    assert word in said
    assert factor_words(of_levels(factor, "1")) == (), "a factor of one level is no question"


def test_conditions_may_differ_in_what_a_server_has_but_not_in_the_machine() -> None:
    plain = of_levels("server.work_mem", "4MB", "64MB")
    levels = (Level("1", "1"), Level("2", "2"))
    assert factor_words(replace(plain, conditions={"server.max_wal_size": levels})) == ()
    (said,) = factor_words(replace(plain, conditions={"host.memory": levels}))
    assert said.startswith("host.memory: ")


def test_an_open_loop_does_not_alternate() -> None:
    plain = of_levels("server.work_mem", "4MB", "64MB")
    assert factor_words(replace(plain, fixed={"load.rate": Level("none", "none")})) == ()
    (said,) = factor_words(replace(plain, fixed={"load.rate": Level("500", "500")}))
    assert said.startswith("load.rate: what waits")
