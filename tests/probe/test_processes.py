"""A process tree: on a made-up /proc in which processes come and go, and on a real family of this machine."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pgassay.host.runner import SystemClock
from pgassay.interfaces.probe import Target
from pgassay.probe.procfs import US_PER_TICK, LabFiles, ProcessIo, ProcessTree, children_of, read_text
from pgassay.testing.fakes import FakeClock, FakeInstallation


class Proc:
    """A /proc that a test writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(
        self, pid: int, *children: int, ticks: int = 0, reaped: int = 0, switches: int = 0, parent: int = 0
    ) -> None:
        """A process with its CPU (user), that of its dead children, and its context switches."""
        task = self.folder / str(pid) / "task" / str(pid)
        task.mkdir(parents=True, exist_ok=True)
        (task / "children").write_text(" ".join(map(str, children)))
        (self.folder / str(pid) / "stat").write_text(
            f"{pid} (p) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 {reaped} 0 20 0 1 0 1 0 0"
        )
        (self.folder / str(pid) / "status").write_text(
            f"Name:\tp\nRssAnon:\t100 kB\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t0\n"
        )

    def wrote(self, pid: int, written: int) -> None:
        """So many bytes, with those of its dead children."""
        text = f"rchar: 0\nwchar: {written}\nsyscr: 0\nsyscw: 0\nread_bytes: 0\n"
        (self.folder / str(pid) / "io").write_text(text)

    def end(self, pid: int) -> None:
        """It is gone."""
        for path in sorted((self.folder / str(pid)).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (self.folder / str(pid)).rmdir()


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def tree(proc: Proc, excluded: frozenset[int] = frozenset()) -> ProcessTree:
    return ProcessTree("process_tree", 1, FakeClock(), excluded=excluded, proc=proc.folder)


def read(probe: ProcessTree) -> dict[str, float | None]:
    (reading,) = probe.read()
    return dict(reading.values)


def test_the_whole_tree_counts(proc: Proc) -> None:
    proc.put(1, 2, 3, ticks=10, reaped=100, switches=5)
    proc.put(2, ticks=20, switches=7)
    proc.put(3, 4, ticks=30, reaped=1, switches=9)
    proc.put(4, ticks=40, switches=11)
    values = read(tree(proc))
    assert values["user_us"] == (10 + 100 + 20 + 30 + 1 + 40) * US_PER_TICK
    assert values["context_switches"] == 5 + 7 + 9 + 11
    assert values["processes"] == 4
    assert values["private_bytes"] == 4 * 100 * 1024


def test_another_tree_inside_can_be_left_out(proc: Proc) -> None:
    proc.put(1, 2, 3, ticks=10)
    proc.put(2, 4, ticks=20)
    proc.put(3, ticks=30)
    proc.put(4, ticks=40)
    assert read(tree(proc, frozenset({2})))["user_us"] == 40 * US_PER_TICK


def test_the_cpu_of_a_backend_that_ended_stays(proc: Proc) -> None:
    proc.put(1, 2, ticks=10)
    proc.put(2, ticks=50)
    probe = tree(proc)
    before = read(probe)["user_us"]
    proc.put(1, ticks=10, reaped=80)
    proc.end(2)
    after = read(probe)["user_us"]
    assert before is not None
    assert after is not None
    assert after - before == 30 * US_PER_TICK


def test_switches_after_the_last_look_are_estimated_by_cpu(proc: Proc) -> None:
    proc.put(1, 2, ticks=10, switches=5)
    proc.put(2, ticks=50, switches=1000)
    probe = tree(proc)
    assert read(probe)["context_switches"] == 1005
    proc.put(1, ticks=10, reaped=80, switches=6)
    proc.end(2)
    assert read(probe)["context_switches"] == pytest.approx(6 + 1000 * 80 / 50)
    assert read(probe)["context_switches"] == pytest.approx(6 + 1000 * 80 / 50), "the dead stay counted, once"


def test_a_gone_root_is_none(proc: Proc) -> None:
    assert set(read(tree(proc)).values()) == {None}


def test_children_without_the_kernel_s_help(proc: Proc) -> None:
    proc.put(1, ticks=1)
    proc.put(2, ticks=2, parent=1)
    proc.put(3, ticks=4, parent=9)
    for pid in (1, 2, 3):
        (proc.folder / str(pid) / "task" / str(pid) / "children").unlink()
    assert children_of(1, proc.folder) == [2]
    assert read(tree(proc))["user_us"] == 3 * US_PER_TICK


def test_bytes_of_the_tree_without_another_one_in_it(proc: Proc) -> None:
    for pid, (children, written) in {1: ((2, 3), 1), 2: ((4,), 10), 3: ((), 100), 4: ((), 1000)}.items():
        proc.put(pid, *children)
        proc.wrote(pid, written)
    passed = {}
    for excluded in (frozenset[int](), frozenset({2})):
        (reading,) = ProcessIo("lab_io", 1, FakeClock(), excluded=excluded, proc=proc.folder).read()
        passed[len(excluded)] = reading.values["passed_written_bytes"]
    assert passed == {0: 1111.0, 1: 101.0}


def test_bytes_of_a_backend_that_ends_between_two_files_are_counted(
    proc: Proc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parent has them from its end on: after the parent's own file was read, before its own was."""
    proc.put(1, 2, 3)
    proc.put(2)
    proc.put(3)
    for pid, written in ((1, 1), (2, 10), (3, 100)):
        proc.wrote(pid, written)

    def reading(path: Path) -> str | None:
        if path == proc.folder / "2/io" and path.exists():
            proc.end(2)
            proc.put(1, 3)
            proc.wrote(1, 11)
        return read_text(path)

    monkeypatch.setattr("pgassay.probe.procfs.read_text", reading)
    (found,) = ProcessIo("process_io", 1, FakeClock(), proc=proc.folder).read()
    assert found.values["passed_written_bytes"] == 111.0


@pytest.mark.system
def test_what_a_load_program_has_written_stays_counted_after_its_end(tmp_path: Path) -> None:
    installation = FakeInstallation()
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path / "socket")
    (reader,) = LabFiles().readers(Target(server, tmp_path / "data", SystemClock()))

    def written() -> float:
        (reading,) = reader.read()
        return reading.values["passed_written_bytes"] or 0.0

    before = written()
    grandchild = f"open({str(tmp_path / 'file')!r}, 'wb').write(bytes(8 << 20))"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}], check=True)"
    subprocess.run([sys.executable, "-c", child], check=True)
    assert 8 << 20 <= written() - before < 9 << 20


@pytest.mark.system
def test_a_real_family() -> None:
    burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
    child = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {burn!r}]); time.sleep(3600)"
    family = subprocess.Popen([sys.executable, "-c", child])
    try:
        probe = ProcessTree("tree", family.pid, SystemClock())
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            values = read(probe)
            if values["processes"] == 1 and (values["user_us"] or 0) + (values["system_us"] or 0) >= 0.3e6:
                break
            time.sleep(0.05)
        assert values["processes"] == 1
        assert values["user_us"] is not None
        assert values["system_us"] is not None
        assert 0.3e6 <= values["user_us"] + values["system_us"] < 30e6, "microseconds, on a slow machine as well"
        (reading,) = ProcessIo("tree", family.pid, SystemClock()).read()
        calls = reading.values["read_calls"]
        assert calls is not None
        assert calls > 0
    finally:
        family.kill()
        family.wait()
