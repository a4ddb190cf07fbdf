"""`pgassay advise` on a real PostgreSQL: a plan of few settings."""

import pytest

from tests.system.journeys import ANYWHERE, Place

pytestmark = pytest.mark.system
TINY = ("-s", "1", "-c", "1", "-j", "1", "-T", "1", "--only", "commit_delay,commit_siblings", *ANYWHERE)


def test_a_plan_says_what_is_tried_and_what_is_not(journey: Place) -> None:
    done = journey.pgassay("advise", *TINY, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "2 settings: commit_delay, commit_siblings" in done.stdout
