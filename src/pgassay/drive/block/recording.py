"""`pgassay drive record`: an emulated drive writes its own trace, of others the kernel's block events are read.

Both yield the flash model's trace format, which `pgassay simulate --trace` replays on other drives.
"""

import contextlib
import os
import select
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay import children, scratch
from pgassay.drive import messages
from pgassay.drive.block import kernel
from pgassay.drive.block import messages as block_messages

Wait = Callable[[], None]
"""Returns when the recording is to end."""


@dataclass(frozen=True)
class Recorded:
    """What a trace holds; `records` is 0 where the drive did not say."""

    path: Path
    records: int
    written_blocks: int


def record_emulated(ask: Callable[..., Mapping[str, object]], path: Path, wait: Wait) -> Recorded:
    """The daemon writes the trace, each block with the size that it compressed to."""
    _require_new(path)
    ask("record", path=str(path))
    try:
        wait()
    finally:
        ended = ask("record", path=None).get("ended")
    made = ended if isinstance(ended, Mapping) else {}
    return Recorded(path, int(made.get("records", 0)), int(made.get("written_blocks", 0)))


def record_device(device: Path, path: Path, codec: str, wait: Wait) -> Recorded:
    """The kernel's events, then the blocks' contents from the device; raises `DriveError`, also for lost events."""
    from pgassay.drive.block import write_trace  # numpy: only who records waits for it

    _require_new(path)
    if not device.is_block_device():
        raise block_messages.no_block_device(device)
    with scratch.folder("recording", path.parent) as place:
        raw = place / "events.txt"
        with listening(device, raw) as listener:
            listener.start()
            wait()
            listener.stop()
            lost = listener.lost()
        if lost:
            raise messages.events_lost(device, lost)
        with raw.open(encoding="utf-8", errors="replace") as lines:
            found = list(write_trace.requests(lines))
        return Recorded(path, len(found), write_trace.write(path, found, device, codec))


def _require_new(path: Path) -> None:
    if path.exists():
        raise messages.trace_exists(path)
    if not path.parent.is_dir():
        raise messages.no_place_for_trace(path)


TRACEFS = Path("/sys/kernel/tracing")
_EVENT = "events/block/block_rq_issue"
_PREFIX = "pgassay-"
_BUFFER_KB = 8192
"""For each core; an event takes about a hundred bytes."""
_POLL_MS = 200
_READ_BYTES = 1 << 20
_MINOR_BITS = 20


class Listener:
    """What an instance has heard so far."""

    def __init__(self, instance: Path, raw: Path) -> None:
        self._instance = instance
        self._raw = raw
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._copy, name="block events")
        self._failure: OSError | None = None

    def start(self) -> None:
        """Start to receive events; those before are not seen."""
        _write(self._instance / _EVENT / "enable", "1")
        self._thread.start()

    def stop(self) -> None:
        """No more events; returns when all are in the file. Calling it twice is harmless."""
        if self._thread.is_alive():
            _write(self._instance / _EVENT / "enable", "0")
            self._over.set()
            self._thread.join()
        if self._failure is not None:
            raise messages.system_failed("record to", self._raw, self._failure)

    def lost(self) -> int:
        """Events that found the buffers full."""
        texts = [path.read_text(encoding="ascii") for path in self._instance.glob("per_cpu/cpu*/stats")]
        lines = [line.partition(":") for text in texts for line in text.splitlines()]
        return sum(int(value) for name, _, value in lines if name in ("overrun", "dropped events"))

    def _copy(self) -> None:
        descriptor = os.open(self._instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        try:
            with self._raw.open("xb") as file:
                while True:
                    ending = self._over.is_set()  # looked at before reading: what came until then is still read
                    poll.poll(0 if ending else _POLL_MS)
                    text = _read(descriptor)
                    while text:
                        file.write(text)
                        text = _read(descriptor)
                    if ending:
                        return
        except OSError as failure:
            self._failure = failure
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def listening(device: Path, raw: Path, tracefs: Path = TRACEFS) -> Iterator[Listener]:
    """An instance that hears of this device alone, copying to the new file `raw`; raises `DriveError`."""
    if not kernel.may_mount():
        raise messages.not_privileged("recording a block device")
    number = device.stat().st_rdev
    with _mounted(tracefs):
        if not (tracefs / _EVENT).is_dir():
            raise messages.no_block_events(tracefs / _EVENT)
        for stale in _stale(tracefs):
            _remove(stale)
        instance = tracefs / "instances" / f"{_PREFIX}{os.getpid()}-{threading.get_native_id()}"
        try:
            instance.mkdir()
        except OSError as failure:
            raise messages.system_failed("make", instance, failure) from failure
        listener = Listener(instance, raw)
        try:
            _write(instance / "trace_clock", "mono")
            _write(instance / "buffer_size_kb", str(_BUFFER_KB))
            _write(instance / _EVENT / "filter", f"dev == {os.major(number) << _MINOR_BITS | os.minor(number)}")
            yield listener
        finally:
            with contextlib.suppress(OSError):
                listener.stop()
            _remove(instance)


@contextlib.contextmanager
def _mounted(tracefs: Path) -> Iterator[None]:
    """Mounts tracefs in its usual place, and unmounts it again if it was not mounted before."""
    if (tracefs / "instances").is_dir():
        yield
        return
    program = children.which("mount")
    if program is None or not tracefs.is_dir():
        raise messages.no_block_events(tracefs)
    command = [program, "-t", "tracefs", "-o", "nosuid,nodev,noexec", "tracefs", str(tracefs)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, env=children.environment_of())
    if outcome.returncode != 0:
        raise messages.no_block_events(tracefs)
    try:
        yield
    finally:
        kernel.unmount(tracefs, lazily=True)


def _stale(tracefs: Path) -> list[Path]:
    """Instances of ours whose process is gone."""
    mine = (tracefs / "instances").glob(f"{_PREFIX}*-*")
    return [path for path in mine if not Path("/proc", path.name.split("-")[1]).exists()]


def _remove(instance: Path) -> None:
    with contextlib.suppress(OSError):
        _write(instance / _EVENT / "enable", "0")
        instance.rmdir()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii")  # ours: a file of the kernel


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return b""
