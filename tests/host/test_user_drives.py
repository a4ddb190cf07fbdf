"""Which ways a kernel has to a drive in user space: from planted kernels, and what the doctor says of this one."""

import gzip
from pathlib import Path

import pytest

from pgassay.host import doctor
from pgassay.host.user_drives import FUSE_URING, UBLK, fuse_uring, kernel, ublk
from pgassay.study.findings import Severity

RELEASE = "6.12.1-made-up"
WITHOUT = "CONFIG_FUSE_FS=y\n# CONFIG_BLK_DEV_UBLK is not set\n# CONFIG_FUSE_IO_URING is not set\n"
WITH = "CONFIG_FUSE_FS=y\nCONFIG_BLK_DEV_UBLK=m\nCONFIG_FUSE_IO_URING=y\n"
DEP = "kernel/drivers/block/ublk_drv.ko.xz: kernel/lib/x.ko\n"
PACKED, PLAIN, MODULES = "proc/config.gz", f"boot/config-{RELEASE}", f"lib/modules/{RELEASE}/modules.dep"
SWITCH, CONTROL = "sys/module/fuse/parameters/enable_uring", "dev/ublk-control"


def planted(root: Path, files: dict[str, str]) -> Path:
    """A machine of which these files are all that there is."""
    for name, text in {"proc/sys/kernel/osrelease": f"{RELEASE}\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return root


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({PACKED: WITHOUT}, "built without ublk (CONFIG_BLK_DEV_UBLK)"),
        ({PLAIN: WITHOUT}, "built without ublk (CONFIG_BLK_DEV_UBLK)"),
        ({PACKED: "CONFIG_FUSE_FS=y\n"}, "built without ublk (CONFIG_BLK_DEV_UBLK)"),
        ({PACKED: WITH, MODULES: DEP}, "a module that is not loaded (ublk_drv)"),
        ({MODULES: DEP}, "a module that is not loaded (ublk_drv)"),
        ({PACKED: WITH, MODULES: DEP.replace("ublk_drv", "not_ublk_drv")}, "neither device nor module is there"),
        ({PACKED: WITH, CONTROL: ""}, "ublk is there (/dev/ublk-control)"),
        ({}, "does not say how it was built"),
    ],
)
def test_ublk(tmp_path: Path, files: dict[str, str], said: str) -> None:
    found = ublk(kernel(planted(tmp_path, files)))
    assert said in found.text
    assert (found.code, found.severity) == (UBLK, Severity.OK), "nothing is wrong without it"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({SWITCH: "N\n"}, "is there and switched off"),
        ({SWITCH: "Y\n"}, "is there and switched on"),
        ({PACKED: WITHOUT}, "built without FUSE over io_uring (CONFIG_FUSE_IO_URING)"),
        ({PACKED: WITH}, "no FUSE over io_uring is there"),
        ({}, "no FUSE over io_uring is there"),
    ],
)
def test_fuse_over_io_uring(tmp_path: Path, files: dict[str, str], said: str) -> None:
    found = fuse_uring(kernel(planted(tmp_path, files)))
    assert said in found.text
    assert (found.code, found.severity) == (FUSE_URING, Severity.OK)


def test_a_damaged_list_of_options_says_nothing(tmp_path: Path) -> None:
    (planted(tmp_path, {PACKED: WITH}) / PACKED).write_bytes(b"\x1f\x8b\x08 no more")
    assert kernel(tmp_path).builds("BLK_DEV_UBLK") is None


def test_the_doctor_names_both(tmp_path: Path) -> None:
    said = {finding.code: finding.text for finding in doctor.examine([tmp_path], look_s=0.1)}
    assert "ublk" in said[UBLK]
    assert "io_uring" in said[FUSE_URING]
