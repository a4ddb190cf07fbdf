"""A history of an application's schema, tracked and bisected on real servers: a commit drops an index.

Nothing is built: the commits are SQL, which each server runs to make its data.
"""

import json
import subprocess
from pathlib import Path

import pytest

from tests.system.journeys import ANYWHERE, Place

TABLE = "CREATE TABLE items AS SELECT n AS id, n % 100 AS shelf FROM generate_series(1, 20000) n;\n"
INDEX = "CREATE INDEX ON items (id);\n"
SELECT = "\\set id random(1, 20000)\nSELECT shelf FROM items WHERE id = :id;\n"
STUDY = """[study]
format = 1
title = "Look-ups"
question = "Did a migration make look-ups slower?"

[factors]
"server.work_mem" = ["4MB", "8MB"]

[load]
driver = "pgbench"
script = "{script}"
clients = 1
jobs = 1
duration = "3s"
checkpoint = "none"

[responses]
primary = "tps"

[design]
resolution = "10%"
"""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def application(folder: Path) -> Path:
    """Seven commits: the third cannot be run, the fifth loses the index, which lies in a file that another includes."""
    made = folder / "application"
    (made / "db").mkdir(parents=True)
    git(folder, "init", "-q", str(made))
    for number in range(1, 8):
        (made / "db" / "schema.sql").write_text(f"{TABLE}\\ir indexes.sql\n" + ("broken;\n" if number == 3 else ""))
        (made / "db" / "indexes.sql").write_text(INDEX if number < 5 else "-- none\n")
        (made / "readme").write_text(str(number))
        git(made, "add", ".")
        git(made, "commit", "-q", "-m", f"change {number}")
        git(made, "tag", f"v{number}")
    return made


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_migration_that_loses_an_index_is_found(journey: Place, tmp_path: Path) -> None:
    made = application(tmp_path)
    (tmp_path / "look.sql").write_text(SELECT)
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(script=tmp_path / "look.sql"))
    asked = (str(study), "--git", str(made), "--schema", "db/schema.sql", *ANYWHERE)
    found = journey.pgassay("bisect", *asked, "--good", "v1", "--bad", "v7", "--json", "--out", str(journey.runs / "b"))
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["commit"] == git(made, "rev-parse", "v5")
    history = journey.pgassay(
        "track", *asked, "--reference", "v1", "--since", "v1", "--each", "2", "--json", "--out", str(journey.runs / "t")
    )
    assert history.returncode == 0, history.stderr
    points = {each["subject"]: each["ratio"] for each in json.loads(history.stdout)["points"]}
    assert set(points) == {f"change {number}" for number in (2, 4, 5, 6, 7)}
    assert points["change 5"] < 0.5 * points["change 4"], "a scan of 20,000 rows takes many times as long as the index"
    run = next(path for path in sorted((journey.runs / "t" / "points").iterdir()) if path.is_dir())
    shown = json.loads(journey.pgassay("show", str(run), "--json").stdout)
    first, second = (f"db/schema.sql@{git(made, 'rev-parse', tag)[:12]}" for tag in ("v1", "v2"))
    assert (shown["baseline"], [each["treatment"] for each in shown["verdicts"]]) == (first, [second])
    (skipped,) = json.loads(history.stdout)["skipped"]
    assert skipped["commit"] == git(made, "rev-parse", "v3")[:12]
    assert "psql" in skipped["why"]
    assert journey.left_behind() == []
