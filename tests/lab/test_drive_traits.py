"""What a drive says of itself ends in the record; trials on a drive that is not what was asked are invalid."""

from hashlib import sha256
from pathlib import Path

from pgassay.interfaces.store import Trait
from pgassay.record.values import TrialRecord
from pgassay.study.responses import Status
from tests.lab.simulation import simulate


def trials(place: Path, told: dict[str, Trait]) -> list[TrialRecord]:
    """Of a run on a drive that says so; the simulation has troubles of its own planned for a few of them."""
    simulation = simulate(place)
    simulation.machine.drive.described.update(told)
    simulation.carry_on()
    return list(simulation.run.trials)


def test_what_a_drive_says_is_kept_with_each_trial(place: Path) -> None:
    told = {"drive.start": Trait("aged"), "drive.over_provisioning": Trait(0.0703, 0.07)}
    valid = [trial for trial in trials(place, told) if trial.status is Status.VALID]
    assert valid
    for trial in valid:
        assert (trial.regime["drive.start"], trial.regime["drive.over_provisioning"]) == ("aged", 0.0703)


def test_a_write_signature_is_a_file_of_its_trial_and_the_record_has_its_hash(place: Path) -> None:
    simulation = simulate(place)
    simulation.machine.drive.described.update({"drive.write_signature": Trait("long"), "drive.start": Trait("aged")})
    simulation.carry_on()
    valid = [trial for trial in simulation.run.trials if trial.status is Status.VALID]
    assert valid
    for trial in valid:
        file = simulation.run.trial_directory(trial.number) / "drive.write_signature.json"
        assert simulation.run.disk.read(file) == b"long"
        assert trial.regime["drive.write_signature"] == sha256(b"long").hexdigest()


def test_a_drive_that_is_not_what_was_asked_spoils_the_trial(place: Path) -> None:
    found = trials(place, {"drive.policy": Trait("fifo", "greedy", holds=False)})
    assert [trial for trial in found if trial.status is Status.VALID] == []
    reasons = {(reason.code, reason.detail) for trial in found for reason in trial.reasons}
    assert ("read_back", "drive.policy: asked for greedy, the drive says fifo") in reasons


def test_a_drive_in_another_state_than_was_kept_is_not_the_treatments_doing(place: Path) -> None:
    found = trials(place, {"drive.state_before": Trait("gc 24", "gc 20", holds=False, of_state=True)})
    assert {trial.status for trial in found} <= {Status.INVALID, Status.OUTCOME}
    discarded = [trial for trial in found if trial.status is Status.INVALID]
    assert discarded
    said = "drive.state_before: it started with gc 24, and what was kept for it had gc 20"
    for trial in discarded:
        assert ("drive_state", said) in [(reason.code, reason.detail) for reason in trial.reasons]
