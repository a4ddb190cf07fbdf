"""Who serves a data directory is found among all processes of a machine, whatever these are called."""

from pathlib import Path

from pgassay.capture import source
from pgassay.drive.block import kernel
from pgassay.postgres import processes

CUT = "aufzeichnungs-übersicht".encode()[:15]
"""A name longer than the kernel keeps (15 bytes), cut within a letter: no UTF-8."""


def process(proc: Path, pid: int, name: bytes, place: Path, parent: int = 1) -> None:
    """One of proc(5)'s folders."""
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "comm").write_bytes(name + b"\n")
    (folder / "stat").write_bytes(b"%d (%s) S %d " % (pid, name, parent) + b"7 " * 48)
    for link in ("cwd", "root"):
        (folder / link).symlink_to(place)


def test_a_name_that_is_no_utf_8_hides_no_server(tmp_path: Path) -> None:
    proc, data = tmp_path / "proc", tmp_path / "data"
    data.mkdir()
    process(proc, 5, CUT, data)
    process(proc, 6, b"postgres", data, parent=1)
    process(proc, 7, b"postgres", data, parent=6)
    process(proc, 8, CUT, data, parent=6)
    assert processes.serving(data, proc) == [6, 7]
    assert len(kernel.holders(data, proc)) == 4
    assert source.server_cpu_ms(7, proc) is not None
