"""A real pgbench keeps to the CPUs that it was given, and says so when none are left for it."""

import os
from pathlib import Path

import pytest

from pgassay.testing import real
from tests.load.loads import pgbench, real_tools
from tests.load.test_pgbench_runs import BASE

pytestmark = pytest.mark.system


def noting(folder: Path, notes: Path) -> Path:
    """A directory whose pgbench notes the CPUs that it may use, and becomes the real one."""
    folder.mkdir()
    program = folder / "pgbench"
    real_one = real.installation().bindir / "pgbench"
    program.write_text(f'#!/bin/sh\ngrep Cpus_allowed_list: /proc/self/status >>"{notes}"\nexec "{real_one}" "$@"\n')
    program.chmod(0o755)
    return folder


def test_the_program_keeps_to_its_cpus(tmp_path: Path) -> None:
    chosen = max(os.sched_getaffinity(0))
    with real.private_folder() as place, real.server() as (server, _):
        notes = place / "notes"
        tools = real_tools(noting(place / "bin", notes))
        pgbench(BASE).create(server)
        pgbench(BASE).fill(server)
        load = pgbench({**BASE, "duration": "1s", "cores": f"cpu:{chosen}"}, tools)
        found = load.run(server, tmp_path / "out", 1)
        assert not found.problems
        assert notes.read_text().splitlines()[-1] == f"Cpus_allowed_list:\t{chosen}"
        nowhere = pgbench({**BASE, "duration": "1s", "cores": "rest"}).run(server, tmp_path / "rest", 1)
    assert "no_cores" in nowhere.problems
