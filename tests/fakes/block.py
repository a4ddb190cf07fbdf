"""Block drives without root: a kernel whose file systems are tar files, and an emulated drive without FUSE.

`FakeKernel` mounts nothing. `FakeDaemon` answers as pgassay-drive does and keeps its disk in a plain file, so it serves
under the fake kernel as well as under real loop devices.
"""

import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pgassay.drive.block import daemon, image
from pgassay.drive.block.daemon import Control
from pgassay.drive.block.description import Description
from pgassay.drive.block.filesystems import Filesystem
from pgassay.interfaces.errors import DamagedError, DriveError


class FakeKernel:
    """See `block.kernel.Kernel`; `devices` and `mounted` show what is not given back."""

    def __init__(self, *, damaged: bool = False) -> None:
        self.devices: dict[Path, Path] = {}
        self.mounted: dict[Path, Path] = {}
        self.damaged = damaged
        self._count = 0

    def require(self, filesystem: Filesystem) -> None:
        """Every file system can be made here."""

    def attach(self, file: Path) -> Path:
        """A device of a new number, `/dev/fakeN`, over a file that exists."""
        assert file.exists()
        self._count += 1
        device = Path(f"/dev/fake{self._count}")
        self.devices[device] = file
        return device

    def detach(self, device: Path) -> None:
        """Free a device that is not mounted."""
        assert device not in self.mounted.values()
        del self.devices[device]

    def make(self, device: Path, filesystem: Filesystem, label: str) -> None:
        """Write an empty tar archive into the file."""
        with self.devices[device].open("r+b") as file, tarfile.open(fileobj=file, mode="w"):
            pass

    def mount(self, device: Path, point: Path, filesystem: Filesystem) -> None:
        """Unpack the archive into `point`."""
        with tarfile.open(self.devices[device], mode="r:") as archive:
            archive.extraction_filter = lambda member, _: member  # our own; Python 3.11.2 knows no `filter`
            archive.extractall(point)
        self.mounted[point] = device

    def unmount(self, point: Path) -> None:
        """Pack `point` into the archive and empty it; harmless when it is not mounted."""
        if point not in self.mounted:
            return
        with self.devices[self.mounted.pop(point)].open("r+b") as file, tarfile.open(fileobj=file, mode="w") as archive:
            for path in sorted(point.iterdir()):
                archive.add(path, path.name)
        _empty(point)

    def drop(self, point: Path) -> None:
        """Empty `point`, and leave the archive as it is; harmless when it is not mounted."""
        if self.mounted.pop(point, None) is not None:
            _empty(point)

    def check(self, device: Path, filesystem: Filesystem) -> None:
        """Raises `DamagedError` if it was constructed `damaged`."""
        if self.damaged:
            raise DamagedError(f'the file system on "{device}" is damaged: as planned')


class FakeControl:
    """See `block.daemon.Control`: a disk in `directory`/fuse/disk, snapshots beside it. `problems`: what it finds."""

    def __init__(self, directory: Path, configuration: Mapping[str, Any]) -> None:
        self._configuration = configuration
        self._disk = directory / daemon.FUSE / daemon.DISK
        self._kept = directory / "kept"
        self._trace: Path | None = None
        self._cuts = 0
        self.problems: list[str] = []
        self._disk.parent.mkdir(exist_ok=True)
        self._kept.mkdir(exist_ok=True)
        with self._disk.open("xb") as file:
            file.truncate(configuration["capacity_bytes"])

    def ask(self, do: str, *, patience_s: float = 0.0, **values: Any) -> Mapping[str, Any]:
        """The values of `answer`; raises `DriveError` for its errors."""
        answer = self.answer({"do": do, **values})
        if "error" in answer:
            raise DriveError(f'the emulated drive refused "{do}": {answer["error"]}', answer.get("hint"))
        return dict(answer["ok"])

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One request to one answer."""
        do, name = str(request["do"]), str(request.get("name", ""))
        if do in ("restore", "drop") and not (self._kept / name).exists():
            return {"error": f'there is no snapshot "{name}"', "hint": "snapshots lists them"}
        deeds: dict[str, Callable[[], Mapping[str, Any] | None]] = {
            "ping": lambda: None,
            "shutdown": lambda: None,
            "stats": self._stats,
            "snapshot": lambda: self._snapshot(name),
            "restore": lambda: self._restore(name),
            "drop": lambda: (self._kept / name).unlink(),
            "snapshots": self._snapshots,
            "record": lambda: self._record(request.get("path")),
            "cut": self._cut,
            "discard": lambda: self._disk.with_name(f"cut-{request['number']}").unlink(),
            "age": lambda: {"settled": True, "write_amplification": 1.5, "drive_writes": 2.0},
            "fsck": lambda: {"damaged": len(self.problems), "problems": self.problems},
        }
        if do not in deeds:
            return {"error": f'unknown request "{do}"', "hint": ""}
        return {"ok": dict(deeds[do]() or {})}

    def _cut(self) -> Mapping[str, Any]:
        """The disk as it lies in its file: what is mounted has not been written to it."""
        self._cuts += 1
        shutil.copyfile(self._disk, self._disk.with_name(f"cut-{self._cuts}"))
        counts = ("wall_ns", "flushes", "requests", "pieces", "lost_pieces", "torn_requests")
        return {"number": self._cuts, "took_ms": 0.5, "page": None, "strip": [[3, 2, 1]], **dict.fromkeys(counts, 0)}

    def _snapshot(self, name: str) -> None:
        image.copy_image(self._disk, self._kept / name, share=False)

    def _restore(self, name: str) -> None:
        self._disk.unlink()
        image.copy_image(self._kept / name, self._disk, share=False)

    def _snapshots(self) -> Mapping[str, Any]:
        kept = sorted(self._kept.iterdir())
        return {"snapshots": [{"name": each.name, "stored_bytes": _used(each)} for each in kept]}

    def _record(self, path: object) -> None:
        if path is not None:
            self._trace = Path(str(path))
            self._trace.write_bytes(b"")

    def _stats(self) -> dict[str, Any]:
        used = _used(self._disk)
        timing = self._configuration.get("timing")
        if timing is not None:
            timing = {**timing, "dilation": self._configuration.get("dilation", 1)}
        return {
            "kind": self._configuration.get("kind", "page-mapped"),
            "codec": self._configuration["codec"],
            "over_provisioning": self._configuration.get("over_provisioning", 0.07),
            "policy": self._configuration.get("policy", "greedy"),
            "store": "memory" if self._configuration["store"] == "memory" else "file",
            "capacity_bytes": self._configuration["capacity_bytes"],
            "timing": timing,
            "host_bytes_written": used,
            "nand_bytes_written": used * 2,
            "logical_bytes": used,
            "physical_bytes": used // 4,
        }


class FakeDaemon:
    """See `block.daemon.Daemon`; `running` shows what was not ended, `checked` what it was asked about."""

    def __init__(self) -> None:
        self.checked: list[Description] = []
        self.running: dict[Path, FakeControl] = {}

    def require(self) -> None:
        """Such drives can run anywhere."""

    def check(self, description: Description) -> None:
        """Accept every description, and note it in `checked`."""
        self.checked.append(description)

    def start(self, directory: Path, configuration: Mapping[str, Any]) -> Control:
        """A new `FakeControl`, noted in `running`."""
        self.running[directory] = FakeControl(directory, configuration)
        return self.running[directory]

    def end(self, directory: Path) -> None:
        """Take it out of `running`; harmless when it has ended."""
        self.running.pop(directory, None)

    def disk(self, directory: Path) -> Path:
        """The plain file that its control keeps the disk in."""
        return directory / daemon.FUSE / daemon.DISK


def _empty(point: Path) -> None:
    for path in point.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _used(path: Path) -> int:
    return path.stat().st_blocks * 512
