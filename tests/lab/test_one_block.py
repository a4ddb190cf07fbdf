"""A run that is left after each block and gone on with is the run that was never left."""

from pathlib import Path

from pgassay.lab.runner import RunLoop
from pgassay.record.directory import RunDirectory
from pgassay.record.reading import Run
from tests.lab.simulation import RUN, Simulation, ending, header, simulate


def blocks_at_a_time(simulation: Simulation) -> list[int]:
    """Conduct block by block; the trials committed at each end."""
    disk, clock = simulation.machine.disk, simulation.machine.clock
    run = RunDirectory.create(RUN, header(), "", {}, disk, clock.wall_ns)
    counts = []
    while True:
        trials = list(Run.open(RUN, disk).trials)
        with run:
            conductor = RunLoop(simulation.resolved(), run, simulation.watcher, trials, one_block=True)
            reason = conductor.conduct()
        counts.append(len(Run.open(RUN, disk).trials))
        if reason is not None:
            return counts
        simulation.machine.restart()
        run = RunDirectory.open(RUN, disk, clock.wall_ns)
        run.resumed()


def test_leaving_after_each_block_changes_nothing(place: Path) -> None:
    whole, parted = simulate(place), simulate(place)
    whole.carry_on()
    counts = blocks_at_a_time(parted)
    assert ending(parted) == ending(whole)
    blocks = [trial.block for trial in parted.run.trials]
    assert counts == [sum(block <= last for block in blocks) for last in range(1, max(blocks) + 1)]
