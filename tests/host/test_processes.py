"""Reading /proc: names with brackets, families, and telling a process from a later one of its number."""

import os
import subprocess

from pgassay.host.keeper import descendants, end_all, processes, still_there
from pgassay.interfaces.proc import Process, parse_stat

STAT = (
    "4242 (a) (b c) S 17 4242 4242 0 -1 4194304 100 0 0 0 31 11 5 6 20 0 1 0 987654 1000 100 18446744073709551615"
    " 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"
)


def test_a_name_may_hold_blanks_and_brackets() -> None:
    assert parse_stat(STAT) == Process(4242, 17, "a) (b c", "S", 987654, 31, 11, 5, 6)
    assert parse_stat(STAT).cpu_ticks == 42


def _process(pid: int, parent: int) -> Process:
    return Process(pid, parent, "x", "S", pid, 0)


def test_descendants_of_every_generation() -> None:
    everyone = {pid: _process(pid, parent) for pid, parent in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 1)]}
    assert sorted(process.pid for process in descendants(2, everyone)) == [3, 4]
    assert descendants(5, everyone) == []


def test_we_are_among_the_processes() -> None:
    ourselves = processes()[os.getpid()]
    assert ourselves.parent == os.getppid()
    assert still_there(ourselves)
    assert not still_there(Process(ourselves.pid, 1, ourselves.name, "S", ourselves.started_ticks + 1, 0))


def test_end_all_kills_what_does_not_go_by_itself() -> None:
    with subprocess.Popen(["sleep", "98764"]) as child:
        family = [process for process in processes().values() if process.pid == child.pid]
        end_all(family, patience_s=0.05)
        assert child.wait(300) == -9
    end_all(family, patience_s=0.05)
