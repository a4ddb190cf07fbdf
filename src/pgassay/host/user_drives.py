"""Which ways this kernel has to a drive in user space, pure but for reading: `pgassay doctor` names them.

The emulated drive goes by FUSE and a loop device. ublk (kernel 6.0, `ublk_drv`) and FUSE over io_uring (6.14) are
shorter ways that it does not take; docs/evidence/drives.md says what they would need. So their lack is no fault.
"""

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.study.findings import Finding, Severity

UBLK, FUSE_URING = "ublk", "fuse_io_uring"
_MODULE = "ublk_drv"
_OPTION = re.compile(r"^(?:CONFIG_(?P<name>\w+)=(?P<value>[ym])|# CONFIG_(?P<unset>\w+) is not set)$", re.MULTILINE)


@dataclass(frozen=True)
class Kernel:
    """What is known of a kernel: its release, how it was built (`n` for what was left out), its files below `root`."""

    root: Path
    release: str
    built: Mapping[str, str]

    def builds(self, option: str) -> str | None:
        """`y`, `m` or `n`; None where the kernel does not say how it was built."""
        return self.built.get(option, "n") if self.built else None

    def has_module(self, name: str) -> bool:
        """Can it be loaded?"""
        listed = _text(self.root / "lib/modules" / self.release / "modules.dep")
        return re.search(rf"(^|/){re.escape(name)}\.ko", listed, re.MULTILINE) is not None


def kernel(root: Path = Path("/")) -> Kernel:
    """The running kernel, by /proc/config.gz or the file that distributions keep beside it."""
    release = _text(root / "proc/sys/kernel/osrelease").strip()
    texts = (_unpacked(root / "proc/config.gz"), _text(root / f"boot/config-{release}"))
    found = next((text for text in texts if text), "")
    built = {each["name"] or each["unset"]: each["value"] or "n" for each in _OPTION.finditer(found)}
    return Kernel(root, release, built)


def ublk(of: Kernel) -> Finding:
    """Could a block device be served by io_uring, without a loop device?"""
    if (of.root / "dev/ublk-control").exists():
        return _known(UBLK, "ublk is there (/dev/ublk-control); emulated drives go by FUSE")
    built = of.builds("BLK_DEV_UBLK")
    if of.has_module(_MODULE):
        return _known(UBLK, f"ublk is a module that is not loaded ({_MODULE}); emulated drives go by FUSE")
    if built == "n":
        return _known(UBLK, "this kernel was built without ublk (CONFIG_BLK_DEV_UBLK); emulated drives go by FUSE")
    if built is None:
        return _known(
            UBLK, "no ublk is there, and this kernel does not say how it was built; emulated drives go by FUSE"
        )
    return _known(UBLK, f"ublk was built ({built}), but neither device nor module is there; emulated drives go by FUSE")


def fuse_uring(of: Kernel) -> Finding:
    """Could FUSE hand its requests over through io_uring?"""
    switch = _text(of.root / "sys/module/fuse/parameters/enable_uring").strip()
    if switch:
        state = "on" if switch in ("Y", "1") else "off"
        return _known(FUSE_URING, f"FUSE over io_uring is there and switched {state}; emulated drives do without it")
    built = of.builds("FUSE_IO_URING")
    if built != "n":
        return _known(FUSE_URING, "no FUSE over io_uring is there (kernel 6.14 and later, with FUSE loaded)")
    return _known(FUSE_URING, "this kernel was built without FUSE over io_uring (CONFIG_FUSE_IO_URING)")


def _known(code: str, text: str) -> Finding:
    return Finding(code, Severity.OK, text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _unpacked(path: Path) -> str:
    try:
        return gzip.decompress(path.read_bytes()).decode(errors="replace")
    except (OSError, EOFError):
        return ""
