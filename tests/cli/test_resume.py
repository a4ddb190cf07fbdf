"""A run goes on where and with what it began."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import resume
from pgassay.cli.run import bench_options
from pgassay.errors import UsageError
from pgassay.lab.run import More, options_of
from pgassay.lab.workbench import BenchOptions
from pgassay.postgres.attached.restarts import RestartCommand

OLD = {"bindir": "/opt/pg16/bin", "version": "postgres (PostgreSQL) 16.4", "found_by": "named"}


def _given(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    resume.add_arguments(parser)
    return parser.parse_args([*words, "runs/some"])


def options(facts: dict[str, Any], *words: str) -> BenchOptions:
    return options_of(facts, bench_options(_given(*words)))


def test_the_place_and_the_programs_of_the_run_are_taken() -> None:
    facts: dict[str, Any] = {"postgres": [OLD], "place": {"data_directory": "/mnt/ssd"}}
    taken = options(facts)
    assert (taken.bindir, taken.data_directory) == (Path("/opt/pg16/bin"), Path("/mnt/ssd"))


def test_programs_that_were_found_are_looked_for_again() -> None:
    assert options({"postgres": [{**OLD, "found_by": "pg_config"}]}).bindir is None


def test_the_command_line_says_where_they_are_now() -> None:
    facts: dict[str, Any] = {"postgres": [OLD], "place": {"data_directory": "/mnt/ssd"}}
    taken = options(facts, "--pg-bindir", "/usr/pg16/bin", "--data-dir", "/mnt/new")
    assert (taken.bindir, taken.data_directory) == (Path("/usr/pg16/bin"), Path("/mnt/new"))


def test_snapshots_stay_or_go_as_the_run_began() -> None:
    assert options({}).keep_snapshots
    assert not options({"place": {"data_directory": "/mnt", "keep_snapshots": False}}).keep_snapshots


def test_snapshots_are_looked_for_where_the_run_keeps_them() -> None:
    kept: dict[str, Any] = {"place": {"data_directory": "/mnt", "snapshots_in": "/kept"}}
    assert options(kept).snapshots_in == Path("/kept")
    assert options(kept, "--snapshots-in", "/moved").snapshots_in == Path("/moved")
    assert options({"place": {"data_directory": "/mnt", "snapshots_in": None}}).snapshots_in is None


def test_a_device_is_written_over_only_if_it_is_named_again() -> None:
    assert options({"place": {"data_directory": "/mnt"}}).owned == ()


def test_who_may_stay_on_the_server_is_taken_from_the_run() -> None:
    kept: dict[str, Any] = {"place": {"server": "service=staging", "companions": ["standby"], "slot_bytes": 5}}
    found = options(kept)
    assert (found.servers, found.companions, found.slot_bytes) == ({"": ["service=staging"]}, ("standby",), 5)
    several = {"A": ["service=a"], "B": ["service=b"]}
    assert options({"place": {"servers": several}}).servers == several
    assert options({"place": {"server": "service=staging"}}).companions == (), "a record of before"
    kept["place"]["restart"] = {"words": ["systemctl", "restart", "pg"], "limit_s": 90}
    assert options(kept).restart == RestartCommand(("systemctl", "restart", "pg"), 90.0)
    assert found.restart is None
    assert options({}, "--i-own", "/dev/vdb").owned == ("/dev/vdb",)


@pytest.mark.parametrize("name", ["allow_busy", "allow_volatile"])
def test_what_was_allowed_is_what_the_record_says(name: str) -> None:
    option = f"--{name.replace('_', '-')}"
    assert getattr(options({"place": {name: True}}), name)
    assert not getattr(options({"place": {name: False}}), name)
    assert getattr(options({"place": {name: True}}, option), name)
    with pytest.raises(UsageError, match=f"the run began without {option}"):
        options({"place": {name: False}}, option)


@pytest.mark.parametrize("name", ["allow_busy", "allow_volatile"])
def test_an_older_record_has_the_command_that_made_it(name: str) -> None:
    option, given = f"--{name.replace('_', '-')}", bench_options(_given())
    assert getattr(options_of({}, given, ("pgassay", "run", "fillfactor", option)), name)
    assert not getattr(options_of({}, given, ("pgassay", "run", "fillfactor")), name)
    assert getattr(options({}, option), name), "the option decides where nothing tells"


def test_an_extension_is_read_as_a_study_has_it() -> None:
    assert resume._more(_given()) is None
    assert resume._more(_given("--more", "10min")) == More(600.0)
    assert resume._more(_given("--blocks", "5..20")) == More(None, (5, 20))
    with pytest.raises(UsageError, match="time"):
        resume._more(_given("--more", "soon"))
    with pytest.raises(UsageError, match="--more"):
        resume._more(_given("--more", "10min", "--on", "tcp://head:8786"))
