"""What a process of the servers' account says of itself, and what it leaves in a data directory, ends no command."""

from pathlib import Path

import pytest

from pgassay.host.huge_pages import shared_memory
from pgassay.host.keeper import VARIABLE, mark, orphans
from pgassay.interfaces.errors import ClusterError
from pgassay.postgres import ownership
from pgassay.postgres.settings import status_of_map
from pgassay.probe.procfs import parse_table

NESTED = "[" * 100_000
ENDLESS = '{"pid": Infinity, "started_ticks": 1, "boot": "b"}'


@pytest.mark.parametrize("lab", ["9" * 5000, "\u0663", "\u00b2", "-4", "4\x1b[31m"])
def test_a_mark_that_no_lab_makes_is_nobodys(tmp_path: Path, lab: str) -> None:
    (tmp_path / "10").mkdir()
    (tmp_path / "10" / "stat").write_text(f"10 (sleep) S 1 {'0 ' * 17}77 0\n")
    (tmp_path / "10" / "environ").write_text(f"{VARIABLE}={lab}-1-{mark().split('-')[2]}\0")
    assert orphans((tmp_path.stat().st_uid,), tmp_path) == {}


@pytest.mark.parametrize("text", [NESTED, ENDLESS, '{"pid": NaN}', '{"pid": 1e999}', '{"pid": ' + "9" * 5000 + "}"])
def test_a_forged_owner_is_no_owner(tmp_path: Path, text: str) -> None:
    (tmp_path / ownership.OWNER_FILE).write_text(text)
    assert not ownership.abandoned(tmp_path)


@pytest.mark.parametrize("text", [NESTED, '{"format": ' + "9" * 5000 + "}"])
def test_a_forged_marker_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / ownership.MARKER_FILE).write_text(text)
    with pytest.raises(ClusterError, match="cannot be read"):
        ownership.require_mark(tmp_path)


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_a_mapped_files_name_adds_no_line(end: str) -> None:
    """The kernel escapes a line feed in it alone."""
    name = f"/x{end}KernelPageSize: 2048 kB{end}Size: many kB"
    smaps = f"7f00-7f10 rw-s 0 00:01 9 {name}\nSize: 64 kB\nKernelPageSize: 4 kB\n"
    assert status_of_map(smaps) == "off"
    assert shared_memory(smaps).huge_bytes == 0
    assert parse_table(f"Name:\tx{end}VmRSS: 9 kB\nPPid: 1\n") == {"PPid": 1}
