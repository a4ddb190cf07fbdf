"""The emulated drive's program under a real file system: FUSE, a loop device, mkfs, kills (docs/drives.md)."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive.block import kernel
from tests.noise import noise

PROGRAM = Path(os.environ.get("PGASSAY_DRIVE") or Path(__file__).parents[2] / "src/pgassay/_bin/pgassay-drive")
CAPACITY_BYTES = 256 << 20
PATIENCE_S = 300.0
WATCHDOG_S = 2
"""Of drives that a test stalls; on a busy machine others may well stand still as long as that."""

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="an emulated drive needs root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="this machine has no /dev/fuse"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="pgassay-drive is not built; make setup builds it"),
]


def run(*words: str | Path) -> str:
    """A command's output; its failure is the test's."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout.strip()


def until(true: Any, what: str) -> None:
    """Wait for something that happens soon."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def opened_by(daemon: "Daemon", file: Path) -> Path:
    """The way to a daemon's open file that has no name any more. Other files of it may close meanwhile."""
    for descriptor in Path(f"/proc/{daemon.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if str(descriptor.readlink()).startswith(str(file)):
                return descriptor
    raise AssertionError(f"the daemon does not have {file} open")


class Daemon:
    """A running one."""

    def __init__(self, directory: Path, more: Mapping[str, Any], before: Sequence[str] = ()) -> None:
        self.directory = directory
        configuration: dict[str, Any] = {
            "name": "test",
            "directory": str(directory),
            "capacity_bytes": CAPACITY_BYTES,
            "kind": "compressing",
            "pages_per_block": 64,
            "store_bytes": 128 << 20,
            **more,
        }
        file = directory / "daemon.json"
        file.write_text(json.dumps(configuration))
        file.chmod(0o600)
        words: list[str | Path] = [*before, PROGRAM, "serve", "--config", file]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        first = self.process.stdout.readline().strip()
        if first != "ready":
            _, self.errors = self.process.communicate(timeout=PATIENCE_S)
            raise AssertionError(self.errors)

    @property
    def file(self) -> Path:
        """What the loop device lies over."""
        return self.directory / "fuse" / "disk"

    def answer(self, do: str, **values: Any) -> dict[str, Any]:
        """All of an answer."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE_S)
            line.connect(str(self.directory / "control.sock"))
            line.sendall(json.dumps({"do": do, **values}).encode() + b"\n")
            found: dict[str, Any] = json.loads(line.makefile().readline())
            return found

    def ask(self, do: str, **values: Any) -> Any:
        """What it answers when all is well."""
        answer = self.answer(do, **values)
        assert "ok" in answer, answer
        return answer["ok"]

    def is_mounted(self) -> bool:
        """Is it in the table of mounts?"""
        return f" {self.directory / 'fuse'} " in Path("/proc/self/mounts").read_text()

    def put_away(self) -> None:
        """Whatever state it is in."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)
        subprocess.run(["umount", "-l", self.directory / "fuse"], capture_output=True, check=False)


@contextmanager
def serving(directory: Path, before: Sequence[str] = (), **more: Any) -> Iterator[Daemon]:
    """A daemon for the length of a block; `before` are words before its command."""
    daemon = Daemon(directory, more, before)
    try:
        yield daemon
    finally:
        daemon.put_away()


@contextmanager
def looped(daemon: Daemon) -> Iterator[str]:
    """A loop device over its file."""
    device = run("losetup", "--find", "--show", "--direct-io=on", "--sector-size=4096", daemon.file)
    try:
        yield device
    finally:
        free(Path(device))


def free(device: Path) -> None:
    """Returns when it is: others may have it open for a moment, as blkid(8), which looks at every device."""
    file = kernel.backing_file(device)
    run("losetup", "--detach", device)
    until(lambda: file is None or kernel.backing_file(device) != file, f"{device} is not free")


@contextmanager
def mounted(device: str, point: Path) -> Iterator[Path]:
    """Its file system."""
    point.mkdir(exist_ok=True)
    run("mount", "-o", "discard", device, point)
    try:
        yield point
    finally:
        run("umount", point)


def test_a_file_system_keeps_its_files_over_snapshot_discard_and_restore(tmp_path: Path) -> None:
    dense, text = noise(8 << 20), b"what compresses well " * 400_000
    with serving(tmp_path) as daemon:
        with looped(daemon) as device:
            run("mkfs.ext4", "-q", "-b", "4096", device)
            with mounted(device, tmp_path / "mnt") as point:
                (point / "noise").write_bytes(dense)
                (point / "text").write_bytes(text)
            daemon.ask("snapshot", name="loaded")
            with mounted(device, tmp_path / "mnt") as point:
                refused = daemon.answer("restore", name="loaded")
                assert device in refused["error"]
                assert refused["hint"]
                before = daemon.ask("stats")
                (point / "noise").unlink()
                (point / "text").write_bytes(b"gone")
                until(lambda: dropped(daemon, point, before) > 8 << 20, "what was deleted is stored still")
                after = daemon.ask("stats")
            assert before["compression_ratio"] > 120
            assert after["flushes"] > 0
            assert after["discards"] > before["discards"]
            run("e2fsck", "-fn", device)
        # Without its loop device: a program that has the device open keeps what the kernel had cached of it.
        daemon.ask("restore", name="loaded")
        with looped(daemon) as device:
            with mounted(device, tmp_path / "mnt") as point:
                assert (point / "noise").read_bytes() == dense
                assert (point / "text").read_bytes() == text
            run("e2fsck", "-fn", device)
        assert daemon.ask("fsck")["problems"] == []


def dropped(daemon: Daemon, point: Path, before: Mapping[str, Any]) -> int:
    """Bytes that are stored no more. What an open transaction has freed, or one just ending, is not discarded."""
    run("sync", "--file-system", point)
    run("fstrim", point)
    return int(before["stored_bytes"] - daemon.ask("stats")["stored_bytes"])


@pytest.mark.parametrize("store", ["memory", "file"])
def test_a_recorded_load_ages_the_drive_and_leaves_its_files(tmp_path: Path, store: str) -> None:
    # No O_DIRECT in memory: the file lies beside the checkout's own files when the temporary folder is such.
    where: Any = "memory" if store == "memory" else {"file": str(tmp_path / "store")}
    with serving(tmp_path, store=where, codec="lz4") as daemon, looped(daemon) as device:
        run("mkfs.ext4", "-q", "-b", "4096", device)
        with mounted(device, tmp_path / "mnt") as point:
            daemon.ask("record", path=str(tmp_path / "trace"))
            for number in range(20):
                (point / f"{number % 4}").write_bytes(noise(1 << 20, number))
                run("sync", "--file-system", point)
            recorded = daemon.ask("record", path=None)["ended"]
            assert recorded["written_blocks"] >= 20 * 256
            aged = daemon.ask("age", trace=str(tmp_path / "trace"), live_share=0.9, compressed_to=0.5, limit=5)
            assert aged["filled_blocks"] > 0
            assert aged["write_amplification"] > 0
        run("e2fsck", "-fn", device)
        assert daemon.ask("fsck")["problems"] == []


def test_a_store_that_was_written_into_is_found_damaged(tmp_path: Path) -> None:
    # As above: the file lies beside the checkout's own files when the temporary folder is in memory.
    store = tmp_path / "store"
    with serving(tmp_path, store={"file": str(store)}) as daemon, looped(daemon) as device:
        with Path(device).open("r+b", buffering=0) as disk:
            disk.write(noise(2 << 20))
            os.fsync(disk.fileno())
        sound = daemon.ask("fsck")
        assert (sound["damaged"], sound["clean"], sound["problems"]) == (0, True, [])
        # It has no name any more, and its first segments are full.
        with opened_by(daemon, store).open("r+b", buffering=0) as file:
            file.write(noise(64 << 10, seed=1))
            os.fsync(file.fileno())
        told = daemon.ask("fsck")
        assert told["clean"] is False
        assert told["damaged"] == len(told["problems"]) > 0
        assert "block" in told["problems"][0]


def test_the_end_asked_for_leaves_nothing_mounted(tmp_path: Path) -> None:
    with serving(tmp_path) as daemon:
        with looped(daemon):
            assert "busy" in daemon.answer("shutdown")["error"]
        assert (
            "another daemon"
            in subprocess.run(
                [PROGRAM, "serve", "--config", tmp_path / "daemon.json"], capture_output=True, text=True, check=False
            ).stderr
        )
        daemon.ask("shutdown")
        assert daemon.process.wait(PATIENCE_S) == 0
        assert not daemon.is_mounted()
        assert not (tmp_path / "control.sock").exists()


def test_sigterm_unmounts_even_what_is_in_use(tmp_path: Path) -> None:
    with serving(tmp_path) as daemon, looped(daemon):
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(PATIENCE_S)
        assert not daemon.is_mounted()


def test_sigterm_ends_also_what_is_mounted_elsewhere_as_well(tmp_path: Path) -> None:
    """As a mount namespace that began meanwhile has it. One of ours would hold the mounts of all other tests, too."""
    copy = tmp_path / "copy"
    copy.mkdir()
    with serving(tmp_path) as daemon:
        run("mount", "--bind", tmp_path / "fuse", copy)
        try:
            daemon.process.send_signal(signal.SIGTERM)
            assert daemon.process.wait(PATIENCE_S) == 0
        finally:
            run("umount", copy)


def test_a_killed_daemon_fails_its_users_at_once_and_takes_its_watchdog_along(tmp_path: Path) -> None:
    with serving(tmp_path) as daemon, looped(daemon) as device:
        watchdog = Path("/proc") / str(daemon.ask("stats")["watchdog_process_id"])
        until(lambda: (watchdog / "comm").read_text() == "pgassay-watchdo\n", "it is no watchdog")
        daemon.process.kill()
        daemon.process.wait(PATIENCE_S)
        with pytest.raises(OSError, match="Input/output error"):
            Path(device).read_bytes()
        until(lambda: not watchdog.exists(), "the watchdog lives on")


def test_a_stalled_daemon_is_cut_off_by_its_watchdog(tmp_path: Path) -> None:
    with serving(tmp_path, watchdog_s=WATCHDOG_S) as daemon, looped(daemon) as device:
        daemon.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED)  # until every thread stands: one may be serving still
        reader = subprocess.run(["dd", f"if={device}", "of=/dev/null", "bs=4096", "count=1", "iflag=direct"],
                                capture_output=True, text=True, timeout=PATIENCE_S, check=False)  # fmt: skip
        assert "Input/output error" in reader.stderr
        assert daemon.process.stderr is not None
        assert "the daemon has stalled; its connection has been cut" in daemon.process.stderr.readline()
        daemon.process.send_signal(signal.SIGCONT)


def test_what_will_not_fit_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="hint: make store_bytes"):
        Daemon(tmp_path, {"store_bytes": 1 << 43})
