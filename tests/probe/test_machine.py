"""The machine's own counters, on a made-up /proc."""

from pathlib import Path

from pgassay.probe.procfs import US_PER_TICK, MachineReader
from pgassay.testing.fakes import FakeClock


def test_time_of_the_machine_does_not_go_back_where_the_kernel_s_does(tmp_path: Path) -> None:
    machine, told = MachineReader(FakeClock(), proc=tmp_path, cpus=tmp_path), []
    for idle, waited in ((100, 40), (130, 20), (170, 50)):
        (tmp_path / "stat").write_text(f"cpu  1 0 2 {idle} {waited} 0 0 0\nctxt 7\n")
        (reading,) = machine.read()
        told.append((reading.values["idle_us"], reading.values["iowait_us"]))
    assert told == [(idle * US_PER_TICK, waited * US_PER_TICK) for idle, waited in ((100, 40), (130, 40), (170, 50))]
    (tmp_path / "stat").unlink()
    (reading,) = machine.read()
    assert reading.values["iowait_us"] is None, "missing is not what it was"
