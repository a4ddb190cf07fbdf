"""A run whose baseline or whose script cannot work: it ends early, says why in the server's words, and advises nothing.

As a user had them: a script that fails whenever it runs, and a baseline that can never start.
"""

import json
import textwrap

import pytest

from tests.system.conftest import Command
from tests.system.journeys import ANYWHERE, Place

pytestmark = pytest.mark.system

STUDY = """
    [study]
    format = 1
    title = "typo"
    question = "which?"
    [factors]
    {factors}
    [load]
    driver = "pgbench"
    script = "{script}"
    scale = 1
    clients = 1
    jobs = 1
    duration = "1s"
    warmup = "0s"
    [responses]
    primary = "tps"
    [design]
    baseline = {{ {baseline} }}
    blocks = {{ min = 5, max = 5 }}
    budget = "5min"
"""


def study(journey: Place, factors: str, baseline: str, script: str = "select-only") -> str:
    text = textwrap.dedent(STUDY.format(factors=factors, baseline=baseline, script=script))
    (journey.path / "study.toml").write_text(text)
    return str(journey.path / "study.toml")


def test_a_script_that_fails_whenever_it_runs(journey: Place, command: Command) -> None:
    """A misspelt table is refused before: `test_a_typo_in_a_script_is_refused_before_anything_is_measured`."""
    (journey.path / "typo.sql").write_text("SELECT abalance / (aid - 1) FROM pgbench_accounts WHERE aid = 1;\n")
    named = study(journey, '"server.work_mem" = ["4MB", "8MB"]', '"server.work_mem" = "4MB"', "typo.sql")
    done = command("run", named, "--quiet", "--out", str(journey.runs / "typo"), *ANYWHERE)
    said = "Nothing was measured: the baseline failed: ERROR: division by zero."
    assert done.returncode == 1, done.stderr
    assert " ".join(done.stdout.split()).startswith(said)
    assert journey.record("typo").trials[-1].block == 3, "the same failure three times is enough"
    shown = command("show", str(journey.runs / "typo"), "--json")
    answer = json.loads(shown.stdout)
    assert [each["verdict"] for each in answer["verdicts"]] == ["failed"]


def test_a_baseline_that_cannot_start(journey: Place) -> None:
    """A library that is not there, as timescaledb-tune writes it; the other treatment would run."""
    factor = '"server.shared_preload_libraries"'
    named = study(journey, f'{factor} = ["no_such_library", "auto_explain"]', f'{factor} = "no_such_library"')
    done = journey.pgassay("run", named, "--out", str(journey.runs / "library"), *ANYWHERE)
    words = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stderr
    assert (
        'Nothing was measured: the baseline failed: server did not start: could not access file "no_such_library"'
        in words
    )
    assert "more blocks" not in words
    assert "Keep" not in words
    assert "the baseline, server.shared_preload_libraries=no_such_library, failed in all of its 3 trials" in words
