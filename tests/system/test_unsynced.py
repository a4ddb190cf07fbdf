"""The quick form of power-cut against servers that ask for fewer flushes than they should; each must be found out.

A library that is loaded before libc drops their fsync and fdatasync (`unsynced.c`). The server without it is sound, and
is called so.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pgassay.analysis.verdicts import Kind
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.report.power_cuts import arms
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve, write
from pgassay.testing import real as real_postgres
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished

pytestmark = [pytest.mark.system, pytest.mark.slow]

SOURCE = Path(__file__).with_name("unsynced.c")
FAULTS = ("pg_xact", "relations", "each_50th", "checkpointer")


def quick_form() -> dict[str, Any]:
    """Of its first treatment alone, a server with its defaults."""
    written = resolve("power-cut", read("power-cut", builtin.find("power-cut")[1]), Overrides(size="quick"))
    first, *_ = written["treatments"]
    written |= {"factors": {}, "treatments": [first], "claims": [], "covariates": {"load.clients": [4]}}
    del written["load"]["clients"]
    return written


def faulty(place: Path, fault: str) -> Path:
    """PostgreSQL's programs with a server that has this fault; skips by name without a compiler."""
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    library, programs, bindir = place / "unsynced.so", real_postgres.installation().bindir, place / "bin"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    bindir.mkdir()
    for program in programs.iterdir():
        (bindir / program.name).symlink_to(program)
    server = bindir / "postgres"
    server.unlink()
    server.write_text(f'#!/bin/sh\nUNSYNCED={fault} LD_PRELOAD="{library}" exec "{programs}/postgres" "$@"\n')
    server.chmod(0o755)
    return bindir


def run_of(journey: Place, bindir: Path | None, form: dict[str, Any]) -> Run:
    real.require("ssd")
    study, out = journey.path / "quick.toml", journey.runs / "quick"
    study.write_text(write(form), encoding="utf-8")
    words = ("--out", str(out), *(("--pg-bindir", str(bindir)) if bindir else ()))
    done = finished(journey.start("run", str(study), *words, *ANYWHERE), LONG_S)
    assert done.returncode == 0, done.stderr
    assert left_behind(journey.data) == []
    return Run.open(out)


@pytest.mark.timeout(LONG_S + 60)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_quick_form_finds_a_server_that_drops_flushes(journey: Place, fault: str) -> None:
    """It ends with the first window that did damage, and has three; which calls are each fiftieth is chance."""
    form = quick_form()
    form["design"] |= {"risk_below": "0.01%", "blocks": {"min": 1, "max": 9}}
    (found,) = arms(Findings(run_of(journey, faulty(journey.path, fault), form)))
    assert found.verdict.kind is Kind.UNSAFE, (found.verdict.text, found.coverage)
    assert found.blocks <= 3 or fault == "each_50th"


@pytest.mark.timeout(LONG_S + 60)
def test_the_quick_form_calls_a_sound_server_safe_across_checkpoints(journey: Place) -> None:
    (found,) = arms(Findings(run_of(journey, None, quick_form())))
    assert (found.verdict.kind, found.coverage.untried) == (Kind.SAFE, ()), found.verdict.text
    assert found.coverage.checkpoints >= found.blocks
