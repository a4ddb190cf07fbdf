"""What a user writes: configuration files, space files, names of settings; bad input is refused with what would do."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from benchmarks.advise import space_with
from pgassay.advise import budget
from pgassay.advise.asking import (
    BROUGHT_BY,
    as_many_as_fit,
    objective_of,
    objectives_of,
    read_configuration,
    read_space,
    settings_of,
)
from pgassay.advise.folder import SavedTask, begin, read
from pgassay.advise.knowledge import known_settings
from pgassay.advise.space import Configuration, Machine, Space, space_of
from pgassay.advise.task import Question, broken, document
from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces.errors import NotSettableError, SettingError
from pgassay.lab.catalogue import every_factor
from pgassay.lab.run import write_study
from pgassay.record.values import TrialRecord
from pgassay.study.responses import Better, Response, Status
from pgassay.study.thresholds import parse, resolve, split

CASES = Path(__file__).parents[1] / "cases"


def test_a_configuration_of_another_place_starts_from_what_can_be_had_here_and_names_the_rest() -> None:
    debian = CASES / "11-debian-conf" / "debian.conf"
    assert read_configuration(debian) == (
        {"shared_buffers": "128MB", "max_wal_size": "1GB"},
        (
            f"left out of {debian}, because they are specific to that server: data_directory, hba_file, port,"
            " unix_socket_directories",
            f"left out of {debian}, because they are not there: include_dir 'conf.d'",
        ),
    )


def test_an_extension_of_a_configuration_is_no_matter_of_its_place() -> None:
    settings, remarks = read_configuration(CASES / "14-preload" / "timescale.conf")
    assert settings["shared_preload_libraries"] == "timescaledb"
    assert remarks == ()


def test_what_another_version_has_is_left_out_of_a_configuration_and_named(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.conf"
    path.write_text("autovacuum_worker_slots = 16\nwork_mem = 8MB\nio_workers = 3\nshared_buffers = 1GB\n")

    def check(values: Mapping[str, str]) -> None:
        for name in values:
            if name not in ("work_mem", "shared_buffers"):
                raise NotSettableError(f'PostgreSQL has no setting "{name}"', None, name)
        if "shared_buffers" in values:
            raise SettingError("no such memory")  # the server's word on a value comes later

    assert read_configuration(path, check) == (
        {"work_mem": "8MB", "shared_buffers": "1GB"},
        (
            f"left out of {path}, because this version of PostgreSQL does not have them: autovacuum_worker_slots,"
            " io_workers",
        ),
    )


def test_a_space_file_narrows_and_adds(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        '[settings]\njit = ["on", "off"]\nwork_mem = { high = "16MB" }\n'
        '"my.setting" = { default = "1", scale = "log", low = "1", high = "8" }\n'
    )
    found = settings_of(read_space(path), ())
    space = space_of(found, Machine(8 << 30, 2), {})
    assert {each.name: each.levels for each in space.dimensions} == {
        "jit": ("on", "off"),
        "work_mem": ("1MB", "4MB", "16MB"),
        "my.setting": ("1", "2", "4", "8"),
    }
    assert [each.name for each in settings_of(read_space(path), ["jit"])] == ["jit"]


def test_a_space_file_names_factors_of_host_tables_and_schema(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        '[settings]\nserver.work_mem = { high = "16MB" }\n"host.huge_pages" = ["none", "2MB"]\n'
        'host.memory = { default = "all", levels = ["all", "1GB"] }\ntable.fillfactor = { low = "80" }\n'
        '"schema.change" = { default = "none", levels = ["none", "CREATE INDEX ON a (b)"] }\n'
    )
    found = {each.name: each for each in settings_of(read_space(path), ())}
    assert list(found) == ["work_mem", "host.huge_pages", "host.memory", "table.fillfactor", "schema.change"]
    assert [each.factor for each in found.values()] == ["server.work_mem", *list(found)[1:]]
    assert found["host.huge_pages"].reason, "what is known of it is laid below"


def test_what_changes_the_machine_is_tried_only_by_name() -> None:
    assert "host.huge_pages" not in [each.name for each in settings_of({}, ())]
    assert "huge_pages" in [each.name for each in settings_of({}, ())]
    assert [each.name for each in settings_of({}, ["jit", "host.huge_pages"])] == ["jit", "host.huge_pages"]


def test_a_level_of_the_host_is_told_in_every_treatment() -> None:
    space = space_of(settings_of({}, ["jit", "host.huge_pages"]), Machine(8 << 30, 2), {})
    huge = space.start.with_values({"host.huge_pages": "2MB"})
    made = document(Question({}, "tps"), space, "x", [space.start, huge], {})
    assert made["treatments"] == [{"host.huge_pages": "none"}, {"host.huge_pages": "2MB"}]


def test_only_what_is_known_can_be_asked_for() -> None:
    assert [each.name for each in settings_of({}, ["jit", "work_mem"])] == ["work_mem", "jit"]
    with pytest.raises(UsageError) as raised:
        settings_of({}, ["wrok_mem"])
    assert "work_mem" in str(raised.value.hint)


def test_a_study_names_what_is_not_default_and_at_least_one_setting() -> None:
    space = space_of(settings_of({}, ["work_mem", "jit"]), Machine(8 << 30, 2), {"fsync": "off"})
    question = Question({"driver": "pgbench", "scale": "1"}, "tps", ("latency_p99_ms < 10 ms",))
    fast = space.start.with_values({"work_mem": "16MB"})
    made = document(question, space, "search-01", [space.start, fast], {"blocks": {"min": 1, "max": 1}})
    assert made["treatments"] == [{"server.fsync": "off"}, {"server.work_mem": "16MB", "server.fsync": "off"}]
    assert made["decide"] == {"latency_p99_ms": ["< 10 ms"]}
    plain = space_of(settings_of({}, ["jit", "work_mem"]), Machine(8 << 30, 2), {})
    made = document(question, plain, "x", [plain.start, plain.start.with_values({"jit": "off"})], {})
    assert made["treatments"] == [{"server.work_mem": "4MB"}, {"server.jit": "off"}]
    study = write_study("x", made).study
    assert [each.name for each in study.treatments] == ["server.work_mem=4MB", "server.jit=off"]
    assert study.design.baseline.name == "server.work_mem=4MB"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [("< 5 ms", True), ("<= 3 ms", True), ("> 3 ms", False), (">= 4 ms", False), ("< +5 %", True)],
)
def test_limits_are_held_against_a_trial(condition: str, holds: bool) -> None:
    response = Response("latency_p99_ms", "99th percentile", "ms", Better.LOWER)
    trial = TrialRecord(1, 1, 1, "a", "", "", {}, Status.VALID, 0, 1, {"latency_p99_ms": 3.0})
    limits = resolve([parse("latency_p99_ms", condition)], [response], ["latency_p99_ms"], compared=True)
    assert (broken(trial, limits) == ()) is holds


def test_a_folder_keeps_its_task(tmp_path: Path) -> None:
    from benchmarks.advise import Server
    from tests.advise.test_walk import task

    kept = SavedTask(task(Server(space_with(6), 0.1, 1)), Question({"driver": "pgbench"}, "tps"), None, "/data")
    begin(tmp_path / "run", kept)
    assert read(tmp_path / "run") == kept
    with pytest.raises(PgassayError, match="exists already"):
        begin(tmp_path / "run", kept)
    with pytest.raises(UsageError, match="not a directory of pgassay advise"):
        read(tmp_path)
    assert Configuration(kept.task.space.start.values) == read(tmp_path / "run").task.space.start


def test_the_quick_form_leaves_out_settings_of_nobody_until_the_budget_holds_the_rest() -> None:
    space = space_with(16)
    names = [each.name for each in space.dimensions]

    def steps(space: Space) -> budget.Amounts:
        return budget.amounts(1200.0, 7.2, len(space.dimensions), finalists=1)

    with pytest.raises(UsageError, match="16 settings need at least 22 min"):
        steps(space)
    fewer = as_many_as_fit(space, [names[-1]], steps)
    assert [each.name for each in fewer.dimensions] == [*names[:-2], names[-1]], "the user's own stays"
    assert set(fewer.left_out) == {names[-2]}
    assert steps(fewer).needed_s <= 1200.0
    assert as_many_as_fit(space, names, steps) is space, "all are the user's: the refusal says what they need"


@pytest.mark.parametrize("own", [0, 1, 9])
def test_a_budget_too_small_for_anything_is_refused_with_what_the_users_own_settings_need(own: int) -> None:
    space = space_with(16)
    names = [each.name for each in space.dimensions]

    def steps(budget_s: float, space: Space) -> budget.Amounts:
        return budget.amounts(budget_s, 7.2, len(space.dimensions), finalists=1)

    fewer = as_many_as_fit(space, names[16 - own :], partial(steps, 400.0))
    assert [each.name for each in fewer.dimensions] == (names[16 - own :] or names[:1])
    with pytest.raises(UsageError) as refused:
        steps(400.0, fewer)
    said = re.search(r"(\d+ settings? needs?) at least (\d+) min", refused.value.message)
    assert said
    assert said[1] == ("9 settings need" if own == 9 else "1 setting needs")
    held = as_many_as_fit(space, names[16 - own :], partial(steps, 60.0 * int(said[2])))
    assert steps(60.0 * int(said[2]), held), "the budget that it names does"


def test_what_is_no_setting_is_varied_as_what_it_is() -> None:
    known = known_settings()
    space = space_of([known["table.fillfactor"], known["work_mem"]], Machine(8 << 30, 2), {})
    other = space.start.with_values({"table.fillfactor": "80", "work_mem": "16MB"})
    made = document(Question({"scale": "5"}, "tps"), space, "x", [space.start, other], {})
    assert made["treatments"][1] == {"table.fillfactor": "80", "server.work_mem": "16MB"}


P99 = Response("latency_p99_ms", "99th percentile", "ms", Better.LOWER)


@pytest.mark.parametrize(
    ("keep", "refused"),
    [
        (("latency_p99_ms < 10 ms", "latency_p99_ms > 20 ms"), True),
        (("latency_p99_ms < 10 ms", "latency_p99_ms >= 10 ms"), True),
        (("latency_p99_ms < +10 %", "latency_p99_ms > +20 %"), True),
        (("latency_p99_ms < 20 ms", "latency_p99_ms > 10 ms"), False),
        (("latency_p99_ms < 10 ms", "latency_p99_ms > +20 %"), False),
        (("latency_p99_ms < 10 ms",), False),
    ],
)
def test_limits_that_nothing_can_keep_are_refused_before_a_trial(keep: tuple[str, ...], refused: bool) -> None:
    limits = [parse(*split(each)) for each in keep]
    if not refused:
        assert len(resolve(limits, [P99], ["latency_p99_ms"], compared=True)) == len(keep)
        return
    with pytest.raises(UsageError, match="no value can meet both") as raised:
        resolve(limits, [P99], ["latency_p99_ms"], compared=True)
    assert keep[0] in str(raised.value)
    assert keep[1] in str(raised.value)


def test_an_objective_that_nobody_measures_or_that_has_no_direction_is_refused_with_what_there_is() -> None:
    size = Response("rows", "rows", "", Better.NEITHER)
    with pytest.raises(UsageError, match='nothing measures "latency_p98_ms"') as raised:
        objective_of("latency_p98_ms", [P99, size])
    assert "latency_p99_ms" in str(raised.value.hint)
    with pytest.raises(UsageError, match="neither more nor less of rows"):
        objective_of("rows", [P99, size])
    with pytest.raises(UsageError, match='nothing measures "crash_recovery_max_ms"') as raised:
        objective_of("crash_recovery_max_ms", [P99, size])
    assert "--set load.cuts=" in str(raised.value.hint)
    assert objective_of("latency_p99_ms", [P99, size]) is P99


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vacuum_ms", "--set load.maintenance=on"),
        ("free_share", "--set load.page_space=on"),
        ("physical_bytes", "--set drive.data=csd"),
        ("nand_bytes_per_transaction", "--set drive.data=ssd"),
    ],
)
def test_a_response_that_nobody_measures_names_what_would(name: str, options: str) -> None:
    with pytest.raises(UsageError) as raised:
        objective_of(name, [P99])
    assert raised.value.hint == f"it is measured with {options}"


def test_what_measures_is_an_option_that_there_is() -> None:
    known = every_factor()
    for options in BROUGHT_BY.values():
        for each in options.split("--set ")[1:]:
            name, _, level = each.strip().partition("=")
            factor = known.find(name)
            assert factor is not None, name
            assert factor.parse(name, level)


def test_objectives_are_named_for_short() -> None:
    assert objectives_of("cpu_per_transaction,physical_bytes") == ("server_cpu_us_per_transaction", "physical_bytes")
    assert objectives_of("tps, wal, space") == ("tps", "wal_bytes_per_transaction", "database_bytes")
    with pytest.raises(UsageError, match="server_cpu_us_per_transaction twice"):
        objectives_of("cpu,server_cpu_us_per_transaction")


def test_a_factor_that_is_held_is_part_of_every_study() -> None:
    space = space_of(settings_of({}, ["work_mem", "jit"]), Machine(8 << 30, 2), {})
    question = Question({"driver": "pgbench"}, "tps", held={"drive.data": "directory:/data"})
    made = document(question, space, "x", [space.start, space.start.with_values({"jit": "off"})], {})
    study = write_study("x", made).study
    assert study.fixed["drive.data"].typed == "directory:/data"
    assert all("drive.data" not in each.levels for each in study.treatments)
