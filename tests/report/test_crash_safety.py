"""Settings that give up crash safety are named, whatever they won."""

import pytest

from pgassay.report import crash_safety
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Design, Study


def study_of(*levels: dict[str, str]) -> Study:
    treatments = tuple(Combination({name: Level(text, text) for name, text in each.items()}) for each in levels)
    return Study("safety", "", "", {}, treatments, Design(treatments[0]), "tps")


@pytest.mark.parametrize("name", ["server.fsync", "server.full_page_writes"])
def test_a_level_that_gives_up_crash_safety_is_named_once(name: str) -> None:
    study = study_of({name: "on"}, {name: "off"}, {name: "off", "server.work_mem": "4MB"})
    (warning,) = crash_safety.warnings(study)
    assert warning.startswith(f"{name} = off is not crash-safe: a power failure can")
    assert warning.endswith("never recommended")
    assert crash_safety.risks(study.treatments[0].levels) == ()


def test_what_only_loses_the_last_transactions_is_crash_safe() -> None:
    assert crash_safety.warnings(study_of({"server.synchronous_commit": "off"})) == ()
