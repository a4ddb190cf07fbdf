"""Logs of 20 GB, none of them on disk: through a pipe, as a packed one comes, and with a hole, as a crash leaves it."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pgassay._core import summarize_server_logs

PREFIX = "%m [%p] %q%u@%d "
HEAD = "2026-11-23 01:29:46.500 UTC [77] bob@shop "
SIZE_BYTES = 20 * 10**9
GROWTH_MIB = 64
"""Four times the longest record that is read, and nothing beside 20 GB."""


def peak_mib() -> float:
    """VmHWM of this process, since it was reset."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def summarized(path: Path) -> tuple[Mapping[str, Any], float]:
    """The counts, and by how much the peak of memory rose meanwhile, in MiB."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = peak_mib()
    found = json.loads(summarize_server_logs([path], [PREFIX], keep_values=True))
    return found, peak_mib() - before


@pytest.mark.slow
def test_a_log_of_20_gb_is_counted_to_the_last_byte_through_a_pipe_in_the_same_memory(tmp_path: Path) -> None:
    stretch, pipe = tmp_path / "stretch", tmp_path / "pipe"
    payload = "x" * 200_000
    texts = [f"LOG:  duration: 2.0 ms  statement: INSERT INTO t VALUES ({n}, '{payload}')" for n in range(50)]
    stretch.write_text("".join(f"{HEAD}{text}\n" for text in texts), encoding="ascii")
    turns = SIZE_BYTES // stretch.stat().st_size + 1
    os.mkfifo(pipe)
    script = 'for turn in $(seq "$2"); do cat "$0"; done > "$1"'
    with subprocess.Popen(["sh", "-c", script, str(stretch), str(pipe), str(turns)]) as writer:
        found, grown_mib = summarized(pipe)
    assert writer.returncode == 0
    (statement,) = found["statements"]
    assert (statement["text"], statement["calls"]) == ("INSERT INTO t VALUES ($1, $2)", 50 * turns - 1)
    assert statement["exec_ms"] == 100.0 * turns - 2
    assert found["bytes"] == stretch.stat().st_size * turns > 2**34
    assert (found["unread"], found["torn"], found["foreign"]) == (0, 1, 0)
    assert grown_mib < GROWTH_MIB


@pytest.mark.slow
def test_a_hole_of_20_gb_costs_only_the_records_beside_it(tmp_path: Path) -> None:
    line = f"{HEAD}LOG:  statement: SELECT 1\n"
    path = tmp_path / "postgresql.log"
    with path.open("wb") as file:
        file.write(line.encode() * 2)
        file.seek(SIZE_BYTES, os.SEEK_CUR)
        file.write(line.encode() * 3)
    found, grown_mib = summarized(path)
    assert found["statements"][0]["calls"] == 1 + 1, "the second and the last may have had further lines"
    assert (found["unread"], found["torn"]) == (1, 1)
    assert grown_mib < GROWTH_MIB
