"""`pgassay advise` on a real PostgreSQL: a plan of few settings, what is known of all, a batch with one refused."""

import subprocess
from contextlib import nullcontext

import pytest

from pgassay.advise import refusals
from pgassay.advise.asking import settings_of
from pgassay.advise.knowledge import known_settings
from pgassay.advise.laboratory import Question, RealLaboratory
from pgassay.advise.space import Machine, space_of
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.testing import real
from tests.system.journeys import ANYWHERE, Place

pytestmark = pytest.mark.system
SECTIONS = {
    "Resource Usage": "runtime-config-resource", "Write-Ahead Log": "runtime-config-wal",
    "Query Tuning": "runtime-config-query", "Statistics": "runtime-config-statistics",
    "Reporting and Logging": "runtime-config-logging", "Process Title": "runtime-config-logging",
    "Autovacuum": "runtime-config-vacuum", "Vacuuming": "runtime-config-vacuum",
}  # fmt: skip
"""Of the manual, by the group that PostgreSQL puts a setting into."""
TINY = ("-s", "1", "-c", "1", "-j", "1", "-T", "1", "--only", "commit_delay,commit_siblings", *ANYWHERE)


def test_a_plan_says_what_is_tried_and_what_is_not(journey: Place) -> None:
    done = journey.pgassay("advise", *TINY, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "2 settings: commit_delay, commit_siblings" in done.stdout


def test_a_plan_names_the_window_and_the_budget_that_would_try_more(journey: Place) -> None:
    names = "commit_delay,checkpoint_timeout"
    done = journey.pgassay("advise", "-s", "1", "-c", "1", "-j", "1", "-T", "1", "--only", names, *ANYWHERE, "-n")
    assert done.returncode == 0, done.stderr
    (said,) = [each for each in done.stdout.splitlines() if each.startswith("longer windows would try ")]
    options = said.partition(" with ")[2].split()
    assert said.startswith("longer windows would try checkpoint_timeout with -T 600 --budget ")
    done = journey.pgassay("advise", "-s", "1", "-c", "1", "-j", "1", *options, "--only", names, *ANYWHERE, "-n")
    assert done.returncode == 0, done.stderr
    assert "2 settings: commit_delay, checkpoint_timeout" in done.stdout


def test_what_is_known_of_the_settings_is_what_this_postgresql_says() -> None:
    """Its own description has each of them, and by its group the section of the manual."""
    installation = real.installation()
    command = [str(installation.bindir / "postgres"), "--describe-config"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    rows = {line.split("\t")[0]: line.split("\t")[1:3] for line in said.splitlines() if "\t" in line}
    known = [each for each in known_settings().values() if each.factor.startswith("server.")]
    here = [each for each in known if each.since <= installation.version.major <= each.until]
    assert len(here) > 25
    for setting in here:
        context, group = rows[setting.name]
        assert setting.apply == ("restart" if context.lower() == "postmaster" else "reload"), setting.name
        assert setting.section == SECTIONS[group.split(" / ")[0]], setting.name


def test_an_objective_that_the_drive_does_not_count_is_refused_by_name(journey: Place) -> None:
    done = journey.pgassay("advise", *TINY, "--for", "tps,physical_bytes", "--dry-run")
    assert done.returncode == 2, done.stdout
    assert "physical_bytes" in done.stderr
    assert "--set drive.data=" in done.stderr
    done = journey.pgassay("advise", *TINY, "--for", "cpu_per_transaction,physical_bytes", "--dry-run")
    assert done.returncode == 2, done.stdout
    assert "--set drive.data=csd" in done.stderr
    done = journey.pgassay("advise", *TINY, "--for", "cpu_per_transaction,wal_per_transaction", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "server_cpu_us_per_transaction and wal_bytes_per_transaction" in done.stdout
    done = journey.pgassay("advise", *TINY, "--for", "tps,crash_recovery_max_ms", "--dry-run")
    assert done.returncode == 2, done.stdout
    assert "--set load.cuts=" in done.stderr


@pytest.mark.slow
def test_what_postgresql_refuses_costs_its_place_and_not_the_batch(journey: Place) -> None:
    space = space_of(settings_of({}, ["work_mem", "jit"]), Machine(8 << 30, 2), {})
    load = {"driver": "pgbench", "scale": 1, "clients": 1, "duration": "1s", "warmup": "0s"}
    options = BenchOptions(data_directory=journey.data, allow_busy=True, allow_volatile=True)
    folder = journey.runs / "advise"
    folder.mkdir()
    told: list[str] = []
    laboratory = RealLaboratory(
        folder, Question(load, "tps"), space, options, lambda study: nullcontext(Watcher()), tell=told.append
    )
    refused, other = (space.start.with_values({"jit": each}) for each in ("maybe", "off"))
    found = laboratory.batch("search-01", space.start, [refused, other], 1)
    assert found[refused] is None
    assert (folder / "search-01").is_dir()
    assert len(told) == 1
    assert "PostgreSQL refuses jit = 'maybe'" in refusals.known(folder)[refused]
    assert laboratory.batch("search-01", space.start, [refused, other], 1) == found, "gone on with, it is the same"
