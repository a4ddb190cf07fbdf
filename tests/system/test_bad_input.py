"""Everything that a user may get wrong: a clear error with a hint, exit status 2, no traceback, nothing started."""

import json
import re
import shutil
from pathlib import Path

import pytest

from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.study.responses import Better, Response
from tests.system.conftest import Command
from tests.system.journeys import ANYWHERE, TINY, Place

pytestmark = pytest.mark.system

STUDY = """
[study]
format = 1
title = "A study"
question = "Which?"
[factors]
"table.fillfactor" = [100, 75]
[load]
driver = "pgbench"
script = "simple-update"
scale = 1
clients = 1
duration = "1s"
[responses]
primary = "tps"
[design]
baseline = { "table.fillfactor" = 100 }
"""

ADVISED = ("-s", "1", "-c", "1", "-j", "1", "-T", "1", "--only", "commit_delay,commit_siblings", *ANYWHERE)

CASES = Path(__file__).parents[1] / "cases"


@pytest.fixture
def told(journey: Place, command: Command) -> "Refusals":
    return Refusals(journey, command)


class Refusals:
    """Runs pgassay and gives back what it said was wrong."""

    def __init__(self, journey: Place, command: Command) -> None:
        self.journey = journey
        self._command = command

    def __call__(self, *words: str) -> tuple[str, str]:
        """The error and the hint."""
        done = self._command(*words)
        assert done.returncode == 2, done.stdout
        plan, error, rest = done.stderr.partition("pgassay: error: ")  # the plan may have been printed before
        assert "Traceback" not in plan
        lines = f"{error}{rest}".splitlines()
        assert len(lines) == 2, done.stderr
        assert lines[0].startswith("pgassay: error: ")
        assert lines[1].startswith("hint: ")
        assert not lines[0].endswith(".")
        assert self.journey.left_behind() == []
        assert list(self.journey.runs.iterdir()) == []
        return lines[0].removeprefix("pgassay: error: "), lines[1].removeprefix("hint: ")

    def run(self, *words: str) -> tuple[str, str]:
        """With the tiny built-in study."""
        where = ("--data-dir", str(self.journey.data), "--out", str(self.journey.runs / "bad"))
        return self("run", "fillfactor", *TINY, "--allow-volatile", "--allow-busy", *where, *words)

    def study(self, old: str, new: str) -> tuple[str, str]:
        """With a study file of ours in which something was replaced."""
        assert old in STUDY
        path = self.journey.path / "study.toml"
        path.write_text(STUDY.replace(old, new, 1))
        where = ("--data-dir", str(self.journey.data), "--out", str(self.journey.runs / "bad"))
        return self("run", str(path), "--allow-volatile", "--allow-busy", *where)


def test_an_unknown_factor(told: Refusals) -> None:
    error, hint = told.run("--set", "table.filfactor=90")
    assert "table.filfactor" in error
    assert "table.fillfactor" in hint


def test_an_unknown_setting(told: Refusals) -> None:
    error, _ = told.run("--set", "server.shared_bufers=1GB")
    assert "shared_bufers" in error


def test_a_value_that_postgresql_refuses(told: Refusals) -> None:
    error, hint = told.run("--set", "server.max_connections=many")
    assert "max_connections" in error
    assert "pg_settings" in hint
    error, _ = told.run("--set", "server.wal_level=some")
    assert "wal_level" in error


def test_a_unit_that_postgresql_does_not_know(told: Refusals) -> None:
    error, hint = told.run("--set", "server.shared_buffers=1GiB")
    assert "1GiB" in error
    assert "GB" in hint


def test_a_typo_in_a_study_file_names_the_near_key(told: Refusals) -> None:
    error, hint = told.study('primary = "tps"', 'primry = "tps"')
    assert "primry" in error
    assert "primary" in hint


def test_an_empty_level(told: Refusals) -> None:
    assert "table.fillfactor" in told.study("[100, 75]", '[100, ""]')[0]


def test_a_duplicate_level(told: Refusals) -> None:
    assert "100" in told.study("[100, 75]", "[100, 75, 100]")[0]


def test_a_baseline_that_is_not_among_the_treatments(told: Refusals) -> None:
    assert "table.fillfactor" in told.study('"table.fillfactor" = 100 }', '"table.fillfactor" = 90 }')[0]


def test_a_response_that_nothing_measures(told: Refusals) -> None:
    error, hint = told.run("--primary", "tpz")
    assert error == 'the response "tpz" is not measured'
    assert hint == 'did you mean "tps"?'


def test_a_missing_script(told: Refusals) -> None:
    assert "/no/such/script.sql" in told.run("--set", "load.script=/no/such/script.sql")[0]


def test_a_bin_directory_that_is_no_postgresql(told: Refusals) -> None:
    assert str(told.journey.path) in told.run("--pg-bindir", str(told.journey.path))[0]
    assert "/no/such/bin" in told.run("--pg-bindir", "/no/such/bin")[0]


def test_too_little_disk_is_told_before_anything_is_written(told: Refusals) -> None:
    error, hint = told.run("--set", "load.scale=100000000")
    assert "free" in error
    assert "--data-dir" in hint


def test_a_study_that_does_not_exist(told: Refusals) -> None:
    error, hint = told("run", "filfactor")
    assert "filfactor" in error
    assert "fillfactor" in hint


def test_a_directory_that_is_not_a_run(told: Refusals) -> None:
    for command in ("resume", "show", "report", "export"):
        error, _ = told(command, str(told.journey.temporary))
        assert "is not a run directory" in error
        error, _ = told(command, "/no/such/run")
        assert "it does not exist" in error


def test_a_run_of_a_newer_version(told: Refusals, tmp_path: Path) -> None:
    path = tmp_path / "newer"
    tps = Response("tps", "transactions per second", "1/s", Better.HIGHER)
    header = RunHeader("fillfactor", "2026-01-02T03:04:05Z", 1, (tps,), ("pgassay",), "9.9")
    RunDirectory.create(path, header, STUDY, {}).close()
    run = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**run, "format": 99}))
    for command in ("resume", "show", "report", "export"):
        error, hint = told(command, str(path))
        assert "has format 99" in error
        assert "9.9" in hint
    shutil.rmtree(path)


def test_an_output_that_exists_already(told: Refusals) -> None:
    there = told.journey.path / "there"
    there.mkdir()
    error, _ = told.run("--out", str(there))
    assert error == f'"{there}" exists already'


@pytest.mark.parametrize(
    ("level", "said", "helps"),
    [
        ("server.shared_buffers=100TB", "does not fit in the memory of this machine", "use less"),
        ("host.cores=4096", '"host.cores" = 4096 needs more than the', "at most"),
        ("host.cores=cpu:4095", "this machine has no CPU 4095", "taskset"),
        ("host.cores=many", '"host.cores" cannot be "many"', "it takes all, 4"),
        ("load.cores=4095", "names CPUs that are not available: 4095", "CPUs are available"),
        ("host.huge_pages=3MB", "no huge pages of that size|needs root", "it has|root"),
        ("host.memory=100TB", "is more than this machine has|needs root", "give less|root"),
        ("host.transparent_huge_pages=yes", 'cannot be "yes"', "always, madvise, never"),
    ],
)
def test_what_this_machine_does_not_have(told: Refusals, level: str, said: str, helps: str) -> None:
    error, hint = told.run("--set", level)
    assert re.search(said, error)
    assert re.search(helps, hint)


def test_a_disk_study_without_fio(told: Refusals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(told.journey.temporary))
    where = ("--data-dir", str(told.journey.data), "--out", str(told.journey.runs / "bad"))
    error, hint = told("run", "disk", "--quick", "--allow-volatile", "--allow-busy", *where)
    assert error == '"fio" is not installed'
    assert "apt install fio" in hint


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "work_mem=4TB"], "no configuration of the space can be run"),
        (["--for", "happiness"], 'nothing measures "happiness"'),
        (["--for", "tps,tps"], "--for names tps twice"),
        (["--for", "tps,latency_ms,latency_p99_ms,cpu_busy_share"], "at most 3 objectives"),
        (["--for", "tps,latency_p99_ms", "--budget", "1min"], "too small"),
        (["--only", "fsync"], "the space has one point"),
        (["--budget", "1min"], "too small: 2 settings need at least"),
        (["--keep", "happiness < 1 ms"], "happiness"),
    ],
)
def test_what_cannot_be_advised_is_refused_before_a_trial(told: Refusals, words: list[str], said: str) -> None:
    error, hint = told("advise", *ADVISED, *words, "--data-dir", str(told.journey.data))
    assert said in error
    assert hint
    assert not list(told.journey.path.glob("runs/*"))


@pytest.mark.parametrize(("file", "script", "name"), [("s-mult", "mult", "multiplier"), ("dvar", "dvar", "tenants")])
def test_a_variable_without_a_value_is_named_with_its_line(
    journey: Place, command: Command, file: str, script: str, name: str
) -> None:
    study = CASES / "20-pgbench-variables" / f"{file}.toml"
    journey.here = study.parent
    words = ("run", str(study), "--dry-run", "--data-dir", str(journey.data), *ANYWHERE)
    done = command(*words)
    assert done.returncode == 2
    assert f'{script}.sql" line 1: the variable "{name}" has no value' in done.stderr
    assert f"--set load.variables={name}=VALUE" in done.stderr
    done = command(*words, "--set", f"load.variables={name}=3")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("file", "error", "remedy"),
    [
        ("switch", 'switch.sql" line 2 changes to another database: \\c music', "without --create"),
        ("owner", 'role "gitlab" does not exist', "pg_dump --no-owner"),
        ("newdump", 'newdump.sql" cannot be loaded', "a newer pg_dump made it"),
    ],
)
def test_data_of_another_server_are_refused_with_the_remedy(
    journey: Place, command: Command, file: str, error: str, remedy: str
) -> None:
    study = CASES / "19-own-schema" / f"{file}.toml"
    journey.here = journey.path
    for each in study.parent.iterdir():
        shutil.copy(each, journey.path)
    (journey.path / "sel.sql").write_text("SELECT 1;\n")
    where = ("--data-dir", str(journey.data), "--out", str(journey.runs / file), *ANYWHERE)
    done = command("run", f"{file}.toml", *where)
    assert done.returncode == 2
    assert error in done.stderr
    assert remedy in done.stderr
    assert "resume" not in done.stderr
    assert not [*(journey.runs / file).glob("trials/*")]


@pytest.mark.parametrize("pairing", ["auto", "sequential"])
def test_a_typo_in_a_script_is_refused_before_anything_is_measured(
    journey: Place, command: Command, pairing: str
) -> None:
    good, wrong = journey.path / "good.sql", journey.path / "wrong.sql"
    good.write_text("SELECT count(*) FROM pgbench_branches;\n")
    wrong.write_text("\\set a random(1, 10)\nSELECT abalance FROM pgbench_acounts WHERE aid = :a;\n")
    done = command(
        "compare", f"load.script={good}", f"load.script={wrong}", "-s", "1", "-T", "1", "-c", "1", "-j", "1",
        "--set", "load.checkpoint=none", "--pairing", pairing, "--data-dir", str(journey.data),
        "--out", str(journey.runs / "typo"), *ANYWHERE,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f'script "{wrong}" line 2: relation "pgbench_acounts" does not exist' in done.stderr
    assert not [*(journey.runs / "typo").glob("trials/0*")]


def test_a_typo_in_a_change_of_the_schema_is_refused_before_anything_is_measured(
    journey: Place, command: Command
) -> None:
    where = ("--data-dir", str(journey.data), "--out", str(journey.runs / "typo"), *ANYWHERE)
    done = command(
        "compare", "schema.change=none", "schema.change=CREATE INDEX ON pgbench_acounts (bid)",
        "-s", "1", "-T", "1", "-c", "1", "-j", "1", "--set", "load.checkpoint=none", *where,
    )  # fmt: skip
    assert done.returncode == 2
    assert 'cannot be made: "CREATE INDEX ON pgbench_acounts (bid)" failed' in done.stderr
    assert 'relation "pgbench_acounts" does not exist' in done.stderr
    assert not [*(journey.runs / "typo").glob("trials/*")]
