"""docs/tutorial.md as a reader follows it: its commands in order, in one folder, on a real PostgreSQL.

Nothing of it is shortened but what the page itself leaves to the reader: a study of one's own is planned, not run. A
run gets the two permissions that a machine of tests may need; all else is typed as it stands there.
"""

import re

import pytest

from pgassay.record.reading import Run
from tests.docs import pages
from tests.system.journeys import ANYWHERE, Place, finished

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
PAGE, STUDIES = "tutorial.md", "studies.md"
"""The tutorial's last step is the study file with which the second page begins."""
PATIENCE_S = 900.0
"""A quarter of an hour is what the page promises for all of it."""
NOTHING_WRONG = {"doctor": {0, 1}}
"""What disturbs a measurement on the machine of the test is no fault of the page."""


def typed() -> list[str]:
    """The commands of the page's plain blocks, in its order."""
    shown = [line for each in pages.blocks("") if each.page == PAGE for line in each.text.splitlines()]
    return [line.strip() for line in shown if line.strip()]


def test_the_tutorial_ends_in_a_verdict_and_a_report(journey: Place) -> None:
    question = next(each.text for each in pages.blocks("toml") if each.page == STUDIES)
    said: dict[str, str] = {}
    for command in typed():
        words = pages.words(command)
        done = finished(journey.start(*words, *(ANYWHERE if words[0] in {"run", "compare"} else ())), PATIENCE_S)
        assert done.returncode in NOTHING_WRONG.get(words[0], {0}), f"{command}: {done.stderr}"
        said[command] = done.stdout
    record = Run.open(journey.runs / "first")
    assert record.trials
    assert (record.path / "report/report.html").is_file()
    assert re.search(r"better|worse|equivalent|unresolved|no verdict", said["pgassay show runs/first"])
    (journey.path / "wal.toml").write_text(question, encoding="utf-8")
    planned = journey.pgassay("run", "wal.toml", "--dry-run", *ANYWHERE)
    assert planned.returncode == 0, planned.stderr
    assert journey.left_behind() == []
