"""`pgassay drive record`: an emulated drive writes its own trace, of others the kernel's block events are read.

Both yield the flash model's trace format, which `pgassay drive simulate --trace` replays on other drives. The kernel's
events say where and when, not what. So after the recording the blocks that were written are read from the device and
compressed: all of them, or a sample from which the others draw. A block that was written several times counts each
time as it was left in the end; that is what recording a device can know (an emulated drive records each write itself).
"""

import contextlib
import mmap
import os
import re
import select
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pgassay import children, scratch
from pgassay._core import FlashTrace, stored_bytes, write_flash_trace
from pgassay.bench.errors import DriveError
from pgassay.drive.block import kernel
from pgassay.errors import UsageError

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
    _require_new(path)
    if not device.is_block_device():
        raise kernel.no_block_device(device)
    with scratch.folder("recording", path.parent) as place:
        raw = place / "events.txt"
        with listening(device, raw) as listener:
            listener.start()
            wait()
            listener.stop()
            lost = listener.lost()
        if lost:
            raise DriveError(
                f'the recording of "{device}" is not complete: {lost} events were lost',
                "record a shorter or a slower load",
            )
        with raw.open(encoding="utf-8", errors="replace") as lines:
            found = list(requests(lines))
        return Recorded(path, len(found), write_trace(path, found, device, codec))


def _require_new(path: Path) -> None:
    if path.exists():
        raise UsageError(f'"{path}" already exists', "choose another file name")
    if not path.parent.is_dir():
        raise UsageError(f'"{path.parent}" is not a directory', "choose a file in a directory that exists")


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
        self._instance, self._raw = instance, raw
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._copy, name="block events")
        self._failure: OSError | None = None

    def start(self) -> None:
        _write(self._instance / _EVENT / "enable", "1")
        self._thread.start()

    def stop(self) -> None:
        """No more events; returns when all are in the file. Calling it twice is harmless."""
        if self._thread.is_alive():
            _write(self._instance / _EVENT / "enable", "0")
            self._over.set()
            self._thread.join()
        if self._failure is not None:
            with kernel.refusals_of("record to", self._raw):
                raise self._failure

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
                    while text := _read(descriptor):
                        file.write(text)
                    if ending:
                        return
        except OSError as failure:
            self._failure = failure
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def listening(device: Path, raw: Path, tracefs: Path = TRACEFS) -> Iterator[Listener]:
    """An instance that hears of this device alone, copying to the new file `raw`; raises `DriveError`."""
    kernel.require_mounting("recording a block device")
    number = device.stat().st_rdev
    with _mounted(tracefs):
        if not (tracefs / _EVENT).is_dir():
            raise _no_block_events(tracefs / _EVENT)
        for left in (tracefs / "instances").glob(f"{_PREFIX}*-*"):
            if not Path("/proc", left.name.split("-")[1]).exists():
                _remove(left)
        instance = tracefs / "instances" / f"{_PREFIX}{os.getpid()}-{threading.get_native_id()}"
        with kernel.refusals_of("make", instance):
            instance.mkdir()
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


def _no_block_events(path: Path) -> DriveError:
    return DriveError(
        f'the kernel does not report what block devices receive: "{path}" is not available',
        "it needs tracefs and CONFIG_BLK_DEV_IO_TRACE; an emulated drive records by itself",
    )


@contextlib.contextmanager
def _mounted(tracefs: Path) -> Iterator[None]:
    """Mounts tracefs in its usual place, and unmounts it again if it was not mounted before."""
    if (tracefs / "instances").is_dir():
        yield
        return
    program = children.which("mount")
    if program is None or not tracefs.is_dir():
        raise _no_block_events(tracefs)
    command = [program, "-t", "tracefs", "-o", "nosuid,nodev,noexec", "tracefs", str(tracefs)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, env=children.environment_of())
    if outcome.returncode != 0:
        raise _no_block_events(tracefs)
    try:
        yield
    finally:
        kernel.unmount(tracefs, lazily=True)


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


BLOCK_BYTES = 4096
_SECTOR_BYTES = 512
SAMPLE_BLOCKS = 1 << 18
"""Read at most: 1 GiB."""
_READ_BLOCKS = 256
_LINE = re.compile(r"\s(\d+)\.(\d{6}): block_rq_issue: \d+,\d+ (\w+) \d+ \(.*?\) (\d+) \+ (\d+) ")
_OPERATIONS = {"W": "write", "D": "trim", "N": "write-zeroes", "R": "read"}
"""By the letter of `rwbs` (blktrace(8)): N is any other operation with a length, which a disk gets as write-zeroes."""
_FLUSH = "F"


@dataclass(frozen=True)
class Request:
    """What a device was sent: microseconds of any clock, an operation of the trace format, blocks of 4 KiB."""

    time_us: int
    operation: str
    first_block: int
    blocks: int


def requests(lines: Iterable[str]) -> Iterator[Request]:
    """Events to requests; lines of another kind (comments, lost events) are passed over."""
    for line in lines:
        found = _LINE.search(line)
        if found is None:
            continue
        time_us = int(found[1]) * 1_000_000 + int(found[2])
        letters, sector, sectors = found[3], int(found[4]), int(found[5])
        if letters.startswith(_FLUSH):
            yield Request(time_us, "flush", 0, 0)
            letters = letters[1:]
        operation = _OPERATIONS.get(letters[:1])
        if operation is None or sectors == 0:
            continue
        start, end = sector * _SECTOR_BYTES, (sector + sectors) * _SECTOR_BYTES
        first = start // BLOCK_BYTES
        yield Request(time_us, operation, first, -(-end // BLOCK_BYTES) - first)


def write_trace(path: Path, found: list[Request], device: Path, codec: str) -> int:
    """Write the trace of these requests; returns the blocks written. Raises `UsageError` where there is nothing."""
    operations = list(FlashTrace.OPERATIONS)
    kept = [each for each in found if each.operation in operations]
    writes = [each for each in kept if each.operation == "write"]
    if not writes:
        raise UsageError(f'nothing was written to "{device}" while it was recorded', "run the load while recording")
    touched = np.concatenate([np.arange(each.first_block, each.first_block + each.blocks) for each in writes])
    blocks, places = np.unique(touched, return_inverse=True)
    sizes = sizes_of(device, blocks, codec, SAMPLE_BLOCKS, seed=1)
    name, _, level = codec.partition("-")
    started_us = kept[0].time_us
    write_flash_trace(
        path,
        drive_blocks=kernel.size_bytes(device) // BLOCK_BYTES,
        time_ns=np.maximum.accumulate(np.array([(each.time_us - started_us) * 1000 for each in kept], np.int64)).astype(
            np.uint64
        ),
        operation=np.array([operations.index(each.operation) for each in kept], np.uint8),
        first_block=np.array([each.first_block for each in kept], np.uint32),
        blocks=np.array([each.blocks for each in kept], np.uint32),
        compressed_bytes=sizes[places],
        codec=name,
        codec_level=int(level or 0),
    )
    return len(touched)


def sizes_of(device: Path, blocks: NDArray[np.int64], codec: str, sample_blocks: int, seed: int) -> NDArray[np.uint16]:
    """What each of these blocks (ascending) compresses to; beyond the sample, as a block of the sample does."""
    random = np.random.default_rng(seed)
    chosen = np.arange(len(blocks))
    if len(blocks) > sample_blocks:
        chosen = np.sort(random.choice(len(blocks), sample_blocks, replace=False))
    sampled = np.concatenate([stored_bytes(data, codec) for data in _contents(device, blocks[chosen])])
    if len(chosen) == len(blocks):
        return sampled
    sizes = random.choice(sampled, len(blocks))
    sizes[chosen] = sampled
    return sizes


def _contents(device: Path, blocks: NDArray[np.int64]) -> Iterator[bytes]:
    """As they lie on the device, past its page cache, which knows nothing of what a file system has written."""
    with (
        kernel.opened(device, os.O_RDONLY | os.O_DIRECT) as descriptor,
        mmap.mmap(-1, _READ_BLOCKS * BLOCK_BYTES) as buffer,  # page-aligned, as O_DIRECT wants it
        memoryview(buffer) as view,
    ):
        ends = np.flatnonzero(np.diff(blocks) != 1) + 1
        for run in np.split(blocks, ends):
            for start in range(0, len(run), _READ_BLOCKS):
                length = len(run[start : start + _READ_BLOCKS]) * BLOCK_BYTES
                got = os.preadv(descriptor, [view[:length]], int(run[start]) * BLOCK_BYTES)
                yield bytes(view[:got]) + bytes(length - got)
