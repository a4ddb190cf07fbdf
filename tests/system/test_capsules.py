"""A run on a real server, carried in one file without its script, run again from it, and compared."""

import json

import pytest

from pgassay.record.reading import Run
from tests.system.journeys import ANYWHERE, Place, finished

pytestmark = pytest.mark.slow
SCRIPT = "\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"


def test_a_capsule_is_run_again_with_its_own_script(journey: Place) -> None:
    script, capsule = journey.path / "mine.sql", journey.path / "first.capsule"
    script.write_text(SCRIPT)
    done = finished(journey.run("first", "--set", f"load.script={script}"))
    assert done.returncode == 0, done.stderr
    assert journey.pgassay("export", str(journey.runs / "first"), "--capsule", str(capsule)).returncode == 0
    script.unlink()
    again = journey.pgassay("rerun", str(capsule), "--trust", *ANYWHERE, "--out", str(journey.runs / "again"), "--json")
    assert again.returncode == 0, again.stderr
    found = json.loads(again.stdout)
    assert (found["original"], found["rerun"]) == ("first", "again")
    primary = [each for each in found["contrasts"] if each["primary"]]
    assert [each["original"]["treatment"] for each in primary] == ["table.fillfactor=75"]
    assert all(each["original"]["blocks"] == each["rerun"]["blocks"] == 5 for each in primary)
    assert primary[0]["low"] < primary[0]["estimate"] < primary[0]["high"]
    first, other = Run.open(journey.runs / "first"), Run.open(journey.runs / "again")
    assert first.header.seed != other.header.seed, "drawn anew"
    assert (other.trial_directory(1) / "script_1_mine.sql").read_text() == SCRIPT
    assert journey.left_behind() == []


def test_rows_and_literals_in_logs_stay_here(journey: Place) -> None:
    """A row that the load reads and logs is in the servers' logs, and in a capsule only --with-data."""
    rows, script, capsule = journey.path / "rows.sql", journey.path / "logged.sql", journey.path / "first.capsule"
    rows.write_text("CREATE TABLE people (name text PRIMARY KEY);\nINSERT INTO people VALUES ('bob.PLANTED7731');\n")
    script.write_text(
        "DO $$ DECLARE seen text; BEGIN SELECT name INTO seen FROM people LIMIT 1;"
        " RAISE LOG 'saw %', seen; RAISE WARNING 'saw %', seen; END $$;\n"
    )
    given = ["work_mem=4MB", "work_mem=8MB", "-f", str(script), "--set", f"load.init={rows}", "-T", "1"]
    first = journey.pgassay(
        "compare", *given, "--set", "load.warmup=0s", "--blocks", "5", *ANYWHERE, "--out", str(journey.runs / "first")
    )
    assert first.returncode == 0, first.stderr
    planted = b"bob.PLANTED7731"
    assert any(planted in path.read_bytes() for path in journey.runs.glob("first/trials/*/server.log"))
    exported = journey.pgassay("export", str(journey.runs / "first"), "--capsule", str(capsule))
    assert exported.returncode == 0, exported.stderr
    assert "server.log" in exported.stdout
    assert planted not in capsule.read_bytes()
    again = journey.pgassay("rerun", str(capsule), "--with", str(journey.runs / "first"), "--json")
    assert again.returncode == 0, again.stderr
    full = journey.path / "full.capsule"
    assert journey.pgassay("export", str(journey.runs / "first"), "--capsule", str(full), "--with-data").returncode == 0
    assert planted in full.read_bytes()


def test_a_capsule_of_compare_f_is_repeated_from_another_directory(journey: Place) -> None:
    """The script is named as typed, relative to where the first run began."""
    capsule, elsewhere = journey.path / "first.capsule", journey.path / "elsewhere"
    (journey.path / "mine.sql").write_text(SCRIPT)
    elsewhere.mkdir()
    given = ["work_mem=4MB", "work_mem=8MB", "-f", "mine.sql", "-s", "1", "-T", "1", "--set", "load.warmup=0s"]
    first = journey.pgassay("compare", *given, "--blocks", "5", *ANYWHERE, "--out", str(journey.runs / "first"))
    assert first.returncode == 0, first.stderr
    assert journey.pgassay("export", str(journey.runs / "first"), "--capsule", str(capsule)).returncode == 0
    (journey.path / "mine.sql").unlink()
    journey.here = elsewhere
    again = journey.pgassay("rerun", str(capsule), "--trust", *ANYWHERE, "--out", str(journey.runs / "again"))
    assert again.returncode == 0, again.stderr
    other = Run.open(journey.runs / "again")
    assert (other.trial_directory(1) / "script_1_mine.sql").read_text() == SCRIPT
    assert other.study["load"]["script"] == str(journey.path / "mine.sql")
    assert journey.left_behind() == []
