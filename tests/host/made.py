"""A machine's files in a temporary directory: what the kernel shows of huge pages, control groups and CPUs."""

from pathlib import Path

from pgassay.host.changes import Ledger, LocalHost

BOOT = "boot-1"


def put(root: Path, path: str, text: str) -> Path:
    """A file with its folders."""
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def host(root: Path, boot: str = BOOT) -> LocalHost:
    """A lab's hold on this machine, with the list of changes beside its files."""
    return LocalHost(Ledger(root / "state", boot))


def huge_pages(root: Path, kilobytes: int, total: int, free: int, reserved: int = 0, surplus: int = 0) -> Path:
    """A pool of huge pages, which never grows by itself; its folder."""
    folder = f"sys/kernel/mm/hugepages/hugepages-{kilobytes}kB"
    put(root, f"{folder}/nr_hugepages", f"{total}\n")
    put(root, f"{folder}/resv_hugepages", f"{reserved}\n")
    put(root, f"{folder}/surplus_hugepages", f"{surplus}\n")
    return put(root, f"{folder}/free_hugepages", f"{free}\n").parent
