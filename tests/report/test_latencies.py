"""A run that counted instructions says nothing of times."""

from dataclasses import replace
from pathlib import Path

from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
from tests.report.blocks import body


def test_a_run_that_counted_shows_no_time(tmp_path: Path) -> None:
    """Under an instrument all times are long; what is shown of a timed run shows that the words are looked for."""
    timed = Findings(make_run(tmp_path / "run"))
    counted = Findings(timed.run)
    regime = {"counted": "a fake", "window_s": None, "warmup_s": None}
    counted.__dict__["trials"] = tuple(
        replace(each, regime={**each.regime, **regime}, responses={**each.responses, "tps": None})
        for each in timed.trials
    )
    for words in ("8 s a trial", "window 8 s", "each trial&#39;s speed", "explains the speed"):
        assert words.lower() in body(timed).lower(), words
        assert words.lower() not in body(counted).lower(), words
    of_tps = [each.text for each in counted.claims if each.claim.response == "tps" and not each.claim.untestable]
    assert {text.partition(": ")[2] for text in of_tps} == {"this run did not measure tps"}
