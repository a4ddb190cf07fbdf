"""docs/fleet.md, "From fresh machines to a verdict": each of its lines, on three hosts of their own.

The lines are read from the document. Names and folders are the lab's, ssh and scp are stand-ins that reach the hosts'
folders, and the run is a small one; all else is what a reader types.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pgassay.record.check import check
from pgassay.record.reading import Run
from pgassay.study.findings import Severity
from pgassay.testing import real
from tests.fleet import namespaces
from tests.fleet.namespaces import HEAD, Host, Lab, awaited

DOCUMENT = Path(__file__).parents[2] / "docs" / "fleet.md"
TITLE = "## From fresh machines to a verdict"
SMALL = (
    " --quick --levels table.fillfactor=100,50 --set load.duration=2s --set load.warmup=0s --set load.scale=1"
    " --pairing sequential --blocks 5..5 --allow-busy --allow-volatile --quiet --out run"
)
SSH = '#!/bin/sh\nhost=$1; shift; cd "$LAB/$host" && exec sh -c "$*"\n'
SCP = '#!/bin/sh\nfor to; do :; done\nwhile test $# -gt 1; do cp -p "$1" "$LAB/$(echo $to | tr : /)"; shift; done\n'


def blocks() -> list[list[str]]:
    """The lines of the section's blocks of code: the head's, each host's, the head's."""
    section = DOCUMENT.read_text(encoding="utf-8").partition(TITLE)[2].partition("\n## ")[0]
    return [part.strip().splitlines() for part in section.split("```")[1::2]]


def test_there_are_ten_lines_at_most_and_three_places_to_type_them() -> None:
    found = blocks()
    assert len(found) == 3
    assert sum(map(len, found)) <= 10


@pytest.fixture
def lab(place: Path) -> Iterator[Lab]:
    real.installation()
    with namespaces.lab(place, 3) as made:
        yield made


def programs(folder: Path) -> str:
    """A search path on which ssh and scp reach the folders of the hosts."""
    folder.mkdir()
    for name, text in (("ssh", SSH), ("scp", SCP)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])


def stands_or_ended(host: Host, started: "subprocess.Popen[bytes]") -> Callable[[], bool]:
    """Does its scheduler listen, is its worker registered by one, or has it ended?"""
    words = ("Scheduler at:", "Registered to:")
    return lambda: started.poll() is not None or any(each in host.said() for each in words)


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(900)
def test_each_line_from_fresh_machines_to_a_verdict(lab: Lab) -> None:
    root = lab.head.folder.parent
    search = programs(root / "bin")
    at_head, at_host, last = blocks()

    def typed(host: Host, line: str) -> str:
        line = line.replace("//head:", f"//{HEAD}:").replace("/var/lib/pgassay", str(host.data))
        for number, each in enumerate(lab.hosts, start=1):
            line = line.replace(f"host{number}", each.name)
        return line

    with ExitStack() as stack:
        for host, lines in ((lab.head, at_head), *((each, at_host) for each in lab.hosts), (lab.head, last)):
            for line in lines:
                stays = line.startswith(("dask scheduler ", "pgassay fleet worker "))
                words = typed(host, line) + (SMALL if shlex.split(line)[:2] == ["pgassay", "run"] else "")
                started = host.enter("sh", "-ec", words, PATH=search, LAB=str(root))
                stack.callback(namespaces.end, started)
                if stays:
                    awaited(line, stands_or_ended(host, started))
                    assert started.poll() is None, host.said()
                else:
                    assert started.wait(600.0) == 0, host.said()
        out = lab.head.folder / "run"
        assert [each for each in check(out) if each.severity is Severity.ERROR] == []
        assert len({trial.host for trial in Run.open(out).trials}) == 3
