"""A run crashed at every single write, fsync, rename and unlink, resumed, and compared with one that was left alone.

Also with a disk that fills up or fails at every step. What must hold each time: no committed trial changes by a byte,
none is lost, none is doubled, and the run ends as it would have ended.
"""

from pathlib import Path

import pytest

from pgassay.record.check import check
from pgassay.record.directory import RunDirectory
from pgassay.record.errors import RecordError
from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from pgassay.record.trials import OURS
from pgassay.study.findings import Severity
from tests.fakes.disk import Crashed, FakeDisk, Fault, Survival
from tests.record.runs import RUN, clock, commit, create, fake_disk, stage, trial

pytestmark = pytest.mark.thorough

TRIALS = 3
AFTERMATHS = [(Survival.KILLED, 0), (Survival.LOST, 0), *((Survival.TORN, seed) for seed in range(4))]


def carry_on(disk: FakeDisk) -> None:
    """What a lab does: make the run or resume it, set one trial aside, commit what is missing, finish."""
    if disk.exists(RUN):
        run = RunDirectory.open(RUN, disk, clock())
        if run.finished:
            run.close()
            return
        run.resumed()
    else:
        run = create(disk)
    if not run.committed:
        run.abandon_trial(stage(disk, run, run.next_number))
    while run.next_number <= TRIALS:
        commit(disk, run, run.next_number)
    run.finish("all blocks done")
    run.close()


def failure_of(disk: FakeDisk) -> RecordError | None:
    """Carry on; the error that stopped it, if one did."""
    try:
        carry_on(disk)
    except RecordError as failure:
        return failure
    return None


def committed(disk: FakeDisk) -> dict[Path, bytes]:
    """Every file of every committed trial."""
    if not disk.exists(RUN):
        return {}
    directories = [RUN / "trials" / name for name in disk.list(RUN / "trials") if not name.startswith(".")]
    return {path / name: disk.read(path / name) for path in directories for name in disk.list(path)}


def steps_of_a_whole_run() -> list[str]:
    disk = fake_disk()
    carry_on(disk)
    return disk.steps


def require_whole(disk: FakeDisk, undisturbed: dict[Path, bytes]) -> None:
    """The run is as if nothing had happened, but for notes and lines about it."""
    assert committed(disk) == undisturbed
    findings = check(RUN, disk)
    assert [finding for finding in findings if finding.severity is Severity.ERROR] == []
    run = Run.open(RUN, disk)
    assert run.trials == tuple(trial(number) for number in range(1, TRIALS + 1))
    journalled = [entry.data["number"] for entry in run.journal if entry.kind == Kind.TRIAL_COMMITTED]
    assert journalled == list(range(1, TRIALS + 1))
    assert run.journal[-1].kind == Kind.FINISHED


@pytest.fixture(scope="module")
def undisturbed() -> dict[Path, bytes]:
    disk = fake_disk()
    carry_on(disk)
    files = committed(disk)
    assert len(files) == TRIALS * (len(OURS) + 1)
    return files


@pytest.mark.parametrize(("survival", "seed"), AFTERMATHS)
def test_a_crash_at_every_step(survival: Survival, seed: int, undisturbed: dict[Path, bytes]) -> None:
    steps = steps_of_a_whole_run()
    assert {step.split()[0] for step in steps} == {"mkdir", "create", "write", "fsync", "rename"}
    for step in range(1, len(steps) + 1):
        disk = fake_disk()
        disk.faults = {step: Fault.CRASH}
        with pytest.raises(Crashed):
            carry_on(disk)
        disk.reboot(survival, seed + step)
        before = committed(disk)
        carry_on(disk)
        after = committed(disk)
        assert {path: after.get(path) for path in before} == before, f"step {step}: {steps[step - 1]}"
        require_whole(disk, undisturbed)


@pytest.mark.parametrize(("survival", "seed"), AFTERMATHS)
def test_three_crashes_one_after_another(survival: Survival, seed: int, undisturbed: dict[Path, bytes]) -> None:
    """Crashes at odd distances, so that the second and third hit the recovery from the one before."""
    for first in range(3, len(steps_of_a_whole_run()) - 25, 7):
        disk = fake_disk()
        crashes = 0
        for distance in (first, 2 + first % 5, 1 + first % 11):
            disk.faults = {len(disk.steps) + distance: Fault.CRASH}
            before = committed(disk)
            try:
                carry_on(disk)
            except Crashed:
                crashes += 1
                disk.reboot(survival, seed + first)
            after = committed(disk)
            assert {path: after.get(path) for path in before} == before
        disk.faults = {}
        carry_on(disk)
        assert crashes >= 2
        require_whole(disk, undisturbed)


@pytest.mark.parametrize("fault", [Fault.FULL, Fault.BROKEN])
def test_a_full_or_failing_disk_at_every_step(fault: Fault, undisturbed: dict[Path, bytes]) -> None:
    """The error is ours, with a hint; after the process has ended and the cause is gone the run goes on."""
    told = 0
    for step in range(1, len(steps_of_a_whole_run()) + 1):
        disk = fake_disk()
        disk.faults = {step: fault}
        failure = failure_of(disk)
        if failure is not None:
            told += 1
            assert failure.hint is not None
            assert str(RUN) in failure.message
        disk.reboot(Survival.KILLED)
        before = committed(disk)
        carry_on(disk)
        after = committed(disk)
        assert {path: after.get(path) for path in before} == before
        require_whole(disk, undisturbed)
    assert told > 40


def test_a_disk_that_stays_full_stops_the_run_and_loses_nothing(undisturbed: dict[Path, bytes]) -> None:
    steps = steps_of_a_whole_run()
    writes = [number for number, step in enumerate(steps, 1) if step.startswith(("create", "mkdir", "write"))]
    for step in range(1, max(writes) + 1, 5):
        disk = fake_disk()
        disk.full_from = step
        with pytest.raises(RecordError) as caught:
            carry_on(disk)
        assert caught.value.hint is not None
        assert "full" in caught.value.hint
        disk.reboot(Survival.KILLED)
        carry_on(disk)
        require_whole(disk, undisturbed)
