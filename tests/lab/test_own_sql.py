"""What a user wrote himself and no data could make right is refused before anything is measured."""

from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.server import Server
from pgassay.postgres.factors import SchemaChange
from pgassay.study.levels import Level
from tests.fakes.load import BoundFakeLoad
from tests.lab.simulation import ending, simulate, study_of


@pytest.mark.parametrize("pairing", ["sequential", "alternate"])
def test_a_typo_in_sql_of_the_users_is_found_before_the_first_trial(
    place: Path, monkeypatch: pytest.MonkeyPatch, pairing: str
) -> None:
    """Whichever arm the chance of the order takes first."""

    def change(factor: SchemaChange, name: str, level: Level, server: Server) -> None:
        if "typo" in level.canonical:
            raise UsageError("no such table")

    monkeypatch.setattr(SchemaChange, "on_loaded_data", change)
    for wrong in ("typo", "good"):
        study = study_of(
            factors={"schema.change": ["none", "ALTER good", f"ALTER {wrong} too"]},
            fixed={"table.fillfactor": "100"},
            design={"baseline": {"schema.change": "none"}, "pairing": pairing},
        )
        simulation = simulate(place, study=study, events={})
        if wrong == "typo":
            with pytest.raises(UsageError, match="no such table"):
                simulation.carry_on()
            assert not [each for each in simulation.run.journal if each.kind == "trial_started"]
            assert simulation.run.trials == ()
        else:
            simulation.carry_on()
            assert ending(simulation)
        assert simulation.machine.left_behind() == []


@pytest.mark.parametrize("pairing", ["sequential", "alternate"])
def test_names_of_scripts_are_looked_up_before_anything_is_measured(
    place: Path, monkeypatch: pytest.MonkeyPatch, pairing: str
) -> None:
    asked: list[int] = []

    def refuse(load: BoundFakeLoad, server: Server) -> None:
        asked.append(1)
        raise UsageError("no such column")

    monkeypatch.setattr(BoundFakeLoad, "require_names", refuse)
    simulation = simulate(place, study=study_of(design={"pairing": pairing}), events={})
    with pytest.raises(UsageError, match="no such column"):
        simulation.carry_on()
    assert asked == [1]
    assert simulation.run.trials == ()
    assert "sleep" not in simulation.machine.moments, "no load was played"
    assert simulation.machine.left_behind() == []
